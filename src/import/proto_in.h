// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format, field by field, from untrusted
// bytes.
#ifndef IMPORT_PROTO_IN_H
#define IMPORT_PROTO_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

enum { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2, PROTO_FIXED32 = 5 };

struct proto_in {
    const uint8_t *at, *end;
    bool bad; // stopped at what is no field
};

struct proto_field {
    uint32_t number;
    uint32_t wire;
    uint64_t value;       // of a varint or fixed value
    const uint8_t *bytes; // of what has a length
    size_t length;
};

static inline struct proto_in proto_in(const void *bytes, size_t length) {
    const uint8_t *at = bytes ? bytes : (const void *)"";
    return (struct proto_in){at, at + length, false};
}

static inline struct proto_in proto_within(const struct proto_field *field) {
    return proto_in(field->bytes, field->length);
}

// False when it does not end before the bytes do, or after ten of them.
static inline bool proto_get_varint(struct proto_in *in, uint64_t *out) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && in->at < in->end; shift += 7) {
        uint8_t byte = *in->at++;
        value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
    return false;
}

// The next field; false at the end, and (with `bad`) where no field is.
static inline bool proto_next(struct proto_in *in, struct proto_field *out) {
    uint64_t tag, length;
    if (in->at >= in->end)
        return false;
    in->bad = true;
    if (!proto_get_varint(in, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
        return false;
    *out = (struct proto_field){.number = (uint32_t)(tag >> 3), .wire = (uint32_t)(tag & 7)};
    switch (out->wire) {
    case PROTO_VARINT:
        if (!proto_get_varint(in, &out->value))
            return false;
        break;
    case PROTO_FIXED64:
        if (in->end - in->at < 8)
            return false;
        out->value = bytes_get_u64(in->at);
        in->at += 8;
        break;
    case PROTO_FIXED32:
        if (in->end - in->at < 4)
            return false;
        out->value = bytes_get_u32(in->at);
        in->at += 4;
        break;
    case PROTO_BYTES:
        if (!proto_get_varint(in, &length) || length > (uint64_t)(in->end - in->at))
            return false;
        out->bytes = in->at;
        out->length = (size_t)length;
        in->at += length;
        break;
    default: // groups are not written any more
        return false;
    }
    in->bad = false;
    return true;
}

// A repeated number, each in a field of its own or many in one.
struct proto_numbers {
    struct proto_in in, packed;
    uint32_t field;
};

static inline bool proto_next_number(struct proto_numbers *numbers, uint64_t *out) {
    struct proto_field field;
    for (;;) {
        if (numbers->packed.at < numbers->packed.end && proto_get_varint(&numbers->packed, out))
            return true;
        if (!proto_next(&numbers->in, &field))
            return false;
        if (field.number == numbers->field && field.wire == PROTO_BYTES)
            numbers->packed = proto_within(&field);
        if (field.number == numbers->field && field.wire == PROTO_VARINT) {
            *out = field.value;
            return true;
        }
    }
}

static inline double proto_double(const struct proto_field *field) {
    double value;
    memcpy(&value, &field->value, sizeof value);
    return value;
}

#endif
