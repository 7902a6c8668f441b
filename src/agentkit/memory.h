// SPDX-License-Identifier: Apache-2.0
// Memory of an agent for tables, pools and lists: wire/memory.h.
#ifndef AGENTKIT_MEMORY_H
#define AGENTKIT_MEMORY_H

#include "wire/memory.h"

static inline void *agent_memory(size_t bytes) {
    return memory_take(bytes);
}

#endif
