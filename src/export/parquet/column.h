// SPDX-License-Identifier: Apache-2.0
// One column chunk of a row group: its pages, its dictionary and its statistics. Numbers of fields and enums are those of
// parquet.thrift (https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift).
//
// A block of rows becomes one page; rows at the end of which no value is known wait, so that they become one page together.
// Pages are held back until the row group ends, because the dictionary comes before them.
#ifndef EXPORT_PARQUET_COLUMN_H
#define EXPORT_PARQUET_COLUMN_H

#include <zstd.h>

#include "event/utf8.h"
#include "export/event_rows.h"
#include "export/parquet/thrift.h"

enum {
    PARQUET_BOOLEAN = 0,
    PARQUET_INT32 = 1,
    PARQUET_INT64 = 2,
    PARQUET_DOUBLE = 5,
    PARQUET_BYTE_ARRAY = 6
};

// How a type of events is stored.
struct parquet_type {
    int physical;
    unsigned bits; // of an integer; 0: none
    bool is_signed;
};

struct parquet_type parquet_type_of(tsmith_type type);

// Zero-initialized except for `field`, it has no row.
struct parquet_column {
    const struct event_columns_field *field;
    struct thrift pages;
    uint64_t entries,
        nulls;        // values with those that are unknown; of lists, elements with lists that have none
    uint32_t waiting; // rows without a value that are not in a page yet
    uint64_t plain;   // bytes of the pages, with their headers, before compression
    bool has_plain, has_deltas, has_indices, compressed;
    bool bounded, unordered; // the bounds are of a value; a value has no order (NaN)
    uint64_t least, most;    // bits of the bounds
    uint32_t *index_of;      // number in the dictionary + 1, by id of the text
    size_t index_capacity;
    uint32_t *texts; // ids, by number
    size_t text_count, text_capacity;
};

// What all columns use in turn.
struct parquet_scratch {
    ZSTD_CCtx *zstd;
    struct thrift plain, packed, head;
    struct utf8_bytes texts;
    uint64_t *dense;   // of ROWS_MAX known values
    uint32_t *indices; // of ROWS_MAX
    uint8_t *levels;
    size_t dense_capacity, level_capacity;
    bool failed; // out of memory
};

bool parquet_scratch_begin(struct parquet_scratch *scratch);
void parquet_scratch_finish(struct parquet_scratch *scratch);

// Adds a block of rows. Failures are in the scratch.
void parquet_column_add(struct parquet_column *column, struct parquet_scratch *scratch,
                        const struct event_rows_block *block, const struct event_rows_column *values);

// A finished chunk: the dictionary page, if any, is in `head`, other pages are in column->pages.
struct parquet_chunk {
    const struct thrift *head;
    const struct utf8_bytes *texts; // of the dictionary page
    int64_t bytes, plain;           // of all pages
};

// Ends the chunk; its texts are those of the dictionary. What the chunk points to is valid until the next call with the scratch.
void parquet_column_end(struct parquet_column *column, struct parquet_scratch *scratch,
                        const tsmith_dictionary *dictionary, struct parquet_chunk *chunk);
// Appends the ColumnChunk of a chunk that begins at `offset` of the file.
void parquet_column_describe(const struct parquet_column *column, const struct parquet_chunk *chunk,
                             int64_t offset, struct thrift *out);
// Empties the column for the next row group.
void parquet_column_reset(struct parquet_column *column);
void parquet_column_finish(struct parquet_column *column);

#endif
