// SPDX-License-Identifier: Apache-2.0
// Computes the order of the values of a GROUPED column. The encoder and the decoder of columns call it.
#include "sbt/group.h"

// One pass of a radix sort, by the byte at `shift`.
static void sort_by_byte(const uint64_t *keys, unsigned shift, const uint32_t *from, uint32_t *to,
                         uint32_t count) {
    uint32_t places[256] = {0};
    for (uint32_t i = 0; i < count; i++)
        places[keys[i] >> shift & 255]++;
    uint32_t next = 0;
    for (unsigned byte = 0; byte < 256; byte++) {
        uint32_t some = places[byte];
        places[byte] = next;
        next += some;
    }
    for (uint32_t i = 0; i < count; i++)
        to[places[keys[from[i]] >> shift & 255]++] = from[i];
}

const uint32_t *group_order(struct scratch *scratch, const uint64_t *keys, uint32_t count) {
    uint32_t *order = scratch_take(scratch, count * sizeof *order);
    uint32_t *other = scratch_take(scratch, count * sizeof *other);
    if (!order || !other)
        return NULL;
    uint64_t differ = 0;
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
        differ |= keys[i] ^ keys[0];
    }
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if ((differ >> shift & 255) == 0)
            continue;
        sort_by_byte(keys, shift, order, other, count);
        uint32_t *done = other;
        other = order;
        order = done;
    }
    return order;
}
