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

// Appends the payload of the batch. INVALID_ARGUMENT for a batch without START or KIND, LIMIT for one that is
// too wide, NO_MEMORY.
tsmith_status columns_encode(struct column_encoder *encoder, const tsmith_batch *batch, struct output *out,
                             tsmith_error *error);

// ---- decoding

struct column_request {
    const uint32_t *fields; // NULL: all
    size_t field_count;
    const tsmith_dictionary *dictionary; // types of dynamic fields; NULL: unknown
};

// Fills `batch` from a payload that is followed by 8 readable bytes. `scratch` is reset. False when the
// payload is damaged: the batch then holds nothing of use. *unknown counts columns that this version cannot
// read.
bool columns_decode(struct input payload, const struct frame_header *header,
                    const struct column_request *request, struct scratch *scratch, tsmith_batch *batch,
                    uint32_t *unknown);

#endif
