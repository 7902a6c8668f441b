// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes the file header and frame headers. The writer and the reader call it.
#include "sbt/format.h"

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"

static const uint8_t file_magic[8] = {'S', 'B', 'T', 0x89, '\r', '\n', 0x1a, '\n'};
static const uint8_t frame_magic[4] = {'S', 'B', 'T', 'F'};

void frame_header_put(uint8_t at[SBT_FRAME_HEADER_SIZE], const struct frame_header *header) {
    memcpy(at, frame_magic, sizeof frame_magic);
    bytes_put_u16(at + 4, header->type);
    bytes_put_u16(at + 6, header->flags);
    bytes_put_u16(at + 8, SBT_FRAME_HEADER_SIZE);
    bytes_put_u16(at + 10, header->version);
    bytes_put_u32(at + 12, header->kinds);
    bytes_put_u64(at + 16, header->length);
    bytes_put_u64(at + 24, header->sequence);
    bytes_put_u32(at + 32, header->track);
    bytes_put_u32(at + 36, header->events);
    bytes_put_u64(at + 40, (uint64_t)header->first_start);
    bytes_put_u64(at + 48, (uint64_t)header->last_end);
    bytes_put_u32(at + 56, header->payload_crc);
    bytes_put_u32(at + 60, crc32c(0, at, 60));
}

bool frame_header_get(const uint8_t at[SBT_FRAME_HEADER_SIZE], struct frame_header *header) {
    if (memcmp(at, frame_magic, sizeof frame_magic) != 0 || bytes_get_u32(at + 60) != crc32c(0, at, 60) ||
        bytes_get_u16(at + 8) != SBT_FRAME_HEADER_SIZE)
        return false;
    *header = (struct frame_header){.type = bytes_get_u16(at + 4),
                                    .flags = bytes_get_u16(at + 6),
                                    .version = bytes_get_u16(at + 10),
                                    .kinds = bytes_get_u32(at + 12),
                                    .length = bytes_get_u64(at + 16),
                                    .sequence = bytes_get_u64(at + 24),
                                    .track = bytes_get_u32(at + 32),
                                    .events = bytes_get_u32(at + 36),
                                    .first_start = (int64_t)bytes_get_u64(at + 40),
                                    .last_end = (int64_t)bytes_get_u64(at + 48),
                                    .payload_crc = bytes_get_u32(at + 56)};
    return header->length <= SBT_MAX_PAYLOAD;
}

bool frame_is_known(const struct frame_header *header) {
    return header->version == SBT_FRAME_VERSION &&
           (header->type == FRAME_SCHEMA || header->type == FRAME_DICTIONARY ||
            header->type == FRAME_EVENTS || header->type == FRAME_AGGREGATE || header->type == FRAME_DETAIL ||
            header->type == FRAME_INDEX || header->type == FRAME_END || header->type == FRAME_RECORDS ||
            header->type == FRAME_CHUNKS);
}

void file_header_put(uint8_t at[SBT_FILE_HEADER_SIZE], uint16_t minor) {
    memset(at, 0, SBT_FILE_HEADER_SIZE);
    memcpy(at, file_magic, sizeof file_magic);
    bytes_put_u16(at + 8, SBT_MAJOR);
    bytes_put_u16(at + 10, minor);
    bytes_put_u32(at + 12, SBT_FILE_HEADER_SIZE);
    bytes_put_u32(at + 60, crc32c(0, at, 60));
}

bool file_header_has_magic(const uint8_t at[8]) {
    return memcmp(at, file_magic, sizeof file_magic) == 0;
}

bool file_header_get(const uint8_t at[SBT_FILE_HEADER_SIZE], struct file_header *header) {
    *header = (struct file_header){bytes_get_u16(at + 8), bytes_get_u16(at + 10), bytes_get_u32(at + 12),
                                   bytes_get_u32(at + 16)};
    return file_header_has_magic(at) && bytes_get_u32(at + 60) == crc32c(0, at, 60);
}
