// SPDX-License-Identifier: Apache-2.0
// Any bytes as a partial of ranks, and as two traces of a partial whose lengths and checksums are right. What is read is
// written again; that must be read, and be written as the same bytes.
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "tracesmith/ranks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD_SIZE = 24, ENTRY_SIZE = 8 };

struct kept {
    uint8_t *bytes;
    size_t size;
};

static tsmith_status keep(void *context, const void *bytes, size_t size) {
    struct kept *kept = context;
    uint8_t *moved = realloc(kept->bytes, kept->size + size);
    if (!moved)
        abort();
    memcpy(moved + kept->size, bytes, size);
    *kept = (struct kept){moved, kept->size + size};
    return TSMITH_OK;
}

// False: refused.
static int write_again(const uint8_t *bytes, size_t size, struct kept *kept) {
    tsmith_ranks *ranks;
    tsmith_error error;
    const tsmith_output output = {keep, kept};
    if (tsmith_ranks_create(&ranks, &error) != TSMITH_OK)
        abort();
    const int good = tsmith_ranks_add_partial(ranks, "fuzz", bytes, size, &error) == TSMITH_OK;
    if (good && tsmith_ranks_write_partial(ranks, &output, &error) != TSMITH_OK)
        abort();
    (void)tsmith_ranks_add_missing(ranks, "other", "not there", &error);
    (void)tsmith_ranks_finish(ranks, &error);
    tsmith_ranks_destroy(ranks);
    return good;
}

static void try_bytes(const uint8_t *bytes, size_t size) {
    struct kept first = {0}, second = {0};
    if (write_again(bytes, size, &first)) {
        if (!write_again(first.bytes, first.size, &second) || first.size != second.size ||
            memcmp(first.bytes, second.bytes, first.size) != 0)
            abort();
    }
    free(first.bytes);
    free(second.bytes);
}

// A partial of two traces; the first two bytes say where the second begins.
static void try_traces(const uint8_t *data, size_t size) {
    const size_t split = bytes_get_u16(data);
    data += 2;
    size -= 2;
    const size_t half = split < size ? split : size, total = HEAD_SIZE + 2 * ENTRY_SIZE + size;
    uint8_t *bytes = malloc(total), *at = bytes + HEAD_SIZE;
    if (!bytes)
        abort();
    memcpy(bytes, "TSPART\r\n", 8);
    bytes_put_u32(bytes + 8, 1);
    bytes_put_u32(bytes + 12, 2);
    bytes_put_u64(bytes + 16, total - HEAD_SIZE);
    for (int second = 0; second < 2; second++) {
        const size_t length = second ? size - half : half;
        const uint8_t *from = data + (second ? half : 0);
        bytes_put_u32(at, (uint32_t)length);
        bytes_put_u32(at + 4, crc32c(0, from, length));
        memcpy(at + ENTRY_SIZE, from, length);
        at += ENTRY_SIZE + length;
    }
    try_bytes(bytes, total);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    try_bytes(data, size);
    if (size >= 2)
        try_traces(data, size);
    return 0;
}
