// SPDX-License-Identifier: Apache-2.0
// Collects the work that ranges and kernels state. The analysis `roofline` calls it.
#include "analyze/stated_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tracesmith/view.h"

static const tsmith_type FORMS[STATED_FORMS] = {TSMITH_TYPE_F64, TSMITH_TYPE_I64, TSMITH_TYPE_U64};

void stated_works_finish(struct stated_works *works) {
    free(works->ranges.items);
    free(works->kernels.items);
    free(works->of_range);
}

static void learn_fields(struct stated_works *works, const tsmith_dictionary *dictionary) {
    const uint32_t count = tsmith_dictionary_dynamic_field_count(dictionary);
    for (uint32_t id = works->fields_seen ? works->fields_seen : 1; id < count; id++) {
        const tsmith_dynamic_field *field = tsmith_dictionary_dynamic_field(dictionary, id);
        if (!field || strcmp(tsmith_dictionary_string(dictionary, field->name).bytes, "flops") != 0)
            continue;
        for (size_t i = 0; i < STATED_FORMS; i++)
            if (field->type == (uint32_t)FORMS[i])
                works->flops[i] = TSMITH_FIELD_DYNAMIC + id;
    }
    works->fields_seen = count;
}

// A number of operations cannot be negative or infinite; such a statement is none.
static double stated_flops(const tsmith_view views[STATED_FORMS], uint32_t row) {
    double real;
    int64_t whole;
    uint64_t natural;
    if (tsmith_view_f64(&views[0], row, &real))
        return isfinite(real) && real >= 0 ? real : NAN;
    if (tsmith_view_i64(&views[1], row, &whole))
        return whole >= 0 ? (double)whole : NAN;
    return tsmith_view_u64(&views[2], row, &natural) ? (double)natural : NAN;
}

static bool add(struct stated_list *list, const struct stated_work *work) {
    if (list->count >= TSMITH_INDEX_NONE || !ARRAY_RESERVE(list->items, list->capacity, list->count + 1))
        return false;
    list->items[list->count] = *work;
    list->items[list->count].order = (uint32_t)list->count;
    list->count++;
    return true;
}

// Ranges of queues are left out as in `struct ranges`: what a queue shows of ranges is made from those of threads.
static bool is_host(const tsmith_dictionary *dictionary, uint32_t track) {
    const tsmith_track *entry = tsmith_dictionary_track(dictionary, track);
    return !entry || (entry->kind != TSMITH_TRACK_QUEUE && entry->kind != TSMITH_TRACK_COPY_ENGINE);
}

bool stated_works_add(struct stated_works *works, const tsmith_dictionary *dictionary,
                      const tsmith_batch *batch, const tsmith_interval *window) {
    static const uint32_t fields[] = {TSMITH_FIELD_KIND, TSMITH_FIELD_START,    TSMITH_FIELD_DURATION,
                                      TSMITH_FIELD_NAME, TSMITH_FIELD_CATEGORY, TSMITH_FIELD_BYTES};
    enum { KIND, START, DURATION, NAME, CATEGORY, BYTES, FIELDS };
    tsmith_view views[FIELDS], flops[STATED_FORMS];
    if (tsmith_dictionary_dynamic_field_count(dictionary) != works->fields_seen)
        learn_fields(works, dictionary);
    tsmith_view_batch(batch, fields, FIELDS, views);
    bool any = tsmith_view_exists(&views[BYTES]);
    for (size_t i = 0; i < STATED_FORMS; i++) {
        flops[i] = tsmith_view_typed(batch, works->flops[i], FORMS[i]);
        any |= tsmith_view_exists(&flops[i]);
    }
    const uint8_t *kinds = tsmith_view_every(&views[KIND]);
    const int64_t *starts = tsmith_view_every(&views[START]);
    if (!any || !kinds || !starts)
        return true;
    const uint32_t track = tsmith_batch_track(batch);
    const bool host = is_host(dictionary, track);
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        struct stated_work work = {.start = starts[row], .track = track};
        const bool is_kernel = kinds[row] == TSMITH_KIND_KERNEL;
        int64_t duration;
        uint64_t bytes;
        if ((!is_kernel && (kinds[row] != TSMITH_KIND_RANGE || !host)) ||
            (window && (work.start < window->from || work.start >= window->to)) ||
            !tsmith_view_i64(&views[DURATION], row, &duration) || duration <= 0 ||
            __builtin_add_overflow(work.start, duration, &work.end))
            continue;
        work.flops = stated_flops(flops, row);
        work.bytes = tsmith_view_u64(&views[BYTES], row, &bytes) ? (double)bytes : NAN;
        if (isnan(work.flops) && isnan(work.bytes))
            continue;
        work.key = tsmith_view_id(&views[NAME], row);
        if (!is_kernel)
            work.key = work.key << 32 | tsmith_view_id(&views[CATEGORY], row);
        if (!add(is_kernel ? &works->kernels : &works->ranges, &work))
            return false;
    }
    return true;
}

// The order of `struct ranges`.
static int compare(const void *left, const void *right) {
    const struct stated_work *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static bool is_before(const struct range *range, const struct stated_work *work) {
    return range->start != work->start ? range->start < work->start : range->end > work->end;
}

bool stated_works_match(struct stated_works *works, const struct ranges *ranges) {
    struct stated_list *list = &works->ranges;
    const struct range_track *track = NULL;
    size_t at = 0; // in the track: the first range that is not before the work at hand
    works->of_range = calloc(ranges->count + 1, sizeof *works->of_range);
    if (!works->of_range)
        return false;
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare);
    for (size_t i = 0; i < list->count; i++) {
        const struct stated_work *work = &list->items[i];
        if (work->track >= ranges->of_track_count || !ranges->of_track[work->track])
            continue;
        if (!track || track->track != work->track) {
            track = &ranges->tracks[ranges->of_track[work->track] - 1];
            at = 0;
        }
        while (at < track->count && is_before(&track->items[at], work))
            at++;
        // Several ranges may have one start and one end: the next of this name whose work is not known yet.
        for (size_t k = at;
             k < track->count && track->items[k].start == work->start && track->items[k].end == work->end;
             k++) {
            uint32_t *of = &works->of_range[track->first + k];
            if (*of || ranges->keys.keys[track->items[k].key] != work->key)
                continue;
            *of = (uint32_t)i + 1;
            break;
        }
    }
    return true;
}
