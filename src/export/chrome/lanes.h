// SPDX-License-Identifier: Apache-2.0
// On which lane of its track a slice goes, so that on every lane slices lie within one another or apart.
//
// Readers of Chrome's JSON nest the complete events of a thread by their times alone: what overlaps without lying within
// the other is drawn wrong, or left out. Batches of a track overlap in time, and a slice is often told after those within
// it; so batches wait until there is much of them, and the slices of each track are looked at in order.
#ifndef EXPORT_CHROME_LANES_H
#define EXPORT_CHROME_LANES_H

#include "export/order.h"
#include "tracesmith/view.h"

enum { LANE_NONE = UINT32_MAX }; // there are too many that overlap

// A copy of a batch, and the lane of each row.
struct held_batch {
    tsmith_batch *batch;
    uint32_t *lanes; // NULL: every row is on the track itself, lane 0
    size_t order;    // in which it came
};

struct chrome_lanes {
    struct held_batch *held;
    size_t count, capacity, bytes;
    struct lane_track *tracks; // by id: what is open
    size_t track_capacity;
    struct waiting *waiting;
    size_t waiting_capacity;
    struct waiting_scratch sorting;
};

// Copies the batch. False when memory is exhausted.
bool chrome_lanes_hold(struct chrome_lanes *lanes, const tsmith_batch *batch);
bool chrome_lanes_full(const struct chrome_lanes *lanes);
// Gives all rows of what is held their lanes and brings the batches of each track together. False when memory is
// exhausted.
bool chrome_lanes_assign(struct chrome_lanes *lanes);
// Gives up what is held; what is open stays known.
void chrome_lanes_drop(struct chrome_lanes *lanes);
void chrome_lanes_finish(struct chrome_lanes *lanes);

#endif
