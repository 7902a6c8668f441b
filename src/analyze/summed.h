// SPDX-License-Identifier: Apache-2.0
// Kernels and transfers in sums (profile --aggregate), by the stack that launched them. callsites.c uses it.
#ifndef ANALYZE_SUMMED_H
#define ANALYZE_SUMMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/batch.h"
#include "tracesmith/timeline.h"

// The commands of one sum whose times are known.
struct summed_commands {
    int64_t time;
    uint64_t count;
    uint32_t stack; // 0: none
};

// A zeroed struct is empty; `items` is the caller's to free.
struct summed {
    struct summed_commands *items;
    size_t count, capacity;
};

// Adds the sums of a batch that begin in the window (NULL: all). False when memory is exhausted.
bool summed_add(struct summed *summed, const tsmith_batch *batch, const tsmith_interval *window);

#endif
