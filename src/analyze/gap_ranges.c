// SPDX-License-Identifier: Apache-2.0
// Per device one pass over its commands in the order of their start, and one over the ranges and calls of each
// thread: gaps only come later and later.
#include "analyze/gap_ranges.h"

#include <stdlib.h>

#include "analyze/host_calls.h"
#include "analyze/time_order.h"
#include "base/array.h"

enum { DEVICES_MOST = 64 }; // each is a pass over the ranges

// Where the pass over a thread is.
struct pass {
    uint32_t next; // range that has not begun
    uint32_t
        *stack; // ranges that have begun, the innermost last; ended ones may be below one that has not ended
    size_t count, capacity;
    size_t call; // of the thread's outermost calls, the first that may not have ended
};

struct sum {
    int64_t time, longest;
    uint64_t count;
    uint32_t last, around; // range counted last; key around the longest stretch, or TSMITH_INDEX_NONE
};

struct search {
    const tsmith_timeline *timeline;
    const struct ranges *ranges;
    struct host_calls calls;
    struct pass *passes; // by thread
    struct sum *sums;    // by key
    uint32_t *touched;   // keys that have a sum
    size_t touched_count;
    bool failed;
};

// ---- one stretch

// ns of [from, to) that the thread was in no call; stretches of a thread come one after the other.
static int64_t outside_calls(struct search *search, struct pass *pass, uint32_t thread, int64_t from,
                             int64_t to) {
    const struct host_calls *calls = &search->calls;
    const tsmith_call *all = search->timeline->calls;
    int64_t time = to - from;
    while (pass->call < calls->first[thread + 1] && all[calls->outermost[pass->call]].end <= from)
        pass->call++;
    for (size_t i = pass->call; i < calls->first[thread + 1]; i++) {
        const tsmith_call *call = &all[calls->outermost[i]];
        if (call->start >= to)
            break;
        int64_t begin = call->start > from ? call->start : from, end = call->end < to ? call->end : to;
        time -= end > begin ? end - begin : 0;
    }
    return time;
}

// The innermost range of the pass has [from, to) to itself.
static void add_stretch(struct search *search, struct pass *pass, const struct range_track *track,
                        uint32_t thread, int64_t from, int64_t to) {
    if (from >= to || !pass->count)
        return;
    uint32_t index = pass->stack[pass->count - 1], key = track->items[index].key;
    struct sum *sum = &search->sums[key];
    int64_t time = outside_calls(search, pass, thread, from, to);
    if (time <= 0)
        return;
    if (!sum->count)
        search->touched[search->touched_count++] = key;
    sum->count += !sum->count || sum->last != index;
    sum->last = index;
    sum->time += time;
    if (time > sum->longest) {
        sum->longest = time;
        sum->around = pass->count > 1 ? track->items[pass->stack[pass->count - 2]].key : TSMITH_INDEX_NONE;
    }
}

static void begin_range(struct search *search, struct pass *pass) {
    if (!ARRAY_RESERVE(pass->stack, pass->capacity, pass->count + 1)) {
        search->failed = true;
        return;
    }
    pass->stack[pass->count++] = pass->next;
}

// Advances the thread's pass to `to`, and adds up the ranges from `from` on.
static void advance_thread(struct search *search, uint32_t thread, int64_t from, int64_t to) {
    struct pass *pass = &search->passes[thread];
    const struct range_track *track = &search->ranges->tracks[search->ranges->of_thread[thread]];
    int64_t now = from;
    for (;;) {
        bool begins = pass->next < track->count && track->items[pass->next].start < to;
        int64_t until = begins ? track->items[pass->next].start : to;
        while (pass->count && track->items[pass->stack[pass->count - 1]].end <= until) {
            int64_t end = track->items[pass->stack[pass->count - 1]].end;
            add_stretch(search, pass, track, thread, now, end);
            now = end > now ? end : now;
            pass->count--;
        }
        add_stretch(search, pass, track, thread, now, until);
        now = until > now ? until : now;
        if (!begins || search->failed)
            return;
        begin_range(search, pass);
        pass->next++;
    }
}

static void add_gap(struct search *search, uint32_t thread, int64_t from, int64_t to) {
    const tsmith_interval window = search->timeline->window;
    from = from > window.from ? from : window.from;
    to = to < window.to ? to : window.to;
    if (from < to && thread != TSMITH_INDEX_NONE && search->ranges->of_thread[thread] != TSMITH_INDEX_NONE)
        advance_thread(search, thread, from, to);
}

// ---- the most of it

static void take_most(struct search *search, struct gap_range most[GAP_RANGES]) {
    for (size_t i = 0; i < search->touched_count; i++) {
        uint32_t key = search->touched[i];
        const struct sum sum = search->sums[key];
        struct gap_range one = {range_key_name(search->ranges, key),
                                sum.around == TSMITH_INDEX_NONE ? 0
                                                                : range_key_name(search->ranges, sum.around),
                                sum.count, sum.time};
        for (int k = 0; k < GAP_RANGES; k++)
            if (one.time > most[k].time) {
                struct gap_range held = most[k];
                most[k] = one;
                one = held;
            }
        search->sums[key] = (struct sum){0};
    }
    search->touched_count = 0;
}

static void begin_passes(struct search *search) {
    for (size_t i = 0; i < search->timeline->thread_count; i++) {
        search->passes[i].next = 0;
        search->passes[i].count = 0;
        search->passes[i].call = search->calls.first[i];
    }
}

static bool search_device(struct search *search, const tsmith_row *device,
                          struct gap_ranges_of_device *found) {
    struct time_order order;
    if (!time_order_begin(&order, search->timeline, device->first_row, device->row_count))
        return false;
    int64_t busy_until = search->timeline->window.from;
    bool started = false;
    begin_passes(search);
    for (uint32_t i; (i = time_order_next(&order)) != TSMITH_INDEX_NONE && !search->failed;) {
        const tsmith_command *command = &search->timeline->commands[i];
        if (!timeline_runs(command))
            continue;
        if (command->start > busy_until)
            add_gap(search, command->thread, busy_until, command->start);
        if (!started)
            take_most(search, found->startup);
        started = true;
        busy_until = command->end > busy_until ? command->end : busy_until;
    }
    take_most(search, found->gaps);
    time_order_finish(&order);
    return !search->failed;
}

bool gap_ranges_make(struct gap_ranges *gaps, const tsmith_timeline *timeline, const struct ranges *ranges) {
    struct search search = {.timeline = timeline, .ranges = ranges};
    int64_t busiest = 0;
    size_t searched = 0;
    if (!ranges->count || !timeline->device_count)
        return true;
    gaps->devices = calloc(timeline->device_count, sizeof *gaps->devices);
    search.passes = calloc(timeline->thread_count + 1, sizeof *search.passes);
    search.sums = calloc(ranges->keys.count + 1, sizeof *search.sums);
    search.touched = malloc((ranges->keys.count + 1) * sizeof *search.touched);
    bool done = gaps->devices && search.passes && search.sums && search.touched &&
                host_calls_init(&search.calls, timeline);
    for (size_t i = 0; i < timeline->device_count; i++)
        busiest = timeline->devices[i].busy > busiest ? timeline->devices[i].busy : busiest;
    for (size_t i = 0; i < timeline->device_count && done && searched < DEVICES_MOST; i++) {
        if (busiest == 0 || timeline->devices[i].busy < busiest / 2)
            continue;
        done = search_device(&search, &timeline->devices[i], &gaps->devices[i]);
        searched++;
    }
    for (size_t i = 0; search.passes && i < timeline->thread_count; i++)
        free(search.passes[i].stack);
    host_calls_finish(&search.calls);
    free(search.passes);
    free(search.sums);
    free(search.touched);
    return done;
}

void gap_ranges_finish(struct gap_ranges *gaps) {
    free(gaps->devices);
    *gaps = (struct gap_ranges){0};
}
