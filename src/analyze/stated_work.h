// SPDX-License-Identifier: Apache-2.0
// The work that a trace states of its ranges and kernels: floating-point operations (a field `flops` of the trace's own)
// and bytes (the field `bytes`). ts.range(flops=, bytes=), the launches of Triton kernels, and `args` of a JSON trace have them.
#ifndef ANALYZE_STATED_WORK_H
#define ANALYZE_STATED_WORK_H

#include "analyze/ranges.h"

// One range of a host thread, or one kernel.
struct stated_work {
    int64_t start, end;
    uint64_t key; // of a range: name << 32 | category; of a kernel: its name
    uint32_t track;
    uint32_t order;      // of its batches' rows
    double flops, bytes; // NAN: not stated
};

enum { STATED_FORMS = 3 }; // types that a field `flops` can have

struct stated_list {
    struct stated_work *items;
    size_t count, capacity;
};

struct stated_works {
    struct stated_list ranges, kernels;
    uint32_t *of_range; // by number of a range of `ranges`: index + 1 of its work; 0: none is stated
    uint32_t fields_seen;
    uint32_t flops[STATED_FORMS]; // dynamic fields: as F64, I64, U64
};

// Takes the ranges and kernels of a batch that state their work and begin in the window (NULL: all). False when memory is
// exhausted.
bool stated_works_add(struct stated_works *works, const tsmith_dictionary *dictionary,
                      const tsmith_batch *batch, const tsmith_interval *window);
// Finds the stated work of each range; sorts `ranges` of the works.
bool stated_works_match(struct stated_works *works, const struct ranges *ranges);
void stated_works_finish(struct stated_works *works);

#endif
