// SPDX-License-Identifier: Apache-2.0
// Columns of events in blocks. Used by the exports to Arrow IPC and Parquet.
#include "export/event_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"
#include "event/batch.h"
#include "event/utf8.h"

static tsmith_status out_of_memory(tsmith_error *error) {
    return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while exporting events as columns");
}

tsmith_status event_rows_begin(struct event_rows *rows, const tsmith_dictionary *dictionary, uint32_t room,
                               tsmith_error *error) {
    const tsmith_status status = event_columns_settle(&rows->columns, dictionary, NULL, 0, false, error);
    if (status != TSMITH_OK || rows->fields)
        return status;
    rows->room = room;
    rows->fields = calloc(rows->columns.count, sizeof *rows->fields);
    rows->views = calloc(rows->columns.count, sizeof *rows->views);
    if (!rows->fields || !rows->views || !event_rows_block_begin(&rows->block, rows))
        return out_of_memory(error);
    for (size_t i = 0; i < rows->columns.count; i++)
        rows->fields[i] = rows->columns.items[i].field;
    return TSMITH_OK;
}

// ---- bits

static void set_bits(uint64_t *bits, uint32_t from, uint32_t count) {
    for (; count && from % 64; from++, count--)
        bits[from / 64] |= (uint64_t)1 << (from % 64);
    memset(&bits[from / 64], 0xff, count / 64 * 8);
    if (count % 64)
        bits[(from + count) / 64] |= ((uint64_t)1 << (count % 64)) - 1;
}

// `to` has zeros from `at` on.
static void copy_bits(uint64_t *to, uint32_t at, const uint64_t *from, uint32_t first, uint32_t count) {
    for (uint32_t done = 0; done < count;) {
        const uint32_t in = (first + done) % 64, out = (at + done) % 64, left = count - done;
        uint32_t part = 64 - (in > out ? in : out);
        part = part < left ? part : left;
        const uint64_t mask = part == 64 ? ~(uint64_t)0 : ((uint64_t)1 << part) - 1;
        to[(at + done) / 64] |= (from[(first + done) / 64] >> in & mask) << out;
        done += part;
    }
}

// ---- rows of one column

static void clear_valid(struct event_rows_column *column) {
    memset(column->valid, 0, column->room / 64 * sizeof *column->valid);
}

// Room for values, with zeros for the rows that are there.
static bool ensure_values(struct event_rows_column *column, uint32_t count) {
    if (!column->valid && !(column->valid = calloc(column->room / 64 + 1, sizeof *column->valid)))
        return false;
    if (column->type == TSMITH_TYPE_LIST) {
        if (!column->offsets && !(column->offsets = calloc(column->room + 1, sizeof *column->offsets)))
            return false;
    } else if (!column->values && !(column->values = malloc(column->room * column->width))) {
        return false;
    }
    if (column->nulls != count)
        return true;
    if (column->type == TSMITH_TYPE_LIST)
        memset(column->offsets, 0, (count + 1) * sizeof *column->offsets);
    else
        memset(column->values, 0, count * column->width);
    return true;
}

static void add_nulls(struct event_rows_column *column, uint32_t count, uint32_t added) {
    if (column->nulls != count) {
        if (!column->nulls) {
            clear_valid(column);
            set_bits(column->valid, 0, count);
        }
        if (column->type != TSMITH_TYPE_LIST)
            memset(column->values + count * column->width, 0, added * column->width);
        else
            for (uint32_t i = 1; i <= added; i++)
                column->offsets[count + i] = column->offsets[count];
    }
    column->nulls += added;
}

static bool copy_lists(struct event_rows_column *column, uint32_t count, const tsmith_view *from,
                       uint32_t first, uint32_t added) {
    uint64_t *values = (uint64_t *)(void *)column->values;
    uint32_t at = column->offsets[count];
    const uint32_t most = from->offsets[first + added] - from->offsets[first];
    if (!ARRAY_RESERVE(values, column->capacity, (size_t)at + most + 1))
        return false;
    column->values = (uint8_t *)values;
    for (uint32_t i = 0; i < added; i++) {
        const uint32_t begin = from->offsets[first + i], end = from->offsets[first + i + 1];
        if (tsmith_view_has(from, first + i)) {
            memcpy(values + at, (const uint64_t *)from->values + begin, (end - begin) * sizeof *values);
            at += end - begin;
        }
        column->offsets[count + i + 1] = at;
    }
    return true;
}

// A switch, because a call of memset for each value costs more than the value.
static inline void clear_value(struct event_rows_column *column, uint32_t row) {
    switch (column->width) {
    case 1:
        column->values[row] = 0;
        break;
    case 4:
        ((uint32_t *)(void *)column->values)[row] = 0;
        break;
    default:
        ((uint64_t *)(void *)column->values)[row] = 0;
    }
}

// Unknown values are 0 in a file, not what memory has there.
static void clear_unknown(struct event_rows_column *column, uint32_t from, uint32_t to) {
    for (uint32_t row = from; row < to; row++)
        if (column->valid[row / 64] == ~(uint64_t)0)
            row |= 63;
        else if (!(column->valid[row / 64] >> (row % 64) & 1))
            clear_value(column, row);
}

static void forget_value(struct event_rows_column *column, uint32_t row) {
    clear_value(column, row);
    column->valid[row / 64] &= ~((uint64_t)1 << (row % 64));
    column->nulls++;
}

static void begin_bitmap(struct event_rows_column *column, uint32_t count) {
    if (column->nulls)
        return;
    clear_valid(column);
    set_bits(column->valid, 0, count);
}

// Numbers that are of no string, in a damaged trace, are unknown.
static void clear_foreign_ids(struct event_rows_column *column, uint32_t from, uint32_t to, uint32_t known) {
    const uint32_t *ids = (const uint32_t *)(const void *)column->values;
    uint32_t most = 0;
    for (uint32_t row = from; row < to; row++)
        most = ids[row] > most ? ids[row] : most;
    if (most < known)
        return;
    begin_bitmap(column, to);
    for (uint32_t row = from; row < to; row++)
        if (ids[row] >= known)
            forget_value(column, row);
}

// The same for numbers of words.
static void clear_foreign_words(struct event_rows_column *column, uint32_t from, uint32_t to) {
    if (!memchr(column->values + from, UTF8_WORDS, to - from))
        return;
    begin_bitmap(column, to);
    for (uint32_t row = from; row < to; row++)
        if (column->values[row] >= UTF8_WORDS)
            forget_value(column, row);
}

static uint32_t nulls_between(const tsmith_view *from, uint32_t first, uint32_t added) {
    uint32_t nulls = 0;
    if (first == 0)
        return event_columns_count_nulls(from->valid, added);
    for (uint32_t i = 0; from->valid && i < added; i++)
        nulls += !tsmith_view_has(from, first + i);
    return nulls;
}

static bool add_values(struct event_rows_column *column, uint32_t count, const tsmith_view *from,
                       uint32_t first, uint32_t added, uint32_t known) {
    const uint32_t nulls = nulls_between(from, first, added);
    if (nulls == added) {
        add_nulls(column, count, added);
        return true;
    }
    if (!ensure_values(column, count))
        return false;
    if (column->nulls || nulls) {
        if (!column->nulls || column->nulls == count) {
            clear_valid(column);
            if (!column->nulls)
                set_bits(column->valid, 0, count);
        }
        if (from->valid)
            copy_bits(column->valid, count, from->valid, first, added);
        else
            set_bits(column->valid, count, added);
    }
    column->nulls += nulls;
    if (column->type == TSMITH_TYPE_LIST)
        return copy_lists(column, count, from, first, added);
    memcpy(column->values + count * column->width, (const uint8_t *)from->values + first * column->width,
           added * column->width);
    if (nulls)
        clear_unknown(column, count, count + added);
    if (column->type == TSMITH_TYPE_STRING)
        clear_foreign_ids(column, count, count + added, known);
    else if (tsmith_type_has_names(column->type))
        clear_foreign_words(column, count, count + added);
    return true;
}

static bool add_track(struct event_rows_column *column, uint32_t count, uint32_t track, uint32_t added) {
    if (!ensure_values(column, count))
        return false;
    uint32_t *tracks = (uint32_t *)(void *)column->values;
    for (uint32_t i = 0; i < added; i++)
        tracks[count + i] = track;
    return true;
}

// ---- blocks

bool event_rows_block_begin(struct event_rows_block *block, const struct event_rows *rows) {
    block->items = calloc(rows->columns.count, sizeof *block->items);
    if (!block->items)
        return false;
    block->columns = rows->columns.count;
    for (size_t i = 0; i < block->columns; i++) {
        const tsmith_type type = rows->columns.items[i].type;
        block->items[i] =
            (struct event_rows_column){.type = type, .room = rows->room, .width = tsmith_type_size(type)};
    }
    return true;
}

void event_rows_block_finish(struct event_rows_block *block) {
    for (size_t i = 0; i < block->columns; i++) {
        free(block->items[i].values);
        free(block->items[i].valid);
        free(block->items[i].offsets);
    }
    free(block->items);
    *block = (struct event_rows_block){.count = 0};
}

void event_rows_exchange(struct event_rows *rows, struct event_rows_block *block) {
    const struct event_rows_block full = rows->block;
    rows->block = *block;
    *block = full;
}

static void count_losses(struct event_rows *rows, const tsmith_batch *batch) {
    static const uint32_t fields[] = {TSMITH_FIELD_KIND, TSMITH_FIELD_REASON, TSMITH_FIELD_LOST};
    const uint32_t count = tsmith_batch_count(batch);
    tsmith_view views[3];
    tsmith_view_batch(batch, fields, 3, views);
    const uint8_t *kinds = tsmith_view_every(&views[0]);
    if (!kinds || !memchr(kinds, TSMITH_KIND_LOSS, count))
        return;
    for (uint32_t row = 0; row < count; row++) {
        if (kinds[row] != TSMITH_KIND_LOSS)
            continue;
        struct event_rows_loss *loss = &rows->losses[tsmith_view_word(&views[1], row)];
        loss->entries++;
        loss->events += tsmith_view_u64_or(&views[2], row, 0);
    }
}

static tsmith_status pass_block(struct event_rows *rows, const tsmith_dictionary *dictionary,
                                const struct event_rows_reader *reader, tsmith_error *error) {
    if (!rows->block.count)
        return TSMITH_OK;
    rows->total += rows->block.count;
    const tsmith_status status = reader->block(reader->self, dictionary, rows, error);
    rows->block.count = 0;
    for (size_t i = 0; i < rows->block.columns; i++)
        rows->block.items[i].nulls = 0;
    return status;
}

static bool add_part(struct event_rows *rows, const tsmith_batch *batch, uint32_t first, uint32_t added,
                     uint32_t known) {
    const uint32_t track = tsmith_batch_track(batch);
    struct event_rows_block *block = &rows->block;
    bool good = true;
    for (size_t i = 0; good && i < block->columns; i++) {
        struct event_rows_column *to = &block->items[i];
        if (!rows->fields[i])
            good = add_track(to, block->count, track, added);
        else if (!tsmith_view_exists(&rows->views[i]))
            add_nulls(to, block->count, added);
        else
            good = add_values(to, block->count, &rows->views[i], first, added, known);
    }
    block->count += added;
    return good;
}

tsmith_status event_rows_add(struct event_rows *rows, const tsmith_dictionary *dictionary,
                             const tsmith_batch *batch, const struct event_rows_reader *reader,
                             tsmith_error *error) {
    const uint32_t count = tsmith_batch_count(batch);
    const uint32_t known = tsmith_dictionary_string_count(dictionary);
    tsmith_status status = event_columns_check(&rows->columns, dictionary, batch, error);
    if (status == TSMITH_OK)
        count_losses(rows, batch);
    tsmith_view_batch(batch, rows->fields, rows->columns.count, rows->views);
    for (uint32_t first = 0; first < count && status == TSMITH_OK;) {
        const uint32_t room = rows->room - rows->block.count, left = count - first;
        const uint32_t added = left < room ? left : room;
        if (!add_part(rows, batch, first, added, known))
            return out_of_memory(error);
        first += added;
        if (rows->block.count == rows->room)
            status = pass_block(rows, dictionary, reader, error);
    }
    return status;
}

tsmith_status event_rows_end(struct event_rows *rows, const tsmith_dictionary *dictionary,
                             const struct event_rows_reader *reader, tsmith_error *error) {
    return pass_block(rows, dictionary, reader, error);
}

void event_rows_finish(struct event_rows *rows) {
    event_rows_block_finish(&rows->block);
    free(rows->fields);
    free(rows->views);
    event_columns_finish(&rows->columns);
}
