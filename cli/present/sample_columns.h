// SPDX-License-Identifier: Apache-2.0
// Samples of host threads by columns of a picture: the CPU time of each thread, and the functions that took most of it.
// `view --timeline` and `studio` draw them.
//
// A sample stands for the CPU time of its thread since the sample before: the period of the sampler. It counts as the time of
// that length before it, cut at the beginning of the picture; where the thread was off the CPU meanwhile, a column can have more
// than its time.
#ifndef CLI_SAMPLE_COLUMNS_H
#define CLI_SAMPLE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text.h"
#include "tracesmith/sbt.h"
#include "tracesmith/stacks.h"

// What the picture shows: ns on the trace clock, from < to; columns of time; in how many columns a function is looked for
// together (the last part has the rest). Tracks without a row are left out.
struct sample_frame {
    int64_t from, to;
    size_t columns, part_columns;
    const uint32_t *row_of; // row + 1 of each track, 0: none
    uint32_t track_count;
    size_t row_count;
};

// So many samples in a function of a part.
struct sample_place {
    uint64_t key; // part << 32 | function: see sample_columns_name
    uint64_t count;
};

struct sample_row {
    uint64_t *count;        // samples by column; NULL: the row has none
    int64_t *user, *kernel; // ns by column: in the program, in the operating system's kernel
    int64_t total;          // ns; 0: the periods are unknown
    uint64_t samples;
    struct sample_place *places; // ordered by key
    size_t place_count, place_capacity;
};

struct sample_columns {
    const tsmith_dictionary *dictionary;
    tsmith_stack_names *names;
    struct sample_frame frame;
    struct sample_row *rows;
    bool has_kernel;
};

// Reads the samples of a file, whose dictionary is given. `out` is finished by the caller, also after an error. NO_MEMORY, or as
// the reader of the file.
tsmith_status sample_columns_read(tsmith_sbt *file, const tsmith_dictionary *dictionary,
                                  const struct sample_frame *frame, struct sample_columns *out,
                                  tsmith_error *error);
void sample_columns_finish(struct sample_columns *columns);

int64_t sample_column_start(const struct sample_frame *frame, size_t column);
size_t sample_part_count(const struct sample_frame *frame);
// The function with the most samples of a part; *count is 0 if it has no samples. `cursor` begins at 0 and moves behind the part:
// parts are asked for in their order.
uint32_t sample_most_frequent(const struct sample_row *row, size_t part, size_t *cursor, uint64_t *count);
// Its name; of a function that is not known the file that it is in; empty if that is not known either.
tsmith_string sample_columns_name(const struct sample_columns *columns, uint32_t function);

#endif
