// SPDX-License-Identifier: Apache-2.0
#ifndef COLLECT_SESSION_PROCESSES_H
#define COLLECT_SESSION_PROCESSES_H

#include <stdint.h>

// The number of live processes that were started with this session in their environment: those that may record into
// it, or start others that will. The calling process is not counted. Reads /proc; a few milliseconds.
//
// A process has no environment for a moment while it replaces itself by exec. *unclear is the number of processes that may be in
// this state (or have no environment, which looks the same): if it is not 0, a result of 0 must be confirmed by another call.
uint32_t session_processes_alive(const char *session_directory, uint32_t *unclear);

#endif
