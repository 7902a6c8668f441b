// SPDX-License-Identifier: Apache-2.0
// Records one after the other, each with its length and checksum: written by an agent, read from anywhere.
//
// A body is a sequence of entries: u8 key, varint length, bytes. An integer is its little-endian bytes without leading
// zeros; a list of integers is 8 bytes each.
#ifndef RECORDING_RECORD_H
#define RECORDING_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/format.h"

// ---- writing

// A record that is being made. A zeroed one is valid; free(bytes) ends it.
struct recording_writer {
    uint8_t *bytes;
    size_t length, capacity;
    bool failed; // memory ran out
};
void recording_begin(struct recording_writer *writer, enum recording_type type); // forgets what was in it
void recording_put(struct recording_writer *writer, enum recording_key key, uint64_t value);
void recording_put_bytes(struct recording_writer *writer, enum recording_key key, const void *bytes,
                         size_t length);
void recording_put_text(struct recording_writer *writer, enum recording_key key, const char *text);
void recording_put_list(struct recording_writer *writer, enum recording_key key, const uint64_t *values,
                        size_t count);
// False when it cannot be used: memory ran out, or it is too long.
bool recording_end(struct recording_writer *writer);

// ---- reading

// NAME of the REFUSED record with which a file ends whose recorder had no room left: after it nothing is recorded.
#define RECORDING_STOPPED "everything after"

struct recording_record {
    uint32_t type;
    uint64_t offset; // of its header
    const uint8_t *body;
    size_t length;
};
enum recording_result { RECORDING_FOUND, RECORDING_DONE, RECORDING_TORN, RECORDING_DAMAGED };
// The record of this many bytes at *offset, which moves behind it. TORN: the bytes end within it.
enum recording_result recording_next(const uint8_t *bytes, size_t length, size_t *offset,
                                     struct recording_record *out);
// An entry: false when there is none. `out` points into the record.
bool recording_get_bytes(const struct recording_record *record, enum recording_key key, const uint8_t **out,
                         size_t *length);
bool recording_get(const struct recording_record *record, enum recording_key key, uint64_t *out);
// 0 where there is none.
uint64_t recording_value(const struct recording_record *record, enum recording_key key);
// How many integers the list has; 0 where there is none.
size_t recording_list(const struct recording_record *record, enum recording_key key, const uint8_t **out);
// Copies up to `most` of them; false when there are more.
bool recording_get_list(const struct recording_record *record, enum recording_key key, uint64_t *out,
                        size_t most, size_t *count);

const char *recording_type_name(uint32_t type);
const char *recording_command_name(uint64_t command);

#endif
