// SPDX-License-Identifier: Apache-2.0
// Loading the agents into a program that runs already. capture.c calls it (tsmith_capture_attach).
#ifndef API_ATTACH_H
#define API_ATTACH_H

#include <sys/types.h>

#include "launch/agent_table.h"
#include "tracesmith/capture.h"
#include "wire/attach_order.h"

struct attach_what {
    pid_t pid;
    const char *session_directory, *agent_directory;
    int session; // the session directory, open: its path in a container can be replaced by another one
    // The session directory as a process with another root sees it, which cannot see `agent_directory`: the agents are copied into
    // the session. NULL: the process sees both as we do.
    const char *there;
    char agents[sizeof((struct attach_order *)0)->agents];
    char options[AGENT_OPTIONS_BYTES];
    int64_t patience; // ns
};

// The agents of the selected APIs that can come late. MISSING when there is none.
tsmith_status attach_select(const tsmith_capture_options *options, struct attach_what *out,
                            tsmith_error *error);
// Returns when the agents are in place, or with the reason why not; the program is as before then. `out` may be NULL.
tsmith_status attach_run(struct attach_what *what, tsmith_attach_report *out, tsmith_error *error);

#endif
