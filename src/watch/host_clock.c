// SPDX-License-Identifier: Apache-2.0
// Between two comparisons a clock ran evenly; what was compared later than a time it shows again (a clock that was set
// back) is left out.
#include "watch/host_clock.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/sorted.h"

void host_clock_finish(struct host_clock *clock) {
    free(clock->pairs);
    *clock = (struct host_clock){0};
}

bool host_clock_add(struct host_clock *clock, int64_t clock_time, int64_t trace_time) {
    const tsmith_clock_pair *last = clock->count ? &clock->pairs[clock->count - 1] : NULL;
    if (last && (clock_time <= last->clock_time || trace_time <= last->trace_time))
        return true;
    if (!ARRAY_RESERVE(clock->pairs, clock->capacity, clock->count + 1))
        return false;
    clock->pairs[clock->count++] = (tsmith_clock_pair){.clock_time = clock_time, .trace_time = trace_time};
    return true;
}

// Whether a comparison is of the clock of this name of this machine.
static bool is_of(const tsmith_dictionary *dictionary, const tsmith_clock_pair *pair, const char *name) {
    const tsmith_clock *of = tsmith_dictionary_clock(dictionary, pair->clock);
    return of && !of->process && !of->device &&
           strcmp(tsmith_dictionary_string(dictionary, of->name).bytes, name) == 0;
}

// Comparisons taken while this machine was busy are loose: those that are several times as loose as the best would
// only distort the times between them.
bool host_clock_read(struct host_clock *clock, const tsmith_dictionary *dictionary, const char *name) {
    enum { LOOSEST = 4 };
    const uint32_t count = tsmith_dictionary_clock_pair_count(dictionary);
    int64_t least = INT64_MAX / LOOSEST;
    for (uint32_t i = 1; i < count; i++) {
        const tsmith_clock_pair *pair = tsmith_dictionary_clock_pair(dictionary, i);
        if (is_of(dictionary, pair, name) && pair->error < least)
            least = pair->error > 0 ? pair->error : 1;
    }
    bool room = true;
    for (uint32_t i = 1; room && i < count; i++) {
        const tsmith_clock_pair *pair = tsmith_dictionary_clock_pair(dictionary, i);
        if (is_of(dictionary, pair, name) && pair->error <= least * LOOSEST)
            room = host_clock_add(clock, pair->clock_time, pair->trace_time);
    }
    return room;
}

bool host_clock_add_now(struct host_clock *clock, clockid_t id) {
    enum { ATTEMPTS = 16 };
    int64_t best = INT64_MAX, clock_time = 0, trace_time = 0;
    for (int i = 0; i < ATTEMPTS; i++) {
        const int64_t before = clock_trace_now(), there = clock_now(id), after = clock_trace_now();
        if (after - before < best) {
            best = after - before;
            clock_time = there;
            trace_time = before + best / 2;
        }
    }
    return host_clock_add(clock, clock_time, trace_time);
}

int64_t host_clock_convert(const struct host_clock *clock, int64_t clock_time) {
    const tsmith_clock_pair *pairs = clock->pairs;
    if (clock->count == 0)
        return clock_time;
    if (clock->count == 1)
        return pairs->trace_time + (clock_time - pairs->clock_time);
    const size_t at = SORTED_FIND(i, 1, clock->count - 1, pairs[i].clock_time <= clock_time) - 1;
    const __int128 rise = pairs[at + 1].trace_time - pairs[at].trace_time,
                   run = pairs[at + 1].clock_time - pairs[at].clock_time;
    return pairs[at].trace_time + (int64_t)((clock_time - pairs[at].clock_time) * rise / run);
}

bool host_clock_find(const struct host_clock *clock, uint64_t clock_time, int64_t *trace_time) {
    if (clock->count < 2 || clock_time > INT64_MAX)
        return false;
    const int64_t first = clock->pairs->clock_time, last = clock->pairs[clock->count - 1].clock_time,
                  at = (int64_t)clock_time;
    if (at < first - (last - first) || at > last)
        return false;
    *trace_time = host_clock_convert(clock, at);
    return true;
}
