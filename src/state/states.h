// SPDX-License-Identifier: Apache-2.0
// The inside of states (tracesmith/states.h): lives of commands first (lives.c), then the segments of rows from the
// lives (states_row.c), then those of devices from their rows'.
//
// What a queue does when nothing of it runs is what the command does that starts next: the head of the line. Before
// that one is enqueued, it is what the one enqueued first does (they differ in an out-of-order queue only).
#ifndef STATE_STATES_H
#define STATE_STATES_H

#include "state/graph.h"
#include "state/timeline.h"
#include "tracesmith/states.h"

struct tsmith_states {
    const tsmith_timeline *timeline;
    const tsmith_graph *graph;
    tsmith_life *lives;
    tsmith_segment *segments; // of all rows, then of all devices
    size_t segment_count, segment_capacity;
    size_t *first; // by row, then device: of its segments; one more at the end
};

// tsmith_states_create; with `devices_only` the rows have no segments, which is most of the memory.
tsmith_status states_create(const tsmith_timeline *timeline, const tsmith_graph *graph, bool devices_only,
                            tsmith_states **out, tsmith_error *error);
tsmith_status states_make_lives(tsmith_states *states);
// Appends a row's segments. `latency` is the median time of the device's commands from being free to run to the start.
tsmith_status states_add_row(tsmith_states *states, const tsmith_row *row, int64_t latency);

// Appends [from, to) in a state, joined with the segment before where they are alike. `first` is the index of the
// row's first segment. Nothing for an empty stretch.
tsmith_status states_append(tsmith_states *states, size_t first, int64_t from, int64_t to, tsmith_state state,
                            uint32_t command);

#endif
