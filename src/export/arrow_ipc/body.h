// SPDX-License-Identifier: Apache-2.0
// The body of a record batch: its buffers, in the order of the columns, and their description. A buffer is compressed with zstd;
// small ones, and those that do not become smaller, are stored as they are, which the format allows for each buffer (length -1).
#ifndef EXPORT_ARROW_IPC_BODY_H
#define EXPORT_ARROW_IPC_BODY_H

#include <zstd.h>

#include "event/utf8.h"
#include "export/arrow_ipc/messages.h"
#include "export/event_rows.h"
#include "export/output.h"

struct body_piece {
    const void *bytes; // NULL: in `scratch` at `offset`
    size_t offset, length;
    int64_t plain; // as the format has it: bytes when decompressed; -1: not compressed
};

struct body_zeros {
    size_t plain, length;
    void *packed;
};

enum { BODY_ZEROS = 8 };

// What a thread compresses with. Zero-initialized, it is empty. It outlives the bodies that were filled with it.
struct body_packer {
    ZSTD_CCtx *zstd;
    struct body_zeros zeros[BODY_ZEROS]; // compressed zeros: the values of columns without a value
};

// Zero-initialized, it is empty.
struct body {
    struct body_packer *packer; // of the thread that fills it
    struct body_piece *pieces;
    struct messages_node *nodes;
    struct messages_buffer *buffers;
    size_t piece_count, piece_capacity, node_count, node_capacity, buffer_capacity;
    uint8_t *scratch;
    size_t scratch_used, scratch_capacity;
    bool failed; // out of memory
};

// Each fills the body and the batch, whose arrays belong to the body. What they refer to must stay until body_write.
void body_of_rows(struct body *body, struct body_packer *packer, const struct event_rows_block *block,
                  struct messages_batch *batch);
void body_of_texts(struct body *body, struct body_packer *packer, const struct utf8_bytes *texts,
                   struct messages_batch *batch);
void body_write(const struct body *body, struct output *output);
void body_finish(struct body *body);
void body_packer_finish(struct body_packer *packer);

#endif
