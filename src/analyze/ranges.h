// SPDX-License-Identifier: Apache-2.0
// What the host was doing when it launched something: the ranges of its threads (operators of a framework,
// annotations of the program, frames of an interpreter) around the launching calls. 24 bytes per range.
//
// A range encloses a moment t when start <= t < end, on the same track. Enclosing ranges are ordered by start, then
// the longer first, then by the order in which they were recorded: the last of them is the innermost. Ranges may
// overlap without nesting.
#ifndef ANALYZE_RANGES_H
#define ANALYZE_RANGES_H

#include <stdbool.h>

#include "analyze/tally.h"
#include "state/timeline.h"

// RANGE_PROFILER: the span of the profiler's own recording.
enum range_class { RANGE_USER, RANGE_OPERATOR, RANGE_FRAME, RANGE_PROFILER };

struct range {
    int64_t start, end;
    uint32_t key;    // of ranges.keys
    uint32_t parent; // the innermost of its track when it began, or TSMITH_INDEX_NONE; may have ended since
};

struct range_track {
    uint32_t track;
    struct range *items; // in the order above, once finished
    size_t count, capacity;
    size_t first; // number of its first range among all of all tracks
    bool unsorted;
};

struct ranges {
    struct range_track *tracks;
    size_t track_count, track_capacity;
    uint32_t *of_track; // by dictionary track: index + 1
    size_t of_track_count;
    struct tally keys;   // name << 32 | category
    size_t count;        // of all tracks, once finished
    uint32_t *of_thread; // by thread of the timeline: index of its track, or TSMITH_INDEX_NONE
    uint32_t *of_call;   // by call: the innermost range of its track around its begin, or TSMITH_INDEX_NONE
};

// Takes the ranges of a batch. False when memory is exhausted.
bool ranges_add(struct ranges *ranges, const tsmith_dictionary *dictionary, const tsmith_batch *batch);
// Sorts, and finds the innermost range of every call that launched something.
bool ranges_make(struct ranges *ranges, const tsmith_timeline *timeline);
void ranges_finish(struct ranges *ranges);

static inline uint32_t range_key_name(const struct ranges *ranges, uint32_t key) {
    return (uint32_t)(ranges->keys.keys[key] >> 32);
}
static inline uint32_t range_key_category(const struct ranges *ranges, uint32_t key) {
    return (uint32_t)ranges->keys.keys[key];
}
enum range_class range_key_class(const struct ranges *ranges, const tsmith_dictionary *dictionary,
                                 uint32_t key);

// Goes through the ranges around the call that launched a command, from the innermost out:
//     for (struct range_walk walk = range_walk_begin(...); walk.at; range_walk_next(&walk)) use walk.at
struct range_walk {
    const struct range_track *track;
    const struct range *at; // NULL: no more
    int64_t time;
};
struct range_walk range_walk_begin(const struct ranges *ranges, const tsmith_timeline *timeline,
                                   const tsmith_command *command);
void range_walk_next(struct range_walk *walk);

#endif
