// SPDX-License-Identifier: Apache-2.0
// Other sources of the trace of a session. Their batches follow those of the programs, when all processes, threads and clocks are
// known.
#ifndef COLLECT_OTHER_SOURCES_H
#define COLLECT_OTHER_SOURCES_H

#include <stddef.h>

#include "tracesmith/dictionary.h"
#include "tracesmith/stream.h"

struct other_source;

struct other_sources {
    struct other_source *sources; // in the order in which they are delivered
    size_t count, capacity, at;
};

// A zeroed struct is a valid, empty one.
void other_sources_finish(struct other_sources *others);
// Takes the source, also on failure.
tsmith_status other_sources_add(struct other_sources *others, tsmith_source *taken);
// The next batch, with ids of `into`; END when there is none left.
tsmith_status other_sources_next(struct other_sources *others, tsmith_dictionary *into,
                                 const tsmith_batch **out, tsmith_error *error);

#endif
