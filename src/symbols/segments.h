// SPDX-License-Identifier: Apache-2.0
// Finds the range of an address among many ranges that may be nested: they are flattened once into pieces that do not
// overlap, then found by binary search.
#ifndef SYMBOLS_SEGMENTS_H
#define SYMBOLS_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols_range {
    uint64_t start, end; // end: the first address behind it
    uint32_t value;      // not 0
    uint32_t depth;      // of two that start together, the deeper is inside
};

struct symbols_ranges {
    struct symbols_range *items;
    size_t count, capacity;
};

// Up to where the next one starts.
struct symbols_segment {
    uint64_t start;
    uint32_t value; // 0: no range is here
};

// A zeroed struct has no segments.
struct symbols_segments {
    struct symbols_segment *items;
    size_t count, capacity;
};

// Nothing for an empty range. False when memory is exhausted.
bool symbols_ranges_add(struct symbols_ranges *ranges, struct symbols_range range);
// Sorts the ranges. Where two cross, the one that starts later has what both have. False when memory is exhausted.
bool symbols_segments_build(struct symbols_segments *segments, struct symbols_ranges *ranges);
// The value of the innermost range at the address; 0 when there is none.
uint32_t symbols_segments_find(const struct symbols_segments *segments, uint64_t address);
void symbols_segments_finish(struct symbols_segments *segments);

#endif
