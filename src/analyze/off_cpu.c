// SPDX-License-Identifier: Apache-2.0
// A thread is in one period at a time, so those of a track are disjoint, and sorted by start they are sorted by end.
#include "analyze/off_cpu.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/sorted.h"
#include "tracesmith/view.h"

void off_cpu_finish(struct off_cpu *off) {
    free(off->periods);
    free(off->reasons);
    stack_places_finish(&off->places);
    *off = (struct off_cpu){0};
}

bool off_cpu_take(struct off_cpu *off, const tsmith_batch *batch) {
    enum { KIND, START, DURATION, WOKEN, OPERATION, NAME, WAKER, STACK, WAKER_STACK, FIELDS };
    static const uint32_t fields[FIELDS] = {[KIND] = TSMITH_FIELD_KIND,
                                            [START] = TSMITH_FIELD_START,
                                            [DURATION] = TSMITH_FIELD_DURATION,
                                            [WOKEN] = TSMITH_FIELD_WOKEN,
                                            [OPERATION] = TSMITH_FIELD_OPERATION,
                                            [NAME] = TSMITH_FIELD_NAME,
                                            [WAKER] = TSMITH_FIELD_WAKER,
                                            [STACK] = TSMITH_FIELD_STACK,
                                            [WAKER_STACK] = TSMITH_FIELD_WAKER_STACK};
    tsmith_view views[FIELDS];
    tsmith_view_batch(batch, fields, FIELDS, views);
    const uint8_t *kinds = tsmith_view_every(&views[KIND]);
    const int64_t *starts = tsmith_view_every(&views[START]);
    for (uint32_t row = 0; kinds && starts && row < tsmith_batch_count(batch); row++) {
        int64_t duration;
        if (kinds[row] != TSMITH_KIND_OFF_CPU || !tsmith_view_i64(&views[DURATION], row, &duration))
            continue;
        if (!ARRAY_RESERVE(off->periods, off->capacity, off->count + 1))
            return false;
        const uint8_t operation = tsmith_view_word(&views[OPERATION], row);
        const int64_t from = starts[row], to = from + duration;
        int64_t ready = tsmith_view_i64_or(&views[WOKEN], row, to);
        if (operation == TSMITH_OPERATION_PREEMPTED)
            ready = from;
        ready = ready < from ? from : ready > to ? to : ready;
        off->periods[off->count++] =
            (struct off_period){.from = from,
                                .woken = ready,
                                .to = to,
                                .track = tsmith_batch_track(batch),
                                .name = tsmith_view_id(&views[NAME], row),
                                .waker = tsmith_view_id(&views[WAKER], row),
                                .stack = tsmith_view_id(&views[STACK], row),
                                .waker_stack = tsmith_view_id(&views[WAKER_STACK], row),
                                .operation = operation};
        off->sorted = false;
    }
    return true;
}

static int by_track_and_start(const void *a, const void *b) {
    const struct off_period *left = a, *right = b;
    if (left->track != right->track)
        return left->track < right->track ? -1 : 1;
    return (left->from > right->from) - (left->from < right->from);
}

// ---- where in a program

bool off_cpu_name(struct off_cpu *off, const tsmith_dictionary *dictionary) {
    return stack_places_init(&off->places, dictionary);
}

static uint32_t place_of(struct off_cpu *off, uint32_t stack) {
    return stack_places_find(&off->places, stack).function;
}

// ---- reasons

void off_cpu_clear(struct off_cpu *off) {
    off->reason_count = 0;
}

static bool add_reason(struct off_cpu *off, const struct off_reason *reason) {
    if (reason->time <= 0)
        return true;
    for (size_t i = 0; i < off->reason_count; i++) {
        struct off_reason *known = &off->reasons[i];
        if (known->operation == reason->operation && known->name == reason->name &&
            known->waker == reason->waker && known->place == reason->place &&
            known->waker_place == reason->waker_place) {
            known->time += reason->time;
            known->count += reason->count;
            return true;
        }
    }
    if (!ARRAY_RESERVE(off->reasons, off->reason_capacity, off->reason_count + 1))
        return false;
    off->reasons[off->reason_count++] = *reason;
    return true;
}

static int64_t overlap(int64_t from, int64_t to, int64_t begin, int64_t end) {
    begin = begin > from ? begin : from;
    end = end < to ? end : to;
    return end > begin ? end - begin : 0;
}

// The first period of the track that ends after `time`.
static size_t find(const struct off_cpu *off, uint32_t track, int64_t time) {
    return SORTED_FIND(i, 0, off->count,
                       off->periods[i].track < track ||
                           (off->periods[i].track == track && off->periods[i].to <= time));
}

bool off_cpu_add(struct off_cpu *off, uint32_t track, int64_t from, int64_t to) {
    int64_t ran = to - from;
    bool room = true;
    if (!off->sorted)
        qsort(off->periods, off->count, sizeof *off->periods, by_track_and_start);
    off->sorted = true;
    for (size_t i = find(off, track, from); room && i < off->count; i++) {
        const struct off_period *period = &off->periods[i];
        if (period->track != track || period->from >= to)
            break;
        const struct off_reason waits = {.operation = period->operation,
                                         .name = period->name,
                                         .waker = period->waker,
                                         .place = place_of(off, period->stack),
                                         .waker_place = place_of(off, period->waker_stack),
                                         .time = overlap(from, to, period->from, period->woken),
                                         .count = 1},
                                ready = {.operation = TSMITH_OPERATION_PREEMPTED,
                                         .time = overlap(from, to, period->woken, period->to),
                                         .count = 1};
        ran -= waits.time + ready.time;
        room = add_reason(off, &waits) && add_reason(off, &ready);
    }
    const struct off_reason runs = {.time = ran, .count = 1};
    return room && add_reason(off, &runs);
}

static int by_time(const void *a, const void *b) {
    const struct off_reason *left = a, *right = b;
    if (left->time != right->time)
        return left->time > right->time ? -1 : 1;
    if (left->operation != right->operation)
        return left->operation < right->operation ? -1 : 1;
    if (left->name != right->name)
        return left->name < right->name ? -1 : 1;
    if (left->waker != right->waker)
        return left->waker < right->waker ? -1 : 1;
    if (left->place != right->place)
        return left->place < right->place ? -1 : 1;
    return (left->waker_place > right->waker_place) - (left->waker_place < right->waker_place);
}

void off_cpu_sort_reasons(struct off_cpu *off) {
    if (off->reason_count)
        qsort(off->reasons, off->reason_count, sizeof *off->reasons, by_time);
}
