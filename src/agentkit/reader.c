// SPDX-License-Identifier: Apache-2.0
// Begins and ends the reading of a buffer of records, and converts the times that reader.h does not. The agents of CUDA, ROCm and
// CANN call it.
#include "agentkit/reader.h"

#include "agentkit/agent.h"

// ns: how far outside the recording a record's time may be. Distinguishes clocks from each other.
static const int64_t MARGIN = 60000000000;

static int64_t started; // trace clock
uint64_t reader_correlation_base;

void reader_take_correlations(uint32_t log2, uint32_t bit) {
    reader_correlation_base =
        channel_correlations(agent.channel, UINT64_C(1) << log2) + (UINT64_C(1) << bit) - 1;
}

void reader_first(void) {
    started = clock_trace_now();
}

void reader_buffer_begin(struct reader_base *reader) {
    reader->piece = (struct foreign_clock_piece){.low = 1};
    reader->earliest = started - MARGIN;
    reader->latest = clock_trace_now() + MARGIN;
    reader->untimed = reader->unknown = reader->unmatched = 0;
    reader->ring = channel_ring(agent.channel);
}

void reader_buffer_end(const struct reader_base *reader) {
    const struct {
        tsmith_reason reason;
        uint64_t count;
    } lost[] = {{TSMITH_REASON_NO_TIMING, reader->untimed},
                {TSMITH_REASON_UNTRACED, reader->unknown},
                {TSMITH_REASON_UNMATCHED, reader->unmatched}};
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++)
        if (lost[i].count)
            channel_lose(agent.channel, lost[i].reason, lost[i].count);
}

bool reader_span_slow(struct reader_base *reader, uint64_t start, uint64_t end, struct span *out) {
    // No clock is slewed by more than 1 / SLEW; comparisons may err by SPARE ns; what is LONG is converted at both ends.
    enum { SLEW = 1000, SPARE = 1000000, LONG = 1000000000 };
    if (!start || end < start)
        return false;
    out->start = foreign_clock_convert(reader->clock, &reader->piece, start);
    const int64_t ended = out->start == FOREIGN_CLOCK_UNKNOWN
                              ? out->start
                              : foreign_clock_convert(reader->clock, &reader->piece, end);
    if (ended == FOREIGN_CLOCK_UNKNOWN || ended < out->start || out->start < reader->earliest ||
        ended > reader->latest)
        return false;
    // Both ends are within the recording, so this does not overflow.
    out->duration = (uint64_t)(ended - out->start);
    const uint64_t length = end - start;
    const uint64_t difference = length > out->duration ? length - out->duration : out->duration - length;
    if (length < LONG)
        out->duration = length;
    return difference <= length / SLEW + SPARE;
}
