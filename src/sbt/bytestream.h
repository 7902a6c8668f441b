// SPDX-License-Identifier: Apache-2.0
// Writing and reading the small pieces of the format: bytes, varints, zigzag numbers. A writer grows and
// remembers that memory ran out; a reader never goes past its end and reports that at once.
#ifndef SBT_BYTESTREAM_H
#define SBT_BYTESTREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"

enum { VARINT_MAX = 10 };

static inline uint64_t zigzag(uint64_t value) {
    return value << 1 ^ (uint64_t)((int64_t)value >> 63);
}

static inline uint64_t unzigzag(uint64_t value) {
    return value >> 1 ^ (0 - (value & 1));
}

// A growing array of bytes. A zeroed one is valid and empty; free(bytes) ends it.
struct output {
    uint8_t *bytes;
    size_t length, capacity;
    bool failed; // memory ran out: what is in it is worthless
};

// Room for `size` more bytes, where they belong, or NULL. The caller adds what it used to `length`.
static inline uint8_t *output_room(struct output *output, size_t size) {
    if (!output->bytes || output->capacity - output->length < size) {
        void *bytes = output->bytes;
        if (output->length > SIZE_MAX - size - 1 ||
            !array_reserve(&bytes, &output->capacity, output->length + size + 1, 1)) {
            output->failed = true;
            return NULL;
        }
        output->bytes = bytes;
    }
    return output->bytes + output->length;
}

static inline void output_bytes(struct output *output, const void *bytes, size_t size) {
    uint8_t *at = output_room(output, size);
    if (!at || !size)
        return;
    memcpy(at, bytes, size);
    output->length += size;
}

static inline void output_u8(struct output *output, unsigned value) {
    uint8_t *at = output_room(output, 1);
    if (!at)
        return;
    *at = (uint8_t)value;
    output->length++;
}

static inline size_t varint_put(uint8_t *at, uint64_t value) {
    size_t used = 0;
    for (; value >= 128; value >>= 7)
        at[used++] = (uint8_t)(value | 128);
    at[used++] = (uint8_t)value;
    return used;
}

static inline size_t varint_size(uint64_t value) {
    return value < 128 ? 1 : ((size_t)(64 - __builtin_clzll(value)) + 6) / 7;
}

static inline void output_varint(struct output *output, uint64_t value) {
    uint8_t *at = output_room(output, VARINT_MAX);
    if (at)
        output->length += varint_put(at, value);
}

static inline void output_zigzag(struct output *output, uint64_t value) {
    output_varint(output, zigzag(value));
}

// Bytes that are read from front to back.
struct input {
    const uint8_t *at, *end;
};

static inline size_t input_left(const struct input *input) {
    return (size_t)(input->end - input->at);
}

static inline bool input_u8(struct input *input, uint8_t *out) {
    if (input->at == input->end)
        return false;
    *out = *input->at++;
    return true;
}

static inline bool input_varint(struct input *input, uint64_t *out) {
    if (input->at < input->end && *input->at < 128) {
        *out = *input->at++;
        return true;
    }
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && input->at < input->end; shift += 7) {
        uint8_t byte = *input->at++;
        if (shift == 63 && byte > 1)
            return false;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            *out = value;
            return true;
        }
    }
    return false;
}

static inline bool input_zigzag(struct input *input, uint64_t *out) {
    uint64_t value;
    if (!input_varint(input, &value))
        return false;
    *out = unzigzag(value);
    return true;
}

// A varint that is believed only up to `limit`.
static inline bool input_count(struct input *input, uint64_t limit, uint32_t *out) {
    uint64_t value;
    if (!input_varint(input, &value) || value > limit || value > UINT32_MAX)
        return false;
    *out = (uint32_t)value;
    return true;
}

// The next `size` bytes as an input of their own.
static inline bool input_part(struct input *input, uint64_t size, struct input *out) {
    if (size > input_left(input))
        return false;
    *out = (struct input){input->at, input->at + size};
    input->at += size;
    return true;
}

#endif
