// SPDX-License-Identifier: Apache-2.0
// The table of agents that can be loaded into programs. launch.c sets their variables; the public functions tsmith_agent_*
// list the table.
#ifndef LAUNCH_AGENT_TABLE_H
#define LAUNCH_AGENT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "tracesmith/capture.h"
#include "wire/agent_options.h"

struct agent_option_row {
    const char *key;
    enum agent_value value;
    const char *argument;      // placeholder of the value in help; NULL: the option has no value
    unsigned long least, most; // bounds of a number; of a list of names, of its length
    const char *doc;
};

// A library without which the variable is not set, because the API's runtime ends a program that has the variable and not the
// library.
struct agent_needs {
    const char *library, *also; // both in one folder; the second may be NULL
    const char *folders; // where the library is searched in addition to the dynamic linker's folders, a list
    const char *runtime; // if this library is installed and `library` is not, the user gets `advice`
    const char *advice;
};

// Each API reads an environment variable of its own, with one library or a list of libraries. Members that a row does not set
// are 0: a variable with one library.
struct agent_row {
    const char *api;      // the name in `--api`; the agent's library is libtracesmith-API.so
    const char *doc;      // one line of help
    const char *variable; // that names the agent's library
    char separator;       // of a list: the agent is added to the libraries that the variable has. 0: no list
    bool is_closed; // the list ends with a separator, because its reader ignores what follows the last one
    // Without a list: the variable in which the library that `variable` named before is kept. The agent passes every call on
    // to it (agentkit/injection.h). NULL: a library that was set before is replaced.
    const char *next;
    const char *loader; // the library that reads the variable, if it is new enough; NULL: every version does
    const struct agent_needs *needs; // NULL: none
    const struct agent_option_row *options;
    size_t option_count;
    const char *
        preloads; // a library of the vendor that precedes the agent in the variable (see `needs`); NULL: none
    struct {
        const char *variable, *value;
    } also[2]; // that are set as well, if they have no value; a variable of NULL: none
    // Not NULL: the variable is a list of names of layers, not of files. `layer` is ours. The loader searches layers in the list
    // `folders` alone if that variable has a value, otherwise in `more_folders` and its usual folders. The agent's folder is
    // named like the API, among the agents.
    const char *layer, *folders, *more_folders;
    const char *
        recorder; // the layer that records commands and data, below; its folder is named "API_record". NULL: none
    // Not loaded by default, because some programs do not tolerate it; MPI's is, into programs that use it (launch_add_used).
    bool only_if_named;
    // The beginning of the name of the library by which a program that runs is known to use the API, so that the agent can be
    // loaded into it (wire/attach_order.h); NULL: it cannot.
    const char *comes_late;
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
