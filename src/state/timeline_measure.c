// SPDX-License-Identifier: Apache-2.0
// Busy time, depth and gaps. With the starts and the ends of intervals each sorted by itself, the number that
// are open at a time is starts passed minus ends passed; no interval is ever looked at again. An end comes
// before a start at the same time: commands that touch do not run at once.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "state/sweep.h"

static uint64_t order_bits(int64_t time) {
    return (uint64_t)time ^ (uint64_t)1 << 63;
}

// Merges a[0 .. a_count) and what follows it, b_count long; no branch depends on the values.
static void merge(const int64_t *a, size_t a_count, size_t b_count, int64_t *out) {
    const int64_t *b = a + a_count, *a_end = b, *b_end = b + b_count;
    while (a < a_end && b < b_end) {
        bool first = *a <= *b;
        *out++ = first ? *a : *b;
        a += first;
        b += !first;
    }
    memcpy(out, a, (size_t)(a_end - a) * sizeof *a);
    memcpy(out + (a_end - a), b, (size_t)(b_end - b) * sizeof *b);
}

enum { RUNS_MAX = 16 };

// The ascending runs that times consist of: the first of each in `runs`, and `count` behind the last. More than RUNS_MAX
// when there are too many of them to be merged.
static size_t find_runs(const int64_t *times, size_t count, size_t runs[RUNS_MAX + 1]) {
    size_t found = 1;
    runs[0] = 0;
    for (size_t i = 1; i < count; i++) {
        if (times[i - 1] <= times[i])
            continue;
        if (found == RUNS_MAX)
            return RUNS_MAX + 1;
        runs[found++] = i;
    }
    runs[found] = count;
    return found;
}

// Commands of a device are those of a few rows, each sorted: so are their times, mostly.
static void merge_runs(int64_t *times, int64_t *scratch, size_t runs[RUNS_MAX + 1], size_t count) {
    int64_t *from = times, *into = scratch;
    for (; count > 1; count = (count + 1) / 2) {
        for (size_t i = 0; i < count; i += 2) {
            size_t middle = runs[i + 1], end = i + 1 < count ? runs[i + 2] : middle;
            merge(from + runs[i], middle - runs[i], end - middle, into + runs[i]);
            runs[i / 2] = runs[i];
            runs[i / 2 + 1] = end;
        }
        int64_t *swap = from;
        from = into;
        into = swap;
    }
    if (from != times)
        memcpy(times, from, runs[1] * sizeof *times);
}

void sweep_sort(int64_t *times, int64_t *scratch, size_t count) {
    size_t runs[RUNS_MAX + 1];
    size_t found = count ? find_runs(times, count, runs) : 0;
    if (found <= RUNS_MAX) {
        if (found > 1)
            merge_runs(times, scratch, runs, found);
        return;
    }
    uint64_t all = 0;
    for (size_t i = 1; i < count; i++)
        all |= order_bits(times[i]) ^ order_bits(times[0]);
    int64_t *from = times, *into = scratch;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if (!(all >> shift & 0xff))
            continue; // the same byte everywhere
        size_t at[257] = {0};
        for (size_t i = 0; i < count; i++)
            at[(order_bits(from[i]) >> shift & 0xff) + 1]++;
        for (size_t i = 1; i < 257; i++)
            at[i] += at[i - 1];
        for (size_t i = 0; i < count; i++)
            into[at[order_bits(from[i]) >> shift & 0xff]++] = from[i];
        int64_t *swap = from;
        from = into;
        into = swap;
    }
    if (from != times)
        memcpy(times, from, count * sizeof *times);
}

bool sweep_make(struct sweep *sweep, const tsmith_timeline *timeline, const tsmith_row *row, uint32_t works) {
    const tsmith_command *commands = timeline_row_commands(timeline, row);
    size_t bytes = ((size_t)row->command_count + 1) * sizeof(int64_t);
    tsmith_interval window = timeline->window;
    *sweep = (struct sweep){malloc(bytes), malloc(bytes), 0};
    int64_t *scratch = malloc(bytes);
    bool done = sweep->starts && sweep->ends && scratch;
    uint32_t count = works & row->works ? row->command_count : 0;
    for (uint32_t i = 0; done && i < count; i++) {
        const tsmith_command *command = &commands[i];
        int64_t from = command->start > window.from ? command->start : window.from;
        int64_t to = command->end < window.to ? command->end : window.to;
        if (!timeline_runs(command) || !(works >> command->work & 1) || from >= to)
            continue;
        sweep->starts[sweep->count] = from;
        sweep->ends[sweep->count++] = to;
    }
    if (done) {
        sweep_sort(sweep->starts, scratch, sweep->count);
        sweep_sort(sweep->ends, scratch, sweep->count);
    } else {
        sweep_finish(sweep);
    }
    free(scratch);
    return done;
}

void sweep_finish(struct sweep *sweep) {
    free(sweep->starts);
    free(sweep->ends);
    *sweep = (struct sweep){0};
}

static uint32_t find_works(const tsmith_timeline *timeline, const tsmith_row *row) {
    const tsmith_command *commands = timeline_row_commands(timeline, row);
    uint32_t works = 0;
    for (uint32_t i = 0; i < row->command_count; i++)
        if (timeline_runs(&commands[i]) && commands[i].start < timeline->window.to &&
            commands[i].end > timeline->window.from)
            works |= 1u << commands[i].work;
    return works;
}

static tsmith_status measure_row(const tsmith_timeline *timeline, tsmith_row *row) {
    struct sweep sweep;
    if (!sweep_make(&sweep, timeline, row, UINT32_MAX))
        return TSMITH_ERROR_NO_MEMORY;
    uint32_t depth = 0;
    int64_t now = timeline->window.from;
    for (size_t s = 0, e = 0; e < sweep.count;) {
        bool starts = s < sweep.count && sweep.starts[s] < sweep.ends[e];
        int64_t next = starts ? sweep.starts[s] : sweep.ends[e];
        row->busy += depth ? next - now : 0;
        int64_t all;
        if (__builtin_mul_overflow(next - now, (int64_t)depth, &all))
            all = INT64_MAX;
        row->total = sweep_add(row->total, all);
        row->gap_count += starts && !depth && s > 0 && next > now;
        now = next;
        depth += starts ? 1 : UINT32_MAX; // one more or one less
        *(starts ? &s : &e) += 1;
        row->depth_max = depth > row->depth_max ? depth : row->depth_max;
    }
    if (sweep.count) {
        row->first_start = sweep.starts[0];
        row->last_end = sweep.ends[sweep.count - 1];
    }
    sweep_finish(&sweep);
    return TSMITH_OK;
}

tsmith_status timeline_measure(tsmith_timeline *timeline) {
    tsmith_status status = TSMITH_OK;
    for (size_t i = 0; i < timeline->row_count; i++) {
        tsmith_row *row = &timeline->rows[i];
        row->works = find_works(timeline, row);
        timeline->devices[row->device].works |= row->works;
    }
    for (size_t i = 0; status == TSMITH_OK && i < timeline->row_count; i++)
        status = measure_row(timeline, &timeline->rows[i]);
    for (size_t i = 0; status == TSMITH_OK && i < timeline->device_count; i++)
        status = measure_row(timeline, &timeline->devices[i]);
    return status;
}

tsmith_status tsmith_timeline_concurrency(const tsmith_timeline *timeline, const tsmith_row *row,
                                          int64_t **out, size_t *count) {
    struct sweep sweep;
    int64_t *times = calloc((size_t)row->depth_max + 1, sizeof *times);
    if (!times || !sweep_make(&sweep, timeline, row, UINT32_MAX)) {
        free(times);
        return TSMITH_ERROR_NO_MEMORY;
    }
    int64_t now = timeline->window.from;
    for (size_t s = 0, e = 0; e < sweep.count;) {
        bool starts = s < sweep.count && sweep.starts[s] < sweep.ends[e];
        int64_t next = starts ? sweep.starts[s] : sweep.ends[e];
        times[s - e] += next - now;
        now = next;
        *(starts ? &s : &e) += 1;
    }
    times[0] += timeline->window.to - now;
    sweep_finish(&sweep);
    *out = times;
    *count = (size_t)row->depth_max + 1;
    return TSMITH_OK;
}

tsmith_status tsmith_timeline_busy(const tsmith_timeline *timeline, const tsmith_row *row, uint32_t works,
                                   tsmith_interval **out, size_t *count) {
    struct sweep sweep;
    if (!sweep_make(&sweep, timeline, row, works))
        return TSMITH_ERROR_NO_MEMORY;
    void *intervals = NULL;
    size_t capacity = 0, n = 0;
    bool done = array_reserve(&intervals, &capacity, 1, sizeof(tsmith_interval));
    for (size_t s = 0, e = 0; done && e < sweep.count; e++) {
        int64_t from = sweep.starts[e];
        // The interval is over where as many have ended as have started, and the next starts later.
        for (s = e + 1; s < sweep.count && sweep.starts[s] <= sweep.ends[e]; s++, e++)
            continue;
        done = array_reserve(&intervals, &capacity, n + 1, sizeof(tsmith_interval));
        if (done)
            ((tsmith_interval *)intervals)[n++] = (tsmith_interval){from, sweep.ends[e]};
    }
    sweep_finish(&sweep);
    if (!done) {
        free(intervals);
        return TSMITH_ERROR_NO_MEMORY;
    }
    *out = intervals;
    *count = n;
    return TSMITH_OK;
}

int64_t sweep_common(const tsmith_interval *a, size_t a_count, const tsmith_interval *b, size_t b_count) {
    int64_t sum = 0;
    for (size_t i = 0, k = 0; i < a_count && k < b_count;) {
        int64_t from = a[i].from > b[k].from ? a[i].from : b[k].from;
        int64_t to = a[i].to < b[k].to ? a[i].to : b[k].to;
        sum += to > from ? to - from : 0;
        *(a[i].to < b[k].to ? &i : &k) += 1;
    }
    return sum;
}

int64_t sweep_length(const tsmith_interval *intervals, size_t count) {
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += intervals[i].to - intervals[i].from;
    return sum;
}
