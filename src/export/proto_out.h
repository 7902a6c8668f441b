// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format: fields into a buffer that grows.
#ifndef EXPORT_PROTO_OUT_H
#define EXPORT_PROTO_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"

enum { PROTO_VARINT_MAX = 10, PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2 };

struct proto_out {
    uint8_t *bytes;
    size_t used, capacity;
    bool failed; // out of memory: what comes after is dropped
};

static inline uint8_t *proto_varint(uint8_t *at, uint64_t value) {
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

static inline uint8_t *proto_tag(uint8_t *at, uint32_t field, uint32_t wire) {
    return proto_varint(at, field << 3 | wire);
}

static inline uint8_t *proto_uint(uint8_t *at, uint32_t field, uint64_t value) {
    return proto_varint(proto_tag(at, field, PROTO_VARINT), value);
}

static inline uint8_t *proto_fixed64(uint8_t *at, uint32_t field, uint64_t value) {
    at = proto_tag(at, field, PROTO_FIXED64);
    bytes_put_u64(at, value);
    return at + 8;
}

// Room for `more` bytes at the returned place (NULL when memory is exhausted); proto_end takes the number of bytes used.
static inline uint8_t *proto_begin(struct proto_out *out, size_t more) {
    if (__builtin_expect(out->used + more > out->capacity, 0)) {
        void *bytes = out->bytes;
        if (out->failed || !array_reserve(&bytes, &out->capacity, out->used + more, 1)) {
            out->failed = true;
            return NULL;
        }
        out->bytes = bytes;
    }
    return out->bytes + out->used;
}

static inline void proto_end(struct proto_out *out, const uint8_t *to) {
    out->used = (size_t)(to - out->bytes);
}

static inline void proto_add_uint(struct proto_out *out, uint32_t field, uint64_t value) {
    uint8_t *at = proto_begin(out, 2 * (size_t)PROTO_VARINT_MAX);
    if (at)
        proto_end(out, proto_uint(at, field, value));
}

static inline void proto_add_fixed64(struct proto_out *out, uint32_t field, uint64_t value) {
    uint8_t *at = proto_begin(out, PROTO_VARINT_MAX + 8);
    if (at)
        proto_end(out, proto_fixed64(at, field, value));
}

static inline void proto_add_bytes(struct proto_out *out, uint32_t field, const void *bytes, size_t length) {
    uint8_t *at = proto_begin(out, 2 * (size_t)PROTO_VARINT_MAX + length);
    if (!at)
        return;
    at = proto_varint(proto_tag(at, field, PROTO_BYTES), length);
    memcpy(at, bytes, length);
    proto_end(out, at + length);
}

// A message within a message: its length is put before it when it ends. `from` is what proto_open returned.
static inline size_t proto_open(struct proto_out *out) {
    return out->used;
}

static inline void proto_close(struct proto_out *out, size_t from, uint32_t field) {
    uint8_t head[2 * PROTO_VARINT_MAX];
    size_t length = out->used - from;
    size_t added = (size_t)(proto_varint(proto_tag(head, field, PROTO_BYTES), length) - head);
    if (!proto_begin(out, added))
        return;
    memmove(out->bytes + from + added, out->bytes + from, length);
    memcpy(out->bytes + from, head, added);
    out->used += added;
}

#endif
