// SPDX-License-Identifier: Apache-2.0
// data.bin: contents of memory, each once. Contents of zeros are not in it. emit_walk.c and emit_memory.c add them.
#if __has_include(<CL/cl.h>)

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/opencl/emit.h"

// The program seeks with a long, which has 32 bits on some systems.
enum { DATA_MOST = INT32_MAX, CONTENTS_MOST = 1 << 24 };

int emit_add_content(struct emit *emit, const uint8_t *bytes, size_t size) {
    const struct chunk_hash hash = chunk_hash_of(bytes, size);
    const struct chunk_hash key = {hash.low ^ (size * 0x9e3779b97f4a7c15u), hash.high + 1};
    const bool zeros = chunk_hash_is_zeros(hash);
    const uint64_t known = chunk_table_find(&emit->content_of, key);
    if (known)
        return (int)(known - 1);
    if (emit->content_count >= CONTENTS_MOST || (!zeros && size > DATA_MOST - emit->data_size)) {
        emit->too_large = true;
        return EMIT_NONE;
    }
    if (!ARRAY_RESERVE(emit->contents, emit->content_capacity, emit->content_count + 1) ||
        !ARRAY_RESERVE(emit->data, emit->data_capacity, emit->data_size + size + 1) ||
        !chunk_table_add(&emit->content_of, key, emit->content_count + 1)) {
        emit->failed = true;
        return EMIT_NONE;
    }
    emit->contents[emit->content_count] =
        (struct emit_content){.offset = zeros ? -1 : (int64_t)emit->data_size, .size = size};
    if (!zeros) {
        memcpy(emit->data + emit->data_size, bytes, size);
        emit->data_size += size;
    }
    return (int)emit->content_count++;
}

int emit_add_payload(struct emit *emit, const struct recording_record *record) {
    size_t size = 0;
    uint8_t *bytes = recording_payload(emit->recording, record, &size);
    const int content = bytes ? emit_add_content(emit, bytes, size) : EMIT_NONE;
    free(bytes);
    return content;
}

#else
typedef int emit_without_opencl; // a translation unit has something in it
#endif
