// SPDX-License-Identifier: Apache-2.0
// The events of a trace as markers of the Firefox Profiler, one list for each track.
#ifndef EXPORT_FIREFOX_MARKERS_H
#define EXPORT_FIREFOX_MARKERS_H

#include <stdbool.h>

#include "base/table.h"
#include "export/json_out.h"
#include "tracesmith/batch.h"

struct marker {
    int64_t start, duration;     // duration -1: an instant
    uint64_t correlation, bytes; // of a loss: how many events, and the reason
    uint32_t name;
    uint8_t kind;
    bool has_correlation, has_bytes;
};

struct markers_track {
    struct marker *items;
    size_t count, capacity;
};

// Zero-initialized, it is empty.
struct markers {
    struct markers_track *tracks; // by id
    size_t track_capacity;
    int64_t first; // the earliest start; only if there is a marker
    bool any;
};

// False when memory is exhausted.
bool markers_add(struct markers *markers, const tsmith_batch *batch);
void markers_finish(struct markers *markers);

// Milliseconds with six decimals.
void markers_put_ms(struct output *output, uint64_t ns);
// The members "markers" and "stringArray" of a thread. False when memory is exhausted.
bool markers_put(const struct markers *markers, const struct markers_track *track,
                 const tsmith_dictionary *dictionary, struct json_out *json);
// The elements of "markerSchema": one for each kind of events.
void markers_put_schema(struct output *output);

#endif
