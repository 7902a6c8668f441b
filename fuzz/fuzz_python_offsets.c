// SPDX-License-Identifier: Apache-2.0
// Any bytes as the table of debug offsets of a Python that runs: four bytes with the size of its section, then the table. What is
// accepted lies within the structures that the table itself describes, and the three places that are written do not overlap.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inject/python_offsets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int right) {
    if (!right)
        abort();
}

// Whether the places [a, a + a_bytes) and [b, b + b_bytes) have a byte in common.
static int meet(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) {
    return a < b + b_bytes && b < a + a_bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { HEAD = 4, INTERPRETER_SIZE = 6 * 8, THREAD_SIZE = 22 * 8 };
    struct python_offsets offsets;
    char why[PYTHON_WHY_BYTES] = "";
    uint32_t section;
    uint64_t interpreter, thread;
    if (size < HEAD)
        return 0;
    memcpy(&section, data, sizeof section);
    // Memory of exactly this size, so that a sanitizer sees a read behind it.
    uint8_t *table = malloc(size - HEAD + 1);
    require(table != NULL);
    memcpy(table, data + HEAD, size - HEAD);
    if (!python_offsets_read(table, size - HEAD, section, &offsets, why)) {
        require(why[0] && memchr(why, '\0', sizeof why) != NULL);
        free(table);
        return 0;
    }
    memcpy(&interpreter, table + INTERPRETER_SIZE, sizeof interpreter);
    memcpy(&thread, table + THREAD_SIZE, sizeof thread);
    free(table);
    require(offsets.interpreters + 8 <= section);
    require(offsets.id + 8 <= interpreter && offsets.next + 8 <= interpreter &&
            offsets.main_thread + 8 <= interpreter && offsets.enabled + 4 <= interpreter);
    require(offsets.interpreter + 8 <= thread && offsets.eval_breaker + 8 <= thread &&
            offsets.pending + 4 <= thread && offsets.path + offsets.path_bytes <= thread);
    require(interpreter < UINT32_MAX && thread < UINT32_MAX && offsets.path_bytes <= PYTHON_PATH_MOST);
    require(!meet(offsets.eval_breaker, 8, offsets.pending, 4) &&
            !meet(offsets.eval_breaker, 8, offsets.path, offsets.path_bytes) &&
            !meet(offsets.pending, 4, offsets.path, offsets.path_bytes));
    return 0;
}
