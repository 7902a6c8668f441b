// SPDX-License-Identifier: Apache-2.0
// For packaging/tarball.sh, before every source: functions that glibc has had since after the version that the tarball asks for.
#ifndef TRACESMITH_OLD_GLIBC_H
#define TRACESMITH_OLD_GLIBC_H

#include <sys/syscall.h>
#include <unistd.h>

// Since 2.30.
#define gettid() ((pid_t)syscall(SYS_gettid))

#endif
