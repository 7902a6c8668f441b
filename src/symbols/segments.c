// SPDX-License-Identifier: Apache-2.0
// Finds the innermost of nested address ranges. The readers of ELF symbols, DWARF units and perf maps call it.
#include "symbols/segments.h"

#include <stdlib.h>

#include "base/array.h"

struct open {
    uint64_t end;
    uint32_t value;
};

struct sweep {
    struct symbols_segments *segments;
    struct open *open; // the innermost last
    size_t open_count, open_capacity;
};

bool symbols_ranges_add(struct symbols_ranges *ranges, struct symbols_range range) {
    if (range.start >= range.end)
        return true;
    if (!ARRAY_RESERVE(ranges->items, ranges->capacity, ranges->count + 1))
        return false;
    ranges->items[ranges->count++] = range;
    return true;
}

static int compare(const void *left, const void *right) {
    const struct symbols_range *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return (a->value > b->value) - (a->value < b->value);
}

static bool emit_segment(struct symbols_segments *segments, uint64_t start, uint32_t value) {
    struct symbols_segment *last = segments->count ? &segments->items[segments->count - 1] : NULL;
    if (last && last->start == start) {
        last->value = value;
        return true;
    }
    if (last ? last->value == value : value == 0)
        return true;
    if (!ARRAY_RESERVE(segments->items, segments->capacity, segments->count + 1))
        return false;
    segments->items[segments->count++] = (struct symbols_segment){start, value};
    return true;
}

// Ends what ends at `at` or before it.
static bool close_until(struct sweep *sweep, uint64_t at) {
    while (sweep->open_count && sweep->open[sweep->open_count - 1].end <= at) {
        uint64_t end = sweep->open[--sweep->open_count].end;
        while (sweep->open_count && sweep->open[sweep->open_count - 1].end <= end)
            sweep->open_count--;
        uint32_t outer = sweep->open_count ? sweep->open[sweep->open_count - 1].value : 0;
        if (!emit_segment(sweep->segments, end, outer))
            return false;
    }
    return true;
}

bool symbols_segments_build(struct symbols_segments *segments, struct symbols_ranges *ranges) {
    struct sweep sweep = {.segments = segments};
    bool ok = true;
    if (ranges->count)
        qsort(ranges->items, ranges->count, sizeof *ranges->items, compare);
    for (size_t i = 0; ok && i < ranges->count; i++) {
        const struct symbols_range *range = &ranges->items[i];
        ok = close_until(&sweep, range->start) && emit_segment(segments, range->start, range->value) &&
             ARRAY_RESERVE(sweep.open, sweep.open_capacity, sweep.open_count + 1);
        if (ok)
            sweep.open[sweep.open_count++] = (struct open){range->end, range->value};
    }
    ok = ok && close_until(&sweep, UINT64_MAX);
    free(sweep.open);
    return ok;
}

uint32_t symbols_segments_find(const struct symbols_segments *segments, uint64_t address) {
    size_t first = 0, count = segments->count;
    if (!count || address < segments->items[0].start)
        return 0;
    while (count > 1) {
        size_t half = count / 2;
        bool above = segments->items[first + half].start <= address;
        first += above ? half : 0;
        count -= above ? half : count - half;
    }
    return segments->items[first].value;
}

void symbols_segments_finish(struct symbols_segments *segments) {
    free(segments->items);
    *segments = (struct symbols_segments){0};
}
