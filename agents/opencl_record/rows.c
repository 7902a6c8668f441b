// SPDX-License-Identifier: Apache-2.0
// The layout of boxes in the host's memory. Rules: recorder.h.
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

size_t rows_bytes(const struct rows *rows) {
    return rows->width * rows->height * rows->depth;
}

uint8_t *rows_pack(const struct rows *rows, const void *from) {
    size_t bytes;
    if (__builtin_mul_overflow(rows->width, rows->height, &bytes) ||
        __builtin_mul_overflow(bytes, rows->depth, &bytes))
        return NULL;
    uint8_t *packed = malloc(bytes ? bytes : 1), *at = packed;
    for (size_t z = 0; packed && z < rows->depth; z++)
        for (size_t y = 0; y < rows->height; y++) {
            memcpy(at, (const uint8_t *)from + z * rows->slice + y * rows->row, rows->width);
            at += rows->width;
        }
    return packed;
}

bool rows_take(const struct rows *rows, const void *from, struct payload *payload) {
    if (rows->height == 1 && rows->depth == 1) {
        payload_take(payload, from, rows->width);
        return true;
    }
    uint8_t *packed = rows_pack(rows, from);
    if (packed)
        payload_take(payload, packed, rows_bytes(rows));
    free(packed);
    return packed != NULL;
}
