// SPDX-License-Identifier: Apache-2.0
// Which live processes were started with a session in their environment: those that may record into it, or start others that
// will. The calling process is not counted. Reads the environment of every process in /proc.
#ifndef COLLECT_SESSION_PROCESSES_H
#define COLLECT_SESSION_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Their number for one session.
//
// A process has no environment for a moment while it replaces itself by exec. *unclear is the number of processes that may be in
// this state (or have no environment, which looks the same): if it is not 0, a result of 0 must be confirmed by another call.
uint32_t session_processes_alive(const char *session_directory, uint32_t *unclear);

// The same of all sessions, from one pass over the processes. Zero-initialized: no process.
struct session_processes {
    char **directories; // one element per process, sorted
    size_t count, capacity;
};

// False when memory is exhausted; session_processes_finish is to be called all the same.
bool session_processes_read(struct session_processes *processes);
uint32_t session_processes_of(const struct session_processes *processes, const char *session_directory);
void session_processes_finish(struct session_processes *processes);

#endif
