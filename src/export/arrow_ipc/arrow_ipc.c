// SPDX-License-Identifier: Apache-2.0
// Arrow IPC: events as a table with the columns of the Arrow stream (docs/arrow.md), as a file or as a stream. formats.c lists it.
//
// A record batch has up to BATCH_ROWS events. Columns whose values are texts of the same kind share a dictionary. In a file the
// dictionaries are written once, after the last batch, which the footer makes possible. In a stream they come before the first
// batch; strings that a live source adds later are sent as a delta.
//
// Batches are compressed in several threads (workers.h) and written by the calling one, in their order: the bytes do not depend on the
// number of threads. Of each that is not written yet, the columns and their compressed form are in memory.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "export/arrow_ipc/body.h"
#include "export/formats.h"
#include "export/workers.h"

static const char MAGIC[8] = "ARROW1";
enum { CONTINUATION_SIZE = 8, MAGIC_END = 6, BATCH_ROWS = 8192, SLOTS_MOST = 2 * WORKERS_MOST + 1 };

struct blocks {
    struct messages_block *items;
    size_t count, capacity;
};

// A record batch that is not written yet.
struct slot {
    struct arrow_ipc *ipc;
    struct event_rows_block own;
    const struct event_rows_block *block;
    struct body body;
    struct messages_batch batch;
    uint32_t strings; // of the dictionary when the block was full
    struct workers_piece piece;
};

struct arrow_ipc {
    struct output output;
    struct event_rows rows;
    struct about about;
    struct flat flat;
    struct body texts; // of dictionaries
    struct workers workers;
    struct body_packer packers[WORKERS_MOST]; // by thread
    struct slot slots[SLOTS_MOST];            // a ring: those from `put` to `full` wait
    uint64_t full, put;
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
static bool put_message(struct arrow_ipc *ipc, const struct body *body, const struct messages_batch *batch,
                        struct blocks *blocks) {
    uint8_t prefix[CONTINUATION_SIZE];
    if (ipc->flat.failed || (body && body->failed))
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
    if (body) {
        body_write(body, &ipc->output);
        ipc->written += batch->body;
    }
    return true;
}

static tsmith_status begin(struct arrow_ipc *ipc, const tsmith_dictionary *dictionary, tsmith_error *error) {
    tsmith_status status = workers_check(&ipc->workers, error);
    if (status == TSMITH_OK)
        status = event_rows_begin(&ipc->rows, dictionary, BATCH_ROWS, error);
    if (status != TSMITH_OK || ipc->begun)
        return status;
    ipc->begun = true;
    about_make(&ipc->about, dictionary, NULL);
    if (!ipc->is_stream)
        put_bytes(ipc, MAGIC, sizeof MAGIC);
    messages_schema(&ipc->flat, &ipc->rows.columns, &ipc->about);
    return !ipc->about.failed && put_message(ipc, NULL, NULL, NULL) ? TSMITH_OK : out_of_memory(error);
}

// ---- dictionaries

static bool put_dictionary(struct arrow_ipc *ipc, tsmith_type type, const struct utf8_bytes *texts,
                           bool is_delta) {
    struct messages_batch batch;
    body_of_texts(&ipc->texts, &ipc->packers[0], texts, &batch);
    messages_dictionary_batch(&ipc->flat, type, is_delta, &batch);
    return put_message(ipc, &ipc->texts, &batch, &ipc->dictionaries);
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

// The strings of the dictionary from `from` to `count`.
static bool put_strings(struct arrow_ipc *ipc, const tsmith_dictionary *dictionary, uint32_t from,
                        uint32_t count) {
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

static bool put_dictionaries(struct arrow_ipc *ipc, const tsmith_dictionary *dictionary, uint32_t strings) {
    return (ipc->has_words || put_words(ipc)) &&
           (ipc->sent == strings || put_strings(ipc, dictionary, ipc->sent, strings));
}

// ---- record batches

static void make_body(void *of, unsigned thread) {
    struct slot *slot = of;
    body_of_rows(&slot->body, &slot->ipc->packers[thread], slot->block, &slot->batch);
}

static struct slot *oldest(struct arrow_ipc *ipc) {
    return &ipc->slots[ipc->put % SLOTS_MOST];
}

static tsmith_status put_oldest(struct arrow_ipc *ipc, const tsmith_dictionary *dictionary,
                                tsmith_error *error) {
    struct slot *slot = oldest(ipc);
    workers_end(&ipc->workers, &slot->piece);
    ipc->put++;
    if (ipc->is_stream && !put_dictionaries(ipc, dictionary, slot->strings))
        return out_of_memory(error);
    messages_record_batch(&ipc->flat, &slot->batch);
    if (!put_message(ipc, &slot->body, &slot->batch, &ipc->batches))
        return out_of_memory(error);
    if (ipc->output.status != TSMITH_OK && error)
        *error = ipc->output.error;
    return ipc->output.status;
}

// Writes until at most `most` batches wait.
static tsmith_status put_until(struct arrow_ipc *ipc, const tsmith_dictionary *dictionary, uint64_t most,
                               tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    while (status == TSMITH_OK && ipc->full - ipc->put > most)
        status = put_oldest(ipc, dictionary, error);
    return status;
}

// Writes what can be written without waiting.
static tsmith_status put_ended(struct arrow_ipc *ipc, const tsmith_dictionary *dictionary,
                               tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    while (status == TSMITH_OK && ipc->full > ipc->put &&
           workers_has_ended(&ipc->workers, &oldest(ipc)->piece))
        status = put_oldest(ipc, dictionary, error);
    return status;
}

static tsmith_status put_block(void *self, const tsmith_dictionary *dictionary, struct event_rows *rows,
                               tsmith_error *error) {
    struct arrow_ipc *ipc = self;
    struct slot *slot = &ipc->slots[ipc->full % SLOTS_MOST];
    const unsigned threads = workers_count(&ipc->workers);
    // No thread is started for the only batch of a small trace.
    const bool alone = threads == 1 || (rows->block.count < BATCH_ROWS && ipc->full == ipc->put);
    if (!alone && !slot->own.items && !event_rows_block_begin(&slot->own, rows))
        return out_of_memory(error);
    slot->ipc = ipc;
    slot->strings = tsmith_dictionary_string_count(dictionary);
    slot->piece = (struct workers_piece){.run = make_body, .of = slot};
    slot->block = alone ? &rows->block : &slot->own;
    ipc->full++;
    if (alone) {
        make_body(slot, 0);
        return put_until(ipc, dictionary, 0, error);
    }
    event_rows_exchange(rows, &slot->own);
    workers_begin(&ipc->workers, &slot->piece);
    return put_until(ipc, dictionary, 2 * (uint64_t)threads, error);
}

// ---- the sink

static tsmith_status write_batch(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                 tsmith_error *error) {
    struct arrow_ipc *ipc = self;
    const struct event_rows_reader reader = {ipc, put_block};
    tsmith_status status = begin(ipc, dictionary, error);
    if (status == TSMITH_OK)
        status = put_ended(ipc, dictionary, error);
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
    if (status == TSMITH_OK)
        status = put_until(ipc, dictionary, 0, error);
    if (status != TSMITH_OK)
        return status;
    if (!ipc->is_stream && !put_dictionaries(ipc, dictionary, tsmith_dictionary_string_count(dictionary)))
        return out_of_memory(error);
    put_bytes(ipc, end, sizeof end);
    if (!ipc->is_stream && !put_footer(ipc, dictionary))
        return out_of_memory(error);
    return output_finish(&ipc->output, error);
}

static void destroy(void *self) {
    struct arrow_ipc *ipc = self;
    if (!ipc ||
        !workers_close(&ipc->workers)) // in a child process nothing is freed, and the output is the parent's
        return;
    for (size_t i = 0; i < SLOTS_MOST; i++) {
        body_finish(&ipc->slots[i].body);
        event_rows_block_finish(&ipc->slots[i].own);
    }
    for (size_t i = 0; i < WORKERS_MOST; i++)
        body_packer_finish(&ipc->packers[i]);
    event_rows_finish(&ipc->rows);
    about_finish(&ipc->about);
    body_finish(&ipc->texts);
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
    workers_open(&ipc->workers);
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
