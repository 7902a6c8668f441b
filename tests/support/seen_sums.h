// SPDX-License-Identifier: Apache-2.0
// Kernels of one letter that an agent records, and what a reader of the session sees of them: events, or sums (profile --aggregate). The tests of
// agents that add up are its callers, with RECORD_HOOKED.
#ifndef TESTS_SUPPORT_SEEN_SUMS_H
#define TESTS_SUPPORT_SEEN_SUMS_H

#include "support/numbered.h"

#include "agentkit/agent.h"
#include "agentkit/record_words.h"

#define LETTER_WORDS(WORD) SPAN_WORDS(WORD) NAME_OR_NONE(WORD)
RECORD_PART(letter_words, LETTER_WORDS)
RECORD_PART_SHAPE(letter_words, LETTER_WORDS)

static uint16_t letter_shape;

// In `begin`; the shape stays that of later attachments.
static inline void letters_begin(void) {
    letter_shape = record_register(agent.channel, TSMITH_KIND_KERNEL, RECORD_SUBJECT_TRACK, letter_words_add);
}

// A queue of the channel.
static inline uint32_t letters_queue(void) {
    const tsmith_device device = {.name = channel_string_cstr(agent.channel, "device")};
    const tsmith_track track = {.kind = TSMITH_TRACK_QUEUE, .device = channel_device(agent.channel, &device)};
    return channel_track(agent.channel, &track);
}

static inline void letters_write(uint32_t queue, char letter, int count) {
    struct ring *ring = channel_ring(agent.channel);
    const uint32_t name = channel_string(agent.channel, &letter, 1);
    for (int i = 0; i < count; i++)
        RECORD_WRITE(ring, letter_shape, queue, letter_words, .start = (uint64_t)clock_trace_now(),
                     .duration = 1, .name = name);
}

struct seen_sums {
    uint64_t sums[256], events[256]; // events in sums, and single ones, by letter
    uint64_t lost[TSMITH_REASON_LIMIT];
    int64_t first; // when the first sum begins; INT64_MAX: there is none
};

// 0: events.
static inline struct session_directory seen_sums_session(int64_t period) {
    struct session_directory directory;
    const tsmith_capture_options options = {.size = sizeof options,
                                            .buffer_bytes = 8 << 20,
                                            .overflow = TSMITH_OVERFLOW_DROP_NEWEST,
                                            .aggregate = period};
    tsmith_error error;
    assert_int_equal(session_directory_create(&directory, &options, &error), TSMITH_OK);
    return directory;
}

static inline void seen_sums_see(const tsmith_dictionary *dictionary, const tsmith_batch *batch, uint32_t row,
                                 struct seen_sums *seen) {
    uint64_t kind = 0, name = 0, count = 0, start = 0, reason = 0;
    (void)tsmith_batch_get(batch, TSMITH_FIELD_KIND, row, &kind);
    (void)tsmith_batch_get(batch, TSMITH_FIELD_NAME, row, &name);
    (void)tsmith_batch_get(batch, TSMITH_FIELD_COUNT, row, &count);
    (void)tsmith_batch_get(batch, TSMITH_FIELD_START, row, &start);
    const tsmith_string text = tsmith_dictionary_string(dictionary, (uint32_t)name);
    const uint8_t letter = text.length ? (uint8_t)text.bytes[0] : 0;
    if (kind == TSMITH_KIND_SUM) {
        seen->sums[letter] += count;
        seen->first = (int64_t)start < seen->first ? (int64_t)start : seen->first;
    } else if (kind == TSMITH_KIND_KERNEL) {
        seen->events[letter]++;
    } else if (kind == TSMITH_KIND_LOSS && tsmith_batch_get(batch, TSMITH_FIELD_REASON, row, &reason)) {
        (void)tsmith_batch_get(batch, TSMITH_FIELD_LOST, row, &count);
        seen->lost[reason] += count;
    }
}

// To its end, and removes it.
static inline struct seen_sums seen_sums_read(struct session_directory *directory) {
    struct seen_sums seen = {.first = INT64_MAX};
    struct collector *collector;
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_status status;
    assert_int_equal(collector_create(directory, COLLECT_SESSION, &collector, &error), TSMITH_OK);
    collector_set_closing(collector, true);
    while ((status = collector_next(collector, &batch, &error)) == TSMITH_OK)
        for (uint32_t row = 0; row < tsmith_batch_count(batch); row++)
            seen_sums_see(collector_dictionary(collector), batch, row, &seen);
    assert_int_equal(status, TSMITH_END);
    collector_destroy(collector);
    session_directory_remove(directory);
    return seen;
}

// Until everything that was added is in rows that the agent's thread has written.
static inline void seen_sums_wait(void) {
    for (bool done = false; !done; usleep(1000)) {
        done = true;
        for (uint32_t list = 0; list < LAYOUT_FLIGHTS; list++) {
            const struct layout_flight *flight = channel_flight(agent.channel, list);
            done = done && atomic_load(&flight->summed) == atomic_load(&flight->summed_written);
        }
    }
}

#endif
