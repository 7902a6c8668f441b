// SPDX-License-Identifier: Apache-2.0
// The numbers of docs/sbt-format.md, and the two headers of fixed form.
#ifndef SBT_FORMAT_H
#define SBT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SBT_MAJOR = 1,
    SBT_MINOR = 1,
    SBT_ALIGNMENT = 64,
    SBT_FILE_HEADER_SIZE = 64,
    SBT_FRAME_HEADER_SIZE = 64,
    SBT_FRAME_VERSION = 1,
    SBT_TRAILER_SIZE = 32,
    SBT_INDEX_HEADER_SIZE = 24,
    SBT_INDEX_ENTRY_SIZE = 48,
    SBT_INDEX_EVERY = 64 << 20, // bytes between two INDEX frames
    SBT_VECTOR = 1024           // integers of a FOR vector, and of a step of decoding
};

// Section 15 of the document: the limits of writer and reader.
enum {
    SBT_MAX_PAYLOAD = 128 << 20,
    SBT_MAX_STRING = 64 << 20,
    SBT_MAX_COLUMNS = 4096,
    SBT_MAX_REFERENCES = 8,
    SBT_MAX_DECODED = 192 << 20,
    SBT_MAX_DICTIONARY = 256 << 20,
    SBT_MAX_FRAMES = 8 << 20,
    SBT_MAX_AGGREGATES = 2 << 20,
    SBT_STRING_COST = 32, // what a string counts besides its bytes, and a row
    SBT_ROW_COST = 64,
    SBT_STACK_COST = 24 // of a row of the table of stacks
};

// Field 37, `inferred` (BOOL), which files of before its successor CERTAINTY have (section 14).
enum { SBT_FIELD_INFERRED = 37 };

enum frame_type {
    FRAME_SCHEMA = 1,
    FRAME_DICTIONARY = 2,
    FRAME_EVENTS = 3,
    FRAME_AGGREGATE = 4,
    FRAME_DETAIL = 5,
    FRAME_INDEX = 6,
    FRAME_END = 7,
    FRAME_RECORDS = 17,
    FRAME_CHUNKS = 18
};

enum { FRAME_CRITICAL = 1 }; // flags

enum sbt_validity { VALIDITY_ALL, VALIDITY_BITMAP, VALIDITY_SAME, VALIDITY_RUNS, VALIDITY_ZSTD };

enum sbt_transform {
    TRANSFORM_PLAIN,
    TRANSFORM_DELTA,
    TRANSFORM_GAP,
    TRANSFORM_RELATIVE,
    TRANSFORM_NEST,  // 1.1
    TRANSFORM_OTHER, // 1.1
    TRANSFORM_LIMIT,
    TRANSFORM_MASK = 15,
    TRANSFORM_INTEGRAL = 16,
    TRANSFORM_DECIMAL = 32, // 1.1
    TRANSFORM_GROUPED = 64  // 1.1
};

enum { DECIMAL_MOST_PLACES = 22 };

enum sbt_packing {
    PACKING_CONSTANT,
    PACKING_RAW,
    PACKING_FOR,
    PACKING_PLANES,
    PACKING_DICTIONARY,
    PACKING_RUNS,
    PACKING_TICK,
    PACKING_LOG,     // 1.1
    PACKING_BUNDLES, // 1.1
    PACKING_LIMIT,
    PACKING_DEPTH = 4
};

enum { FOR_WIDTH = 127, FOR_EXCEPTIONS = 128, PLANES_COUNT = 15, PLANES_ZIGZAG = 128 };
enum { PLANE_CONSTANT, PLANE_RAW, PLANE_ZSTD };
enum { LOG_MANTISSA = 15, LOG_MOST_MANTISSA = 8, LOG_ZIGZAG = 128 };

struct frame_header {
    uint16_t type, flags, version;
    uint32_t kinds;
    uint64_t length; // of the payload, without its zeros
    uint64_t sequence;
    uint32_t track, events;
    int64_t first_start, last_end;
    uint32_t payload_crc;
};

// Bytes the payload takes in the file, with its zeros.
static inline uint64_t frame_stored_length(uint64_t length) {
    return (length + (SBT_ALIGNMENT - 1)) & ~(uint64_t)(SBT_ALIGNMENT - 1);
}

void frame_header_put(uint8_t at[SBT_FRAME_HEADER_SIZE], const struct frame_header *header);
// False when no valid frame header stands there.
bool frame_header_get(const uint8_t at[SBT_FRAME_HEADER_SIZE], struct frame_header *header);
// Whether a reader of this version can make sense of the frame.
bool frame_is_known(const struct frame_header *header);
// The bit of a kind in `kinds`.
static inline uint32_t frame_kind_bit(unsigned kind) {
    return 1u << (kind < 31 ? kind : 31);
}

struct file_header {
    uint16_t major, minor;
    uint32_t size, flags;
};
void file_header_put(uint8_t at[SBT_FILE_HEADER_SIZE], uint16_t minor);
bool file_header_has_magic(const uint8_t at[8]);
// False when magic or checksum are wrong.
bool file_header_get(const uint8_t at[SBT_FILE_HEADER_SIZE], struct file_header *header);

#endif
