// SPDX-License-Identifier: Apache-2.0
// The union of the compilations of each process. `idle` uses it.
#include "analyze/compile_times.h"

#include <stdlib.h>

#include "base/sorted.h"

static int compare(const void *left, const void *right) {
    const struct compile_time *a = left, *b = right;
    return a->process != b->process ? (a->process > b->process) - (a->process < b->process)
                                    : (a->from > b->from) - (a->from < b->from);
}

static void merge(struct compile_times *times) {
    size_t count = 0;
    for (size_t i = 0; i < times->count; i++) {
        struct compile_time *last = count ? &times->items[count - 1] : NULL;
        const struct compile_time next = times->items[i];
        if (last && last->process == next.process && next.from <= last->to)
            last->to = next.to > last->to ? next.to : last->to;
        else
            times->items[count++] = next;
    }
    times->count = count;
}

bool compile_times_init(struct compile_times *times, const tsmith_timeline *timeline) {
    size_t count = 0;
    for (size_t i = 0; i < timeline->call_count; i++)
        count += timeline->calls[i].role == TSMITH_CALL_COMPILE;
    if (count == 0)
        return true;
    times->items = malloc(count * sizeof *times->items);
    if (!times->items)
        return false;
    for (size_t i = 0; i < timeline->call_count; i++) {
        const tsmith_call *call = &timeline->calls[i];
        if (call->role == TSMITH_CALL_COMPILE)
            times->items[times->count++] =
                (struct compile_time){timeline->threads[call->thread].process, call->start, call->end};
    }
    qsort(times->items, times->count, sizeof *times->items, compare);
    merge(times);
    return true;
}

void compile_times_finish(struct compile_times *times) {
    free(times->items);
    *times = (struct compile_times){0};
}

int64_t compile_times_covered(const struct compile_times *times, uint32_t process, int64_t from, int64_t to) {
    const struct compile_time *items = times->items;
    size_t at =
        SORTED_FIND(i, 0, times->count,
                    items[i].process < process || (items[i].process == process && items[i].to <= from));
    int64_t sum = 0;
    for (; process && at < times->count && items[at].process == process && items[at].from < to; at++)
        sum += (items[at].to < to ? items[at].to : to) - (items[at].from > from ? items[at].from : from);
    return sum;
}
