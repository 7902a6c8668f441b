// SPDX-License-Identifier: Apache-2.0
#include "capture/builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "event/batch.h"
#include "event/sort.h"

enum { FIRST_ROWS = 256 };

void builder_init(struct builder *builder, uint32_t track) {
    memset(builder, 0, sizeof *builder);
    builder->track = track;
}

void builder_finish(struct builder *builder) {
    for (uint32_t i = 0; i < builder->column_count; i++) {
        free(builder->columns[i].values);
        free(builder->columns[i].valid);
        free(builder->columns[i].device);
    }
    for (uint32_t i = 0; i < BUILDER_LAYOUTS; i++)
        free(builder->layouts[i]);
    free(builder->columns);
    free(builder->elements);
    free(builder->open);
    free(builder->open_words);
    free(builder->sources);
    free(builder->order);
    memset(builder, 0, sizeof *builder);
}

static bool set_bit(uint64_t *bitmap, uint32_t row) {
    bitmap[row / 64] |= 1ull << (row % 64);
    return true;
}

static bool has_bit(const uint64_t *bitmap, uint32_t row) {
    return bitmap[row / 64] >> (row % 64) & 1;
}

static bool grow_bitmap(uint64_t **bitmap, uint32_t from_rows, uint32_t to_rows) {
    size_t from = from_rows / 64, to = to_rows / 64;
    uint64_t *grown = realloc(*bitmap, to * sizeof *grown);
    if (!grown)
        return false;
    memset(grown + from, 0, (to - from) * sizeof *grown);
    *bitmap = grown;
    return true;
}

static bool grow_column(struct builder_column *column, uint32_t from, uint32_t to) {
    uint64_t *values = realloc(column->values, to * sizeof *values);
    if (!values)
        return false;
    column->values = values;
    return grow_bitmap(&column->valid, from, to) &&
           (!column->device || grow_bitmap(&column->device, from, to));
}

static bool grow(struct builder *builder) {
    uint32_t capacity = builder->capacity ? 4 * builder->capacity : FIRST_ROWS;
    builder_settle(builder);
    for (uint32_t i = 0; i < BUILDER_LAYOUTS; i++)
        if (builder->layouts[i])
            builder->layouts[i]->number = 0; // values move
    for (uint32_t i = 0; i < builder->column_count; i++)
        if (!grow_column(&builder->columns[i], builder->capacity, capacity))
            return false;
    builder->capacity = capacity;
    return true;
}

static struct builder_column *add_column(struct builder *builder, uint32_t field, tsmith_type type) {
    void *columns = builder->columns;
    bool room = array_reserve(&columns, &builder->column_capacity, builder->column_count + 1u,
                              sizeof *builder->columns);
    builder->columns = columns;
    if (!room)
        return NULL;
    struct builder_column *column = &builder->columns[builder->column_count];
    memset(column, 0, sizeof *column);
    column->field = field;
    column->type = type;
    if (!grow_column(column, 0, builder->capacity)) {
        free(column->values);
        free(column->valid);
        return NULL;
    }
    builder->column_count++;
    if (field < TSMITH_FIELD_LIMIT)
        builder->column_of[field] = (uint16_t)builder->column_count;
    else if (field - TSMITH_FIELD_DYNAMIC < BUILDER_OWN)
        builder->own_column_of[field - TSMITH_FIELD_DYNAMIC] = (uint16_t)builder->column_count;
    return column;
}

struct builder_column *builder_find_column(struct builder *builder, uint32_t field, tsmith_type type) {
    for (uint32_t i = 0; i < builder->column_count; i++)
        if (builder->columns[i].field == field)
            return &builder->columns[i];
    return add_column(builder, field, type);
}

static bool set_at(struct builder *builder, uint32_t row, uint32_t field, tsmith_type type, uint64_t bits) {
    struct builder_column *column = builder_column(builder, field, type);
    if (!column)
        return false;
    column->values[row] = bits;
    return set_bit(column->valid, row);
}

bool builder_append(struct builder *builder, tsmith_kind kind, int64_t start) {
    builder_settle(builder);
    if (builder->rows == builder->capacity && !grow(builder))
        return false;
    const uint32_t row = builder->rows++;
    builder->word = row / 64;
    builder->bit = 1ull << (row % 64);
    if (builder_set(builder, TSMITH_FIELD_START, TSMITH_TYPE_TIME, (uint64_t)start) &&
        builder_set(builder, TSMITH_FIELD_KIND, TSMITH_TYPE_KIND, (uint64_t)kind))
        return true;
    builder->rows--;
    return false;
}

bool builder_add_device_bitmap(struct builder *builder, struct builder_column *column) {
    return grow_bitmap(&column->device, 0, builder->capacity);
}

bool builder_set_list(struct builder *builder, uint32_t field, const uint64_t *values, uint32_t count) {
    struct builder_column *column = builder_column(builder, field, TSMITH_TYPE_LIST);
    void *elements = builder->elements;
    bool room = column && array_reserve(&elements, &builder->element_capacity, builder->element_count + count,
                                        sizeof *builder->elements);
    builder->elements = elements;
    if (!room)
        return false;
    memcpy(builder->elements + builder->element_count, values, count * sizeof *values);
    // Where they are and how many, in one value: an element count never reaches 2^48 in a batch.
    column->values[builder->rows - 1] = (uint64_t)count << 48 | builder->element_count;
    builder->element_count += count;
    return set_bit(column->valid, builder->rows - 1);
}

// ---- rows by layout

static void set_bits(uint64_t *bitmap, uint32_t from, uint32_t to) {
    const uint32_t first = from / 64, last = (to - 1) / 64;
    const uint64_t low = UINT64_MAX << (from % 64), high = UINT64_MAX >> (63 - (to - 1) % 64);
    if (first == last) {
        bitmap[first] |= low & high;
        return;
    }
    bitmap[first] |= low;
    for (uint32_t word = first + 1; word < last; word++)
        bitmap[word] = UINT64_MAX;
    bitmap[last] |= high;
}

// Of rows [from, to), those whose value is not 0.
static void set_bits_of_values(uint64_t *bitmap, const uint64_t *values, uint32_t from, uint32_t to) {
    uint32_t zeros = 0;
    for (uint32_t row = from; row < to; row++)
        zeros += values[row] == 0;
    if (zeros == 0)
        set_bits(bitmap, from, to);
    for (uint32_t row = from; zeros && zeros < to - from && row < to; row++)
        bitmap[row / 64] |= (uint64_t)(values[row] != 0) << (row % 64);
}

static void settle_column(struct builder *builder, const struct builder_move *move, uint32_t from,
                          uint32_t to) {
    struct builder_column *column = &builder->columns[move->column];
    if (move->optional)
        set_bits_of_values(column->valid, column->values, from, to);
    else
        set_bits(column->valid, from, to);
    if (move->device && move->optional)
        set_bits_of_values(column->device, column->values, from, to);
    else if (move->device)
        set_bits(column->device, from, to);
}

// Many shapes make short runs, for which a range is more work than its rows.
enum { SHORT_RUN = 8 };

static void settle_row(struct builder *builder, const struct builder_layout *run, uint32_t row) {
    const uint32_t word = row / 64;
    const uint64_t bit = 1ull << (row % 64);
    const struct builder_mark *mark = run->mark, *end = mark + run->always;
    for (; mark < end; mark++)
        mark->valid[word] |= bit;
    for (end = run->mark + run->marks; mark < end; mark++)
        mark->valid[word] |= mark->values[row] ? bit : 0;
    for (uint32_t i = 0; run->device && i < run->count; i++) {
        const struct builder_move *move = &run->moves[i];
        if (move->device && !move->eager && (!move->optional || move->values[row]))
            builder->columns[move->column].device[word] |= bit;
    }
}

void builder_settle(struct builder *builder) {
    const struct builder_layout *run = builder->run;
    const uint32_t from = builder->run_from, to = builder->rows;
    builder->run = NULL;
    if (!run || from == to)
        return;
    const uint64_t kind = run->kind;
    struct builder_column *kinds = &builder->columns[builder->column_of[TSMITH_FIELD_KIND] - 1];
    for (uint32_t row = from; row < to; row++)
        kinds->values[row] = kind;
    if (to - from <= SHORT_RUN) {
        for (uint32_t row = from; row < to; row++)
            settle_row(builder, run, row);
        return;
    }
    set_bits(kinds->valid, from, to);
    for (uint32_t i = 0; i < run->count; i++)
        if (!run->moves[i].eager)
            settle_column(builder, &run->moves[i], from, to);
}

struct builder_layout *builder_layout(struct builder *builder, uint32_t number) {
    struct builder_layout **place = &builder->layouts[number % BUILDER_LAYOUTS];
    if (builder->rows == builder->capacity && !grow(builder))
        return NULL;
    builder_settle(builder);
    if (!*place)
        *place = calloc(1, sizeof **place);
    if (*place && (*place)->number != number)
        (*place)->number = 0;
    return *place;
}

void builder_run(struct builder *builder, struct builder_layout *layout) {
    builder->run = layout;
    builder->run_from = builder->rows;
    builder->device_times |= layout->device;
}

// ---- ranges

bool builder_open_range(struct builder *builder, const uint64_t *record, uint32_t words) {
    if (builder->open_count == BUILDER_OPEN_MAX) {
        builder->too_deep++;
        return true;
    }
    void *open = builder->open, *kept = builder->open_words;
    bool room =
        array_reserve(&open, &builder->open_capacity, builder->open_count + 1u, sizeof *builder->open);
    builder->open = open;
    room = room && array_reserve(&kept, &builder->open_word_capacity, builder->open_word_count + words,
                                 sizeof *builder->open_words);
    builder->open_words = kept;
    if (!room)
        return false;
    builder->open[builder->open_count++] =
        (struct builder_open){.row = builder->rows - 1, .record = (uint32_t)builder->open_word_count};
    memcpy(builder->open_words + builder->open_word_count, record, words * sizeof *record);
    builder->open_word_count += words;
    return true;
}

bool builder_close_range(struct builder *builder, int64_t end) {
    if (builder->too_deep > 0) {
        builder->too_deep--;
        return true;
    }
    if (builder->open_count == 0)
        return false;
    uint32_t row = builder->open[--builder->open_count].row;
    builder->open_word_count = builder->open[builder->open_count].record;
    int64_t start = (int64_t)builder->columns[builder->column_of[TSMITH_FIELD_START] - 1].values[row];
    return set_at(builder, row, TSMITH_FIELD_DURATION, TSMITH_TYPE_I64,
                  end > start ? (uint64_t)end - (uint64_t)start : 0);
}

uint32_t builder_abandon_ranges(struct builder *builder) {
    uint32_t count = builder->open_count + builder->too_deep;
    builder->open_count = 0;
    builder->open_word_count = 0;
    builder->too_deep = 0;
    return count;
}

// ---- flushing

static void move_device_times(struct builder *builder, int64_t offset) {
    for (uint32_t i = 0; i < builder->column_count && builder->device_times; i++) {
        struct builder_column *column = &builder->columns[i];
        for (uint32_t row = 0; column->device && row < builder->rows; row++)
            column->values[row] += has_bit(column->device, row) ? (uint64_t)offset : 0;
        if (column->device)
            memset(column->device, 0, builder->capacity / 8);
    }
    builder->device_times = false;
}

static bool ascending(const int64_t *times, uint32_t count) {
    uint32_t out_of_order = 0;
    for (uint32_t i = 1; i < count; i++)
        out_of_order |= times[i] < times[i - 1];
    return !out_of_order;
}

// The rows of the batch in ascending order of start, open ranges left out; their number, UINT32_MAX without
// memory. `straight`: that is the order in which they are.
static uint32_t order_rows(struct builder *builder, bool *straight) {
    uint32_t *order = realloc(builder->order, 2 * (size_t)builder->capacity * sizeof *order);
    if (!order)
        return UINT32_MAX;
    builder->order = order;
    const int64_t *starts =
        (const int64_t *)builder->columns[builder->column_of[TSMITH_FIELD_START] - 1].values;
    *straight = builder->open_count == 0 && ascending(starts, builder->rows);
    if (*straight)
        return builder->rows;
    sort_order_by_time(starts, builder->rows, order, order + builder->capacity);
    if (builder->open_count == 0)
        return builder->rows;
    uint32_t kept = 0;
    uint64_t is_open[TSMITH_BATCH_MAX / 64] = {0};
    for (uint32_t i = 0; i < builder->open_count; i++)
        set_bit(is_open, builder->open[i].row);
    for (uint32_t i = 0; i < builder->rows; i++)
        if (!has_bit(is_open, order[i]))
            order[kept++] = order[i];
    return kept;
}

// Rows in the order of `order`; NULL: as they are, which spares a look-up per value.
struct rows {
    const uint32_t *order;
    uint32_t count;
};

#define COPY_NARROWED(ctype)                                                                                 \
    do {                                                                                                     \
        ctype *to = values;                                                                                  \
        for (uint32_t i = 0; !rows.order && i < rows.count; i++)                                             \
            to[i] = (ctype)column->values[i];                                                                \
        for (uint32_t i = 0; rows.order && i < rows.count; i++)                                              \
            to[i] = (ctype)column->values[rows.order[i]];                                                    \
    } while (0)

static bool copy_values(tsmith_batch *batch, const struct builder_column *column, struct rows rows,
                        bool every) {
    uint64_t *valid = NULL;
    void *values = batch_add_column(batch, column->field, column->type, every ? NULL : &valid);
    if (!values)
        return false;
    switch (tsmith_type_size(column->type)) {
    case 1:
        COPY_NARROWED(uint8_t);
        break;
    case 4:
        COPY_NARROWED(uint32_t);
        break;
    default:
        if (rows.order)
            COPY_NARROWED(uint64_t);
        else
            memcpy(values, column->values, rows.count * sizeof(uint64_t));
    }
    if (!every && !rows.order)
        memcpy(valid, column->valid, batch_bitmap_words(rows.count) * sizeof *valid);
    for (uint32_t i = 0; !every && rows.order && i < rows.count; i++)
        if (has_bit(column->valid, rows.order[i]))
            set_bit(valid, i);
    return true;
}

static uint32_t row_at(struct rows rows, uint32_t i) {
    return rows.order ? rows.order[i] : i;
}

static bool copy_list(tsmith_batch *batch, const struct builder *builder, const struct builder_column *column,
                      struct rows rows) {
    uint32_t total = 0;
    uint64_t *valid = NULL;
    uint32_t *offsets = NULL;
    for (uint32_t i = 0; i < rows.count; i++)
        if (has_bit(column->valid, row_at(rows, i)))
            total += (uint32_t)(column->values[row_at(rows, i)] >> 48);
    uint64_t *values = batch_add_list_column(batch, column->field, total, &offsets, &valid);
    if (!values)
        return false;
    uint32_t at = 0;
    for (uint32_t i = 0; i < rows.count; i++) {
        const uint32_t row = row_at(rows, i);
        offsets[i] = at;
        if (!has_bit(column->valid, row))
            continue;
        uint64_t place = column->values[row];
        uint32_t length = (uint32_t)(place >> 48);
        memcpy(values + at, builder->elements + (place & ((1ull << 48) - 1)), length * sizeof *values);
        at += length;
        set_bit(valid, i);
    }
    offsets[rows.count] = at;
    return true;
}

// 0: no row of the batch has a value, 1: some, 2: all.
static int presence(const struct builder_column *column, const uint32_t *order, uint32_t count,
                    uint32_t rows) {
    uint32_t present = 0;
    if (count == rows) {
        for (uint32_t word = 0; word < batch_bitmap_words(rows); word++)
            present += (uint32_t)__builtin_popcountll(column->valid[word]);
    } else {
        for (uint32_t i = 0; i < count; i++)
            present += has_bit(column->valid, order[i]);
    }
    return present == 0 ? 0 : present == count ? 2 : 1;
}

static void state_bounds(tsmith_batch *batch) {
    tsmith_column start, duration;
    tsmith_batch_column(batch, TSMITH_FIELD_START, &start);
    const int64_t *starts = start.values;
    int64_t last = starts[start.count - 1];
    if (tsmith_batch_column(batch, TSMITH_FIELD_DURATION, &duration)) {
        const int64_t *durations = duration.values;
        for (uint32_t i = 0; i < duration.count; i++) {
            int64_t end;
            if (tsmith_column_has(&duration, i) && !__builtin_add_overflow(starts[i], durations[i], &end) &&
                end > last)
                last = end;
        }
    }
    batch_set_bounds(batch, starts[0], last);
}

// Open ranges become the first rows, all else goes.
static void carry_over(struct builder *builder) {
    for (uint32_t i = 0; i < builder->column_count; i++) {
        struct builder_column *column = &builder->columns[i];
        bool scalar = column->type != TSMITH_TYPE_LIST; // ranges carry no lists
        uint64_t present[BUILDER_OPEN_MAX / 64] = {0};
        for (uint32_t row = 0; row < builder->open_count && scalar; row++) {
            column->values[row] = column->values[builder->open[row].row];
            if (has_bit(column->valid, builder->open[row].row))
                set_bit(present, row);
        }
        memset(column->valid, 0, builder->capacity / 8);
        memcpy(column->valid, present, (builder->open_count + 63) / 64 * sizeof *present);
    }
    for (uint32_t row = 0; row < builder->open_count; row++)
        builder->open[row].row = row;
    builder->rows = builder->open_count;
    builder->element_count = 0;
}

tsmith_status builder_flush(struct builder *builder, int64_t device_offset, tsmith_batch *batch) {
    builder_settle(builder);
    if (builder->rows == builder->open_count)
        return TSMITH_END;
    move_device_times(builder, device_offset);
    bool straight = false;
    uint32_t count = order_rows(builder, &straight);
    if (count == UINT32_MAX || batch_begin_columns(batch, builder->track, count))
        return TSMITH_ERROR_NO_MEMORY;
    const struct rows rows = {straight ? NULL : builder->order, count};
    for (uint32_t i = 0; i < builder->column_count; i++) {
        const struct builder_column *column = &builder->columns[i];
        int present = presence(column, builder->order, count, builder->rows);
        if (present == 0)
            continue;
        bool done = column->type == TSMITH_TYPE_LIST ? copy_list(batch, builder, column, rows)
                                                     : copy_values(batch, column, rows, present == 2);
        if (!done)
            return TSMITH_ERROR_NO_MEMORY;
    }
    state_bounds(batch);
    carry_over(builder);
    return TSMITH_OK;
}
