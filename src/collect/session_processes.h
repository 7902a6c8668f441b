// SPDX-License-Identifier: Apache-2.0
#ifndef COLLECT_SESSION_PROCESSES_H
#define COLLECT_SESSION_PROCESSES_H

#include <stdint.h>

// How many processes live that were started with this session in their environment: those that may record into it,
// or start others that will. The calling process is not counted. Reads /proc; a few milliseconds.
//
// A process has no environment for a moment while it replaces itself by exec. *unclear is how many may be in that
// moment (or have none at all, which cannot be told apart): with any of them, 0 is an answer only when it comes again.
uint32_t session_processes_alive(const char *session_directory, uint32_t *unclear);

#endif
