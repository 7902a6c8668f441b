// SPDX-License-Identifier: Apache-2.0
// Bringing what refers to one dictionary into another: entries are added or found there, and batches get its ids.
#ifndef EVENT_MERGE_H
#define EVENT_MERGE_H

#include "tracesmith/batch.h"
#include "tracesmith/dictionary.h"

enum merge_entries {
    // Two views of the same recording: an entry that is there already is meant. Where several are equal, the first of
    // one is the first of the other, and so on.
    MERGE_EQUAL,
    // Two recordings: what looks the same (process 4711 of two machines) is not. Strings and fields are shared.
    MERGE_APART,
    // The same machine at the same time, seen by another: a process of the same number, and a thread of it, are the ones
    // that are there, the last if there are several. The rest is apart; attributes are left where they are.
    MERGE_SAME_PROCESSES,
};

struct merge;

// `into` stays the caller's, and no other thread adds to it meanwhile. NULL when memory is exhausted.
struct merge *merge_create(tsmith_dictionary *into, enum merge_entries entries);
void merge_destroy(struct merge *merge);

// Takes in what `from`, always the same one, has got since the last call.
tsmith_status merge_take(struct merge *merge, const tsmith_dictionary *from);
// The batch, of `from` as it was taken in last, with ids of `into`. Lives until the next call.
tsmith_status merge_batch(struct merge *merge, const tsmith_batch *batch, const tsmith_batch **out);

#endif
