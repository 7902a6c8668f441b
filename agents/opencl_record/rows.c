// SPDX-License-Identifier: Apache-2.0
// Boxes as they lie in the host's memory. Rules: recorder.h.
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

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
