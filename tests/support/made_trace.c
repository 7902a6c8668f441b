// SPDX-License-Identifier: Apache-2.0
#include "support/made_trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void made_trace_init(struct made_trace *trace) {
    *trace = (struct made_trace){0};
    assert_int_equal(tsmith_dictionary_create(&trace->dictionary), TSMITH_OK);
}

void made_trace_finish(struct made_trace *trace) {
    tsmith_dictionary_destroy(trace->dictionary);
    free(trace->events);
}

uint32_t made_process(struct made_trace *trace, uint64_t pid) {
    return tsmith_dictionary_add_process(trace->dictionary, &(tsmith_process){.pid = pid});
}

uint32_t made_device(struct made_trace *trace, const char *name) {
    tsmith_device device = {.name = tsmith_dictionary_intern_cstr(trace->dictionary, name)};
    return tsmith_dictionary_add_device(trace->dictionary, &device);
}

uint32_t made_track(struct made_trace *trace, tsmith_track_kind kind, uint32_t process, uint32_t device,
                    uint16_t flags, const char *name) {
    tsmith_track track = {.kind = (uint8_t)kind,
                          .flags = flags,
                          .process = process,
                          .device = device,
                          .name = tsmith_dictionary_intern_cstr(trace->dictionary, name)};
    return tsmith_dictionary_add_track(trace->dictionary, &track);
}

struct made_event *made_event(struct made_trace *trace, tsmith_kind kind, uint32_t track, int64_t start,
                              int64_t duration) {
    void *events = trace->events;
    assert_true(array_reserve(&events, &trace->capacity, trace->count + 1, sizeof *trace->events));
    trace->events = events;
    struct made_event *event = &trace->events[trace->count++];
    *event = (struct made_event){.track = track, .kind = (uint8_t)kind, .start = start, .duration = duration};
    return event;
}

void made_launch(struct made_trace *trace, uint32_t thread, uint32_t queue, uint64_t correlation,
                 int64_t call, int64_t call_duration, int64_t start, int64_t duration) {
    made_event(trace, TSMITH_KIND_API, thread, call, call_duration)->correlation = correlation;
    made_event(trace, TSMITH_KIND_KERNEL, queue, start, duration)->correlation = correlation;
}

// ---- the source

struct made_batches {
    const struct made_trace *trace;
    tsmith_batch *batch;
    size_t *next; // by track: where the search for its next event continues
    size_t tracks;
    uint32_t batch_rows;
    struct random random;
};

static void set(tsmith_batch *batch, uint32_t field, bool there, uint64_t bits) {
    if (there)
        assert_int_equal(tsmith_batch_set(batch, field, bits), TSMITH_OK);
}

static void put(const struct made_trace *trace, tsmith_batch *batch, const struct made_event *event) {
    assert_int_not_equal(tsmith_batch_append(batch, (tsmith_kind)event->kind, event->start), UINT32_MAX);
    set(batch, TSMITH_FIELD_DURATION, event->duration >= 0, (uint64_t)event->duration);
    set(batch, TSMITH_FIELD_OPERATION, event->operation, event->operation);
    set(batch, TSMITH_FIELD_DIRECTION, event->direction, event->direction);
    set(batch, TSMITH_FIELD_BLOCKING, event->blocking, 1);
    set(batch, TSMITH_FIELD_CERTAINTY, event->untimed, TSMITH_CERTAINTY_UNTIMED);
    set(batch, TSMITH_FIELD_QUEUED, event->queued, (uint64_t)event->queued);
    set(batch, TSMITH_FIELD_SUBMITTED, event->submitted, (uint64_t)event->submitted);
    set(batch, TSMITH_FIELD_COMPLETED, event->completed, (uint64_t)event->completed);
    set(batch, TSMITH_FIELD_CORRELATION, event->correlation, event->correlation);
    set(batch, TSMITH_FIELD_BYTES, event->bytes, event->bytes);
    set(batch, TSMITH_FIELD_OBJECT, event->object, event->object);
    set(batch, TSMITH_FIELD_LIVE_BYTES, event->live_bytes, event->live_bytes);
    set(batch, TSMITH_FIELD_LOST, event->lost, event->lost);
    set(batch, TSMITH_FIELD_REASON, event->reason, event->reason);
    set(batch, TSMITH_FIELD_QUEUE_TRACK, event->queue_track, event->queue_track);
    set(batch, TSMITH_FIELD_HOST_TRACK, event->host_track, event->host_track);
    if (event->name)
        set(batch, TSMITH_FIELD_NAME, true, tsmith_dictionary_intern_cstr(trace->dictionary, event->name));
    if (event->wait_count)
        assert_int_equal(tsmith_batch_set_list(batch, TSMITH_FIELD_WAITS, event->waits, event->wait_count),
                         TSMITH_OK);
}

static tsmith_status next_batch(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct made_batches *batches = self;
    const struct made_trace *trace = batches->trace;
    (void)error;
    size_t first = random_below(&batches->random, batches->tracks);
    for (size_t i = 0; i < batches->tracks; i++) {
        size_t track = (first + i) % batches->tracks, *next = &batches->next[track];
        tsmith_batch_reset(batches->batch, (uint32_t)track);
        for (; *next < trace->count && tsmith_batch_count(batches->batch) < batches->batch_rows; ++*next)
            if (trace->events[*next].track == track)
                put(trace, batches->batch, &trace->events[*next]);
        if (tsmith_batch_count(batches->batch)) {
            assert_int_equal(tsmith_batch_finish(batches->batch), TSMITH_OK);
            *out = batches->batch;
            return TSMITH_OK;
        }
    }
    return TSMITH_END;
}

static const tsmith_dictionary *batches_dictionary(void *self) {
    return ((struct made_batches *)self)->trace->dictionary;
}

static void batches_destroy(void *self) {
    struct made_batches *batches = self;
    tsmith_batch_destroy(batches->batch);
    free(batches->next);
    free(batches);
}

tsmith_source *made_source(const struct made_trace *trace, uint32_t batch_rows, struct random random) {
    static const tsmith_source_ops OPS = {next_batch, batches_dictionary, batches_destroy};
    struct made_batches *batches = malloc(sizeof *batches);
    assert_non_null(batches);
    *batches = (struct made_batches){.trace = trace,
                                     .tracks = tsmith_dictionary_track_count(trace->dictionary),
                                     .batch_rows = batch_rows,
                                     .random = random};
    batches->next = calloc(batches->tracks, sizeof *batches->next);
    assert_non_null(batches->next);
    assert_int_equal(tsmith_batch_create(&batches->batch), TSMITH_OK);
    tsmith_source *source;
    assert_int_equal(tsmith_source_create(&OPS, batches, &source), TSMITH_OK);
    return source;
}
