// SPDX-License-Identifier: Apache-2.0
// Columns that are filled value by value. Used by table.c and query.c.
//
// Invariants: a column of numbers has `count` of them and one of texts `count` strings, also for rows without a value; an
// undecided one has rows without a value only, and nothing stored for them. Bits of `valid` past `count` are 0.
#include "arrow/column.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static bool reserve_number(struct arrow_column *column) {
    void *numbers = column->kind == ARROW_REAL ? (void *)column->reals : (void *)column->integers;
    const bool good = array_reserve(&numbers, &column->number_capacity, column->count + 1, sizeof(int64_t));
    if (column->kind == ARROW_REAL)
        column->reals = numbers;
    else
        column->integers = numbers;
    return good;
}

// Counts a row whose value is stored.
static tsmith_status count_row(struct arrow_column *column, bool known) {
    const size_t had = column->valid_capacity;
    if (!ARRAY_RESERVE(column->valid, column->valid_capacity, column->count / 64 + 1))
        return TSMITH_ERROR_NO_MEMORY;
    memset(column->valid + had, 0, (column->valid_capacity - had) * sizeof *column->valid);
    column->valid[column->count / 64] |= (uint64_t)known << (column->count % 64);
    column->nulls += !known;
    column->count++;
    return TSMITH_OK;
}

// Stores something for a row without a value.
static bool store_nothing(struct arrow_column *column) {
    switch (column->kind) {
    case ARROW_INTEGER:
        return reserve_number(column) && (column->integers[column->count] = 0, true);
    case ARROW_REAL:
        return reserve_number(column) && (column->reals[column->count] = 0, true);
    case ARROW_TEXT:
    case ARROW_BINARY:
        return utf8_bytes_add(&column->bytes, "", 0, false);
    default:
        return true;
    }
}

tsmith_status arrow_column_null(struct arrow_column *column) {
    return store_nothing(column) ? count_row(column, false) : TSMITH_ERROR_NO_MEMORY;
}

// The column becomes one of `kind`, with something stored for the rows that it has.
static tsmith_status decide_kind(struct arrow_column *column, enum arrow_kind kind) {
    const size_t count = column->count;
    bool good = true;
    column->kind = kind;
    for (column->count = 0; column->count < count && good; column->count += good)
        good = store_nothing(column);
    column->count = count;
    return good ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}

static bool is_exact(int64_t value) {
    return value >= -((int64_t)1 << 53) && value <= (int64_t)1 << 53;
}

// Integers become reals, all of them or none.
static tsmith_status widen_to_reals(struct arrow_column *column) {
    for (size_t row = 0; row < column->count; row++)
        if (!is_exact(column->integers[row]))
            return TSMITH_ERROR_UNSUPPORTED;
    double *reals = malloc(column->number_capacity * sizeof *reals);
    if (!reals)
        return TSMITH_ERROR_NO_MEMORY;
    for (size_t row = 0; row < column->count; row++)
        reals[row] = (double)column->integers[row];
    free(column->integers);
    column->integers = NULL;
    column->reals = reals;
    column->kind = ARROW_REAL;
    return TSMITH_OK;
}

// Makes the column one that takes values of `kind`.
static tsmith_status admit(struct arrow_column *column, enum arrow_kind kind) {
    if (column->kind == kind)
        return TSMITH_OK;
    if (column->kind == ARROW_UNDECIDED)
        return decide_kind(column, kind);
    return column->kind == ARROW_INTEGER && kind == ARROW_REAL && !column->settled ? widen_to_reals(column)
                                                                                   : TSMITH_ERROR_UNSUPPORTED;
}

tsmith_status arrow_column_real(struct arrow_column *column, double value) {
    const tsmith_status status = admit(column, ARROW_REAL);
    if (status != TSMITH_OK)
        return status;
    if (!reserve_number(column))
        return TSMITH_ERROR_NO_MEMORY;
    column->reals[column->count] = value;
    return count_row(column, true);
}

tsmith_status arrow_column_integer(struct arrow_column *column, int64_t value) {
    if (column->kind == ARROW_REAL)
        return is_exact(value) ? arrow_column_real(column, (double)value) : TSMITH_ERROR_UNSUPPORTED;
    const tsmith_status status = admit(column, ARROW_INTEGER);
    if (status != TSMITH_OK)
        return status;
    if (!reserve_number(column))
        return TSMITH_ERROR_NO_MEMORY;
    column->integers[column->count] = value;
    return count_row(column, true);
}

tsmith_status arrow_column_bytes(struct arrow_column *column, const char *bytes, size_t length, bool utf8) {
    const tsmith_status status = admit(column, utf8 ? ARROW_TEXT : ARROW_BINARY);
    if (status != TSMITH_OK)
        return status;
    return utf8_bytes_add(&column->bytes, bytes, length, utf8) ? count_row(column, true)
                                                               : TSMITH_ERROR_NO_MEMORY;
}

void arrow_column_settle(struct arrow_column *column, enum arrow_kind otherwise) {
    if (column->kind == ARROW_UNDECIDED && decide_kind(column, otherwise) != TSMITH_OK)
        column->kind = ARROW_UNDECIDED; // arrow_column_take checks this
    column->settled = true;
}

const char *arrow_column_format(const struct arrow_column *column) {
    static const char *const FORMATS[] = {[ARROW_UNDECIDED] = "U",
                                          [ARROW_INTEGER] = "l",
                                          [ARROW_REAL] = "g",
                                          [ARROW_TEXT] = "U",
                                          [ARROW_BINARY] = "Z"};
    return FORMATS[column->kind];
}

bool arrow_column_take(struct arrow_column *column, struct ArrowArray *out) {
    struct arrow_parts parts = {.length = (int64_t)column->count, .null_count = (int64_t)column->nulls};
    parts.buffers[0] = column->nulls ? column->valid : NULL;
    parts.owned[0] = column->valid;
    const bool numbers = column->kind == ARROW_INTEGER || column->kind == ARROW_REAL;
    bool good = column->kind != ARROW_UNDECIDED;
    if (numbers) {
        good = reserve_number(column); // also where there is no row
        parts.owned[1] = column->kind == ARROW_REAL ? (void *)column->reals : (void *)column->integers;
        parts.buffers[1] = parts.owned[1];
        parts.buffer_count = 2;
    } else {
        good &= utf8_bytes_begin(&column->bytes);
        parts.buffers[1] = parts.owned[1] = column->bytes.offsets;
        parts.buffers[2] = parts.owned[2] = column->bytes.bytes;
        parts.buffer_count = 3;
    }
    *column = (struct arrow_column){.kind = column->kind, .settled = column->settled};
    if (!good)
        parts.length = parts.null_count = 0;
    return arrow_array_make(out, &parts) && good;
}

void arrow_column_finish(struct arrow_column *column) {
    free(column->integers);
    free(column->reals);
    free(column->valid);
    utf8_bytes_finish(&column->bytes);
    *column = (struct arrow_column){.count = 0};
}
