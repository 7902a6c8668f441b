// SPDX-License-Identifier: Apache-2.0
// Memory objects that the program passed to a call or a kernel after it had released them, by the agent's markers. memory.c uses it.
#ifndef ANALYZE_MEMORY_RELEASED_H
#define ANALYZE_MEMORY_RELEASED_H

#include "analyze/memory.h"

struct memory_released_event {
    int64_t time;
    uint64_t object;
    uint32_t process, stack, text;
    bool use; // else its last release
};

// A zeroed struct is valid.
struct memory_released {
    struct memory_released_event *items;
    size_t count, capacity;
    uint64_t uses; // after memory_released_write
};

// Whether a marker of this name is one of them.
bool memory_released_is(const char *name, bool *use);
// False when memory is exhausted.
bool memory_released_add(struct memory_released *released, const struct memory_released_event *event);
// Table and sentence.
void memory_released_write(struct memory_released *released, struct memory_sites *sites,
                           const struct analysis_context *context, struct report *report);
void memory_released_finish(struct memory_released *released);

#endif
