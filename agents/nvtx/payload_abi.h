// SPDX-License-Identifier: Apache-2.0
// NVTX's extension for structured payloads (nvToolsExtPayload.h), as far as it is used, declared by ourselves as abi.h is and
// compared with NVIDIA's headers by the same test.
#ifndef NVTX_PAYLOAD_ABI_H
#define NVTX_PAYLOAD_ABI_H

#include "abi.h"

// What an event's attributes have as payload_type when `payload.u64` points at `reserved` structs nvtx_data.
#define NVTX_PAYLOAD_TYPE_EXTENDED ((int32_t)0xDFBD0009)
enum { NVTX_EXTENSION_PAYLOAD = 2 };

struct nvtx_segment {
    size_t id, count;
    intptr_t *slots;
};
struct nvtx_module_info {
    uint16_t version, size, module, compatible;
    size_t segment_count;
    struct nvtx_segment *segments;
    void *get_export;
    const void *info;
};

struct nvtx_data {
    uint64_t schema;
    size_t size; // SIZE_MAX: the reader is to find it out
    const void *payload;
};
struct nvtx_entry {
    uint64_t flags, type;
    const char *name, *description;
    uint64_t detail; // length of an array, or the number of the entry that has it
    uint64_t offset; // 0: by the rules of alignment
    const void *semantics, *reserved;
};
struct nvtx_schema {
    uint64_t mask; // which fields are valid: bit (1 << number of the field, from 1)
    const char *name;
    uint64_t type, flags;
    const struct nvtx_entry *entries;
    size_t count, bytes, pack;
    uint64_t id;
    void *extension;
};
struct nvtx_enum_entry {
    const char *name;
    uint64_t value;
    int8_t is_flag;
};
struct nvtx_enum {
    uint64_t mask;
    const char *name;
    const struct nvtx_enum_entry *entries;
    size_t count, bytes;
    uint64_t id;
    void *extension;
};

enum { // bits of the masks
    NVTX_SCHEMA_NAME = 1 << 1,
    NVTX_SCHEMA_TYPE = 1 << 2,
    NVTX_SCHEMA_ENTRIES = 1 << 4,
    NVTX_SCHEMA_COUNT = 1 << 5,
    NVTX_SCHEMA_BYTES = 1 << 6,
    NVTX_SCHEMA_PACK = 1 << 7,
    NVTX_SCHEMA_ID = 1 << 8,
    NVTX_ENUM_ENTRIES = 1 << 2,
    NVTX_ENUM_COUNT = 1 << 3,
    NVTX_ENUM_BYTES = 1 << 4,
    NVTX_ENUM_ID = 1 << 5,
};
enum { NVTX_SCHEMA_STATIC = 1, NVTX_SCHEMA_DYNAMIC = 2 };
enum { // of an entry
    NVTX_ENTRY_POINTER = 1 << 1,
    NVTX_ENTRY_FROM_BASE = 1 << 2,
    NVTX_ENTRY_FROM_HERE = 1 << 3,
    NVTX_ENTRY_ARRAY = 7 << 4, // one of the next
    NVTX_ENTRY_FIXED = 1 << 4,
    NVTX_ENTRY_TERMINATED = 2 << 4,
    NVTX_ENTRY_LENGTH = 3 << 4,
    NVTX_ENTRY_MESSAGE = 1 << 10,
};
enum {
    NVTX_TYPE_CHAR = 1,
    NVTX_TYPE_UINT64 = 18,
    NVTX_TYPE_FLOAT = 19,
    NVTX_TYPE_DOUBLE = 20,
    NVTX_TYPE_ADDRESS = 23,
    NVTX_TYPE_CSTRING = 75,
    NVTX_TYPE_CSTRING_UTF8 = 76,
    NVTX_TYPE_REGISTERED = 80,
    NVTX_TYPE_LIMIT = 128,
};
#define NVTX_SCHEMA_STATIC_START (UINT64_C(1) << 24)
#define NVTX_SCHEMA_DYNAMIC_START (UINT64_C(1) << 32)

// By number from 0. X(name, return, (types), what is answered without anybody)
#define NVTX_PAYLOAD_FUNCTIONS(X)                                                                            \
    X(PayloadSchemaRegister, uint64_t, (void *, const struct nvtx_schema *))                                 \
    X(PayloadEnumRegister, uint64_t, (void *, const struct nvtx_enum *))                                     \
    X(MarkPayload, void, (void *, const struct nvtx_data *, size_t))                                         \
    X(RangePushPayload, int, (void *, const struct nvtx_data *, size_t))                                     \
    X(RangePopPayload, int, (void *, const struct nvtx_data *, size_t))                                      \
    X(RangeStartPayload, uint64_t, (void *, const struct nvtx_data *, size_t))                               \
    X(RangeEndPayload, void, (void *, uint64_t, const struct nvtx_data *, size_t))                           \
    X(DomainIsEnabled, uint8_t, (void *))

#endif
