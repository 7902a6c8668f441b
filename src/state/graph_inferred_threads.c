// SPDX-License-Identifier: Apache-2.0
// Host threads that wait for each other without a record of it: a thread that is silent (makes no call of the GPU
// API) and continues right after another one has become silent.
//
// Two rules, both against what chance would give (as in graph_inferred_queues.c):
//   - TIMES_LEAST times or more, with the same other thread (a hand-over);
//   - with the last call of any other thread of the process (a join). A thread ends once, so there are few of these. By
//     chance it ends anywhere in the silence, so that the time from there to the silence's end, as a part of the silence,
//     is the probability that chance brings them this near. As many are accepted as keep the expected share of false ones
//     below 1 in JOIN_CHANCE (Benjamini and Hochberg 1995).
#include <stdlib.h>

#include "base/array.h"
#include "base/sorted.h"
#include "state/graph.h"

enum { SILENCE = 50000, SOON = 30000, TIMES_LEAST = 3, THREADS_MOST = 64, JOIN_CHANCE = 100 };
enum {
    JOIN_SOON = 10000000
}; // a thread that joined another may free and report for milliseconds before it calls

struct silence {
    int64_t from, to;    // to: when the next call begins, INT64_MAX after the last
    uint32_t last, next; // calls
};

struct silences {
    struct silence *items; // by thread, ascending
    size_t count, capacity;
    size_t *first; // by thread; one more at the end
};

static bool add_silence(struct silences *silences, struct silence one) {
    if (!ARRAY_RESERVE(silences->items, silences->capacity, silences->count + 1))
        return false;
    silences->items[silences->count++] = one;
    return true;
}

static bool find_silences(const tsmith_timeline *timeline, struct silences *silences) {
    silences->first = calloc(timeline->thread_count + 1, sizeof *silences->first);
    bool done = silences->first;
    for (size_t t = 0; t < timeline->thread_count && done; t++) {
        const tsmith_thread *thread = &timeline->threads[t];
        struct silence one = {.last = TSMITH_INDEX_NONE};
        silences->first[t] = silences->count;
        for (uint32_t i = thread->first_call; i < thread->first_call + thread->call_count && done; i++) {
            const tsmith_call *call = &timeline->calls[i];
            if (one.last != TSMITH_INDEX_NONE && call->start - one.from > SILENCE) {
                one.to = call->start;
                one.next = i;
                done = add_silence(silences, one);
            }
            if (one.last == TSMITH_INDEX_NONE || call->end > one.from) {
                one.from = call->end;
                one.last = i;
            }
        }
        one.to = INT64_MAX;
        one.next = TSMITH_INDEX_NONE;
        if (done && one.last != TSMITH_INDEX_NONE)
            done = add_silence(silences, one);
    }
    if (done)
        silences->first[timeline->thread_count] = silences->count;
    return done;
}

// ---- hand-overs

// The first silence of a thread that begins after `time`.
static const struct silence *silence_after(const struct silences *silences, size_t thread, int64_t time) {
    const size_t at =
        SORTED_FIND(i, silences->first[thread], silences->first[thread + 1], silences->items[i].from <= time);
    return &silences->items[at];
}

// The call of `other` after which `one` ended, or TSMITH_INDEX_NONE.
static uint32_t ended_by(const struct silences *silences, const struct silence *one, size_t other) {
    const struct silence *found = silence_after(silences, other, one->to);
    if (found == &silences->items[silences->first[other]])
        return TSMITH_INDEX_NONE;
    found--;
    return found->from > one->from && found->from >= one->to - SOON && found->next != TSMITH_INDEX_NONE
               ? found->last
               : TSMITH_INDEX_NONE;
}

static double chance(const struct silences *silences, const struct silence *one, size_t other) {
    const struct silence *end = &silences->items[silences->first[other + 1]];
    int64_t covered = 0, at = one->from;
    for (const struct silence *it = silence_after(silences, other, one->from);
         it < end && it->from <= one->to && it->next != TSMITH_INDEX_NONE; it++) {
        const int64_t from = it->from > at ? it->from : at,
                      to = it->from + SOON < one->to ? it->from + SOON : one->to;
        covered += to > from ? to - from : 0;
        at = to > at ? to : at;
    }
    return (double)covered / (double)(one->to - one->from);
}

static void infer_pair(struct graph_builder *builder, const struct silences *silences, size_t thread,
                       size_t other) {
    const struct silence *first = &silences->items[silences->first[thread]],
                         *end = &silences->items[silences->first[thread + 1]];
    size_t times = 0;
    double expected = 0;
    for (const struct silence *one = first; one < end && one->next != TSMITH_INDEX_NONE; one++)
        times += ended_by(silences, one, other) != TSMITH_INDEX_NONE;
    if (times < TIMES_LEAST)
        return;
    for (const struct silence *one = first; one < end && one->next != TSMITH_INDEX_NONE; one++)
        expected += chance(silences, one, other);
    if (!graph_is_no_chance((double)times, expected))
        return;
    for (const struct silence *one = first; one < end && one->next != TSMITH_INDEX_NONE; one++) {
        const uint32_t call = ended_by(silences, one, other);
        if (call != TSMITH_INDEX_NONE)
            graph_add(builder, TSMITH_EDGE_THREAD_INFERRED, graph_call_node(builder->graph, call),
                      graph_call_node(builder->graph, one->next));
    }
}

// ---- joins

// The last end of a thread's calls.
static const struct silence * final(const struct silences *silences, size_t thread) {
    return silences->first[thread + 1] > silences->first[thread]
               ? &silences->items[silences->first[thread + 1] - 1]
               : NULL;
}

struct join {
    double chance;
    uint32_t last, next; // calls
    bool soon;
};

// The latest end of another thread within a silence: false if there is none.
static bool find_join(const tsmith_timeline *timeline, const struct silences *silences, size_t thread,
                      const struct silence *one, struct join *join) {
    const struct silence *latest = NULL;
    for (size_t other = 0; other < timeline->thread_count; other++) {
        const struct silence *last = final(silences, other);
        if (other == thread || !last ||
            timeline->threads[other].process != timeline->threads[thread].process ||
            last->from <= one->from || last->from > one->to)
            continue;
        if (!latest || last->from > latest->from)
            latest = last;
    }
    if (!latest)
        return false;
    const int64_t after = one->to - latest->from;
    *join = (struct join){(double)after / (double)(one->to - one->from), latest->last, one->next,
                          after <= JOIN_SOON};
    return true;
}

static int by_chance(const void *left, const void *right) {
    const struct join *a = left, *b = right;
    return a->chance < b->chance ? -1 : a->chance > b->chance;
}

// How many of them, the least probable first, are believed.
static size_t count_believed(struct join *joins, size_t count) {
    qsort(joins, count, sizeof *joins, by_chance);
    size_t most = 0;
    for (size_t i = 0; i < count; i++)
        if (joins[i].chance * JOIN_CHANCE * (double)count <= (double)(i + 1))
            most = i + 1;
    return most;
}

static bool infer_joins(struct graph_builder *builder, const struct silences *silences, size_t thread) {
    const struct silence *first = &silences->items[silences->first[thread]],
                         *end = &silences->items[silences->first[thread + 1]];
    struct join *joins = NULL;
    size_t count = 0, capacity = 0;
    bool done = true;
    for (const struct silence *one = first; one < end && one->next != TSMITH_INDEX_NONE && done; one++) {
        done = ARRAY_RESERVE(joins, capacity, count + 1);
        if (done)
            count += find_join(builder->timeline, silences, thread, one, &joins[count]);
    }
    const size_t most = done && count ? count_believed(joins, count) : 0;
    for (size_t i = 0; i < most; i++)
        if (joins[i].soon)
            graph_add(builder, TSMITH_EDGE_THREAD_INFERRED, graph_call_node(builder->graph, joins[i].last),
                      graph_call_node(builder->graph, joins[i].next));
    free(joins);
    return done;
}

void graph_infer_threads(struct graph_builder *builder) {
    const tsmith_timeline *timeline = builder->timeline;
    struct silences silences = {0};
    if (timeline->thread_count < 2 || timeline->thread_count > THREADS_MOST)
        return;
    bool done = find_silences(timeline, &silences);
    for (size_t thread = 0; thread < timeline->thread_count && done; thread++) {
        done = infer_joins(builder, &silences, thread);
        for (size_t other = 0; other < timeline->thread_count; other++)
            if (other != thread && timeline->threads[other].process == timeline->threads[thread].process)
                infer_pair(builder, &silences, thread, other);
    }
    builder->failed |= !done;
    free(silences.items);
    free(silences.first);
}
