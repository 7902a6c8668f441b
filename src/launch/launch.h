// SPDX-License-Identifier: Apache-2.0
// Starting a program with the agents injected: each API's own injection variable, inherited by its children.
#ifndef LAUNCH_LAUNCH_H
#define LAUNCH_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tracesmith/capture.h"

// How signals were before the caller began to catch or ignore them: what the program gets.
struct launch_signals {
    sigset_t mask;
    bool ignored[NSIG];
};
void launch_save_signals(struct launch_signals *signals);

// The directory of the agents: `wanted`, or TRACESMITH_AGENT_DIR, or next to this library.
tsmith_status launch_agent_directory(const char *wanted, char *out, size_t size, tsmith_error *error);

// The environment for a session, as an array for exec; freed with launch_free_environment. NOT_FOUND when an API that
// was asked for by name has no agent; MISSING when there is none at all.
tsmith_status launch_environment(const tsmith_capture_options *options, const char *session_directory,
                                 char ***out, tsmith_error *error);
void launch_free_environment(char **environment);

// Before `argv` is started: adds to the environment the agents that only programs that use their API get (MPI). `notice` gets why the
// program cannot be recorded, or NULL. Static.
tsmith_status launch_add_used(const tsmith_capture_options *options, const char *agent_directory,
                              char *const *argv, char ***environment, const char **notice,
                              tsmith_error *error);

// Why programs of a selected API are not recorded, with what to do: a library that the agent needs was not found. NULL: there is
// none, or the API is not used on this machine. Static.
const char *launch_missing(const tsmith_capture_options *options);

tsmith_status launch_start(char *const *argv, char **environment, const struct launch_signals *signals,
                           pid_t *out, tsmith_error *error);

#endif
