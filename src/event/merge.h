// SPDX-License-Identifier: Apache-2.0
// Converts batches of one dictionary to another: entries are added to it or found in it, and batches get its ids.
#ifndef EVENT_MERGE_H
#define EVENT_MERGE_H

#include <stdbool.h>

#include "tracesmith/batch.h"
#include "tracesmith/dictionary.h"

enum merge_entries {
    // Two views of one recording: equal entries are the same object. Of several equal ones, the first of one dictionary is the
    // first of the other, and so on.
    MERGE_EQUAL,
    // Two recordings: entries that look equal (process 4711 of two machines) are different objects. Strings and fields are shared.
    MERGE_APART,
    // Two recordings of one machine at the same time: processes with the same id, and their threads, are the same objects; of
    // several, the last. Other entries are different objects. Attributes are not copied.
    MERGE_SAME_PROCESSES,
    // Parts of one trace: as MERGE_APART, but ranks are not copied, and of attributes only identities of devices.
    MERGE_PARTS,
};

struct merge;

// `into` stays the caller's, and no other thread adds to it meanwhile. NULL when memory is exhausted.
struct merge *merge_create(tsmith_dictionary *into, enum merge_entries entries);
void merge_destroy(struct merge *merge);

// For MERGE_PARTS, before the first call of merge_take: a device of `into` that is on the machine of what is taken. One with the same
// identity is the same device. False when memory is exhausted.
bool merge_share_device(struct merge *merge, uint32_t device);

// Takes the entries that were added to `from`, always the same dictionary, since the last call.
tsmith_status merge_take(struct merge *merge, const tsmith_dictionary *from);
// A batch of `from`, whose entries were taken, with ids of `into`. Lives until the next call.
tsmith_status merge_batch(struct merge *merge, const tsmith_batch *batch, const tsmith_batch **out);

#endif
