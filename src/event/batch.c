// SPDX-License-Identifier: Apache-2.0
// Invariants: `columns[0 .. column_count)` are those of this batch, in ascending order of field; the memory
// of others is kept in `spare` for the next batch. Every column has room for `capacity` rows. A column under
// construction has a bitmap unless it was added without one; `valid_count` is the number of rows with a value,
// and a column in which every row has one is shown without a bitmap. START and KIND exist in every batch
// that was built row by row.
//
// Retained batches: `holders` is the reference count of a retained batch (0: not retained); it never changes and owns its
// columns. A batch that was lent and retained (`lent` is the retained batch) shows the same columns without owning them,
// until it is reset. Its `capacity` is 0, so that adding a row takes the slow path, where `own_columns` copies them first.
#include "event/batch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "event/sort.h"

enum { FIRST_CAPACITY = 64, GUESSES = 32 };

struct column {
    uint32_t field;
    tsmith_type type;
    uint32_t size;        // bytes of a value
    uint32_t valid_count; // rows with a value
    bool every;           // added without a bitmap: every row has a value
    void *values;
    size_t value_capacity; // in bytes
    uint64_t *valid;
    size_t valid_capacity; // in words
    uint32_t *offsets;
    size_t offset_capacity;
    uint32_t list_total; // elements of a LIST so far
    uint32_t list_rows;  // offsets written so far: rows 0 .. list_rows-1 are closed
};

struct tsmith_batch {
    uint32_t track;
    uint32_t count;
    uint32_t capacity;
    uint32_t column_count;
    int64_t first_start, last_end;
    uint64_t sequence; // of the file
    struct column *columns;
    size_t column_capacity;
    struct column *spare;
    size_t spare_count, spare_capacity;
    uint16_t index[TSMITH_FIELD_LIMIT]; // of a schema field: its column's index + 1, or 0
    uint16_t guess[GUESSES]; // of a scalar dynamic field: what its index + 1 was last in this batch
    void *scratch;           // for sorting
    size_t scratch_capacity;
    tsmith_batch *lent;
    atomic_uint holders;
};

tsmith_status tsmith_batch_create(tsmith_batch **out) {
    *out = calloc(1, sizeof **out);
    return *out ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}

static void free_column(struct column *column) {
    free(column->values);
    free(column->valid);
    free(column->offsets);
}

// The columns belong to the retained batch: they are not freed here.
static void give_up_lent(tsmith_batch *batch) {
    if (!batch->lent)
        return;
    tsmith_batch_release(batch->lent);
    batch->lent = NULL;
    batch->column_count = 0;
}

void tsmith_batch_destroy(tsmith_batch *batch) {
    if (!batch)
        return;
    give_up_lent(batch);
    for (uint32_t i = 0; i < batch->column_count; i++)
        free_column(&batch->columns[i]);
    for (size_t i = 0; i < batch->spare_count; i++)
        free_column(&batch->spare[i]);
    free(batch->columns);
    free(batch->spare);
    free(batch->scratch);
    free(batch);
}

void tsmith_batch_reset(tsmith_batch *batch, uint32_t track) {
    give_up_lent(batch);
    for (uint32_t i = 0; i < batch->column_count; i++) {
        if (ARRAY_RESERVE(batch->spare, batch->spare_capacity, batch->spare_count + 1)) {
            batch->spare[batch->spare_count++] = batch->columns[i];
        } else {
            free_column(&batch->columns[i]);
        }
    }
    batch->column_count = 0;
    batch->track = track;
    batch->count = 0;
    batch->first_start = batch->last_end = 0;
    memset(batch->index, 0, sizeof batch->index);
    memset(batch->guess, 0, sizeof batch->guess);
}

// ---- retaining

// What the lent batch shows becomes a batch of its own that owns the memory: nothing is copied.
static tsmith_batch *retain_lent(tsmith_batch *batch) {
    const size_t columns = batch->column_count * sizeof *batch->columns;
    tsmith_batch *kept = malloc(sizeof *kept);
    struct column *kept_columns = malloc(columns ? columns : 1);
    if (!kept || !kept_columns) {
        free(kept);
        free(kept_columns);
        return NULL;
    }
    if (columns)
        memcpy(kept_columns, batch->columns, columns);
    *kept = (tsmith_batch){.track = batch->track,
                           .count = batch->count,
                           .capacity = batch->capacity,
                           .column_count = batch->column_count,
                           .first_start = batch->first_start,
                           .last_end = batch->last_end,
                           .sequence = batch->sequence,
                           .columns = kept_columns,
                           .column_capacity = batch->column_count};
    memcpy(kept->index, batch->index, sizeof kept->index);
    atomic_init(&kept->holders, 1); // the lent batch
    batch->lent = kept;
    batch->capacity = 0;
    return kept;
}

tsmith_status tsmith_batch_retain(const tsmith_batch *batch, const tsmith_batch **out) {
    // A lent batch is read-only for who is given it, not for the library, and only the thread that was given it is here.
    tsmith_batch *lent = (tsmith_batch *)(uintptr_t)batch;
    tsmith_batch *kept = atomic_load_explicit(&lent->holders, memory_order_relaxed) ? lent : lent->lent;
    *out = NULL;
    if (!kept && !(kept = retain_lent(lent)))
        return TSMITH_ERROR_NO_MEMORY;
    (void)atomic_fetch_add_explicit(&kept->holders, 1, memory_order_relaxed);
    *out = kept;
    return TSMITH_OK;
}

void tsmith_batch_release(const tsmith_batch *batch) {
    tsmith_batch *kept = (tsmith_batch *)(uintptr_t)batch;
    if (!kept || !atomic_load_explicit(&kept->holders, memory_order_relaxed))
        return;
    // The last to let go sees all that the others did before they let go.
    if (atomic_fetch_sub_explicit(&kept->holders, 1, memory_order_acq_rel) == 1)
        tsmith_batch_destroy(kept);
}

static bool copy_array(void **array, size_t bytes) {
    void *copy = NULL;
    if (*array && !(copy = malloc(bytes ? bytes : 1)))
        return false;
    if (*array && bytes)
        memcpy(copy, *array, bytes);
    *array = copy;
    return true;
}

static bool copy_column(struct column *column) {
    struct column copy = *column;
    void *valid = copy.valid, *offsets = copy.offsets;
    const bool values_copied = copy_array(&copy.values, copy.value_capacity);
    const bool valid_copied = copy_array(&valid, copy.valid_capacity * sizeof *copy.valid);
    const bool offsets_copied = copy_array(&offsets, copy.offset_capacity * sizeof *copy.offsets);
    copy.valid = valid;
    copy.offsets = offsets;
    if (values_copied && valid_copied && offsets_copied) {
        *column = copy;
        return true;
    }
    free(values_copied ? copy.values : NULL);
    free(valid_copied ? valid : NULL);
    free(offsets_copied ? offsets : NULL);
    return false;
}

// Makes the columns of a batch that was retained its own again, before they change.
static bool own_columns(tsmith_batch *batch) {
    if (!batch->lent)
        return true;
    for (uint32_t i = 0; i < batch->column_count; i++) {
        if (copy_column(&batch->columns[i]))
            continue;
        while (i-- > 0)
            free_column(&batch->columns[i]);
        memcpy(batch->columns, batch->lent->columns, batch->column_count * sizeof *batch->columns);
        return false;
    }
    batch->capacity = batch->lent->capacity;
    tsmith_batch_release(batch->lent);
    batch->lent = NULL;
    return true;
}

// ---- columns

static bool reserve_bytes(void **values, size_t *capacity, size_t bytes) {
    return array_reserve(values, capacity, bytes, 1);
}

// Room for `rows` rows in every array of the column but the elements of a list.
static bool reserve_rows(struct column *column, uint32_t rows) {
    if (column->type != TSMITH_TYPE_LIST &&
        !reserve_bytes(&column->values, &column->value_capacity, (size_t)rows * column->size))
        return false;
    if (column->type == TSMITH_TYPE_LIST) {
        if (!ARRAY_RESERVE(column->offsets, column->offset_capacity, (size_t)rows + 1))
            return false;
    }
    if (!column->every) {
        size_t had = column->valid_capacity;
        if (!ARRAY_RESERVE(column->valid, column->valid_capacity, batch_bitmap_words(rows)))
            return false;
        memset(column->valid + had, 0, (column->valid_capacity - had) * sizeof *column->valid);
    }
    return true;
}

// A spare column of the same type if there is one: the same fields come again batch after batch.
static struct column take_spare(tsmith_batch *batch, uint32_t field, tsmith_type type) {
    size_t found = SIZE_MAX;
    for (size_t i = batch->spare_count; i-- > 0;) {
        if (batch->spare[i].type == type) {
            found = i;
            if (batch->spare[i].field == field)
                break;
        }
    }
    if (found == SIZE_MAX)
        return (struct column){.field = field, .type = type, .size = tsmith_type_size(type)};
    struct column taken = batch->spare[found];
    batch->spare[found] = batch->spare[--batch->spare_count];
    if (taken.valid)
        memset(taken.valid, 0, taken.valid_capacity * sizeof *taken.valid);
    taken.field = field;
    taken.valid_count = taken.list_total = taken.list_rows = 0;
    taken.every = false;
    return taken;
}

static inline struct column *schema_column(const tsmith_batch *batch, uint32_t field) {
    const uint16_t index = batch->index[field];
    return index ? &batch->columns[index - 1] : NULL;
}

static struct column *find_column(const tsmith_batch *batch, uint32_t field) {
    if (field < TSMITH_FIELD_LIMIT)
        return schema_column(batch, field);
    for (uint32_t i = batch->column_count; i-- > 0 && batch->columns[i].field >= field;)
        if (batch->columns[i].field == field)
            return &batch->columns[i];
    return NULL;
}

// Arrays that are too small for `rows` are freed: to grow them would copy values that nothing reads.
static void drop_small_arrays(struct column *column, uint32_t rows) {
    if (column->value_capacity < (size_t)rows * column->size) {
        free(column->values);
        column->values = NULL;
        column->value_capacity = 0;
    }
    if (column->valid_capacity < batch_bitmap_words(rows)) {
        free(column->valid);
        column->valid = NULL;
        column->valid_capacity = 0;
    }
}

static struct column *insert_column(tsmith_batch *batch, uint32_t field, tsmith_type type, bool every) {
    if (tsmith_type_size(type) == 0 || batch->column_count >= UINT16_MAX - 1 ||
        !ARRAY_RESERVE(batch->columns, batch->column_capacity, batch->column_count + (size_t)1))
        return NULL;
    const uint32_t rows = batch->capacity ? batch->capacity : FIRST_CAPACITY;
    struct column made = take_spare(batch, field, type);
    made.every = every;
    if (type != TSMITH_TYPE_LIST)
        drop_small_arrays(&made, rows);
    if (!reserve_rows(&made, rows)) {
        free_column(&made);
        return NULL;
    }
    uint32_t at = batch->column_count;
    while (at > 0 && batch->columns[at - 1].field > field)
        at--;
    memmove(&batch->columns[at + 1], &batch->columns[at],
            (batch->column_count - at) * sizeof *batch->columns);
    batch->columns[at] = made;
    batch->column_count++;
    for (uint32_t i = at; i < batch->column_count && batch->columns[i].field < TSMITH_FIELD_LIMIT; i++)
        batch->index[batch->columns[i].field] = (uint16_t)(i + 1);
    return &batch->columns[at];
}

static bool reserve_batch_rows(tsmith_batch *batch, uint32_t rows) {
    if (rows <= batch->capacity)
        return true;
    if (!own_columns(batch))
        return false;
    uint32_t grown = batch->capacity ? batch->capacity : FIRST_CAPACITY;
    while (grown < rows)
        grown *= 2;
    for (uint32_t i = 0; i < batch->column_count; i++)
        if (!reserve_rows(&batch->columns[i], grown))
            return false;
    batch->capacity = grown;
    return true;
}

// ---- whole columns

tsmith_status batch_begin_columns(tsmith_batch *batch, uint32_t track, uint32_t count) {
    if (count > TSMITH_BATCH_MAX)
        return TSMITH_ERROR_LIMIT;
    tsmith_batch_reset(batch, track);
    if (!reserve_batch_rows(batch, count))
        return TSMITH_ERROR_NO_MEMORY;
    batch->count = count;
    return TSMITH_OK;
}

void *batch_add_column(tsmith_batch *batch, uint32_t field, tsmith_type type, uint64_t **valid) {
    if (type == TSMITH_TYPE_LIST || find_column(batch, field))
        return NULL;
    struct column *column = insert_column(batch, field, type, valid == NULL);
    if (!column)
        return NULL;
    if (valid)
        *valid = column->valid;
    return column->values;
}

bool batch_exchange_values(tsmith_batch *batch, uint32_t field, void **values, size_t bytes) {
    struct column *column = find_column(batch, field);
    if (!column || column->type == TSMITH_TYPE_LIST || column->value_capacity != bytes)
        return false;
    void *given = *values;
    *values = column->values;
    column->values = given;
    return true;
}

uint64_t *batch_add_list_column(tsmith_batch *batch, uint32_t field, uint32_t total, uint32_t **offsets,
                                uint64_t **valid) {
    struct column *column =
        find_column(batch, field) ? NULL : insert_column(batch, field, TSMITH_TYPE_LIST, valid == NULL);
    if (!column ||
        !reserve_bytes(&column->values, &column->value_capacity, (size_t)(total + 1) * sizeof(uint64_t)))
        return NULL;
    *offsets = column->offsets;
    if (valid)
        *valid = column->valid;
    column->list_total = total;
    column->list_rows = batch->count;
    return column->values;
}

void batch_set_sequence(tsmith_batch *batch, uint64_t sequence) {
    batch->sequence = sequence;
}

tsmith_status batch_copy(tsmith_batch *to, const tsmith_batch *from) {
    tsmith_status status = batch_begin_columns(to, from->track, from->count);
    for (uint32_t i = 0; i < from->column_count && status == TSMITH_OK; i++) {
        tsmith_column column = tsmith_batch_column_at(from, i);
        uint32_t total = column.offsets ? column.offsets[column.count] : 0, *offsets = NULL;
        uint64_t *valid, **has = column.valid ? &valid : NULL;
        void *values = column.type == TSMITH_TYPE_LIST
                           ? batch_add_list_column(to, column.field, total, &offsets, has)
                           : batch_add_column(to, column.field, column.type, has);
        if (!values)
            return TSMITH_ERROR_NO_MEMORY;
        if (column.valid)
            memcpy(valid, column.valid, batch_bitmap_words(column.count) * sizeof *valid);
        if (column.type == TSMITH_TYPE_LIST) {
            memcpy(offsets, column.offsets, (column.count + (size_t)1) * sizeof *offsets);
            memcpy(values, column.values, total * sizeof(uint64_t));
        } else if (column.count) {
            memcpy(values, column.values, column.count * (size_t)tsmith_type_size(column.type));
        }
    }
    batch_set_bounds(to, from->first_start, from->last_end);
    to->sequence = from->sequence;
    return status;
}

uint64_t batch_sequence(const tsmith_batch *batch) {
    return batch->sequence;
}

void batch_set_bounds(tsmith_batch *batch, int64_t first_start, int64_t last_end) {
    batch->first_start = first_start;
    batch->last_end = last_end;
}

// ---- row by row

// Inline: every value of an import comes here.
static inline __attribute__((always_inline)) void store(struct column *column, uint32_t row, uint64_t bits) {
    switch (column->size) {
    case 1:
        ((uint8_t *)column->values)[row] = (uint8_t)bits;
        break;
    case 4:
        ((uint32_t *)column->values)[row] = (uint32_t)bits;
        break;
    default:
        ((uint64_t *)column->values)[row] = bits;
    }
    const uint64_t bit = (uint64_t)1 << (row % 64);
    uint64_t *word = &column->valid[row / 64];
    column->valid_count += !(*word & bit);
    *word |= bit;
}

uint32_t tsmith_batch_append(tsmith_batch *batch, tsmith_kind kind, int64_t start) {
    if (batch->count >= TSMITH_BATCH_MAX || !reserve_batch_rows(batch, batch->count + 1))
        return UINT32_MAX;
    if (!schema_column(batch, TSMITH_FIELD_START) &&
        !insert_column(batch, TSMITH_FIELD_START, TSMITH_TYPE_TIME, false))
        return UINT32_MAX;
    if (!schema_column(batch, TSMITH_FIELD_KIND) &&
        !insert_column(batch, TSMITH_FIELD_KIND, TSMITH_TYPE_KIND, false))
        return UINT32_MAX;
    uint32_t row = batch->count++;
    store(schema_column(batch, TSMITH_FIELD_START), row, (uint64_t)start);
    store(schema_column(batch, TSMITH_FIELD_KIND), row, kind);
    return row;
}

// The column of a field that was set in this batch before, where its guess still holds.
static inline struct column *guessed_column(const tsmith_batch *batch, uint32_t field) {
    const uint16_t guess = batch->guess[field % GUESSES];
    struct column *column = guess ? &batch->columns[guess - 1] : NULL;
    return column && column->field == field ? column : NULL;
}

static tsmith_status set_searched(tsmith_batch *batch, uint32_t field, tsmith_type type, uint64_t bits) {
    if (batch->count == 0 || type == TSMITH_TYPE_LIST)
        return TSMITH_ERROR_INVALID_ARGUMENT;
    if (batch->lent && !own_columns(batch))
        return TSMITH_ERROR_NO_MEMORY;
    struct column *column = find_column(batch, field);
    if (!column)
        column = insert_column(batch, field, type, false);
    if (!column)
        return tsmith_type_size(type) ? TSMITH_ERROR_NO_MEMORY : TSMITH_ERROR_INVALID_ARGUMENT;
    if (column->type != type)
        return TSMITH_ERROR_INVALID_ARGUMENT;
    if (field >= TSMITH_FIELD_LIMIT)
        batch->guess[field % GUESSES] = (uint16_t)(column - batch->columns + 1);
    store(column, batch->count - 1, bits);
    return TSMITH_OK;
}

tsmith_status tsmith_batch_set_dynamic(tsmith_batch *batch, uint32_t field, tsmith_type type, uint64_t bits) {
    struct column *column = guessed_column(batch, field);
    if (!column || column->type != type || batch->lent)
        return set_searched(batch, field, type, bits);
    store(column, batch->count - 1, bits);
    return TSMITH_OK;
}

tsmith_status tsmith_batch_set(tsmith_batch *batch, uint32_t field, uint64_t bits) {
    struct column *column = field < TSMITH_FIELD_LIMIT ? schema_column(batch, field) : NULL;
    if (column && !batch->lent && column->type != TSMITH_TYPE_LIST && batch->count) {
        store(column, batch->count - 1, bits);
        return TSMITH_OK;
    }
    const tsmith_field_info *info = tsmith_field_describe(field);
    return info ? set_searched(batch, field, info->type, bits) : TSMITH_ERROR_INVALID_ARGUMENT;
}

// Rows up to `row` that had no list get an empty one.
static void close_list_rows(struct column *column, uint32_t row) {
    for (; column->list_rows <= row; column->list_rows++)
        column->offsets[column->list_rows] = column->list_total;
}

tsmith_status tsmith_batch_set_list(tsmith_batch *batch, uint32_t field, const uint64_t *values,
                                    uint32_t count) {
    if (batch->count == 0)
        return TSMITH_ERROR_INVALID_ARGUMENT;
    if (!own_columns(batch))
        return TSMITH_ERROR_NO_MEMORY;
    struct column *column = find_column(batch, field);
    if (!column)
        column = insert_column(batch, field, TSMITH_TYPE_LIST, false);
    if (!column)
        return TSMITH_ERROR_NO_MEMORY;
    uint32_t row = batch->count - 1;
    if (column->type != TSMITH_TYPE_LIST || column->list_rows > row ||
        count > UINT32_MAX - column->list_total)
        return TSMITH_ERROR_INVALID_ARGUMENT;
    size_t needed = ((size_t)column->list_total + count + 1) * sizeof *values;
    if (!reserve_bytes(&column->values, &column->value_capacity, needed))
        return TSMITH_ERROR_NO_MEMORY;
    close_list_rows(column, row);
    if (count)
        memcpy((uint64_t *)column->values + column->list_total, values, count * sizeof *values);
    column->list_total += count;
    column->valid[row / 64] |= (uint64_t)1 << (row % 64);
    column->valid_count++;
    return TSMITH_OK;
}

// ---- finishing

static void permute_values(struct column *column, const uint32_t *order, uint32_t count, void *into) {
    if (column->size == 1) {
        for (uint32_t row = 0; row < count; row++)
            ((uint8_t *)into)[row] = ((const uint8_t *)column->values)[order[row]];
    } else if (column->size == 4) {
        for (uint32_t row = 0; row < count; row++)
            ((uint32_t *)into)[row] = ((const uint32_t *)column->values)[order[row]];
    } else {
        for (uint32_t row = 0; row < count; row++)
            ((uint64_t *)into)[row] = ((const uint64_t *)column->values)[order[row]];
    }
    memcpy(column->values, into, (size_t)count * column->size);
}

static void permute_list(struct column *column, const uint32_t *order, uint32_t count, void *into) {
    uint64_t *values = into;
    uint32_t *offsets = (uint32_t *)(values + column->list_total);
    uint32_t total = 0;
    for (uint32_t row = 0; row < count; row++) {
        uint32_t from = column->offsets[order[row]];
        uint32_t length = column->offsets[order[row] + 1] - from;
        offsets[row] = total;
        memcpy(values + total, (const uint64_t *)column->values + from, length * sizeof *values);
        total += length;
    }
    offsets[count] = total;
    memcpy(column->values, values, total * sizeof *values);
    memcpy(column->offsets, offsets, (count + (size_t)1) * sizeof *offsets);
}

static void permute_valid(struct column *column, const uint32_t *order, uint32_t count, uint64_t *into) {
    memset(into, 0, batch_bitmap_words(count) * sizeof *into);
    for (uint32_t row = 0; row < count; row++)
        into[row / 64] |= (column->valid[order[row] / 64] >> (order[row] % 64) & 1) << (row % 64);
    memcpy(column->valid, into, batch_bitmap_words(count) * sizeof *into);
}

// Scratch: the order, the sort's own half, and room for the largest column while it is moved.
static tsmith_status sort_rows(tsmith_batch *batch, const int64_t *starts) {
    size_t rows = batch->count, largest = (rows + 64) * sizeof(uint64_t);
    for (uint32_t i = 0; i < batch->column_count; i++) {
        const struct column *column = &batch->columns[i];
        size_t bytes = column->list_total * sizeof(uint64_t) + (rows + 1) * sizeof(uint32_t);
        largest = bytes > largest ? bytes : largest;
    }
    size_t order_bytes = (2 * rows * sizeof(uint32_t) + 63) & ~(size_t)63;
    if (!reserve_bytes(&batch->scratch, &batch->scratch_capacity, order_bytes + largest))
        return TSMITH_ERROR_NO_MEMORY;
    uint32_t *order = batch->scratch;
    void *into = (char *)batch->scratch + order_bytes;
    sort_order_by_time(starts, batch->count, order, order + rows);
    for (uint32_t i = 0; i < batch->column_count; i++) {
        struct column *column = &batch->columns[i];
        if (column->type == TSMITH_TYPE_LIST)
            permute_list(column, order, batch->count, into);
        else
            permute_values(column, order, batch->count, into);
        if (!column->every)
            permute_valid(column, order, batch->count, into);
    }
    return TSMITH_OK;
}

static int64_t last_end(const tsmith_batch *batch, const int64_t *starts) {
    int64_t last = starts[batch->count - 1];
    const struct column *durations = find_column(batch, TSMITH_FIELD_DURATION);
    for (uint32_t row = 0; durations && row < batch->count; row++) {
        int64_t end;
        bool has = durations->every || (durations->valid[row / 64] >> (row % 64) & 1);
        if (has && !__builtin_add_overflow(starts[row], ((const int64_t *)durations->values)[row], &end) &&
            end > last)
            last = end;
    }
    return last;
}

tsmith_status tsmith_batch_finish(tsmith_batch *batch) {
    batch->first_start = batch->last_end = 0;
    if (batch->count == 0)
        return TSMITH_OK;
    if (!own_columns(batch))
        return TSMITH_ERROR_NO_MEMORY;
    for (uint32_t i = 0; i < batch->column_count; i++)
        if (batch->columns[i].type == TSMITH_TYPE_LIST)
            close_list_rows(&batch->columns[i], batch->count);
    const struct column *column = find_column(batch, TSMITH_FIELD_START);
    if (!column)
        return TSMITH_ERROR_INVALID_ARGUMENT;
    const int64_t *starts = column->values;
    if (!sort_is_done(starts, batch->count)) {
        tsmith_status status = sort_rows(batch, starts);
        if (status != TSMITH_OK)
            return status;
    }
    batch->first_start = starts[0];
    batch->last_end = last_end(batch, starts);
    return TSMITH_OK;
}

// ---- reading

uint32_t tsmith_batch_count(const tsmith_batch *batch) {
    return batch->count;
}

uint32_t tsmith_batch_track(const tsmith_batch *batch) {
    return batch->track;
}

int64_t tsmith_batch_first_start(const tsmith_batch *batch) {
    return batch->first_start;
}

int64_t tsmith_batch_last_end(const tsmith_batch *batch) {
    return batch->last_end;
}

uint32_t tsmith_batch_column_count(const tsmith_batch *batch) {
    return batch->column_count;
}

static tsmith_column view(const tsmith_batch *batch, const struct column *column) {
    bool every = column->every || column->valid_count == batch->count;
    return (tsmith_column){column->field,  column->type,
                           batch->count,   every ? NULL : column->valid,
                           column->values, column->type == TSMITH_TYPE_LIST ? column->offsets : NULL};
}

tsmith_column tsmith_batch_column_at(const tsmith_batch *batch, uint32_t index) {
    return view(batch, &batch->columns[index]);
}

int tsmith_batch_column(const tsmith_batch *batch, uint32_t field, tsmith_column *out) {
    const struct column *column = find_column(batch, field);
    if (!column)
        return 0;
    *out = view(batch, column);
    return 1;
}

int tsmith_batch_get(const tsmith_batch *batch, uint32_t field, uint32_t row, uint64_t *out) {
    const struct column *column = find_column(batch, field);
    if (!column || column->type == TSMITH_TYPE_LIST || row >= batch->count)
        return 0;
    if (!column->every && !(column->valid[row / 64] >> (row % 64) & 1))
        return 0;
    switch (column->size) {
    case 1:
        *out = ((const uint8_t *)column->values)[row];
        break;
    case 4:
        *out = ((const uint32_t *)column->values)[row];
        break;
    default:
        *out = ((const uint64_t *)column->values)[row];
    }
    return 1;
}
