// SPDX-License-Identifier: Apache-2.0
// The agents that can be loaded into programs: one row each. launch.c loads them by it; the public functions tsmith_agent_*
// list it.
#ifndef LAUNCH_AGENT_TABLE_H
#define LAUNCH_AGENT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "tracesmith/capture.h"
#include "wire/agent_options.h"

struct agent_option_row {
    const char *key;
    enum agent_value value;
    const char *argument; // what help calls the value; NULL: none
    unsigned long least, most;
    const char *doc;
};

// A library without which the variable is not set: the API's runtimes would end a program that has the variable and not the
// library.
struct agent_needs {
    const char *library, *also; // both in one folder; the second may be NULL
    const char *folders;        // where it is looked for beyond the dynamic linker's, a list
    const char *runtime; // who has this library and not that has a runtime that is too old, or incomplete
    const char *advice;
};

// Each API reads a list of libraries in a variable of its own, or one library; then the library that the variable named before
// is kept for our agent, which hands everything on to it.
struct agent_row {
    const char *api;
    const char *doc;
    const char *variable;
    char separator;     // of a list
    bool is_closed;     // the list ends with a separator: its reader passes over what follows the last one
    const char *next;   // the variable that keeps the one library there was
    const char *loader; // the library that reads the variable, if it is new enough; NULL: all there are do
    const struct agent_needs *needs; // NULL: nothing beyond what a program brings
    const struct agent_option_row *options;
    size_t option_count;
    const char *
        preloads; // a library of the vendor that is put into the variable before ours; `needs` says where it is
    struct {
        const char *variable, *value;
    } also[2]; // that are set as well, if they have no value; a variable of NULL: none
    // The variable lists layers by this name, not files. Their loader finds them in folders: in a list that is used alone if it
    // has a value, and otherwise in one that is added to the usual folders. Ours is named like the API, among the agents.
    const char *layer, *folders, *more_folders;
    // It is preloaded, which not every program bears: not one of the agents that are loaded by default.
    bool only_if_named;
    bool comes_late; // it can be loaded into a program that runs already (wire/attach_order.h)
};

// NULL past the last.
const struct agent_row *agent_row_at(size_t index);

// The row of an API. INVALID_ARGUMENT, with the APIs there are, if there is none.
tsmith_status agent_row_find(const char *api, const struct agent_row **out, tsmith_error *error);

// Whether a capture loads the agent of an API.
bool agent_is_selected(const tsmith_capture_options *options, const char *api);

enum { AGENT_OPTIONS_BYTES = 4096 };
// The options of all agents as the value of AGENT_OPTIONS, checked; "" if there are none.
tsmith_status agent_options_write(const tsmith_capture_options *options, char *out, size_t size,
                                  tsmith_error *error);

#endif
