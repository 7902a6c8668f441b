// SPDX-License-Identifier: Apache-2.0
// The messages of Arrow IPC: "Serialization and Interprocess Communication (IPC)" of the Arrow Columnar Format
// (https://arrow.apache.org/docs/format/Columnar.html), with Schema.fbs, Message.fbs and File.fbs of the Arrow project, whose
// numbers of fields messages.c has.
#ifndef EXPORT_ARROW_IPC_MESSAGES_H
#define EXPORT_ARROW_IPC_MESSAGES_H

#include "event/event_columns.h"
#include "export/about.h"
#include "export/arrow_ipc/flat.h"

struct messages_node {
    int64_t length, nulls;
};

struct messages_buffer {
    int64_t offset, length; // in the body
};

struct messages_block {
    int64_t offset;
    int64_t metadata; // in the file 32 bits and as many zeros
    int64_t body;
};

// A record batch as its message describes it.
struct messages_batch {
    int64_t length;
    const struct messages_node *nodes;
    const struct messages_buffer *buffers;
    size_t node_count, buffer_count;
    int64_t body;
    bool compressed; // zstd, each buffer on its own
};

// Number of the dictionary of a type's texts: columns of the same type share one.
static inline int64_t messages_dictionary(tsmith_type type) {
    return (int64_t)type;
}

// Each makes one message in `flat`. Memory was exhausted if flat->failed.
void messages_schema(struct flat *flat, const struct event_columns *columns, const struct about *about);
void messages_record_batch(struct flat *flat, const struct messages_batch *batch);
void messages_dictionary_batch(struct flat *flat, tsmith_type type, bool is_delta,
                               const struct messages_batch *batch);
void messages_footer(struct flat *flat, const struct event_columns *columns, const struct about *about,
                     const struct messages_block *dictionaries, size_t dictionary_count,
                     const struct messages_block *batches, size_t batch_count);

#endif
