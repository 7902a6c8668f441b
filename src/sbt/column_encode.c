// SPDX-License-Identifier: Apache-2.0
// A column goes through three steps: its values that exist, densely; a transform that makes them small,
// chosen among a few by trying them on a sample; a packing (pack.c). Times are where the bytes are: they are
// tried against the previous time, the end of the previous event, and the other times of the same event.
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/status.h"
#include "event/batch.h"
#include "sbt/column_work.h"
#include "sbt/loops.h"

enum { TRANSFORM_SAMPLE = 64, LEAST_ROWS = 64 };

void column_encoder_finish(struct column_encoder *encoder) {
    packer_finish(&encoder->packer);
    free(encoder->directory.bytes);
    free(encoder->data.bytes);
    *encoder = (struct column_encoder){0};
}

tsmith_column encoding_part(const struct encoding *encoding, tsmith_column column) {
    column.count = encoding->rows;
    column.values =
        column.offsets ? column.values
                       : (const char *)column.values + (size_t)encoding->from * tsmith_type_size(column.type);
    column.offsets = column.offsets ? column.offsets + encoding->from : NULL;
    column.valid = column.valid ? column.valid + encoding->from / 64 : NULL;
    return column;
}

// ---- which rows have a value

static uint64_t last_word_mask(uint32_t rows) {
    return rows % 64 ? ((uint64_t)1 << rows % 64) - 1 : ~(uint64_t)0;
}

static uint32_t count_valid(const uint64_t *valid, uint32_t rows) {
    uint32_t words = batch_bitmap_words(rows), count = 0;
    for (uint32_t i = 0; i < words; i++)
        count += (uint32_t)__builtin_popcountll(i + 1 < words ? valid[i] : valid[i] & last_word_mask(rows));
    return count;
}

// The bitmap as runs, beginning without values; 0 when that takes `limit` bytes or more.
static size_t make_runs(uint8_t *out, size_t limit, const uint64_t *words, uint32_t rows) {
    size_t used = 0;
    uint32_t at = 0;
    bool has = false;
    while (at < rows) {
        uint32_t from = at;
        while (at < rows) {
            uint64_t word = (has ? ~words[at / 64] : words[at / 64]) >> at % 64;
            if (word) {
                at += (uint32_t)__builtin_ctzll(word);
                break;
            }
            at = (at / 64 + 1) * 64;
        }
        at = at < rows ? at : rows;
        if (used + VARINT_MAX > limit)
            return 0;
        used += varint_put(out + used, at - from);
        has = !has;
    }
    return used;
}

// True when it is written: as that of a column before. *mask is where it is kept.
static bool write_same_mask(struct encoding *encoding, const uint64_t *words, uint32_t index, uint32_t valid,
                            struct mask **out) {
    struct output *directory = &encoding->encoder->directory;
    size_t bytes = batch_bitmap_words(encoding->rows) * sizeof *words;
    uint32_t crc = crc32c(0, words, bytes);
    for (uint32_t i = 0; i < encoding->mask_count; i++) {
        struct mask *mask = &encoding->masks[i];
        if (mask->crc == crc && mask->valid == valid && memcmp(mask->words, words, bytes) == 0) {
            output_u8(directory, VALIDITY_SAME);
            output_varint(directory, mask->index);
            *out = mask;
            return true;
        }
    }
    *out = &encoding->masks[encoding->mask_count++];
    **out = (struct mask){words, NULL, index, valid, crc};
    return false;
}

static bool write_validity(struct encoding *encoding, const tsmith_column *column, uint32_t index,
                           uint32_t valid, struct mask **mask) {
    struct output *directory = &encoding->encoder->directory, *data = &encoding->encoder->data;
    if (valid == encoding->rows) {
        output_u8(directory, VALIDITY_ALL);
        return true;
    }
    uint32_t count = batch_bitmap_words(encoding->rows);
    size_t bytes = (encoding->rows + (size_t)7) / 8;
    uint64_t *words = encoding_take(encoding, count * sizeof *words);
    if (!words)
        return false;
    memcpy(words, column->valid, count * sizeof *words);
    words[count - 1] &= last_word_mask(encoding->rows);
    if (write_same_mask(encoding, words, index, valid, mask))
        return true;
    uint8_t *room = output_room(data, bytes + VARINT_MAX);
    if (!room)
        return false;
    size_t runs = make_runs(room, bytes / 2 + VARINT_MAX, words, encoding->rows);
    size_t shrunk = 0;
    const bool with_runs = runs && runs < bytes;
    if (!with_runs)
        bytes_to_little(words, count, sizeof *words);
    if (with_runs) {
        data->length += runs;
    } else if (bytes >= 64 && !encoding->encoder->packer.quick) {
        shrunk = pack_zstd(&encoding->encoder->packer, data, words, bytes, bytes - bytes / 8);
    }
    output_u8(directory, with_runs ? VALIDITY_RUNS : shrunk ? VALIDITY_ZSTD : VALIDITY_BITMAP);
    if (with_runs || shrunk)
        output_varint(directory, with_runs ? runs : shrunk);
    else
        output_bytes(data, words, bytes);
    if (!with_runs)
        bytes_to_little(words, count, sizeof *words);
    return true;
}

// ---- the values that exist

static bool fill_rows(struct encoding *encoding, struct column_work *work, struct mask *mask) {
    if (!mask->rows) {
        uint32_t *rows = encoding_take(encoding, work->count * sizeof *rows);
        if (!rows)
            return false;
        uint32_t used = 0;
        for (uint32_t word = 0; word < batch_bitmap_words(encoding->rows); word++)
            for (uint64_t bits = mask->words[word]; bits; bits &= bits - 1)
                rows[used++] = word * 64 + (uint32_t)__builtin_ctzll(bits);
        mask->rows = rows;
    }
    work->rows = mask->rows;
    return true;
}

#define GATHER(type)                                                                                         \
    do {                                                                                                     \
        const type *from = work->column.values;                                                              \
        for (uint32_t i = 0; work->rows && i < work->count; i++)                                             \
            values[i] = from[work->rows[i]];                                                                 \
        for (uint32_t i = 0; !work->rows && i < work->count; i++)                                            \
            values[i] = from[i];                                                                             \
    } while (0)

static bool gather(struct encoding *encoding, struct column_work *work) {
    uint32_t size = tsmith_type_size(work->column.type);
    if (!work->rows && size == 8) {
        work->values = work->column.values;
        return true;
    }
    uint64_t *values = encoding_take(encoding, work->count * sizeof *values);
    if (!values)
        return false;
    if (size == 1) {
        GATHER(uint8_t);
    } else if (size == 4) {
        GATHER(uint32_t);
    } else {
        GATHER(uint64_t);
    }
    work->values = values;
    return true;
}

// Doubles that are all whole numbers are kept as integers.
static bool make_integral(struct encoding *encoding, struct column_work *work) {
    uint64_t *values = NULL;
    for (uint32_t i = 0; i < work->count; i++) {
        double value, back;
        memcpy(&value, &work->values[i], sizeof value);
        if (!(value >= -9e15 && value <= 9e15))
            return true;
        int64_t whole = (int64_t)value;
        back = (double)whole;
        if (memcmp(&value, &back, sizeof value) != 0)
            return true;
        if (!values)
            values = encoding_take(encoding, work->count * sizeof *values);
        if (!values)
            return false;
        values[i] = (uint64_t)whole;
    }
    work->values = values;
    work->form = TRANSFORM_INTEGRAL;
    return true;
}

// ---- transforms

const int64_t *encoding_durations(struct encoding *encoding) {
    if (encoding->duration)
        return encoding->duration;
    tsmith_column column;
    bool there = tsmith_batch_column(encoding->batch, TSMITH_FIELD_DURATION, &column) != 0;
    if (there)
        column = encoding_part(encoding, column);
    if (there && !column.valid)
        return encoding->duration = column.values;
    int64_t *filled = encoding_take(encoding, encoding->rows * sizeof *filled);
    for (uint32_t row = 0; filled && row < encoding->rows; row++)
        filled[row] = there && tsmith_column_has(&column, row) ? ((const int64_t *)column.values)[row] : 0;
    return encoding->duration = filled;
}

static const int64_t *find_ends(struct encoding *encoding) {
    const int64_t *duration = encoding_durations(encoding);
    int64_t *end = encoding->end || !duration ? NULL : encoding_take(encoding, encoding->rows * sizeof *end);
    if (!end)
        return encoding->end;
    for (uint32_t row = 0; row < encoding->rows; row++)
        end[row] = (int64_t)((uint64_t)encoding->start[row] + (uint64_t)duration[row]);
    return encoding->end = end;
}

// Values of another TIME column by row, START where it has none.
static const int64_t *reference_values(struct encoding *encoding, const tsmith_column *column) {
    if (!column->valid)
        return column->values;
    int64_t *filled = encoding_take(encoding, encoding->rows * sizeof *filled);
    for (uint32_t row = 0; filled && row < encoding->rows; row++)
        filled[row] =
            tsmith_column_has(column, row) ? ((const int64_t *)column->values)[row] : encoding->start[row];
    return filled;
}

// Only columns of lower field numbers: references then never form a cycle.
uint32_t encoding_time_candidates(struct encoding *encoding, const tsmith_column *column,
                                  struct candidate out[MAX_CANDIDATES]) {
    uint32_t used = 0;
    out[used++] = (struct candidate){TRANSFORM_DELTA, 0, NULL};
    if (column->field == TSMITH_FIELD_START) {
        if (encoding_durations(encoding))
            out[used++] = (struct candidate){TRANSFORM_GAP, 0, NULL};
        return used;
    }
    if (find_ends(encoding))
        out[used++] = (struct candidate){TRANSFORM_RELATIVE, 0, find_ends(encoding)};
    for (uint32_t i = 0; i < tsmith_batch_column_count(encoding->batch) && used < MAX_CANDIDATES; i++) {
        tsmith_column other = encoding_part(encoding, tsmith_batch_column_at(encoding->batch, i));
        if (other.field >= column->field || other.field >= TSMITH_FIELD_DYNAMIC)
            break;
        const int64_t *values = other.type == TSMITH_TYPE_TIME ? reference_values(encoding, &other) : NULL;
        if (values)
            out[used++] = (struct candidate){TRANSFORM_RELATIVE, other.field, values};
    }
    return used;
}

static uint32_t list_candidates(struct encoding *encoding, const struct column_work *work,
                                struct candidate *out) {
    if (work->column.type == TSMITH_TYPE_TIME)
        return encoding_time_candidates(encoding, &work->column, out);
    out[0] = (struct candidate){TRANSFORM_PLAIN, 0, NULL};
    if (tsmith_type_size(work->column.type) == 1 || work->column.field == TSMITH_FIELD_DURATION)
        return 1;
    out[1] = (struct candidate){TRANSFORM_DELTA, 0, NULL};
    return 2;
}

void encoding_transform(const struct encoding *encoding, const struct column_work *work,
                        const struct candidate *candidate, uint32_t from, uint32_t count, uint64_t *out) {
    const uint64_t *values = work->values + from;
    bool chain = candidate_is_chain(candidate);
    if (chain && from == 0) {
        *out++ = 0;
        values++;
        from++;
        count--;
    }
    if (chain) {
        loops()->differences(out, values, count);
        if ((candidate->transform & TRANSFORM_MASK) == TRANSFORM_GAP)
            loops()->subtract(out, out, (const uint64_t *)encoding->duration + from - 1, count);
    } else if ((candidate->transform & TRANSFORM_MASK) == TRANSFORM_RELATIVE && !work->rows) {
        loops()->subtract(out, values, (const uint64_t *)candidate->reference + from, count);
    } else if ((candidate->transform & TRANSFORM_MASK) == TRANSFORM_RELATIVE) {
        for (uint32_t i = 0; i < count; i++)
            out[i] = values[i] - (uint64_t)candidate->reference[work->rows[from + i]];
    } else {
        for (uint32_t i = 0; i < count; i++)
            out[i] = values[i] - work->origin;
    }
}

struct candidate encoding_choose(const struct encoding *encoding, const struct column_work *work,
                                 const struct candidate *candidates, uint32_t count) {
    enum { PARTS = 4 };
    uint64_t sample[TRANSFORM_SAMPLE];
    uint32_t best = 0;
    uint64_t best_bits = UINT64_MAX;
    if (encoding->encoder->packer.quick)
        return candidates[0];
    for (uint32_t i = 0; i < count && count > 1; i++) {
        uint32_t sampled = 0;
        if (work->count <= TRANSFORM_SAMPLE) {
            encoding_transform(encoding, work, &candidates[i], 0, work->count, sample);
            sampled = work->count;
        }
        for (uint32_t part = 0; work->count > TRANSFORM_SAMPLE && part < PARTS; part++) {
            uint32_t size = TRANSFORM_SAMPLE / PARTS;
            uint32_t from = (uint32_t)((uint64_t)(work->count - size) * part / (PARTS - 1));
            encoding_transform(encoding, work, &candidates[i], from, size, sample + sampled);
            sampled += size;
        }
        // The first value of DELTA and GAP is not in the stream.
        bool shorter = candidate_is_chain(&candidates[i]);
        uint64_t bits = sampled > shorter
                            ? pack_estimate(&encoding->encoder->packer, sample + shorter, sampled - shorter)
                            : 0;
        if (bits < best_bits) {
            best_bits = bits;
            best = i;
        }
    }
    return candidates[best];
}

static bool write_values(struct encoding *encoding, struct column_work *work) {
    struct output *directory = &encoding->encoder->directory, *data = &encoding->encoder->data;
    struct candidate candidates[MAX_CANDIDATES];
    uint32_t count = list_candidates(encoding, work, candidates);
    struct candidate chosen = encoding_choose(encoding, work, candidates, count);
    output_u8(directory, chosen.transform | work->form);
    if (chosen.transform == TRANSFORM_RELATIVE)
        output_varint(directory, chosen.reference_field);
    const uint64_t *integers = work->values;
    if (chosen.transform != TRANSFORM_PLAIN || work->origin) {
        uint64_t *small = encoding_take(encoding, work->count * sizeof *small);
        if (!small)
            return false;
        encoding_transform(encoding, work, &chosen, 0, work->count, small);
        integers = small;
    }
    bool shorter = candidate_is_chain(&chosen);
    if (shorter)
        output_zigzag(data, work->values[0] - work->origin);
    if (work->count > shorter)
        pack_stream(&encoding->encoder->packer, data, integers + shorter, work->count - shorter,
                    work_hints(work));
    return true;
}

static bool write_constant(struct encoding *encoding, const struct column_work *work, uint64_t value) {
    uint64_t small = value - work->origin;
    output_u8(&encoding->encoder->directory, TRANSFORM_PLAIN);
    pack_stream(&encoding->encoder->packer, &encoding->encoder->data, &small, 1, 0);
    return true;
}

// Most columns of most batches have one value throughout: seen without touching each value by itself.
static bool is_constant(const tsmith_column *column) {
    size_t size = tsmith_type_size(column->type);
    return memcmp(column->values, (const char *)column->values + size, (column->count - (size_t)1) * size) ==
           0;
}

static bool write_scalar(struct encoding *encoding, struct column_work *work) {
    if (work->column.type == TSMITH_TYPE_TIME)
        work->origin = (uint64_t)encoding->origin;
    if (!work->rows && !(encoding->nested && work->column.field == TSMITH_FIELD_DURATION) &&
        is_constant(&work->column)) {
        return write_constant(encoding, work,
                              bytes_get_number(work->column.values, tsmith_type_size(work->column.type)));
    }
    if (!gather(encoding, work) || (work->column.type == TSMITH_TYPE_F64 && !make_integral(encoding, work)))
        return false;
    if (!encoding->encoder->packer.small)
        return write_values(encoding, work);
    return (work->column.type != TSMITH_TYPE_F64 || work->form || search_make_decimal(encoding, work)) &&
           search_write(encoding, work);
}

static bool write_list(struct encoding *encoding, struct column_work *work) {
    struct output *data = &encoding->encoder->data;
    const uint64_t *elements = work->column.values;
    output_u8(&encoding->encoder->directory, TRANSFORM_PLAIN);
    uint64_t *lengths = encoding_take(encoding, work->count * sizeof *lengths);
    if (!lengths)
        return false;
    uint64_t total = 0;
    for (uint32_t i = 0; i < work->count; i++) {
        uint32_t row = work->rows ? work->rows[i] : i;
        lengths[i] = work->column.offsets[row + 1] - work->column.offsets[row];
        total += lengths[i];
    }
    uint64_t *small =
        total > SBT_MAX_DECODED / sizeof *small ? NULL : encoding_take(encoding, total * sizeof *small);
    if (!small)
        return false;
    uint64_t used = 0, previous = 0;
    for (uint32_t i = 0; i < work->count; i++) {
        uint32_t from = work->column.offsets[work->rows ? work->rows[i] : i];
        for (uint64_t element = 0; element < lengths[i]; element++) {
            uint64_t value = elements[from + element];
            small[used++] = value - previous;
            previous = value;
        }
    }
    output_varint(data, total);
    pack_stream(&encoding->encoder->packer, data, lengths, work->count, 0);
    if (total)
        pack_stream(&encoding->encoder->packer, data, small, (uint32_t)total, 0);
    return true;
}

static bool write_column(struct encoding *encoding, uint32_t index) {
    struct output *directory = &encoding->encoder->directory, *data = &encoding->encoder->data;
    struct column_work work = {.column =
                                   encoding_part(encoding, tsmith_batch_column_at(encoding->batch, index))};
    work.count = work.column.valid ? count_valid(work.column.valid, encoding->rows) : encoding->rows;
    output_varint(directory, work.column.field);
    output_u8(directory, work.column.type);
    struct mask *mask = NULL;
    if (!write_validity(encoding, &work.column, index, work.count, &mask) ||
        (mask && !fill_rows(encoding, &work, mask)))
        return false;
    size_t before = data->length;
    bool ok = true;
    if (work.count == 0)
        output_u8(directory, TRANSFORM_PLAIN);
    else
        ok = work.column.type == TSMITH_TYPE_LIST ? write_list(encoding, &work)
                                                  : write_scalar(encoding, &work);
    output_varint(directory, data->length - before);
    return ok;
}

// Bytes of the values of some rows once decoded. A reader takes a few times as much while it decodes.
enum { FRAME_VALUE_BYTES = SBT_MAX_DECODED / 6 };

static uint64_t value_bytes(const tsmith_batch *batch, uint32_t from, uint32_t rows) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < tsmith_batch_column_count(batch); i++) {
        tsmith_column column = tsmith_batch_column_at(batch, i);
        bytes += (uint64_t)rows * 8 + rows / 8;
        if (column.offsets)
            bytes += (uint64_t)(column.offsets[from + rows] - column.offsets[from]) * 8;
    }
    return bytes;
}

uint32_t columns_frame_rows(const tsmith_batch *batch, uint32_t from, uint32_t most) {
    uint32_t left = tsmith_batch_count(batch) - from;
    for (uint32_t rows = most; rows >= LEAST_ROWS; rows /= 2) {
        uint32_t now = left < rows ? left : rows;
        if (value_bytes(batch, from, now) <= FRAME_VALUE_BYTES)
            return now;
    }
    return 0;
}

static bool fits_into_frames(const tsmith_batch *batch) {
    uint32_t rows = 1;
    for (uint32_t from = 0; rows && from < tsmith_batch_count(batch); from += rows)
        rows = columns_frame_rows(batch, from, COLUMNS_FEW_ROWS);
    return rows != 0 && tsmith_batch_column_count(batch) <= SBT_MAX_COLUMNS;
}

tsmith_status columns_check(const tsmith_batch *batch, tsmith_error *error) {
    tsmith_column start, kind;
    if (!tsmith_batch_column(batch, TSMITH_FIELD_START, &start) || start.valid ||
        !tsmith_batch_column(batch, TSMITH_FIELD_KIND, &kind) || kind.valid)
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "a batch has events without a start or without a kind");
    const int64_t *starts = start.values;
    if (starts[0] != tsmith_batch_first_start(batch) || !loops()->ascending(starts, start.count))
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "a batch is not sorted by time: tsmith_batch_finish was not called");
    if (!fits_into_frames(batch))
        return status_set(error, TSMITH_ERROR_LIMIT,
                          "a batch of %u events has too much in one event: %u columns, or lists of millions",
                          tsmith_batch_count(batch), tsmith_batch_column_count(batch));
    return TSMITH_OK;
}

// As tsmith_batch_finish does: ends that overflow do not count.
static int64_t last_end(struct encoding *encoding) {
    const int64_t *duration = encoding_durations(encoding);
    int64_t last = encoding->start[encoding->rows - 1];
    int64_t end = duration ? loops()->last_end(encoding->start, duration, encoding->rows) : last;
    return end > last ? end : last;
}

static uint32_t kinds_of(const struct encoding *encoding) {
    tsmith_column kind;
    (void)tsmith_batch_column(encoding->batch, TSMITH_FIELD_KIND, &kind);
    return loops()->kind_bits(encoding_part(encoding, kind).values, encoding->rows);
}

bool columns_encode(struct column_encoder *encoder, const tsmith_batch *batch, uint32_t from, uint32_t rows,
                    struct output *out, struct frame_header *header) {
    uint32_t columns = tsmith_batch_column_count(batch);
    scratch_reset(&encoder->packer.scratch, SIZE_MAX);
    encoder->directory.length = encoder->data.length = 0;
    tsmith_column start;
    (void)tsmith_batch_column(batch, TSMITH_FIELD_START, &start);
    const int64_t *starts = start.values;
    struct encoding encoding = {.encoder = encoder,
                                .batch = batch,
                                .from = from,
                                .rows = rows,
                                .origin = starts[from],
                                .start = starts + from,
                                .masks =
                                    scratch_take(&encoder->packer.scratch, columns * sizeof *encoding.masks)};
    bool ok = encoding.masks != NULL;
    output_varint(&encoder->directory, columns);
    for (uint32_t i = 0; ok && i < columns; i++)
        ok = write_column(&encoding, i);
    output_bytes(out, encoder->directory.bytes, encoder->directory.length);
    output_bytes(out, encoder->data.bytes, encoder->data.length);
    *header = (struct frame_header){.type = FRAME_EVENTS,
                                    .flags = FRAME_CRITICAL,
                                    .kinds = kinds_of(&encoding),
                                    .track = tsmith_batch_track(batch),
                                    .events = rows,
                                    .first_start = encoding.origin,
                                    .last_end = last_end(&encoding)};
    return ok && !encoder->directory.failed && !encoder->data.failed && !out->failed;
}
