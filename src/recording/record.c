// SPDX-License-Identifier: Apache-2.0
// Writes and reads the records of a recording. The OpenCL recorder and the replay call it.
#include "recording/record.h"

#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/hash.h"

enum { ENTRY_HEAD = 1 + 10 };

static uint8_t *reserve_bytes(struct recording_writer *writer, size_t size) {
    if (writer->failed || size > RECORDING_BODY_MOST ||
        !ARRAY_RESERVE(writer->bytes, writer->capacity, writer->length + size)) {
        writer->failed = true;
        return NULL;
    }
    return writer->bytes + writer->length;
}

void recording_begin(struct recording_writer *writer, enum recording_type type) {
    writer->length = 0;
    writer->failed = false;
    uint8_t *at = reserve_bytes(writer, RECORDING_HEADER);
    if (!at)
        return;
    memset(at, 0, RECORDING_HEADER);
    bytes_put_u32(at, RECORDING_MAGIC);
    bytes_put_u16(at + 4, (uint16_t)type);
    writer->length = RECORDING_HEADER;
}

void recording_put_bytes(struct recording_writer *writer, enum recording_key key, const void *bytes,
                         size_t length) {
    uint8_t *at = reserve_bytes(writer, length + ENTRY_HEAD);
    if (!at)
        return;
    size_t used = 0, rest = length;
    at[used++] = (uint8_t)key;
    for (; rest >= 128; rest >>= 7)
        at[used++] = (uint8_t)(rest | 128);
    at[used++] = (uint8_t)rest;
    if (length)
        memcpy(at + used, bytes, length);
    writer->length += used + length;
}

void recording_put(struct recording_writer *writer, enum recording_key key, uint64_t value) {
    uint8_t bytes[8];
    size_t length = 8;
    bytes_put_u64(bytes, value);
    while (length && bytes[length - 1] == 0)
        length--;
    recording_put_bytes(writer, key, bytes, length);
}

void recording_put_text(struct recording_writer *writer, enum recording_key key, const char *text) {
    recording_put_bytes(writer, key, text, text ? strlen(text) : 0);
}

void recording_put_list(struct recording_writer *writer, enum recording_key key, const uint64_t *values,
                        size_t count) {
    recording_put_bytes(writer, key, values, count * sizeof *values);
}

bool recording_end(struct recording_writer *writer) {
    if (writer->failed || writer->length - RECORDING_HEADER > RECORDING_BODY_MOST)
        return false;
    bytes_put_u32(writer->bytes + 8, (uint32_t)(writer->length - RECORDING_HEADER));
    uint32_t crc = crc32c(0, writer->bytes, 12);
    crc = crc32c(crc, writer->bytes + RECORDING_HEADER, writer->length - RECORDING_HEADER);
    bytes_put_u32(writer->bytes + 12, crc);
    return true;
}

enum recording_result recording_next(const uint8_t *bytes, size_t length, size_t *offset,
                                     struct recording_record *out) {
    if (*offset >= length)
        return RECORDING_DONE;
    const uint8_t *at = bytes + *offset;
    size_t left = length - *offset;
    if (left < RECORDING_HEADER)
        return RECORDING_TORN;
    uint32_t body = bytes_get_u32(at + 8);
    if (bytes_get_u32(at) != RECORDING_MAGIC || body > RECORDING_BODY_MOST)
        return RECORDING_DAMAGED;
    if (body > left - RECORDING_HEADER)
        return RECORDING_TORN;
    uint32_t crc = crc32c(crc32c(0, at, 12), at + RECORDING_HEADER, body);
    if (crc != bytes_get_u32(at + 12))
        return RECORDING_DAMAGED;
    *out = (struct recording_record){
        .type = bytes_get_u16(at + 4), .offset = *offset, .body = at + RECORDING_HEADER, .length = body};
    *offset += RECORDING_HEADER + (size_t)body;
    return RECORDING_FOUND;
}

bool recording_get_bytes(const struct recording_record *record, enum recording_key key, const uint8_t **out,
                         size_t *length) {
    const uint8_t *at = record->body, *end = record->body + record->length;
    while (at < end) {
        unsigned found = *at++;
        uint64_t size = 0;
        unsigned shift = 0;
        do {
            if (at == end || shift > 28)
                return false;
            size |= (uint64_t)(*at & 127) << shift;
            shift += 7;
        } while (*at++ & 128);
        if (size > (uint64_t)(end - at))
            return false;
        if (found == (unsigned)key) {
            *out = at;
            *length = (size_t)size;
            return true;
        }
        at += size;
    }
    return false;
}

bool recording_get(const struct recording_record *record, enum recording_key key, uint64_t *out) {
    const uint8_t *bytes;
    size_t length;
    *out = 0;
    if (!recording_get_bytes(record, key, &bytes, &length) || length > 8)
        return false;
    memcpy(out, bytes, length);
    return true;
}

uint64_t recording_value(const struct recording_record *record, enum recording_key key) {
    uint64_t value;
    recording_get(record, key, &value);
    return value;
}

size_t recording_list(const struct recording_record *record, enum recording_key key, const uint8_t **out) {
    size_t length;
    if (!recording_get_bytes(record, key, out, &length))
        return 0;
    return length / 8;
}

bool recording_get_list(const struct recording_record *record, enum recording_key key, uint64_t *out,
                        size_t most, size_t *count) {
    const uint8_t *bytes;
    *count = recording_list(record, key, &bytes);
    if (*count > most)
        return false;
    for (size_t i = 0; i < *count; i++)
        out[i] = bytes_get_u64(bytes + 8 * i);
    return true;
}

const char *recording_type_name(uint32_t type) {
    switch (type) {
#define TYPE_CASE(NAME, number, name)                                                                        \
    case number:                                                                                             \
        return name;
        RECORDING_TYPE_TABLE(TYPE_CASE)
#undef TYPE_CASE
    default:
        return "record of a newer version";
    }
}

const char *recording_command_name(uint64_t command) {
    switch (command) {
#define COMMAND_CASE(NAME, number, name)                                                                     \
    case number:                                                                                             \
        return name;
        RECORDING_COMMAND_TABLE(COMMAND_CASE)
#undef COMMAND_CASE
    default:
        return "command of a newer version";
    }
}
