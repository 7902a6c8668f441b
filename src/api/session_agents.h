// SPDX-License-Identifier: Apache-2.0
// The agents of a session that records the GPU APIs of its own process.
#ifndef API_SESSION_AGENTS_H
#define API_SESSION_AGENTS_H

#include "api/own_process.h"

struct session_agents {
    bool on; // they were prepared, and this session is the one that records the process
    struct own_environment environment;
    char note[512]; // what cannot be recorded; "" if everything can
};

// INVALID_ARGUMENT for options that a session cannot heed.
tsmith_status session_agents_check(const tsmith_capture_options *options, tsmith_error *error);
// An agent that comes too late is not a failure; `note` has a message about it.
tsmith_status session_agents_begin(struct session_agents *agents, const tsmith_capture_options *options,
                                   const char *directory, tsmith_error *error);
void session_agents_end(struct session_agents *agents);

#endif
