// SPDX-License-Identifier: Apache-2.0
// Where in the program a recorded command was called: the stack of its API call in the trace, when there is one
// (profile --stacks).
#ifndef CLI_REPLAY_SITES_H
#define CLI_REPLAY_SITES_H

#include "cli/opened_trace.h"
#include "cli/present/text.h"
#include "tracesmith/stacks.h"

// A zeroed struct knows none.
struct sites {
    const tsmith_dictionary *dictionary;
    tsmith_stack_names *names;
    struct site {
        uint64_t pid, correlation;
        uint32_t stack;
    } * sites; // sorted
    size_t count, capacity;
};

// Reads the stacks of calls; without any there are no sites. Damage costs sites and is no failure here.
void sites_read(struct sites *sites, const struct trace *trace);
void sites_finish(struct sites *sites);
// Adds lines "called by f at file.c:12" and whom that was called by; as JSON a member ,"stack":[..], innermost first.
// Nothing where it is not known.
void sites_add(struct text *text, const struct sites *sites, uint64_t pid, uint64_t correlation, bool json);

#endif
