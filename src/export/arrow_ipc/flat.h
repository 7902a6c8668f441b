// SPDX-License-Identifier: Apache-2.0
// Writes FlatBuffers: the part that the metadata of Arrow needs. After "FlatBuffer Internals"
// (https://flatbuffers.dev/internals): little-endian; a table begins with the distance to its vtable, which has the place of
// each field; offsets point forward, so that a message is built from its end to its beginning.
//
// A place of the message is the number of bytes from it to the end of the message. Children are written before their parents.
#ifndef EXPORT_ARROW_IPC_FLAT_H
#define EXPORT_ARROW_IPC_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FLAT_SLOTS_MAX = 8 };

// Zero-initialized, it is empty; `bytes` is freed by its owner.
struct flat {
    uint8_t *bytes;
    size_t capacity, used; // the message is the last `used` bytes
    size_t slots[FLAT_SLOTS_MAX], table_begin;
    unsigned slot_count;
    bool failed; // out of memory: later calls do nothing
};

// Empties it for the next message.
void flat_reset(struct flat *flat);
static inline const uint8_t *flat_message(const struct flat *flat) {
    return flat->bytes + (flat->capacity - flat->used);
}

// Each returns the place of what it wrote.
size_t flat_string(struct flat *flat, const char *text, size_t length);
// Structs of `size` bytes each, aligned to 8.
size_t flat_structs(struct flat *flat, const void *structs, size_t count, size_t size);
size_t flat_tables(struct flat *flat, const size_t *places, size_t count);

// A table of up to FLAT_SLOTS_MAX fields. Between begin and end only flat_field and flat_child.
void flat_begin(struct flat *flat);
void flat_field(struct flat *flat, unsigned slot, uint64_t value, size_t size);
void flat_child(struct flat *flat, unsigned slot, size_t place); // 0: none
size_t flat_end(struct flat *flat);

// The message is complete, with this table as its root. Its size is a multiple of 8.
void flat_finish(struct flat *flat, size_t root);

#endif
