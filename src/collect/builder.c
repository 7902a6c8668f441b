// SPDX-License-Identifier: Apache-2.0
// Gathers the rows of one track into batches. The collector calls it for every record, range and loss.
#include "collect/builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collect/row_bits.h"
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
    free(builder->slots);
    free(builder->order);
    free(builder->stretches);
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

static bool grow_values(void **values, size_t size, uint32_t from, uint32_t to) {
    char *grown = realloc(*values, to * size);
    if (!grown)
        return false;
    memset(grown + from * size, 0, (to - from) * size);
    *values = grown;
    return true;
}

static bool grow_column(struct builder_column *column, uint32_t from, uint32_t to) {
    return grow_values(&column->values, column->size, from, to) && grow_bitmap(&column->valid, from, to) &&
           (!column->device || grow_bitmap(&column->device, from, to));
}

// The columns have moved.
static void forget_places(struct builder *builder) {
    const uint16_t kind = builder->column_of[TSMITH_FIELD_KIND];
    builder->kinds = kind ? builder->columns[kind - 1].values : NULL;
    for (uint32_t i = 0; i < BUILDER_LAYOUTS; i++)
        if (builder->layouts[i])
            builder->layouts[i]->number = 0;
}

static bool grow(struct builder *builder) {
    uint32_t capacity = builder->capacity ? 4 * builder->capacity : FIRST_ROWS;
    void *slots = builder->slots;
    bool grown = grow_values(&slots, sizeof *builder->slots, builder->capacity, capacity);
    builder->slots = slots;
    for (uint32_t i = 0; grown && i < builder->column_count; i++)
        grown = grow_column(&builder->columns[i], builder->capacity, capacity);
    forget_places(builder);
    if (grown)
        builder->capacity = capacity;
    return grown;
}

static struct builder_column *add_column(struct builder *builder, uint32_t field, tsmith_type type) {
    bool room = ARRAY_RESERVE(builder->columns, builder->column_capacity, builder->column_count + 1u);
    if (!room)
        return NULL;
    struct builder_column *column = &builder->columns[builder->column_count];
    memset(column, 0, sizeof *column);
    column->field = field;
    column->type = type;
    column->size = tsmith_type_size(type);
    if (!grow_column(column, 0, builder->capacity)) {
        free(column->values);
        free(column->valid);
        return NULL;
    }
    builder->column_count++;
    if (field == TSMITH_FIELD_KIND)
        builder->kinds = column->values;
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
    builder_store(column->values, column->size, row, bits);
    return set_bit(column->valid, row);
}

bool builder_append(struct builder *builder, tsmith_kind kind, int64_t start) {
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
    bool room =
        column && ARRAY_RESERVE(builder->elements, builder->element_capacity, builder->element_count + count);
    if (!room)
        return false;
    memcpy(builder->elements + builder->element_count, values, count * sizeof *values);
    // Where they are and how many, in one value: an element count never reaches 2^48 in a batch.
    builder_store(column->values, column->size, builder->rows - 1,
                  (uint64_t)count << 48 | builder->element_count);
    builder->element_count += count;
    return set_bit(column->valid, builder->rows - 1);
}

// ---- rows by layout

enum { WORDS_MAX = BUILDER_ROWS_MAX / 64 };

enum { FEW_ROWS = 8 };

// Of some of the 64 rows from `from` on, those whose value is not 0.
static uint64_t some_with_value(const struct builder_column *column, size_t from, uint64_t rows) {
    uint64_t with = 0, left = rows;
    for (unsigned i = 0; left && i < FEW_ROWS; i++, left &= left - 1)
        if (builder_value(column, (uint32_t)from + (uint32_t)__builtin_ctzll(left)))
            with |= left & -left;
    return left ? rows & row_bits_of((const char *)column->values + from * column->size, column->size) : with;
}

static void settle_column(struct builder *builder, const struct builder_move *move, const uint64_t *rows,
                          uint32_t first, uint32_t last) {
    struct builder_column *column = &builder->columns[move->column];
    for (uint32_t word = first; word <= last; word++) {
        if (!rows[word])
            continue;
        const uint64_t with =
            move->optional ? some_with_value(column, (size_t)word * 64, rows[word]) : rows[word];
        column->valid[word] |= with;
        if (move->device)
            column->device[word] |= with;
    }
}

// Which values there are in the rows that layouts made.
static void settle_rows(struct builder *builder) {
    const uint32_t from = builder->settled, to = builder->rows;
    builder->settled = to;
    if (from >= to)
        return;
    const uint32_t first = from / 64, last = (to - 1) / 64;
    uint64_t rows[WORDS_MAX];
    uint64_t *kinds = builder->columns[builder->column_of[TSMITH_FIELD_KIND] - 1].valid;
    for (uint32_t i = 0; i < BUILDER_LAYOUTS; i++) {
        const struct builder_layout *layout = builder->layouts[i];
        uint64_t any = 0;
        for (uint32_t word = first; layout && word <= last; word++) {
            any |= rows[word] = row_bits_of_byte(builder->slots + (size_t)word * 64, layout->slot);
            kinds[word] |= rows[word];
        }
        for (uint32_t move = 0; any && move < layout->ends[BUILDER_CLASSES - 1]; move++)
            if (!layout->moves[move].eager)
                settle_column(builder, &layout->moves[move], rows, first, last);
    }
    memset(builder->slots + from, 0, to - from);
}

struct builder_layout *builder_layout(struct builder *builder, uint32_t number) {
    const uint32_t at = number % BUILDER_LAYOUTS;
    struct builder_layout **place = &builder->layouts[at];
    if (builder->rows == builder->capacity && !grow(builder))
        return NULL;
    if (!*place)
        *place = calloc(1, sizeof **place);
    if (*place && (*place)->made != number) {
        settle_rows(builder);
        **place = (struct builder_layout){.made = number, .slot = (uint8_t)(at + 1)};
    }
    return *place;
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
    int64_t start =
        (int64_t)builder_value(&builder->columns[builder->column_of[TSMITH_FIELD_START] - 1], row);
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
        uint64_t *times = column->values;
        for (uint32_t row = 0; column->device && row < builder->rows; row++) // all are TIMEs
            times[row] += has_bit(column->device, row) ? (uint64_t)offset : 0;
        if (column->device)
            memset(column->device, 0, builder->capacity / 8);
    }
    builder->device_times = false;
}

// The rows of a batch.
struct rows {
    uint32_t count;
    const uint32_t *order;                   // NULL: as they are
    const struct builder_stretch *stretches; // that the order consists of; NULL: of too many
    uint32_t stretch_count;
};

static void leave_out_open(const struct builder *builder, struct rows *rows) {
    uint32_t *order = builder->order;
    uint64_t is_open[WORDS_MAX] = {0};
    for (uint32_t i = 0; i < builder->open_count; i++)
        set_bit(is_open, builder->open[i].row);
    rows->count = 0;
    for (uint32_t i = 0; i < builder->rows; i++)
        if (!has_bit(is_open, order[i]))
            order[rows->count++] = order[i];
}

// Rows that come nearly in order make long stretches, which are moved as such.
static void find_stretches(const struct builder *builder, struct rows *rows) {
    enum { SHORT = 8 }; // in the mean
    const uint32_t *order = rows->order;
    uint32_t made = 0, from = 0;
    for (uint32_t i = 1; i <= rows->count; i++) {
        if (i < rows->count && order[i] == order[i - 1] + 1)
            continue;
        if (made == builder->capacity / SHORT)
            return;
        builder->stretches[made++] = (struct builder_stretch){order[from], i - from};
        from = i;
    }
    rows->stretches = builder->stretches;
    rows->stretch_count = made;
}

// In ascending order of start, open ranges left out. False without memory.
static bool order_rows(struct builder *builder, struct rows *rows) {
    const size_t capacity = builder->capacity;
    if (!builder->order || builder->order_capacity < capacity) {
        free(builder->order);
        free(builder->stretches);
        builder->order = malloc(2 * capacity * sizeof *builder->order);
        builder->stretches = malloc(capacity * sizeof *builder->stretches);
        builder->order_capacity = builder->order && builder->stretches ? builder->capacity : 0;
        if (!builder->order_capacity)
            return false;
    }
    const int64_t *starts = builder->columns[builder->column_of[TSMITH_FIELD_START] - 1].values;
    *rows = (struct rows){.count = builder->rows};
    if (builder->open_count == 0 && sort_is_done(starts, builder->rows))
        return true;
    sort_order_by_time(starts, builder->rows, builder->order, builder->order + capacity);
    rows->order = builder->order;
    if (builder->open_count > 0)
        leave_out_open(builder, rows);
    find_stretches(builder, rows);
    return true;
}

static uint32_t row_at(const struct rows *rows, uint32_t i) {
    return rows->order ? rows->order[i] : i;
}

static void copy_bits(uint64_t *to, uint32_t at, const uint64_t *from, struct builder_stretch stretch) {
    for (uint32_t done = 0; done < stretch.count;) {
        const uint32_t source = stretch.from + done, target = at + done;
        const uint32_t left = 64 - (source % 64 > target % 64 ? source % 64 : target % 64);
        const uint32_t now = left < stretch.count - done ? left : stretch.count - done;
        to[target / 64] |= (from[source / 64] >> source % 64 & UINT64_MAX >> (64 - now)) << target % 64;
        done += now;
    }
}

static void copy_valid(uint64_t *valid, const struct builder_column *column, const struct rows *rows) {
    if (!rows->order)
        memcpy(valid, column->valid, batch_bitmap_words(rows->count) * sizeof *valid);
    for (uint32_t i = 0, at = 0; rows->stretches && i < rows->stretch_count; at += rows->stretches[i++].count)
        copy_bits(valid, at, column->valid, rows->stretches[i]);
    for (uint32_t i = 0; rows->order && !rows->stretches && i < rows->count; i++)
        valid[i / 64] |= (uint64_t)has_bit(column->valid, rows->order[i]) << i % 64;
}

#define GATHER(ctype)                                                                                        \
    do {                                                                                                     \
        for (uint32_t i = 0; i < rows->count; i++)                                                           \
            ((ctype *)values)[i] = ((const ctype *)column->values)[rows->order[i]];                          \
    } while (0)

static void copy_rows(void *values, const struct builder_column *column, const struct rows *rows) {
    const size_t size = column->size;
    char *to = values;
    const char *from = column->values;
    for (uint32_t i = 0; rows->stretches && i < rows->stretch_count; to += rows->stretches[i++].count * size)
        memcpy(to, from + rows->stretches[i].from * size, rows->stretches[i].count * size);
    if (rows->stretches)
        return;
    if (!rows->order)
        memcpy(to, from, rows->count * size);
    else if (size == 8)
        GATHER(uint64_t);
    else if (size == 4)
        GATHER(uint32_t);
    else
        GATHER(uint8_t);
}

// A full column that is in order changes hands.
static bool copy_values(tsmith_batch *batch, const struct builder *builder, struct builder_column *column,
                        const struct rows *rows, bool every) {
    uint64_t *valid = NULL;
    void *values = batch_add_column(batch, column->field, column->type, every ? NULL : &valid);
    if (!values)
        return false;
    if (valid)
        copy_valid(valid, column, rows);
    if (rows->order || !batch_exchange_values(batch, column->field, &column->values,
                                              (size_t)builder->capacity * column->size))
        copy_rows(values, column, rows);
    return true;
}

static bool copy_list(tsmith_batch *batch, const struct builder *builder, const struct builder_column *column,
                      const struct rows *rows) {
    uint32_t total = 0;
    uint64_t *valid = NULL;
    uint32_t *offsets = NULL;
    const uint64_t *places = column->values;
    for (uint32_t i = 0; i < rows->count; i++)
        if (has_bit(column->valid, row_at(rows, i)))
            total += (uint32_t)(places[row_at(rows, i)] >> 48);
    uint64_t *values = batch_add_list_column(batch, column->field, total, &offsets, &valid);
    if (!values)
        return false;
    uint32_t at = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        const uint32_t row = row_at(rows, i);
        offsets[i] = at;
        if (!has_bit(column->valid, row))
            continue;
        uint64_t place = places[row];
        uint32_t length = (uint32_t)(place >> 48);
        memcpy(values + at, builder->elements + (place & ((1ull << 48) - 1)), length * sizeof *values);
        at += length;
        set_bit(valid, i);
    }
    offsets[rows->count] = at;
    return true;
}

// 0: no row of the batch has a value, 1: some, 2: all.
static int column_presence(const struct builder *builder, const struct builder_column *column,
                           const struct rows *rows) {
    uint64_t any = 0, missing = 0;
    const bool all = rows->count == builder->rows;
    const uint32_t words = all ? rows->count / 64 : 0, rest = all ? rows->count % 64 : 0;
    for (uint32_t i = 0; !all && i < rows->count; i++) {
        any |= has_bit(column->valid, rows->order[i]);
        missing |= !has_bit(column->valid, rows->order[i]);
    }
    for (uint32_t word = 0; word < words; word++) {
        any |= column->valid[word];
        missing |= ~column->valid[word];
    }
    if (rest) {
        any |= column->valid[words];
        missing |= ~column->valid[words] & (UINT64_MAX >> (64 - rest));
    }
    return any == 0 ? 0 : missing == 0 ? 2 : 1;
}

static void state_bounds(tsmith_batch *batch) {
    tsmith_column start, duration;
    tsmith_batch_column(batch, TSMITH_FIELD_START, &start);
    const int64_t *starts = start.values;
    int64_t last = starts[start.count - 1];
    bool timed = tsmith_batch_column(batch, TSMITH_FIELD_DURATION, &duration);
    const int64_t *durations = timed ? duration.values : NULL;
    for (uint32_t i = 0; timed && i < duration.count; i++) {
        int64_t end;
        // One that is negative looks like a large one here.
        if ((uint64_t)durations[i] > (uint64_t)last - (uint64_t)starts[i] &&
            tsmith_column_has(&duration, i) && !__builtin_add_overflow(starts[i], durations[i], &end) &&
            end > last)
            last = end;
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
            builder_store(column->values, column->size, row, builder_value(column, builder->open[row].row));
            if (has_bit(column->valid, builder->open[row].row))
                set_bit(present, row);
        }
        memset(column->valid, 0, builder->capacity / 8);
        memcpy(column->valid, present, (builder->open_count + 63) / 64 * sizeof *present);
    }
    for (uint32_t row = 0; row < builder->open_count; row++)
        builder->open[row].row = row;
    builder->rows = builder->settled = builder->open_count;
    builder->element_count = 0;
}

static bool fill_batch(struct builder *builder, const struct rows *rows, tsmith_batch *batch) {
    for (uint32_t i = 0; i < builder->column_count; i++) {
        struct builder_column *column = &builder->columns[i];
        int present = column_presence(builder, column, rows);
        if (present == 0)
            continue;
        if (column->type == TSMITH_TYPE_LIST ? !copy_list(batch, builder, column, rows)
                                             : !copy_values(batch, builder, column, rows, present == 2))
            return false;
    }
    return true;
}

tsmith_status builder_flush(struct builder *builder, int64_t device_offset, tsmith_batch *batch) {
    settle_rows(builder);
    if (builder->rows == builder->open_count)
        return TSMITH_END;
    move_device_times(builder, device_offset);
    struct rows rows;
    if (!order_rows(builder, &rows) || batch_begin_columns(batch, builder->track, rows.count))
        return TSMITH_ERROR_NO_MEMORY;
    bool filled = fill_batch(builder, &rows, batch);
    forget_places(builder);
    if (!filled)
        return TSMITH_ERROR_NO_MEMORY;
    state_bounds(batch);
    carry_over(builder);
    return TSMITH_OK;
}
