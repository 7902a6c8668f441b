// SPDX-License-Identifier: Apache-2.0
// The one door of all importers, for a caller that has looked at the input already.
#ifndef IMPORT_OPEN_H
#define IMPORT_OPEN_H

#include <stdbool.h>

#include "tracesmith/import.h"

struct import_place {
    int fd;            // a file at its beginning, or a pipe
    bool owned;        // closed with the source, and on failure
    const char *name;  // for messages; copied
    const void *first; // what was read of a pipe already: at most INPUT_FIRST_MAX bytes
    size_t first_size;
    const char *const *arguments; // those that are needed; NULL: all, and call stacks
    size_t argument_count;
    int (*needs_event)(tsmith_kind kind, const char *name); // NULL: all are needed
    bool one_thread;                                        // no other is to be started
};

tsmith_status import_open(const struct import_place *place, const tsmith_import_options *options,
                          tsmith_source **out, tsmith_error *error);

#endif
