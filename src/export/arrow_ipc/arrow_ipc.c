// SPDX-License-Identifier: Apache-2.0
// Arrow IPC: events as a table with the columns of the Arrow stream (docs/arrow.md), as a file or as a stream. formats.c lists it.
//
// A record batch has up to BATCH_ROWS events. Columns whose values are texts of the same kind share a dictionary. In a file the
// dictionaries are written once, after the last batch, which the footer makes possible. In a stream they come before the first
// batch; strings that a live source adds later are sent as a delta.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "export/arrow_ipc/body.h"
#include "export/formats.h"

static const char MAGIC[8] = "ARROW1";
enum { CONTINUATION_SIZE = 8, MAGIC_END = 6, BATCH_ROWS = 8192 };

struct blocks {
    struct messages_block *items;
    size_t count, capacity;
};

struct arrow_ipc {
    struct output output;
    struct event_rows rows;
    struct about about;
    struct flat flat;
    struct body body;
    struct blocks dictionaries, batches;
    int64_t written;
    bool is_stream, begun, has_words;
    uint32_t sent; // strings, in a stream
};

static tsmith_status out_of_memory(tsmith_error *error) {
    return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while writing Arrow IPC");
}

static void put_bytes(struct arrow_ipc *ipc, const void *bytes, size_t length) {
    output_bytes(&ipc->output, bytes, length);
    ipc->written += (int64_t)length;
}

// The message in `flat`, and the body if the message has one. False when memory is exhausted.
static bool put_message(struct arrow_ipc *ipc, const struct messages_batch *batch, struct blocks *blocks) {
    uint8_t prefix[CONTINUATION_SIZE];
    if (ipc->flat.failed || (batch && ipc->body.failed))
        return false;
    if (blocks) {
        struct messages_block *block = ARRAY_PUSH(blocks->items, blocks->count, blocks->capacity);
        if (!block)
            return false;
        *block = (struct messages_block){.offset = ipc->written,
                                         .metadata = (int64_t)(sizeof prefix + ipc->flat.used),
                                         .body = batch->body};
    }
    bytes_put_u32(prefix, UINT32_MAX);
    bytes_put_u32(prefix + 4, (uint32_t)ipc->flat.used);
    put_bytes(ipc, prefix, sizeof prefix);
    put_bytes(ipc, flat_message(&ipc->flat), ipc->flat.used);
    if (batch) {
        body_write(&ipc->body, &ipc->output);
        ipc->written += batch->body;
    }
    return true;
}

static tsmith_status begin(struct arrow_ipc *ipc, const tsmith_dictionary *dictionary, tsmith_error *error) {
    const tsmith_status status = event_rows_begin(&ipc->rows, dictionary, BATCH_ROWS, error);
    if (status != TSMITH_OK || ipc->begun)
        return status;
    ipc->begun = true;
    about_make(&ipc->about, dictionary, NULL);
    if (!ipc->is_stream)
        put_bytes(ipc, MAGIC, sizeof MAGIC);
    messages_schema(&ipc->flat, &ipc->rows.columns, &ipc->about);
    return !ipc->about.failed && put_message(ipc, NULL, NULL) ? TSMITH_OK : out_of_memory(error);
}

// ---- dictionaries

static bool put_dictionary(struct arrow_ipc *ipc, tsmith_type type, const struct utf8_bytes *texts,
                           bool is_delta) {
    struct messages_batch batch;
    body_of_texts(&ipc->body, texts, &batch);
    messages_dictionary_batch(&ipc->flat, type, is_delta, &batch);
    return put_message(ipc, &batch, &ipc->dictionaries);
}

static bool put_words(struct arrow_ipc *ipc) {
    bool good = true;
    for (int number = 1; number < TSMITH_TYPE_LIMIT && good; number++) {
        const tsmith_type type = (tsmith_type)number;
        if (!tsmith_type_has_names(type))
            continue;
        struct utf8_text *words = utf8_text_of_words(type);
        good = words && put_dictionary(ipc, type, &words->strings, false);
        utf8_text_release(words);
    }
    ipc->has_words = good;
    return good;
}

// The strings of the dictionary from `from` on.
static bool put_strings(struct arrow_ipc *ipc, const tsmith_dictionary *dictionary, uint32_t from) {
    const uint32_t count = tsmith_dictionary_string_count(dictionary);
    struct utf8_bytes texts = {.bytes = NULL};
    bool good = utf8_bytes_begin(&texts);
    for (uint32_t id = from; id < count && good; id++) {
        const tsmith_string text = tsmith_dictionary_string(dictionary, id);
        good = utf8_bytes_add(&texts, text.bytes, text.length, true);
    }
    good = good && put_dictionary(ipc, TSMITH_TYPE_STRING, &texts, from > 0);
    utf8_bytes_finish(&texts);
    ipc->sent = count;
    return good;
}

static bool put_dictionaries(struct arrow_ipc *ipc, const tsmith_dictionary *dictionary) {
    return (ipc->has_words || put_words(ipc)) && (ipc->sent == tsmith_dictionary_string_count(dictionary) ||
                                                  put_strings(ipc, dictionary, ipc->sent));
}

// ---- the sink

static tsmith_status put_block(void *self, const tsmith_dictionary *dictionary, const struct event_rows *rows,
                               tsmith_error *error) {
    struct arrow_ipc *ipc = self;
    struct messages_batch batch;
    if (ipc->is_stream && !put_dictionaries(ipc, dictionary))
        return out_of_memory(error);
    body_of_rows(&ipc->body, rows, &batch);
    messages_record_batch(&ipc->flat, &batch);
    if (!put_message(ipc, &batch, &ipc->batches))
        return out_of_memory(error);
    if (ipc->output.status != TSMITH_OK && error)
        *error = ipc->output.error;
    return ipc->output.status;
}

static tsmith_status write_batch(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                 tsmith_error *error) {
    struct arrow_ipc *ipc = self;
    const tsmith_status status = begin(ipc, dictionary, error);
    const struct event_rows_reader reader = {ipc, put_block};
    return status == TSMITH_OK ? event_rows_add(&ipc->rows, dictionary, batch, &reader, error) : status;
}

static bool put_footer(struct arrow_ipc *ipc, const tsmith_dictionary *dictionary) {
    uint8_t size[4];
    about_make(&ipc->about, dictionary, &ipc->rows);
    messages_footer(&ipc->flat, &ipc->rows.columns, &ipc->about, ipc->dictionaries.items,
                    ipc->dictionaries.count, ipc->batches.items, ipc->batches.count);
    if (ipc->flat.failed || ipc->about.failed)
        return false;
    bytes_put_u32(size, (uint32_t)ipc->flat.used);
    put_bytes(ipc, flat_message(&ipc->flat), ipc->flat.used);
    put_bytes(ipc, size, sizeof size);
    put_bytes(ipc, MAGIC, MAGIC_END);
    return true;
}

static tsmith_status finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    static const uint8_t end[CONTINUATION_SIZE] = {0xff, 0xff, 0xff, 0xff};
    struct arrow_ipc *ipc = self;
    const struct event_rows_reader reader = {ipc, put_block};
    tsmith_status status = begin(ipc, dictionary, error);
    if (status == TSMITH_OK)
        status = event_rows_end(&ipc->rows, dictionary, &reader, error);
    if (status != TSMITH_OK)
        return status;
    if (!ipc->is_stream && !put_dictionaries(ipc, dictionary))
        return out_of_memory(error);
    put_bytes(ipc, end, sizeof end);
    if (!ipc->is_stream && !put_footer(ipc, dictionary))
        return out_of_memory(error);
    return output_finish(&ipc->output, error);
}

static void destroy(void *self) {
    struct arrow_ipc *ipc = self;
    if (!ipc)
        return;
    event_rows_finish(&ipc->rows);
    about_finish(&ipc->about);
    body_finish(&ipc->body);
    free(ipc->flat.bytes);
    free(ipc->dictionaries.items);
    free(ipc->batches.items);
    output_close(&ipc->output);
    free(ipc);
}

static tsmith_status open_ipc(bool is_stream, const struct export_place *place,
                              const tsmith_export_options *options, tsmith_sink **out, tsmith_error *error) {
    static const tsmith_sink_ops ops = {write_batch, finish, destroy};
    struct arrow_ipc *ipc = calloc(1, sizeof *ipc);
    if (!ipc)
        return out_of_memory(error);
    ipc->is_stream = is_stream;
    return output_sink(&ipc->output, &ops, ipc, place, options, out, error);
}

tsmith_status arrow_ipc_open(const struct export_place *place, const tsmith_export_options *options,
                             tsmith_sink **out, tsmith_error *error) {
    return open_ipc(false, place, options, out, error);
}

tsmith_status arrow_ipc_open_stream(const struct export_place *place, const tsmith_export_options *options,
                                    tsmith_sink **out, tsmith_error *error) {
    return open_ipc(true, place, options, out, error);
}
