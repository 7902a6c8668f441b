// SPDX-License-Identifier: Apache-2.0
// Chooses the lane of its track for a slice, so that on every lane slices are nested or disjoint.
//
// Readers of Chrome's JSON nest the complete events of a thread by their times alone: slices that overlap without
// nesting are drawn wrong, or left out. Batches of a track overlap in time, and a slice often comes after the slices
// inside it; batches are therefore held back up to a limit, and the slices of each track are processed in order.
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
// Drops what is held back; open slices stay known.
void chrome_lanes_drop(struct chrome_lanes *lanes);
void chrome_lanes_finish(struct chrome_lanes *lanes);

#endif
