// SPDX-License-Identifier: Apache-2.0
// The payload of an EVENTS frame (section 6 of docs/sbt-format.md): a batch as columns, and back.
#ifndef SBT_COLUMN_H
#define SBT_COLUMN_H

#include "sbt/packing.h"
#include "tracesmith/batch.h"
#include "tracesmith/dictionary.h"

// ---- encoding

// Kept from batch to batch; a zeroed one with packer.level set is valid.
struct column_encoder {
    struct packer packer;
    struct output directory, data;
};

void column_encoder_finish(struct column_encoder *encoder);

// Whether the batch can be written. INVALID_ARGUMENT for one without START or KIND or not in order, LIMIT for one with
// more in a few events than a frame may hold.
tsmith_status columns_check(const tsmith_batch *batch, tsmith_error *error);

// How many events from row `from` on go into one frame, `most` at most; 0 when not even LEAST_ROWS fit. A large batch
// becomes several frames: a reader that asks for a moment decodes, and makes room for, whole frames. Where every byte
// counts frames are larger.
enum { COLUMNS_FEW_ROWS = 1 << 14, COLUMNS_MANY_ROWS = TSMITH_BATCH_MAX };
uint32_t columns_frame_rows(const tsmith_batch *batch, uint32_t from, uint32_t most);

// Appends the payload of `rows` events of a batch that was checked, from row `from` (a multiple of 64) on, and fills
// in its frame. False when memory is exhausted.
bool columns_encode(struct column_encoder *encoder, const tsmith_batch *batch, uint32_t from, uint32_t rows,
                    struct output *out, struct frame_header *header);

// ---- decoding

struct column_request {
    const uint32_t *fields; // NULL: all
    size_t field_count;
    const tsmith_dictionary *dictionary; // types of dynamic fields; NULL: unknown
};

// Fills `batch` from a payload that is followed by UNPACK_SLACK readable bytes. `scratch` is reset. False when the
// payload is damaged: the batch then holds nothing of use. *unknown counts columns that this version cannot
// read.
bool columns_decode(struct input payload, const struct frame_header *header,
                    const struct column_request *request, struct scratch *scratch, tsmith_batch *batch,
                    uint32_t *unknown);

#endif
