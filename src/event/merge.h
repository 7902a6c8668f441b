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
    // A part of one trace: entries that are chosen (merge_choose), and of strings and call stacks those that they and the batches
    // refer to. Entries that look equal are different objects.
    MERGE_USED,
};

enum merge_table {
#define MERGE_TABLE(name, type) MERGE_TABLE_##name,
    TSMITH_DICTIONARY_TABLES(MERGE_TABLE)
#undef MERGE_TABLE
};

struct merge;

// `into` stays the caller's, and no other thread adds to it meanwhile. NULL when memory is exhausted.
struct merge *merge_create(tsmith_dictionary *into, enum merge_entries entries);
void merge_destroy(struct merge *merge);

// For MERGE_PARTS, before the first call of merge_take: a device of `into` that is on the machine of what is taken. One with the same
// identity is the same device. False when memory is exhausted.
bool merge_share_device(struct merge *merge, uint32_t device);

// For MERGE_USED, before merge_take, which is called once: `from`, to which nothing is added any more, and whether an entry of it
// is taken. Stacks, frames and their names are not asked for. False when memory is exhausted.
typedef bool merge_chooses(void *context, enum merge_table table, uint32_t id);
bool merge_choose(struct merge *merge, const tsmith_dictionary *from, merge_chooses *chooses, void *context);

// Takes the entries that were added to `from`, always the same dictionary, since the last call.
tsmith_status merge_take(struct merge *merge, const tsmith_dictionary *from);
// A batch of `from`, whose entries were taken, with ids of `into`. Lives until the next call.
tsmith_status merge_batch(struct merge *merge, const tsmith_batch *batch, const tsmith_batch **out);

#endif
