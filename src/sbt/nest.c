// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes the NEST transform. column_search.c and column_decode.c call it.
#include "sbt/nest.h"

#include <stddef.h>

static bool has_duration(const uint64_t *valid, uint32_t row) {
    return !valid || (valid[row / 64] >> row % 64 & 1);
}

// The end of a range that may be nested; false for a range that is always loose.
static bool end_of(const int64_t *start, const int64_t *duration, const uint64_t *valid, uint32_t row,
                   int64_t *end) {
    return has_duration(valid, row) && duration[row] >= 0 &&
           !__builtin_add_overflow(start[row], duration[row], end);
}

void nest_make(struct nest *nest, const int64_t *start, const int64_t *duration, const uint64_t *valid,
               uint32_t rows) {
    uint64_t last = (uint64_t)start[0];
    uint32_t depth = 0;
    int64_t end, outer;
    for (uint32_t row = 0; row < rows; row++) {
        uint64_t ended = 0;
        for (; depth && end_of(start, duration, valid, nest->stack[depth - 1], &outer) && outer <= start[row];
             depth--, ended++) {
            nest->closes[nest->stack[depth - 1]] = (uint64_t)outer - last;
            last = (uint64_t)outer;
        }
        nest->opens[row] = (uint64_t)start[row] - last;
        last = (uint64_t)start[row];
        bool nested = end_of(start, duration, valid, row, &end) && (depth == 0 || end <= outer);
        nest->steps[row] = ended << 1 | !nested;
        nest->closes[row] = has_duration(valid, row) ? (uint64_t)duration[row] : 0;
        if (nested) {
            nest->stack[depth++] = row;
            outer = end;
        }
    }
    for (; depth; depth--) {
        (void)end_of(start, duration, valid, nest->stack[depth - 1], &outer);
        nest->closes[nest->stack[depth - 1]] = (uint64_t)outer - last;
        last = (uint64_t)outer;
    }
}

// The innermost open range ends; returns when.
static uint64_t close_one(const struct nest *nest, uint32_t row, uint64_t last, const int64_t *start,
                          int64_t *duration) {
    uint64_t end = last + nest->closes[row];
    duration[row] = (int64_t)(end - (uint64_t)start[row]);
    return end;
}

bool nest_undo(const struct nest *nest, int64_t origin, const uint64_t *valid, uint32_t rows, int64_t *start,
               int64_t *duration) {
    uint64_t last = (uint64_t)origin;
    uint32_t depth = 0;
    for (uint32_t row = 0; row < rows; row++) {
        uint64_t ended = nest->steps[row] >> 1;
        if (ended > depth)
            return false;
        for (; ended; ended--)
            last = close_one(nest, nest->stack[--depth], last, start, duration);
        last += nest->opens[row];
        start[row] = (int64_t)last;
        duration[row] = (int64_t)nest->closes[row];
        if ((nest->steps[row] & 1) == 0) {
            if (!has_duration(valid, row))
                return false;
            nest->stack[depth++] = row;
        }
    }
    while (depth)
        last = close_one(nest, nest->stack[--depth], last, start, duration);
    return true;
}
