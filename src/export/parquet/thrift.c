// SPDX-License-Identifier: Apache-2.0
// Thrift's compact protocol. Used by the other files of this folder.
#include "export/parquet/thrift.h"

#include <string.h>

#include "base/array.h"

uint8_t *thrift_room(struct thrift *thrift, size_t size) {
    if (thrift->failed || !ARRAY_RESERVE(thrift->bytes, thrift->capacity, thrift->used + size + 1)) {
        thrift->failed = true;
        return NULL;
    }
    thrift->used += size;
    return thrift->bytes + (thrift->used - size);
}

void thrift_bytes(struct thrift *thrift, const void *bytes, size_t size) {
    uint8_t *at = thrift_room(thrift, size);
    if (at && size)
        memcpy(at, bytes, size);
}

void thrift_varint(struct thrift *thrift, uint64_t value) {
    uint8_t bytes[10];
    size_t size = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[size++] = (uint8_t)(value | 0x80);
    bytes[size++] = (uint8_t)value;
    thrift_bytes(thrift, bytes, size);
}

static void put_field(struct thrift *thrift, unsigned field, unsigned type) {
    unsigned *last = &thrift->last[thrift->depth];
    const uint8_t byte = (uint8_t)((field - *last) << 4 | type); // all distances are below 16
    *last = field;
    thrift_bytes(thrift, &byte, 1);
}

void thrift_item_int(struct thrift *thrift, int64_t value) {
    thrift_varint(thrift, thrift_zigzag(value));
}

void thrift_item_binary(struct thrift *thrift, const void *bytes, size_t length) {
    thrift_varint(thrift, length);
    thrift_bytes(thrift, bytes, length);
}

void thrift_int(struct thrift *thrift, unsigned field, unsigned type, int64_t value) {
    const uint8_t byte = (uint8_t)value;
    put_field(thrift, field, type);
    if (type == THRIFT_I8)
        thrift_bytes(thrift, &byte, 1);
    else
        thrift_item_int(thrift, value);
}

void thrift_bool(struct thrift *thrift, unsigned field, bool value) {
    put_field(thrift, field, value ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_binary(struct thrift *thrift, unsigned field, const void *bytes, size_t length) {
    put_field(thrift, field, THRIFT_BINARY);
    thrift_item_binary(thrift, bytes, length);
}

void thrift_list(struct thrift *thrift, unsigned field, unsigned type, size_t count) {
    const uint8_t byte = (uint8_t)((count < 15 ? count : 15) << 4 | type);
    put_field(thrift, field, THRIFT_LIST);
    thrift_bytes(thrift, &byte, 1);
    if (count >= 15)
        thrift_varint(thrift, count);
}

void thrift_element(struct thrift *thrift) {
    thrift->depth++;
    thrift->last[thrift->depth] = 0;
}

void thrift_struct(struct thrift *thrift, unsigned field) {
    put_field(thrift, field, THRIFT_STRUCT);
    thrift_element(thrift);
}

void thrift_end(struct thrift *thrift) {
    const uint8_t stop = 0;
    thrift_bytes(thrift, &stop, 1);
    thrift->last[thrift->depth] = 0;
    if (thrift->depth)
        thrift->depth--;
}
