// SPDX-License-Identifier: Apache-2.0
// Writes Thrift's compact protocol, which Parquet's metadata has ("Thrift compact protocol encoding",
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md): fields of a struct in ascending order.
#ifndef EXPORT_PARQUET_THRIFT_H
#define EXPORT_PARQUET_THRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { THRIFT_TRUE = 1, THRIFT_FALSE = 2, THRIFT_I8 = 3, THRIFT_I16 = 4, THRIFT_I32 = 5, THRIFT_I64 = 6 };
enum { THRIFT_BINARY = 8, THRIFT_LIST = 9, THRIFT_STRUCT = 12, THRIFT_DEPTH = 8 };

// Zero-initialized, it is empty: a buffer that grows, for messages and for pages. `bytes` is freed by its owner.
struct thrift {
    uint8_t *bytes;
    size_t used, capacity;
    unsigned last[THRIFT_DEPTH], depth; // number of the last field, of each open struct
    bool failed;                        // out of memory: later calls do nothing
};

// `size` bytes at the end, not initialized, which count as used; NULL when memory is exhausted.
uint8_t *thrift_room(struct thrift *thrift, size_t size);
void thrift_bytes(struct thrift *thrift, const void *bytes, size_t size);
void thrift_varint(struct thrift *thrift, uint64_t value);

static inline uint64_t thrift_zigzag(int64_t value) {
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

void thrift_int(struct thrift *thrift, unsigned field, unsigned type, int64_t value);
void thrift_bool(struct thrift *thrift, unsigned field, bool value);
void thrift_binary(struct thrift *thrift, unsigned field, const void *bytes, size_t length);
// A list whose elements follow: structs (thrift_element), or items of thrift_item_int and thrift_item_binary.
void thrift_list(struct thrift *thrift, unsigned field, unsigned type, size_t count);
void thrift_item_int(struct thrift *thrift, int64_t value);
void thrift_item_binary(struct thrift *thrift, const void *bytes, size_t length);
void thrift_struct(struct thrift *thrift, unsigned field);
void thrift_element(struct thrift *thrift);
void thrift_end(struct thrift *thrift);

#endif
