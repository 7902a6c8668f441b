// SPDX-License-Identifier: Apache-2.0
// A union of intervals that come in batches. src/collect/live_totals.c calls it.
#include "collect/live_busy.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"

// Joins those that touch; how many are left.
static size_t join(struct live_span *spans, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (spans[i].to <= spans[i].from)
            continue;
        if (kept && spans[i].from <= spans[kept - 1].to)
            spans[kept - 1].to = spans[i].to > spans[kept - 1].to ? spans[i].to : spans[kept - 1].to;
        else
            spans[kept++] = spans[i];
    }
    return kept;
}

static int64_t cut_settled(const struct live_busy *busy, struct live_span *spans, size_t count) {
    int64_t late = 0;
    for (size_t i = 0; busy->has_settled && i < count && spans[i].from < busy->settled_until; i++) {
        const int64_t to = spans[i].to < busy->settled_until ? spans[i].to : busy->settled_until;
        late += to > spans[i].from ? to - spans[i].from : 0;
        spans[i].from = to;
    }
    return late;
}

static void settle_half(struct live_busy *busy) {
    const size_t half = busy->count / 2;
    for (size_t i = 0; i < half; i++)
        busy->settled += busy->spans[i].to - busy->spans[i].from;
    for (size_t i = 0; i < half; i++)
        busy->listed -= busy->spans[i].to - busy->spans[i].from;
    busy->settled_until = busy->spans[half - 1].to;
    busy->has_settled = true;
    busy->count -= half;
    memmove(busy->spans, busy->spans + half, busy->count * sizeof *busy->spans);
}

// The first that ends at or after `time`: those before it are apart from all that begins there.
static size_t find(const struct live_busy *busy, int64_t time) {
    return SORTED_FIND(i, 0, busy->count, busy->spans[i].to < time);
}

int64_t live_busy_add(struct live_busy *busy, struct live_span *spans, size_t count, bool *failed) {
    const int64_t late = cut_settled(busy, spans, count);
    count = join(spans, count);
    if (!count)
        return late;
    if (!ARRAY_RESERVE(busy->spans, busy->capacity, busy->count + count)) {
        *failed = true;
        return late;
    }
    // Merges from behind into the room at the end.
    const size_t first = find(busy, spans[0].from);
    size_t ours = busy->count, theirs = count, at = busy->count + count;
    for (size_t i = first; i < busy->count; i++)
        busy->listed -= busy->spans[i].to - busy->spans[i].from;
    while (theirs) {
        if (ours > first && busy->spans[ours - 1].from > spans[theirs - 1].from)
            busy->spans[--at] = busy->spans[--ours];
        else
            busy->spans[--at] = spans[--theirs];
    }
    busy->count = first + join(busy->spans + first, busy->count + count - first);
    for (size_t i = first; i < busy->count; i++)
        busy->listed += busy->spans[i].to - busy->spans[i].from;
    if (busy->count > LIVE_SPANS_MOST)
        settle_half(busy);
    return late;
}

int64_t live_busy_within(const struct live_busy *busy, int64_t from, int64_t to) {
    int64_t sum = 0;
    for (size_t i = find(busy, from); i < busy->count && busy->spans[i].from < to; i++) {
        const int64_t begin = busy->spans[i].from > from ? busy->spans[i].from : from;
        const int64_t end = busy->spans[i].to < to ? busy->spans[i].to : to;
        sum += end > begin ? end - begin : 0;
    }
    return sum;
}

void live_busy_finish(struct live_busy *busy) {
    free(busy->spans);
    *busy = (struct live_busy){0};
}
