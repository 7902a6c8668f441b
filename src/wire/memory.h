// SPDX-License-Identifier: Apache-2.0
// Memory in the profiled process: from the system, not from the program's allocator, and zeroed. In a forked child
// the allocator may be locked by a thread that the child does not have.
#ifndef WIRE_MEMORY_H
#define WIRE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

// Takes room only where it is written to. NULL: none is left. munmap gives it back.
static inline void *memory_take(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

// An array of `count` elements with room for one more: `at`, or a larger one in its place, at first of `first` elements. NULL: no
// memory is left, and the array is as it was.
static inline void *memory_grow(void *at, uint32_t count, uint32_t *capacity, uint32_t first, size_t size) {
    const uint32_t wanted = *capacity ? *capacity * 2 : first;
    void *grown = count < *capacity ? at : memory_take(wanted * size);
    if (!grown || grown == at)
        return grown;
    if (at) {
        memcpy(grown, at, count * size);
        munmap(at, *capacity * size);
    }
    *capacity = wanted;
    return grown;
}

#endif
