// SPDX-License-Identifier: Apache-2.0
// The making of what tracesmith/arrow.h hands out.
//
//   array.c    arrays and schemas with their memory: every array owns all that its buffers are in, so that a consumer may move
//              any child out and release the rest, in any order and thread
//   column.c   columns that are filled value by value (tables, SQL)
//   stream.c   the four functions of a stream, and its error
//   source.c, table.c, query.c   what streams are made of
#ifndef ARROW_ARRAY_H
#define ARROW_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/utf8.h"
#include "tracesmith/arrow.h"

enum { ARROW_BUFFERS_MOST = 3, ARROW_OWNED_MOST = 3 };

// What an array is made of. The array takes over `batch` (a retained one), `owned` (freed) and `text` (a holder of it) even
// when it cannot be made.
struct arrow_parts {
    int64_t length, null_count;
    const void *buffers[ARROW_BUFFERS_MOST];
    int64_t buffer_count;
    int64_t child_count; // children are made by the caller, into `children` of what was made
    bool dictionary;     // so is the dictionary
    const tsmith_batch *batch;
    void *owned[ARROW_OWNED_MOST];
    struct utf8_text *text;
};

// False when memory is exhausted; *out is then released.
bool arrow_array_make(struct ArrowArray *out, const struct arrow_parts *parts);

// The array of `text`'s strings: what a dictionary is.
bool arrow_array_of_text(struct ArrowArray *out, struct utf8_text *text);

// A schema whose children (and dictionary) are made by the caller. `unit` and `doc` become metadata; NULL or "": none. Texts
// are copied, and repaired where they are no UTF-8.
bool arrow_schema_make(struct ArrowSchema *out, const char *format, const char *name, bool nullable,
                       int64_t child_count, bool dictionary, const char *unit, const char *doc);

#endif
