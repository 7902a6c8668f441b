// SPDX-License-Identifier: Apache-2.0
// Numbers things by a key: the first key seen is 0, the next new one 1, and so on.
#ifndef ANALYZE_TALLY_H
#define ANALYZE_TALLY_H

#include <stddef.h>
#include <stdint.h>

// A zeroed struct is a valid, empty tally.
struct tally {
    uint64_t *keys; // by number
    size_t count, capacity;
    uint32_t *slots; // number + 1
    size_t slot_count;
};

// The number of a key; UINT32_MAX when memory is exhausted.
uint32_t tally_number(struct tally *tally, uint64_t key);
void tally_finish(struct tally *tally);

#endif
