// SPDX-License-Identifier: Apache-2.0
// Any bytes as a partial of a query, and as what follows a head whose length and checksum are right. What is read is written again; that
// must be read, and be written as the same bytes. Its answer is computed.
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "tracesmith/query_partial.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD_SIZE = 24 };

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
    tsmith_query_partial *partial;
    tsmith_error error;
    const char *label, *reason;
    uint64_t lost;
    const tsmith_output output = {keep, kept};
    if (tsmith_query_partial_create(NULL, &partial, &error) != TSMITH_OK)
        abort();
    const int good = tsmith_query_partial_add_bytes(partial, "fuzz", bytes, size, &error) == TSMITH_OK;
    // A state may be damaged inside: then nothing is written, and there is no answer.
    const int written = good && tsmith_query_partial_write(partial, &output, &error) == TSMITH_OK;
    while (good && tsmith_query_partial_next(partial, &error) == TSMITH_OK)
        for (size_t i = 0; i < tsmith_query_partial_column_count(partial); i++)
            (void)tsmith_query_partial_value(partial, i);
    for (size_t i = 0; good && tsmith_query_partial_trace(partial, i, &label, &reason, &lost); i++)
        ;
    tsmith_query_partial_destroy(partial);
    return written;
}

static void try_bytes(const uint8_t *bytes, size_t size) {
    struct kept first = {0}, second = {0};
    if (write_again(bytes, size, &first) &&
        (!write_again(first.bytes, first.size, &second) || first.size != second.size ||
         memcmp(first.bytes, second.bytes, first.size) != 0))
        abort();
    free(first.bytes);
    free(second.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *bytes = malloc(HEAD_SIZE + size);
    if (!bytes)
        return 0;
    try_bytes(data, size);
    memcpy(bytes, "TSQPART\n", 8);
    bytes_put_u32(bytes + 8, 1);
    bytes_put_u32(bytes + 12, crc32c(0, data, size));
    bytes_put_u64(bytes + 16, size);
    memcpy(bytes + HEAD_SIZE, data, size);
    try_bytes(bytes, HEAD_SIZE + size);
    free(bytes);
    return 0;
}
