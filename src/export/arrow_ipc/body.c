// SPDX-License-Identifier: Apache-2.0
// Buffers of record batches. Used by arrow_ipc.c.
#include "export/arrow_ipc/body.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"

enum { ALIGNMENT = 8, PREFIX = 8, LEVEL = 1, SMALL = 256 };

static size_t padded(size_t length) {
    return (length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

// ---- pieces

static void add_piece(struct body *body, const void *bytes, size_t length, int64_t plain) {
    struct body_piece *piece = ARRAY_PUSH(body->pieces, body->piece_count, body->piece_capacity);
    if (!piece)
        body->failed = true;
    else
        *piece = (struct body_piece){.bytes = bytes, .length = length, .plain = plain};
}

// Room in the scratch memory, which may move: pieces have its offset. NULL when memory is exhausted.
static void *scratch_room(struct body *body, size_t size) {
    if (!ARRAY_RESERVE(body->scratch, body->scratch_capacity, body->scratch_used + size)) {
        body->failed = true;
        return NULL;
    }
    return body->scratch + body->scratch_used;
}

static void add_scratch(struct body *body, size_t length, int64_t plain) {
    add_piece(body, NULL, length, plain);
    if (body->failed)
        return;
    body->pieces[body->piece_count - 1].offset = body->scratch_used;
    body->scratch_used += padded(length);
}

// Bytes written to `to`, which has `room`; 0: it cannot be compressed.
static size_t compress(struct body *body, void *to, size_t room, const void *bytes, size_t length) {
    struct body_packer *packer = body->packer;
    if (!packer->zstd && (packer->zstd = ZSTD_createCCtx()))
        (void)ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel, LEVEL);
    if (!packer->zstd) {
        body->failed = true;
        return 0;
    }
    const size_t made = ZSTD_compress2(packer->zstd, to, room, bytes, length);
    return ZSTD_isError(made) ? 0 : made;
}

static void add_compressed(struct body *body, const void *bytes, size_t length) {
    const size_t room = ZSTD_compressBound(length);
    void *to = scratch_room(body, padded(room));
    const size_t made = to ? compress(body, to, room, bytes, length) : 0;
    if (made && made < length)
        add_scratch(body, made, (int64_t)length);
    else
        add_piece(body, bytes, length, -1);
}

static void add_values(struct body *body, void *bytes, size_t count, size_t size) {
    const size_t length = count * size;
    bytes_to_little(bytes, count, size);
    if (length > SMALL)
        add_compressed(body, bytes, length);
    else
        add_piece(body, bytes, length, -1);
}

static void add_zeros(struct body *body, size_t length) {
    struct body_packer *packer = body->packer;
    size_t at = 0;
    while (at < BODY_ZEROS && packer->zeros[at].packed && packer->zeros[at].plain != length)
        at++;
    at = at < BODY_ZEROS ? at : BODY_ZEROS - 1; // the last blocks of a trace
    struct body_zeros *zeros = &packer->zeros[at];
    if (!zeros->packed || zeros->plain != length) {
        // Pieces may point to what is there: it goes into the scratch memory instead.
        void *plain = calloc(1, length + 1);
        const size_t room = ZSTD_compressBound(length);
        if (!plain) {
            body->failed = true;
            return;
        }
        if (zeros->packed) {
            void *to = scratch_room(body, padded(room));
            const size_t made = to ? compress(body, to, room, plain, length) : 0;
            add_scratch(body, made, (int64_t)length);
        } else if ((zeros->packed = malloc(room))) {
            zeros->plain = length;
            zeros->length = compress(body, zeros->packed, room, plain, length);
            add_piece(body, zeros->packed, zeros->length, (int64_t)length);
        } else {
            body->failed = true;
        }
        free(plain);
        return;
    }
    add_piece(body, zeros->packed, zeros->length, (int64_t)length);
}

// ---- columns

static void add_node(struct body *body, int64_t length, int64_t nulls) {
    struct messages_node *node = ARRAY_PUSH(body->nodes, body->node_count, body->node_capacity);
    if (!node)
        body->failed = true;
    else
        *node = (struct messages_node){length, nulls};
}

static void add_valid(struct body *body, const struct event_rows_block *block,
                      const struct event_rows_column *column) {
    const size_t length = (block->count + 7) / 8;
    if (column->nulls && event_rows_column_is_empty(block, column))
        add_zeros(body, length);
    else if (!column->nulls)
        add_piece(body, NULL, 0, -1);
    else {
        bytes_to_little(column->valid, (block->count + 63) / 64, sizeof *column->valid);
        add_piece(body, column->valid, length, -1);
    }
}

static void add_bits(struct body *body, const uint8_t *values, uint32_t count) {
    const size_t length = (count + 7) / 8;
    uint8_t *bits = scratch_room(body, padded(length));
    if (!bits)
        return;
    memset(bits, 0, padded(length));
    for (uint32_t row = 0; row < count; row++)
        bits[row / 8] |= (uint8_t)((values[row] != 0) << (row % 8));
    add_scratch(body, length, -1);
}

static void add_list(struct body *body, const struct event_rows_block *block,
                     const struct event_rows_column *column) {
    const bool empty = event_rows_column_is_empty(block, column);
    const uint32_t total = empty ? 0 : column->offsets[block->count];
    if (empty)
        add_zeros(body, (block->count + 1) * sizeof *column->offsets);
    else
        add_values(body, column->offsets, block->count + (size_t)1, sizeof *column->offsets);
    add_node(body, total, 0);
    add_piece(body, NULL, 0, -1);
    add_values(body, column->values, total, sizeof(uint64_t));
}

static void add_column(struct body *body, const struct event_rows_block *block,
                       const struct event_rows_column *column) {
    add_node(body, block->count, column->nulls);
    add_valid(body, block, column);
    if (column->type == TSMITH_TYPE_LIST)
        add_list(body, block, column);
    else if (event_rows_column_is_empty(block, column))
        add_zeros(body,
                  column->type == TSMITH_TYPE_BOOL ? (block->count + 7) / 8 : block->count * column->width);
    else if (column->type == TSMITH_TYPE_BOOL)
        add_bits(body, column->values, block->count);
    else
        add_values(body, column->values, block->count, column->width);
}

// ---- the batch

static size_t stored_length(const struct body_piece *piece) {
    return piece->length ? PREFIX + piece->length : 0;
}

static void begin_body(struct body *body, struct body_packer *packer) {
    body->packer = packer;
    body->piece_count = body->node_count = body->scratch_used = 0;
}

// Places the pieces, each at a multiple of 8.
static void describe_batch(struct body *body, int64_t length, struct messages_batch *batch) {
    int64_t at = 0;
    if (!ARRAY_RESERVE(body->buffers, body->buffer_capacity, body->piece_count + 1))
        body->failed = true;
    for (size_t i = 0; !body->failed && i < body->piece_count; i++) {
        const size_t stored = stored_length(&body->pieces[i]);
        body->buffers[i] = (struct messages_buffer){at, (int64_t)stored};
        at += (int64_t)padded(stored);
    }
    *batch = (struct messages_batch){.length = length,
                                     .nodes = body->nodes,
                                     .buffers = body->buffers,
                                     .node_count = body->node_count,
                                     .buffer_count = body->piece_count,
                                     .body = at,
                                     .compressed = true};
}

void body_of_rows(struct body *body, struct body_packer *packer, const struct event_rows_block *block,
                  struct messages_batch *batch) {
    begin_body(body, packer);
    for (size_t i = 0; i < block->columns; i++)
        add_column(body, block, &block->items[i]);
    describe_batch(body, block->count, batch);
}

void body_of_texts(struct body *body, struct body_packer *packer, const struct utf8_bytes *texts,
                   struct messages_batch *batch) {
    begin_body(body, packer);
    add_node(body, (int64_t)texts->count, 0);
    add_piece(body, NULL, 0, -1);
    bytes_to_little(texts->offsets, texts->count + 1, sizeof *texts->offsets);
    add_compressed(body, texts->offsets, (texts->count + 1) * sizeof *texts->offsets);
    add_compressed(body, texts->bytes, texts->length);
    describe_batch(body, (int64_t)texts->count, batch);
}

void body_write(const struct body *body, struct output *output) {
    static const char zeros[ALIGNMENT];
    for (size_t i = 0; i < body->piece_count; i++) {
        const struct body_piece *piece = &body->pieces[i];
        const size_t stored = stored_length(piece);
        if (!stored)
            continue;
        const void *bytes = piece->bytes || !piece->length ? piece->bytes : body->scratch + piece->offset;
        char prefix[PREFIX];
        bytes_put_u64(prefix, (uint64_t)piece->plain);
        output_bytes(output, prefix, PREFIX);
        output_bytes(output, bytes, piece->length);
        output_bytes(output, zeros, padded(stored) - stored);
    }
}

void body_finish(struct body *body) {
    free(body->pieces);
    free(body->nodes);
    free(body->buffers);
    free(body->scratch);
}

void body_packer_finish(struct body_packer *packer) {
    (void)ZSTD_freeCCtx(packer->zstd);
    for (size_t i = 0; i < BODY_ZEROS; i++)
        free(packer->zeros[i].packed);
}
