// SPDX-License-Identifier: Apache-2.0
// What the files that encode columns share: column_encode.c has the batch and the choices of a file that is written fast,
// column_search.c those of a small one.
#ifndef SBT_COLUMN_WORK_H
#define SBT_COLUMN_WORK_H

#include "sbt/column.h"
#include "sbt/nest.h"

// What is known of the batch while its columns are encoded.
struct encoding {
    struct column_encoder *encoder;
    const tsmith_batch *batch;
    uint32_t from, rows; // of the batch; `from` is a multiple of 64
    int64_t origin;
    const int64_t *start;
    const int64_t *duration; // 0 where there is none; made on first use
    const int64_t *end;      // likewise
    struct mask *masks;      // bitmaps already written
    uint32_t mask_count;
    struct nest nest; // set when START is stored as NEST, and so DURATION has to be
    bool nested;
};

struct mask {
    const uint64_t *words;
    const uint32_t *rows; // those that have a value; made on first use
    uint32_t index, valid, crc;
};

// One way to turn a column's values into small integers.
struct candidate {
    unsigned transform; // with its bits
    uint32_t reference_field;
    const int64_t *reference; // by row
};

// A column on its way.
struct column_work {
    tsmith_column column;
    uint32_t count;         // values that exist
    const uint64_t *values; // densely
    const uint32_t *rows;   // of each value, NULL: the same
    uint64_t origin;
    unsigned form;   // INTEGRAL or DECIMAL, when `values` are integers in place of doubles
    unsigned places; // DECIMAL
};

enum { MAX_CANDIDATES = 8 };

static inline void *encoding_take(struct encoding *encoding, size_t size) {
    return scratch_take(&encoding->encoder->packer.scratch, size);
}

// The part of a column that is being encoded, as a column.
tsmith_column encoding_part(const struct encoding *encoding, tsmith_column column);
// Durations of all rows, 0 where there is none; NULL when memory is exhausted.
const int64_t *encoding_durations(struct encoding *encoding);
// Transforms for a TIME column.
uint32_t encoding_time_candidates(struct encoding *encoding, const tsmith_column *column,
                                  struct candidate out[MAX_CANDIDATES]);
struct candidate encoding_choose(const struct encoding *encoding, const struct column_work *work,
                                 const struct candidate *candidates, uint32_t count);
// The integers of a stretch of a column under DELTA, GAP, RELATIVE or PLAIN. The first value of DELTA and GAP has none (0).
void encoding_transform(const struct encoding *encoding, const struct column_work *work,
                        const struct candidate *candidate, uint32_t from, uint32_t count, uint64_t *out);
static inline bool candidate_is_chain(const struct candidate *candidate) {
    unsigned transform = candidate->transform & TRANSFORM_MASK;
    return transform == TRANSFORM_DELTA || transform == TRANSFORM_GAP;
}
static inline unsigned work_hints(const struct column_work *work) {
    return work->column.type == TSMITH_TYPE_TIME || work->column.field == TSMITH_FIELD_DURATION ? PACK_TIMES
                                                                                                : 0;
}

// Writes the transform of a column and its values, as small as it can. False when memory is exhausted.
bool search_write(struct encoding *encoding, struct column_work *work);
// Doubles that are all decimal fractions of few places become integers. False when memory is exhausted.
bool search_make_decimal(struct encoding *encoding, struct column_work *work);

#endif
