// SPDX-License-Identifier: Apache-2.0
// Parquet: events as a table with the columns of the Arrow stream (docs/arrow.md). formats.c lists it. The format is that of
// https://github.com/apache/parquet-format: README.md, Encodings.md and parquet.thrift.
//
// A row group has GROUP_BLOCKS blocks of events, fewer if its texts become large: it is in memory, encoded, until it is written.
//
// The columns of a block are independent: several threads (workers.h) encode and compress them while the calling one fills the next
// block. It alone writes. The bytes do not depend on the number of threads.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "export/about.h"
#include "export/formats.h"
#include "export/output.h"
#include "export/parquet/column.h"
#include "export/workers.h"

enum { GROUP_BLOCKS = 32, GROUP_BYTES_MAX = 64 << 20, GROUP_TEXTS_MAX = 1 << 20, FEW_ROWS = 8192 };
enum { REQUIRED = 0, OPTIONAL = 1, REPEATED = 2 };
enum { LOGICAL_STRING = 1, LOGICAL_LIST = 3, LOGICAL_INTEGER = 10 };
enum {
    CONVERTED_UTF8 = 0,
    CONVERTED_LIST = 3,
    CONVERTED_UINT_8 = 11,
    CONVERTED_UINT_32 = 13,
    CONVERTED_UINT_64 = 14
};

static const char MAGIC[4] = {'P', 'A', 'R', '1'};

struct parquet {
    struct output output;
    struct event_rows rows;
    struct about about;
    struct workers workers;
    struct workers_piece pieces[WORKERS_MOST];      // of the block
    struct parquet_scratch scratches[WORKERS_MOST]; // by thread
    struct event_rows_block own;
    const struct event_rows_block *block; // that is being encoded; NULL: none
    atomic_size_t next;                   // column of it
    struct parquet_column *columns;
    struct thrift groups, footer;
    size_t group_count;
    uint32_t group_blocks;
    uint64_t group_rows;
    int64_t written;
};

static tsmith_status out_of_memory(tsmith_error *error) {
    return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while writing Parquet");
}

static void put_bytes(struct parquet *parquet, const void *bytes, size_t length) {
    output_bytes(&parquet->output, bytes, length);
    parquet->written += (int64_t)length;
}

static tsmith_status begin(struct parquet *parquet, const tsmith_dictionary *dictionary,
                           tsmith_error *error) {
    tsmith_status status = workers_check(&parquet->workers, error);
    if (status == TSMITH_OK)
        status = event_rows_begin(&parquet->rows, dictionary, ROWS_MAX, error);
    if (status != TSMITH_OK || parquet->columns)
        return status;
    parquet->columns = calloc(parquet->rows.columns.count, sizeof *parquet->columns);
    if (!parquet->columns || !parquet_scratch_begin(&parquet->scratches[0]))
        return out_of_memory(error);
    for (size_t i = 0; i < parquet->rows.columns.count; i++)
        parquet->columns[i].field = &parquet->rows.columns.items[i];
    put_bytes(parquet, MAGIC, sizeof MAGIC);
    return TSMITH_OK;
}

// ---- row groups

static void put_chunk(struct parquet *parquet, struct parquet_column *column,
                      const tsmith_dictionary *dictionary, int64_t *bytes, int64_t *plain) {
    struct parquet_scratch *scratch = &parquet->scratches[0];
    struct parquet_chunk chunk;
    parquet_column_end(column, scratch, dictionary, &chunk);
    if (scratch->failed)
        return;
    parquet_column_describe(column, &chunk, parquet->written, &parquet->groups);
    put_bytes(parquet, chunk.head->bytes, chunk.head->used);
    put_bytes(parquet, column->pages.bytes, column->pages.used);
    *bytes += chunk.bytes;
    *plain += chunk.plain;
    parquet_column_reset(column);
}

static tsmith_status put_group(struct parquet *parquet, const tsmith_dictionary *dictionary,
                               tsmith_error *error) {
    const int64_t offset = parquet->written;
    int64_t bytes = 0, plain = 0;
    if (!parquet->group_rows)
        return TSMITH_OK;
    thrift_element(&parquet->groups);
    thrift_list(&parquet->groups, 1, THRIFT_STRUCT, parquet->rows.columns.count);
    for (size_t i = 0; i < parquet->rows.columns.count; i++)
        put_chunk(parquet, &parquet->columns[i], dictionary, &bytes, &plain);
    thrift_int(&parquet->groups, 2, THRIFT_I64, plain);
    thrift_int(&parquet->groups, 3, THRIFT_I64, (int64_t)parquet->group_rows);
    thrift_int(&parquet->groups, 5, THRIFT_I64, offset);
    thrift_int(&parquet->groups, 6, THRIFT_I64, bytes);
    thrift_end(&parquet->groups);
    parquet->group_count++;
    parquet->group_rows = parquet->group_blocks = 0;
    if (parquet->scratches[0].failed || parquet->groups.failed)
        return out_of_memory(error);
    if (parquet->output.status != TSMITH_OK && error)
        *error = parquet->output.error;
    return parquet->output.status;
}

static bool group_is_full(const struct parquet *parquet) {
    size_t bytes = 0, texts = 0;
    for (size_t i = 0; i < parquet->rows.columns.count; i++) {
        bytes += parquet->columns[i].pages.used;
        texts += parquet->columns[i].text_count;
    }
    return parquet->group_blocks >= GROUP_BLOCKS || bytes >= GROUP_BYTES_MAX || texts >= GROUP_TEXTS_MAX;
}

// ---- blocks

static void encode_columns(void *of, unsigned thread) {
    struct parquet *parquet = of;
    struct parquet_scratch *scratch = &parquet->scratches[thread];
    const struct event_rows_block *block = parquet->block;
    while (!scratch->failed) {
        const size_t i = atomic_fetch_add_explicit(&parquet->next, 1, memory_order_relaxed);
        if (i >= block->columns)
            return;
        parquet_column_add(&parquet->columns[i], scratch, block, &block->items[i]);
    }
}

// Returns when the block is encoded. A row group that is full with it is written.
static tsmith_status end_block(struct parquet *parquet, const tsmith_dictionary *dictionary,
                               tsmith_error *error) {
    bool failed = false;
    if (!parquet->block)
        return TSMITH_OK;
    for (size_t i = 0; i < WORKERS_MOST; i++) {
        workers_end(&parquet->workers, &parquet->pieces[i]);
        failed |= parquet->scratches[i].failed;
    }
    if (failed)
        return out_of_memory(error);
    parquet->group_rows += parquet->block->count;
    parquet->group_blocks++;
    parquet->block = NULL;
    return group_is_full(parquet) ? put_group(parquet, dictionary, error) : TSMITH_OK;
}

// False when memory is exhausted.
static bool ensure_scratches(struct parquet *parquet, unsigned count) {
    bool good = parquet->own.items || event_rows_block_begin(&parquet->own, &parquet->rows);
    for (unsigned i = 0; good && i < count; i++)
        good = parquet->scratches[i].zstd || parquet_scratch_begin(&parquet->scratches[i]);
    return good;
}

static tsmith_status put_block(void *self, const tsmith_dictionary *dictionary, struct event_rows *rows,
                               tsmith_error *error) {
    struct parquet *parquet = self;
    const unsigned threads = workers_count(&parquet->workers);
    const bool alone = threads == 1 || rows->block.count < FEW_ROWS;
    const tsmith_status status = end_block(parquet, dictionary, error);
    if (status != TSMITH_OK)
        return status;
    if (!alone && !ensure_scratches(parquet, threads))
        return out_of_memory(error);
    if (!alone)
        event_rows_exchange(rows, &parquet->own);
    parquet->block = alone ? &rows->block : &parquet->own;
    atomic_store_explicit(&parquet->next, 0, memory_order_relaxed);
    if (alone) {
        encode_columns(parquet, 0);
        return end_block(parquet, dictionary, error);
    }
    for (unsigned i = 0; i < threads; i++) {
        parquet->pieces[i] = (struct workers_piece){.run = encode_columns, .of = parquet};
        workers_begin(&parquet->workers, &parquet->pieces[i]);
    }
    return TSMITH_OK;
}

static tsmith_status write_batch(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                 tsmith_error *error) {
    struct parquet *parquet = self;
    const tsmith_status status = begin(parquet, dictionary, error);
    const struct event_rows_reader reader = {parquet, put_block};
    return status == TSMITH_OK ? event_rows_add(&parquet->rows, dictionary, batch, &reader, error) : status;
}

// ---- the footer

static void put_logical(struct thrift *out, unsigned kind, const struct parquet_type *integer) {
    thrift_struct(out, 10);
    thrift_struct(out, kind);
    if (integer) {
        thrift_int(out, 1, THRIFT_I8, integer->bits);
        thrift_bool(out, 2, integer->is_signed);
    }
    thrift_end(out);
    thrift_end(out);
}

static void put_group_node(struct thrift *out, const char *name, int repetition, bool list) {
    thrift_element(out);
    thrift_int(out, 3, THRIFT_I32, repetition);
    thrift_binary(out, 4, name, strlen(name));
    thrift_int(out, 5, THRIFT_I32, 1);
    if (list) {
        thrift_int(out, 6, THRIFT_I32, CONVERTED_LIST);
        put_logical(out, LOGICAL_LIST, NULL);
    }
    thrift_end(out);
}

static void put_leaf(struct thrift *out, const char *name, int repetition, struct parquet_type type) {
    thrift_element(out);
    thrift_int(out, 1, THRIFT_I32, type.physical);
    thrift_int(out, 3, THRIFT_I32, repetition);
    thrift_binary(out, 4, name, strlen(name));
    if (type.physical == PARQUET_BYTE_ARRAY) {
        thrift_int(out, 6, THRIFT_I32, CONVERTED_UTF8);
        put_logical(out, LOGICAL_STRING, NULL);
    } else if (type.bits && !type.is_signed) {
        thrift_int(out, 6, THRIFT_I32,
                   type.bits == 8    ? CONVERTED_UINT_8
                   : type.bits == 32 ? CONVERTED_UINT_32
                                     : CONVERTED_UINT_64);
        put_logical(out, LOGICAL_INTEGER, &type);
    }
    thrift_end(out);
}

static void put_schema(const struct event_columns *columns, struct thrift *out) {
    size_t nodes = 1;
    for (size_t i = 0; i < columns->count; i++)
        nodes += columns->items[i].type == TSMITH_TYPE_LIST ? 3 : 1;
    thrift_list(out, 2, THRIFT_STRUCT, nodes);
    thrift_element(out);
    thrift_binary(out, 4, "schema", 6);
    thrift_int(out, 5, THRIFT_I32, (int64_t)columns->count);
    thrift_end(out);
    for (size_t i = 0; i < columns->count; i++) {
        const struct event_columns_field *field = &columns->items[i];
        const struct parquet_type type = parquet_type_of(field->type);
        if (field->type == TSMITH_TYPE_LIST) {
            put_group_node(out, field->name, OPTIONAL, true);
            put_group_node(out, "list", REPEATED, false);
            put_leaf(out, "element", REQUIRED, type);
        } else {
            put_leaf(out, field->name, field->field ? OPTIONAL : REQUIRED, type);
        }
    }
}

static void put_pair(struct thrift *out, const char *key, const char *value) {
    thrift_element(out);
    thrift_binary(out, 1, key, strlen(key));
    thrift_binary(out, 2, value, strlen(value));
    thrift_end(out);
}

static bool make_footer(struct parquet *parquet, const tsmith_dictionary *dictionary) {
    struct thrift *out = &parquet->footer;
    const size_t columns = parquet->rows.columns.count;
    about_make(&parquet->about, dictionary, &parquet->rows);
    thrift_int(out, 1, THRIFT_I32, 2);
    put_schema(&parquet->rows.columns, out);
    thrift_int(out, 3, THRIFT_I64, (int64_t)parquet->rows.total);
    thrift_list(out, 4, THRIFT_STRUCT, parquet->group_count);
    thrift_bytes(out, parquet->groups.bytes, parquet->groups.used);
    thrift_list(out, 5, THRIFT_STRUCT, parquet->about.count);
    for (size_t i = 0; i < parquet->about.count; i++)
        put_pair(out, parquet->about.pairs[i].key, parquet->about.pairs[i].value);
    thrift_binary(out, 6, "tracesmith", strlen("tracesmith"));
    thrift_list(out, 7, THRIFT_STRUCT, columns);
    for (size_t i = 0; i < columns; i++) { // the order of the type
        thrift_element(out);
        thrift_struct(out, 1);
        thrift_end(out);
        thrift_end(out);
    }
    thrift_end(out);
    return !out->failed && !parquet->about.failed;
}

static tsmith_status finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    struct parquet *parquet = self;
    const struct event_rows_reader reader = {parquet, put_block};
    uint8_t length[4];
    tsmith_status status = begin(parquet, dictionary, error);
    if (status == TSMITH_OK)
        status = event_rows_end(&parquet->rows, dictionary, &reader, error);
    if (status == TSMITH_OK)
        status = end_block(parquet, dictionary, error);
    if (status == TSMITH_OK)
        status = put_group(parquet, dictionary, error);
    if (status != TSMITH_OK)
        return status;
    if (!make_footer(parquet, dictionary))
        return out_of_memory(error);
    bytes_put_u32(length, (uint32_t)parquet->footer.used);
    put_bytes(parquet, parquet->footer.bytes, parquet->footer.used);
    put_bytes(parquet, length, sizeof length);
    put_bytes(parquet, MAGIC, sizeof MAGIC);
    return output_finish(&parquet->output, error);
}

static void destroy(void *self) {
    struct parquet *parquet = self;
    if (!parquet ||
        !workers_close(
            &parquet->workers)) // in a child process nothing is freed, and the output is the parent's
        return;
    for (size_t i = 0; i < WORKERS_MOST; i++)
        parquet_scratch_finish(&parquet->scratches[i]);
    event_rows_block_finish(&parquet->own);
    for (size_t i = 0; parquet->columns && i < parquet->rows.columns.count; i++)
        parquet_column_finish(&parquet->columns[i]);
    free(parquet->columns);
    event_rows_finish(&parquet->rows);
    about_finish(&parquet->about);
    free(parquet->groups.bytes);
    free(parquet->footer.bytes);
    output_close(&parquet->output);
    free(parquet);
}

tsmith_status parquet_open(const struct export_place *place, const tsmith_export_options *options,
                           tsmith_sink **out, tsmith_error *error) {
    static const tsmith_sink_ops ops = {write_batch, finish, destroy};
    struct parquet *parquet = calloc(1, sizeof *parquet);
    if (!parquet)
        return out_of_memory(error);
    workers_open(&parquet->workers);
    return output_sink(&parquet->output, &ops, parquet, place, options, out, error);
}
