// SPDX-License-Identifier: Apache-2.0
// What the parts of the exporter of Chrome's JSON share.
#ifndef EXPORT_CHROME_CHROME_H
#define EXPORT_CHROME_CHROME_H

#include "export/chrome/lanes.h"
#include "export/json_out.h"
#include "export/origin.h"

enum place {
    PLACE_NOWHERE,  // printed by itself, or not at all
    PLACE_ARGUMENT, // in "args"
    PLACE_EVENT,    // a key of the event
    PLACE_END       // an argument of the end of a begin/end pair
};

struct plan {
    tsmith_view column;
    enum place place;
    bool json;
    bool quotient; // its value is bytes / duration
    char *key;     // `"name":`, quoted and escaped
    size_t key_length;
};

// The place of events: `"pid":1,"tid":2`, of the track itself and of its further lanes.
struct chrome_track {
    char *text; // NULL: not asked for yet
    char (*lanes)[48];
    size_t lane_count, lane_capacity;
};

struct chrome {
    struct output output;
    struct output text; // for chrome_text
    struct json_out json;
    bool started, any;
    bool producer; // its first key names TraceSmith as the producer
    bool stacks;   // the file gets stackFrames
    struct origin origin;
    char separator;              // before the next key of the event being written
    struct chrome_track *tracks; // by id
    size_t track_capacity;
    uint32_t lane_numbers; // given to lanes so far
    struct chrome_lanes lanes;
    struct plan *plans;
    size_t plan_count, plan_capacity;
    // Columns of the batch by what they mean; NULL when it has none.
    const struct plan *start, *duration, *kind, *name, *category, *correlation, *bytes, *ph, *raw, *flow,
        *flow_id, *stack;
    const struct plan *time_text, *time_rest, *duration_text, *duration_rest, *args, *instant_scope;
    const struct plan *global[3], *local[3];
    const tsmith_dictionary *dictionary; // of the call
    uint32_t track, lane;                // of the row
};

// An empty output to make a text in, until the next call. It has no target: at most OUTPUT_SIZE bytes.
static inline struct output *chrome_text(struct chrome *chrome) {
    chrome->text.used = 0;
    return &chrome->text;
}

static inline void chrome_begin(struct chrome *chrome) {
    output_text(&chrome->output, chrome->any ? ",\n" : "\n");
    chrome->any = true;
    chrome->separator = '{';
}

// ---- import/chrome/tracks.c

// The place of the track's lane; "" if its events had none. Valid until the next call.
const char *chrome_place(struct chrome *chrome, uint32_t id, uint32_t lane);
// Names of processes and threads of a trace of our own, and the order of these when tracks have lanes.
void chrome_put_names(struct chrome *chrome);
void chrome_finish_tracks(struct chrome *chrome);

#endif
