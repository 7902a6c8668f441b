// SPDX-License-Identifier: Apache-2.0
// Numbered events: each record carries a number its thread gave it, so that a reader knows exactly which ones
// arrived, in which order, and which did not. The truth is the emitter's own count.
#ifndef TESTS_SUPPORT_NUMBERED_H
#define TESTS_SUPPORT_NUMBERED_H

#include "support/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/collector.h"
#include "collect/session_directory.h"
#include "tracesmith/batch.h"
#include "tracesmith/stream.h"
#include "wire/channel.h"

// A marker with its number and the number of its emitter: START, CORRELATION, OBJECT, then `padding` more words.
static inline uint16_t numbered_shape(struct channel *channel) {
    const struct record_shape shape = {.kind = TSMITH_KIND_MARKER,
                                       .role = RECORD_EVENT,
                                       .subject = RECORD_SUBJECT_NAME,
                                       .field_count = 4,
                                       .fields = {{TSMITH_FIELD_START, RECORD_TICK, 0},
                                                  {TSMITH_FIELD_CORRELATION, RECORD_VALUE, 0},
                                                  {TSMITH_FIELD_OBJECT, RECORD_VALUE, 0},
                                                  {TSMITH_FIELD_WAITS, RECORD_LIST, 0}}};
    return channel_shape(channel, &shape);
}

// Whether it was recorded; it counts as asked for in any case.
static inline bool numbered_emit(struct channel *channel, uint16_t shape, uint64_t emitter, uint64_t number,
                                 uint32_t padding) {
    struct ring *ring = channel_ring(channel);
    uint64_t *at = ring ? ring_reserve(ring, 5 + padding) : NULL;
    if (!at)
        return false;
    at[0] = record_head(shape, 5 + padding, 0);
    at[1] = clock_tick(ring->tick_is_tsc);
    at[2] = number;
    at[3] = emitter;
    at[4] = padding;
    for (uint32_t i = 0; i < padding; i++)
        at[5 + i] = number * 1000003u + i;
    ring_commit(ring, 5 + padding);
    return true;
}

// What a reader saw.
#define NUMBERED_EMITTERS 64
struct numbered_seen {
    uint64_t last[NUMBERED_EMITTERS];  // number
    uint64_t count[NUMBERED_EMITTERS]; // events
    uint64_t lost[TSMITH_REASON_LIMIT];
    uint64_t loss_rows;
    int64_t last_loss_end;
    bool out_of_order, twice, wrong;
};

static inline void numbered_see_loss(struct numbered_seen *seen, const tsmith_batch *batch, uint32_t row) {
    uint64_t reason = 0, lost = 0;
    seen->wrong |=
        !tsmith_batch_get(batch, TSMITH_FIELD_REASON, row, &reason) || reason >= TSMITH_REASON_LIMIT;
    seen->wrong |= !tsmith_batch_get(batch, TSMITH_FIELD_LOST, row, &lost);
    if (!seen->wrong)
        seen->lost[reason] += lost;
    seen->loss_rows++;
}

static inline void numbered_see(struct numbered_seen *seen, const tsmith_batch *batch) {
    int64_t previous = INT64_MIN;
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        uint64_t kind = 0, number = 0, emitter = 0, start = 0;
        seen->wrong |= !tsmith_batch_get(batch, TSMITH_FIELD_KIND, row, &kind);
        seen->wrong |= !tsmith_batch_get(batch, TSMITH_FIELD_START, row, &start) || (int64_t)start < previous;
        previous = (int64_t)start;
        if (kind == TSMITH_KIND_LOSS)
            numbered_see_loss(seen, batch, row);
        if (kind != TSMITH_KIND_MARKER)
            continue;
        seen->wrong |= !tsmith_batch_get(batch, TSMITH_FIELD_CORRELATION, row, &number);
        seen->wrong |=
            !tsmith_batch_get(batch, TSMITH_FIELD_OBJECT, row, &emitter) || emitter >= NUMBERED_EMITTERS;
        if (seen->wrong)
            return;
        seen->twice |= number == seen->last[emitter];
        seen->out_of_order |= number < seen->last[emitter];
        seen->last[emitter] = number;
        seen->count[emitter]++;
        tsmith_column waits;
        if (tsmith_batch_column(batch, TSMITH_FIELD_WAITS, &waits) && tsmith_column_has(&waits, row)) {
            const uint64_t *values = waits.values;
            for (uint32_t i = waits.offsets[row]; i < waits.offsets[row + 1]; i++)
                seen->wrong |= values[i] != number * 1000003u + (i - waits.offsets[row]);
        }
    }
}

static inline uint64_t numbered_total(const struct numbered_seen *seen) {
    uint64_t total = 0;
    for (int i = 0; i < NUMBERED_EMITTERS; i++)
        total += seen->count[i];
    return total;
}

static inline uint64_t numbered_lost(const struct numbered_seen *seen) {
    uint64_t total = 0;
    for (int i = 0; i < TSMITH_REASON_LIMIT; i++)
        total += seen->lost[i];
    return total;
}

// Reads a source to its end.
static inline tsmith_status numbered_drain(tsmith_source *source, struct numbered_seen *seen) {
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_status status;
    while ((status = tsmith_source_next(source, &batch, &error)) == TSMITH_OK || status == TSMITH_AGAIN)
        if (status == TSMITH_OK)
            numbered_see(seen, batch);
    if (status < 0)
        print_message("%s\n", error.message);
    return status;
}

static inline struct session_directory numbered_session(size_t buffer_bytes, tsmith_overflow overflow) {
    struct session_directory directory;
    tsmith_error error;
    const tsmith_capture_options options = {
        .size = sizeof options, .buffer_bytes = buffer_bytes, .overflow = overflow};
    if (session_directory_create(&directory, &options, &error)) {
        print_message("%s\n", error.message);
        fail();
    }
    return directory;
}

#endif
