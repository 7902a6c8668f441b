// SPDX-License-Identifier: Apache-2.0
// What all readers of a driver's records have in common: the ring that they write to, times on the trace clock, and what they count.
// For agents that translate buffers of records (CUPTI, rocprofiler-sdk, MSPTI):
//
//     attaching:  reader_take_correlations(40, 41);
//     once:       struct reader_base base = {.clock = &clock}; reader_first();
//     a buffer:   reader_buffer_begin(&base); a record each: reader_needs_span(&base, start, end, &span); reader_buffer_end(&base);
//
// One thread at a time uses a reader.
#ifndef AGENTKIT_READER_H
#define AGENTKIT_READER_H

#include "agentkit/foreign_clock.h"
#include "wire/channel.h"

struct reader_base {
    struct ring *ring;
    struct foreign_clock *clock; // of the records' times
    struct foreign_clock_piece piece;
    int64_t earliest, latest;             // trace times that a record can be of
    uint64_t untimed, unknown, unmatched; // for the ledger, counted per buffer
};

// While the agent attaches: numbers of the process's own for the driver's correlation ids, of which there are 2^log2 from 1 on. `bit` is one
// that no other agent gives: it keeps their numbers apart.
void reader_take_correlations(uint32_t log2, uint32_t bit);
extern uint64_t reader_correlation_base __attribute__((visibility("hidden")));
static inline uint64_t reader_correlation(uint64_t id) {
    return id ? reader_correlation_base + id : 0;
}

// The recording begins now: no record is of a time long before.
void reader_first(void);
void reader_buffer_begin(struct reader_base *reader);
// Counts in the ledger what was not recorded.
void reader_buffer_end(const struct reader_base *reader);

// When something happened that has a start and an end, on the trace clock.
struct span {
    int64_t start;
    uint64_t duration;
};
#define READER_SPAN(span) .start = (uint64_t)(span)->start, .duration = (span)->duration // of SPAN_WORDS

// False: there are no times, or such as cannot be. A driver's clock may change (CUPTI's does while CUDA initializes): what began
// before that and ended after it has no duration.
bool reader_span_slow(struct reader_base *reader, uint64_t start, uint64_t end, struct span *out);
static inline bool reader_span(struct reader_base *reader, uint64_t start, uint64_t end, struct span *out) {
    if (__builtin_expect(start < reader->piece.low || end >= reader->piece.high || end < start, 0))
        return reader_span_slow(reader, start, end, out);
    out->start = foreign_clock_convert(reader->clock, &reader->piece, start);
    out->duration = end - start;
    return out->start >= reader->earliest && out->start <= reader->latest;
}
// For one time. 0 is unknown.
static inline bool reader_time(struct reader_base *reader, uint64_t time, uint64_t *out) {
    const int64_t at =
        time ? foreign_clock_convert(reader->clock, &reader->piece, time) : FOREIGN_CLOCK_UNKNOWN;
    *out = (uint64_t)at;
    return at >= reader->earliest && at <= reader->latest;
}

// The same of a record that is nothing without its times: it is counted then.
static inline bool reader_needs_span(struct reader_base *reader, uint64_t start, uint64_t end,
                                     struct span *out) {
    const bool known = reader_span(reader, start, end, out);
    reader->untimed += !known;
    return known;
}
static inline bool reader_needs_time(struct reader_base *reader, uint64_t time, uint64_t *out) {
    const bool known = reader_time(reader, time, out);
    reader->untimed += !known;
    return known;
}

#endif
