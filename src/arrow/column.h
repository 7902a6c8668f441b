// SPDX-License-Identifier: Apache-2.0
// A column that is filled value by value, for tables and answers.
#ifndef ARROW_COLUMN_H
#define ARROW_COLUMN_H

#include "arrow/array.h"

enum arrow_kind { ARROW_UNDECIDED, ARROW_INTEGER, ARROW_REAL, ARROW_TEXT, ARROW_BINARY };

struct arrow_column {
    enum arrow_kind kind; // UNDECIDED: no value yet, and then the first decides
    bool settled;         // the kind is in a schema: it does not change any more
    size_t count, nulls;
    int64_t *integers; // or
    double *reals;
    size_t number_capacity;
    struct utf8_bytes bytes;
    uint64_t *valid; // a bit per row
    size_t valid_capacity;
};

// Adds a value: OK, NO_MEMORY, or UNSUPPORTED when the column is of another kind. An integer in a column of reals becomes one
// where that changes nothing, and integers before the first real do where the kind is not settled.
tsmith_status arrow_column_null(struct arrow_column *column);
tsmith_status arrow_column_integer(struct arrow_column *column, int64_t value);
tsmith_status arrow_column_real(struct arrow_column *column, double value);
tsmith_status arrow_column_bytes(struct arrow_column *column, const char *bytes, size_t length, bool utf8);

// Settles the kind (`otherwise` where no value decided it).
void arrow_column_settle(struct arrow_column *column, enum arrow_kind otherwise);
const char *arrow_column_format(const struct arrow_column *column);
// Moves what was added into an array; the column is then empty, and settled as before. False when memory is exhausted.
bool arrow_column_take(struct arrow_column *column, struct ArrowArray *out);
void arrow_column_finish(struct arrow_column *column);

#endif
