// SPDX-License-Identifier: Apache-2.0
// Counts samples of host threads within times. idle.c calls it.
#include "analyze/host_samples.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/sorted.h"
#include "tracesmith/view.h"

void host_samples_finish(struct host_samples *samples) {
    free(samples->samples);
    free(samples->codes);
    table_finish(&samples->numbers);
    stack_places_finish(&samples->places);
    *samples = (struct host_samples){0};
}

bool host_samples_take(struct host_samples *samples, const tsmith_dictionary *dictionary,
                       const tsmith_batch *batch) {
    enum { KIND, START, STACK, PERIOD, FIELDS };
    static const uint32_t fields[FIELDS] = {[KIND] = TSMITH_FIELD_KIND,
                                            [START] = TSMITH_FIELD_START,
                                            [STACK] = TSMITH_FIELD_STACK,
                                            [PERIOD] = TSMITH_FIELD_SAMPLER_PERIOD};
    tsmith_view views[FIELDS];
    const tsmith_track *track = tsmith_dictionary_track(dictionary, tsmith_batch_track(batch));
    tsmith_view_batch(batch, fields, FIELDS, views);
    const uint8_t *kinds = tsmith_view_every(&views[KIND]);
    const int64_t *starts = tsmith_view_every(&views[START]);
    if (!track || track->kind != TSMITH_TRACK_THREAD || !kinds || !starts)
        return true;
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        if (kinds[row] != TSMITH_KIND_SAMPLE)
            continue;
        struct host_sample *one = ARRAY_PUSH(samples->samples, samples->count, samples->capacity);
        if (!one)
            return false;
        const uint64_t period = tsmith_view_u64_or(&views[PERIOD], row, 0);
        *one = (struct host_sample){.time = starts[row],
                                    .period = period < INT32_MAX ? (int64_t)period : 0,
                                    .track = tsmith_batch_track(batch),
                                    .stack = tsmith_view_id(&views[STACK], row)};
        samples->sorted = false;
    }
    return true;
}

bool host_samples_name(struct host_samples *samples, const tsmith_dictionary *dictionary) {
    return stack_places_init(&samples->places, dictionary);
}

void host_samples_clear(struct host_samples *samples) {
    table_finish(&samples->numbers);
    samples->code_count = 0;
    samples->found = samples->interpreter = 0;
}

static int by_track_and_time(const void *left, const void *right) {
    const struct host_sample *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

// The first sample of the track that is not before `time`.
static size_t find(const struct host_samples *samples, uint32_t track, int64_t time) {
    return SORTED_FIND(i, 0, samples->count,
                       samples->samples[i].track < track ||
                           (samples->samples[i].track == track && samples->samples[i].time < time));
}

static bool add_code(struct host_samples *samples, const struct host_sample *sample) {
    const struct stack_place place = stack_places_find(&samples->places, sample->stack);
    const uint64_t key = ((uint64_t)place.function << 32 | place.innermost) + 1; // 0 is no key
    bool is_new;
    uint64_t *number = table_add(&samples->numbers, key, &is_new);
    struct host_code *code =
        number && is_new ? ARRAY_PUSH(samples->codes, samples->code_count, samples->code_capacity) : NULL;
    if (!number || (is_new && !code))
        return false;
    if (is_new) {
        *number = samples->code_count - 1;
        *code = (struct host_code){.function = place.function, .innermost = place.innermost};
    }
    code = &samples->codes[*number];
    code->samples++;
    code->time += sample->period;
    samples->found++;
    samples->interpreter += place.in_interpreter;
    return true;
}

bool host_samples_add(struct host_samples *samples, uint32_t track, int64_t from, int64_t to) {
    bool room = true;
    if (!samples->sorted && samples->count)
        qsort(samples->samples, samples->count, sizeof *samples->samples, by_track_and_time);
    samples->sorted = true;
    for (size_t i = find(samples, track, from); room && i < samples->count; i++) {
        const struct host_sample *sample = &samples->samples[i];
        if (sample->track != track || sample->time >= to)
            break;
        room = add_code(samples, sample);
    }
    return room;
}

static int by_count(const void *left, const void *right) {
    const struct host_code *a = left, *b = right;
    if (a->samples != b->samples)
        return a->samples > b->samples ? -1 : 1;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    return (a->innermost > b->innermost) - (a->innermost < b->innermost);
}

void host_samples_sort(struct host_samples *samples) {
    if (samples->code_count)
        qsort(samples->codes, samples->code_count, sizeof *samples->codes, by_count);
}

void host_samples_range(uint64_t some, uint64_t all, double *least, double *most) {
    const double z = 1.959964, n = (double)all, p = all ? (double)some / n : 0;
    *least = 0;
    *most = 1;
    if (!all)
        return;
    const double middle = (p + z * z / (2 * n)) / (1 + z * z / n),
                 half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    *least = middle > half ? middle - half : 0;
    *most = middle + half < 1 ? middle + half : 1;
}
