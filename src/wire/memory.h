// SPDX-License-Identifier: Apache-2.0
// Memory in the profiled process: from the system, not from the program's allocator, and zeroed. In a forked child
// the allocator may be locked by a thread that the child does not have.
#ifndef WIRE_MEMORY_H
#define WIRE_MEMORY_H

#include <stddef.h>
#include <sys/mman.h>

// Takes room only where it is written to. NULL: none is left. munmap gives it back.
static inline void *memory_take(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

#endif
