// SPDX-License-Identifier: Apache-2.0
// Adds up a file's events and writes and reads the totals in END frames. The reader and the writer call it.
#include "sbt/totals.h"

#include "base/hash.h"
#include "tracesmith/view.h"

static const uint8_t trailer_magic[8] = {'S', 'B', 'T', 'E', 'N', 'D', '\r', '\n'};

void totals_add_span(struct totals *totals, uint64_t events, int64_t first_start, int64_t last_end) {
    if (events == 0)
        return;
    if (totals->events == 0 || first_start < totals->first_start)
        totals->first_start = first_start;
    if (totals->events == 0 || last_end > totals->last_end)
        totals->last_end = last_end;
    totals->events += events;
}

static void add_losses(struct totals *totals, const tsmith_batch *batch, const uint8_t *kinds) {
    static const uint32_t fields[] = {TSMITH_FIELD_LOST, TSMITH_FIELD_REASON};
    enum { LOST, REASON, FIELDS };
    tsmith_view views[FIELDS];
    uint64_t lost;
    tsmith_view_batch(batch, fields, FIELDS, views);
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        if (kinds[row] != TSMITH_KIND_LOSS || !tsmith_view_u64(&views[LOST], row, &lost))
            continue;
        const uint8_t reason = tsmith_view_word(&views[REASON], row);
        totals->lost[reason < TSMITH_REASON_LIMIT ? reason : TSMITH_REASON_NONE] += lost;
    }
}

void totals_add(struct totals *totals, const tsmith_batch *batch) {
    const tsmith_view view = tsmith_view_typed(batch, TSMITH_FIELD_KIND, TSMITH_TYPE_KIND);
    const uint8_t *kinds = tsmith_view_every(&view);
    uint32_t count = tsmith_batch_count(batch);
    totals_add_span(totals, count, tsmith_batch_first_start(batch), tsmith_batch_last_end(batch));
    if (!kinds)
        return;
    bool losses = false;
    for (uint32_t row = 0; row < count;) {
        uint32_t from = row;
        while (row < count && kinds[row] == kinds[from])
            row++;
        totals->kinds[kinds[from] < TSMITH_KIND_LIMIT ? kinds[from] : TSMITH_KIND_NONE] += row - from;
        losses |= kinds[from] == TSMITH_KIND_LOSS;
    }
    if (losses)
        add_losses(totals, batch, kinds);
}

void totals_write_end(const struct totals *totals, uint64_t index_offset, uint64_t offset,
                      struct output *out) {
    size_t start = out->length;
    output_varint(out, totals->frames);
    output_varint(out, totals->events);
    output_zigzag(out, (uint64_t)totals->first_start);
    output_zigzag(out, (uint64_t)totals->last_end);
    output_varint(out, index_offset);
    output_varint(out, TSMITH_KIND_LIMIT);
    for (size_t i = 0; i < TSMITH_KIND_LIMIT; i++)
        output_varint(out, totals->kinds[i]);
    output_varint(out, TSMITH_REASON_LIMIT);
    for (size_t i = 0; i < TSMITH_REASON_LIMIT; i++)
        output_varint(out, totals->lost[i]);
    uint64_t length = frame_stored_length(out->length - start + SBT_TRAILER_SIZE);
    uint8_t *rest = output_room(out, 2 * SBT_ALIGNMENT);
    if (!rest)
        return;
    size_t zeros = (size_t)length - (out->length - start) - SBT_TRAILER_SIZE;
    memset(rest, 0, zeros + SBT_TRAILER_SIZE);
    uint8_t *trailer = rest + zeros;
    memcpy(trailer, trailer_magic, sizeof trailer_magic);
    bytes_put_u64(trailer + 8, offset);
    bytes_put_u64(trailer + 16, offset + SBT_FRAME_HEADER_SIZE + length);
    bytes_put_u32(trailer + 28, crc32c(0, trailer, 28));
    out->length += zeros + SBT_TRAILER_SIZE;
}

bool totals_read_trailer(const uint8_t *trailer, uint64_t file_size, uint64_t *end_offset) {
    *end_offset = bytes_get_u64(trailer + 8);
    return memcmp(trailer, trailer_magic, sizeof trailer_magic) == 0 &&
           bytes_get_u32(trailer + 28) == crc32c(0, trailer, 28) &&
           bytes_get_u64(trailer + 16) == file_size && *end_offset < file_size;
}

// K varints, of which those beyond `limit` are unknown here and added to 0.
static bool read_counts(struct input *in, uint64_t *counts, uint32_t limit) {
    uint32_t stored;
    uint64_t value;
    if (!input_count(in, 1024, &stored))
        return false;
    for (uint32_t i = 0; i < stored; i++) {
        if (!input_varint(in, &value))
            return false;
        counts[i < limit ? i : 0] += value;
    }
    return true;
}

bool totals_read_end(struct input payload, uint64_t file_size, struct totals *totals,
                     uint64_t *index_offset) {
    uint64_t first, last, end_offset;
    *totals = (struct totals){0};
    if (input_left(&payload) < SBT_TRAILER_SIZE || input_left(&payload) % SBT_ALIGNMENT != 0 ||
        !totals_read_trailer(payload.end - SBT_TRAILER_SIZE, file_size, &end_offset))
        return false;
    payload.end -= SBT_TRAILER_SIZE;
    if (!input_varint(&payload, &totals->frames) || !input_varint(&payload, &totals->events) ||
        !input_zigzag(&payload, &first) || !input_zigzag(&payload, &last) ||
        !input_varint(&payload, index_offset) || !read_counts(&payload, totals->kinds, TSMITH_KIND_LIMIT) ||
        !read_counts(&payload, totals->lost, TSMITH_REASON_LIMIT))
        return false;
    totals->first_start = (int64_t)first;
    totals->last_end = (int64_t)last;
    return true;
}
