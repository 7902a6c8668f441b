// SPDX-License-Identifier: Apache-2.0
// Names of the system calls that threads wait in.
#ifndef WATCH_SYSTEM_CALLS_H
#define WATCH_SYSTEM_CALLS_H

#include <stddef.h>

// "read", or "system call N" in `room` for one without a name here.
const char *system_call_name(int number, char *room, size_t size);

#endif
