// SPDX-License-Identifier: Apache-2.0
// Other sources whose events come into the trace of a session: after all that the programs recorded, when everything that
// is to be known of processes, threads and clocks is known.
#ifndef COLLECT_JOINED_H
#define COLLECT_JOINED_H

#include <stddef.h>

#include "tracesmith/dictionary.h"
#include "tracesmith/stream.h"

struct joined_source;

struct joined {
    struct joined_source *sources; // in the order in which they are delivered
    size_t count, capacity, at;
};

// A zeroed struct is a valid, empty one.
void joined_finish(struct joined *joined);
// Takes the source, also on failure.
tsmith_status joined_add(struct joined *joined, tsmith_source *taken);
// The next batch, with ids of `into`; END when there is none left.
tsmith_status joined_next(struct joined *joined, tsmith_dictionary *into, const tsmith_batch **out,
                          tsmith_error *error);

#endif
