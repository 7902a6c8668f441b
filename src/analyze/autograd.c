// SPDX-License-Identifier: Apache-2.0
// Finds the forward operator of each PyTorch operator of the backward pass. range_projection.c calls it for `analyze
// ranges`.
#include "analyze/autograd.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "tracesmith/view.h"

enum { SEQUENCE, FORWARD_THREAD, FLOW, FLOW_ID };
// Operators with one number, and threads that have it, that are examined: a file that has more gets no match.
enum { TRIES = 64 };

void autograd_finish(struct autograd *autograd) {
    free(autograd->forward.items);
    free(autograd->backward.items);
    free(autograd->flows.items);
    *autograd = (struct autograd){0};
}

// ---- reading

static const struct {
    const char *name;
    tsmith_type type;
} FIELDS[AUTOGRAD_FIELDS] = {{"Sequence number", TSMITH_TYPE_I64},
                             {"Fwd thread id", TSMITH_TYPE_I64},
                             {"flow", TSMITH_TYPE_STRING},
                             {"flow_id", TSMITH_TYPE_I64}};

static void learn_fields(struct autograd *autograd, const tsmith_dictionary *dictionary) {
    const uint32_t count = tsmith_dictionary_dynamic_field_count(dictionary);
    for (uint32_t id = autograd->fields_seen ? autograd->fields_seen : 1; id < count; id++) {
        const tsmith_dynamic_field *field = tsmith_dictionary_dynamic_field(dictionary, id);
        for (size_t i = 0; field && i < AUTOGRAD_FIELDS; i++)
            if (field->type == FIELDS[i].type && !autograd->fields[i] &&
                strcmp(tsmith_dictionary_string(dictionary, field->name).bytes, FIELDS[i].name) == 0)
                autograd->fields[i] = TSMITH_FIELD_DYNAMIC + id;
    }
    autograd->fields_seen = count;
}

static bool add_op(struct autograd_ops *ops, struct autograd_op op) {
    if (!ARRAY_RESERVE(ops->items, ops->capacity, ops->count + 1))
        return false;
    ops->items[ops->count++] = op;
    return true;
}

// The views of the trace's own fields, and of the vocabulary's.
struct autograd_views {
    tsmith_view own[AUTOGRAD_FIELDS], kind, start, duration, correlation;
};

// An id that is the correlation's is not repeated.
static int64_t flow_of(const struct autograd_views *views, const tsmith_dictionary *dictionary,
                       uint32_t row) {
    const uint32_t flow = tsmith_view_id(&views->own[FLOW], row);
    int64_t id;
    if (!strstr(tsmith_dictionary_string(dictionary, flow).bytes, "fwdbwd"))
        return AUTOGRAD_NONE;
    return tsmith_view_i64(&views->own[FLOW_ID], row, &id) || tsmith_view_i64(&views->correlation, row, &id)
               ? id
               : AUTOGRAD_NONE;
}

static void find_views(const struct autograd *autograd, const tsmith_batch *batch,
                       struct autograd_views *views) {
    for (size_t i = 0; i < AUTOGRAD_FIELDS; i++)
        views->own[i] = tsmith_view_typed(batch, autograd->fields[i], FIELDS[i].type);
    views->kind = tsmith_view_typed(batch, TSMITH_FIELD_KIND, TSMITH_TYPE_KIND);
    views->start = tsmith_view_typed(batch, TSMITH_FIELD_START, TSMITH_TYPE_TIME);
    views->duration = tsmith_view_typed(batch, TSMITH_FIELD_DURATION, TSMITH_TYPE_I64);
    views->correlation = tsmith_view_typed(batch, TSMITH_FIELD_CORRELATION, TSMITH_TYPE_U64);
}

bool autograd_add(struct autograd *autograd, const tsmith_dictionary *dictionary, const tsmith_batch *batch) {
    struct autograd_views views;
    const uint32_t number = tsmith_batch_track(batch);
    const tsmith_track *track = tsmith_dictionary_track(dictionary, number);
    if (tsmith_dictionary_dynamic_field_count(dictionary) != autograd->fields_seen)
        learn_fields(autograd, dictionary);
    find_views(autograd, batch, &views);
    const uint8_t *kinds = tsmith_view_every(&views.kind);
    const int64_t *starts = tsmith_view_every(&views.start);
    if (!kinds || !starts || !tsmith_view_exists(&views.own[SEQUENCE]) ||
        !tsmith_view_exists(&views.duration))
        return true;
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        const int64_t sequence = tsmith_view_i64_or(&views.own[SEQUENCE], row, AUTOGRAD_NONE);
        struct autograd_op op = {number, track ? track->process : 0, starts[row], 0, sequence, AUTOGRAD_NONE};
        int64_t duration;
        if (kinds[row] != TSMITH_KIND_RANGE || sequence < 0 ||
            !tsmith_view_i64(&views.duration, row, &duration) || duration < 0 ||
            __builtin_add_overflow(starts[row], duration, &op.end))
            continue;
        op.flow = flow_of(&views, dictionary, row);
        const bool backward = tsmith_view_i64_or(&views.own[FORWARD_THREAD], row, AUTOGRAD_NONE) > 0;
        if (!add_op(backward ? &autograd->backward : &autograd->forward, op) ||
            (!backward && op.flow != AUTOGRAD_NONE && !add_op(&autograd->flows, op)))
            return false;
    }
    return true;
}

// ---- order

#define COMPARE(member)                                                                                      \
    if (a->member != b->member)                                                                              \
    return a->member < b->member ? -1 : 1

static int by_sequence(const void *left, const void *right) {
    const struct autograd_op *a = left, *b = right;
    COMPARE(process);
    COMPARE(sequence);
    COMPARE(track);
    COMPARE(start);
    COMPARE(end);
    return 0;
}

static int by_track_and_start(const void *left, const void *right) {
    const struct autograd_op *a = left, *b = right;
    COMPARE(track);
    COMPARE(start);
    COMPARE(end);
    return 0;
}

static int by_flow(const void *left, const void *right) {
    const struct autograd_op *a = left, *b = right;
    COMPARE(process);
    COMPARE(flow);
    return 0;
}

bool autograd_make(struct autograd *autograd) {
    if (autograd->backward.count)
        qsort(autograd->backward.items, autograd->backward.count, sizeof *autograd->backward.items,
              by_track_and_start);
    if (autograd->forward.count)
        qsort(autograd->forward.items, autograd->forward.count, sizeof *autograd->forward.items, by_sequence);
    if (autograd->flows.count)
        qsort(autograd->flows.items, autograd->flows.count, sizeof *autograd->flows.items, by_flow);
    return true;
}

// How many of the sorted operators come before `key`.
static size_t count_before(const struct autograd_ops *ops, const struct autograd_op *key,
                           int (*compare)(const void *, const void *)) {
    return SORTED_FIND(i, 0, ops->count, compare(&ops->items[i], key) < 0);
}

// ---- from the backward pass to the forward pass

// The range of an operator: the innermost of its track with these times; NULL when there is none.
static const struct range *range_of(const struct ranges *ranges, const struct autograd_op *op,
                                    const struct range_track **track) {
    if (op->track >= ranges->of_track_count || !ranges->of_track[op->track])
        return NULL;
    *track = &ranges->tracks[ranges->of_track[op->track] - 1];
    // After the last that begins so, or earlier, and ends so, or later.
    const size_t at =
        SORTED_FIND(i, 0, (*track)->count,
                    (*track)->items[i].start < op->start ||
                        ((*track)->items[i].start == op->start && (*track)->items[i].end >= op->end));
    const struct range *found = at ? &(*track)->items[at - 1] : NULL;
    return found && found->start == op->start && found->end == op->end ? found : NULL;
}

static const struct autograd_op *backward_at(const struct autograd *autograd, uint32_t track,
                                             const struct range *range) {
    const struct autograd_op key = {.track = track, .start = range->start, .end = range->end};
    const size_t at = count_before(&autograd->backward, &key, by_track_and_start);
    return at < autograd->backward.count && by_track_and_start(&autograd->backward.items[at], &key) == 0
               ? &autograd->backward.items[at]
               : NULL;
}

// What an operator of the backward pass calls is none of the forward pass.
static bool is_within_backward(const struct autograd *autograd, const struct ranges *ranges,
                               const struct autograd_op *op) {
    const struct range_track *track;
    const struct range *range = range_of(ranges, op, &track);
    struct range_walk walk = {track, range, op->start};
    if (!range)
        return true; // it is not known
    for (; walk.at; range_walk_next(&walk))
        if (backward_at(autograd, op->track, walk.at))
            return true;
    return false;
}

// Among a thread's operators with the number, up to `until`, the last one of the forward pass.
static const struct autograd_op *last_of_thread(const struct autograd *autograd, const struct ranges *ranges,
                                                const struct autograd_op *first, size_t until) {
    for (size_t tries = 0; until-- > 0 && tries < TRIES; tries++) {
        const struct autograd_op *op = &autograd->forward.items[until];
        if (op->process != first->process || op->sequence != first->sequence || op->track != first->track)
            break;
        if (!is_within_backward(autograd, ranges, op))
            return op;
    }
    return NULL;
}

// By the flow; else by the number, where only one thread has it.
static const struct autograd_op *forward_of(const struct autograd *autograd, const struct ranges *ranges,
                                            const struct autograd_op *backward) {
    const struct autograd_op *found = NULL;
    size_t at = count_before(&autograd->flows, backward, by_flow);
    if (backward->flow != AUTOGRAD_NONE && at < autograd->flows.count &&
        by_flow(&autograd->flows.items[at], backward) == 0)
        return &autograd->flows.items[at];
    struct autograd_op key = {
        .process = backward->process, .sequence = backward->sequence, .start = INT64_MIN, .end = INT64_MIN};
    for (size_t tries = 0;; tries++) {
        at = count_before(&autograd->forward, &key, by_sequence);
        if (at == autograd->forward.count)
            return found;
        const struct autograd_op *first = &autograd->forward.items[at];
        if (first->process != backward->process || first->sequence != backward->sequence)
            return found;
        key = *first;
        key.start = backward->start;
        key.end = INT64_MIN;
        const struct autograd_op *last =
            last_of_thread(autograd, ranges, first, count_before(&autograd->forward, &key, by_sequence));
        if ((last && found) || tries == TRIES)
            return NULL;
        found = last ? last : found;
        key.track = first->track + 1;
        key.start = INT64_MIN;
    }
}

enum autograd_match autograd_find(const struct autograd *autograd, const struct ranges *ranges,
                                  const tsmith_timeline *timeline, const tsmith_command *command,
                                  struct range_walk *out) {
    enum autograd_match match = AUTOGRAD_NO;
    if (!autograd->backward.count)
        return match;
    struct range_walk walk = range_walk_begin(ranges, timeline, command);
    for (; walk.at; range_walk_next(&walk)) {
        const struct autograd_op *backward = backward_at(autograd, walk.track->track, walk.at);
        if (!backward)
            continue;
        match = AUTOGRAD_UNMATCHED;
        const struct autograd_op *forward = forward_of(autograd, ranges, backward);
        if (!forward)
            continue;
        *out = (struct range_walk){.time = forward->start};
        out->at = range_of(ranges, forward, &out->track);
        if (out->at)
            return AUTOGRAD_MATCHED;
    }
    return match;
}
