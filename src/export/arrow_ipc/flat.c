// SPDX-License-Identifier: Apache-2.0
// FlatBuffers, from the end to the beginning. Used by messages.c.
#include "export/arrow_ipc/flat.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

void flat_reset(struct flat *flat) {
    flat->used = 0;
    flat->slot_count = 0;
}

// `size` bytes before those that are there; NULL when memory is exhausted.
static uint8_t *put_room(struct flat *flat, size_t size) {
    if (flat->failed)
        return NULL;
    if (size > flat->capacity - flat->used) {
        const size_t capacity = 2 * flat->capacity + size + 1024;
        uint8_t *bytes = malloc(capacity);
        if (!bytes) {
            flat->failed = true;
            return NULL;
        }
        if (flat->used)
            memcpy(bytes + (capacity - flat->used), flat_message(flat), flat->used);
        free(flat->bytes);
        flat->bytes = bytes;
        flat->capacity = capacity;
    }
    flat->used += size;
    return flat->bytes + (flat->capacity - flat->used);
}

// Zeros, so that after `size` more bytes the place is a multiple of `alignment`.
static void align_to(struct flat *flat, size_t alignment, size_t size) {
    const size_t zeros = (alignment - (flat->used + size) % alignment) % alignment;
    uint8_t *at = put_room(flat, zeros);
    if (at)
        memset(at, 0, zeros);
}

static void put_number(struct flat *flat, uint64_t value, size_t size) {
    align_to(flat, size, size);
    uint8_t *at = put_room(flat, size);
    for (size_t i = 0; at && i < size; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

size_t flat_string(struct flat *flat, const char *text, size_t length) {
    align_to(flat, 4, length + 1);
    uint8_t *at = put_room(flat, length + 1);
    if (at) {
        memcpy(at, text, length);
        at[length] = 0;
    }
    put_number(flat, length, 4);
    return flat->used;
}

size_t flat_structs(struct flat *flat, const void *structs, size_t count, size_t size) {
    align_to(flat, 8, count * size);
    uint8_t *at = put_room(flat, count * size);
    if (at && count) {
        memcpy(at, structs, count * size);
        bytes_to_little(at, count * size / 8, 8);
    }
    put_number(flat, count, 4);
    return flat->used;
}

static void put_offset(struct flat *flat, size_t place) {
    align_to(flat, 4, 4);
    put_number(flat, flat->used + 4 - place, 4);
}

size_t flat_tables(struct flat *flat, const size_t *places, size_t count) {
    align_to(flat, 4, 4 * count);
    for (size_t i = count; i-- > 0;)
        put_offset(flat, places[i]);
    put_number(flat, count, 4);
    return flat->used;
}

void flat_begin(struct flat *flat) {
    memset(flat->slots, 0, sizeof flat->slots);
    flat->slot_count = 0;
    flat->table_begin = flat->used;
}

static void note_slot(struct flat *flat, unsigned slot) {
    flat->slots[slot] = flat->used;
    flat->slot_count = slot >= flat->slot_count ? slot + 1 : flat->slot_count;
}

void flat_field(struct flat *flat, unsigned slot, uint64_t value, size_t size) {
    put_number(flat, value, size);
    note_slot(flat, slot);
}

void flat_child(struct flat *flat, unsigned slot, size_t place) {
    if (!place)
        return;
    put_offset(flat, place);
    note_slot(flat, slot);
}

size_t flat_end(struct flat *flat) {
    put_number(flat, 0, 4); // the distance to the vtable, below
    const size_t table = flat->used;
    for (unsigned slot = flat->slot_count; slot-- > 0;)
        put_number(flat, flat->slots[slot] ? table - flat->slots[slot] : 0, 2);
    put_number(flat, table - flat->table_begin, 2);
    put_number(flat, 4 + 2 * (size_t)flat->slot_count, 2);
    if (!flat->failed)
        bytes_put_u32(flat->bytes + (flat->capacity - table), (uint32_t)(flat->used - table));
    return table;
}

void flat_finish(struct flat *flat, size_t root) {
    align_to(flat, 8, 4);
    put_offset(flat, root);
}
