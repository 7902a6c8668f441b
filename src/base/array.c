// SPDX-License-Identifier: Apache-2.0
// Grows arrays with a check for overflow. Every room that keeps growing arrays calls it, mostly through ARRAY_PUSH.
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

bool array_reserve(void **items, size_t *capacity, size_t needed, size_t element) {
    if (needed <= *capacity)
        return true;
    size_t grown = *capacity < 16 ? 16 : *capacity;
    while (grown < needed) {
        if (grown > SIZE_MAX / 2)
            return false;
        grown *= 2;
    }
    size_t bytes;
    if (__builtin_mul_overflow(grown, element, &bytes))
        return false;
    void *moved = realloc(*items, bytes);
    if (!moved)
        return false;
    *items = moved;
    *capacity = grown;
    return true;
}
