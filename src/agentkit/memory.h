// SPDX-License-Identifier: Apache-2.0
// Memory of an agent for tables, pools and lists: from the system, not from the program's allocator, and zeroed.
#ifndef AGENTKIT_MEMORY_H
#define AGENTKIT_MEMORY_H

#include <stddef.h>
#include <sys/mman.h>

// Takes room only where it is written to. NULL: none is left. munmap gives it back.
static inline void *agent_memory(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

#endif
