// SPDX-License-Identifier: Apache-2.0
// The shapes of the agent's records: one per line of CUDA_RECORDS (record_parts.h), and one per set of parts that a
// kernel's record may have. Rules: agent.h.
#ifndef CUDA_SHAPES_H
#define CUDA_SHAPES_H

#include "agent.h"
#include "record_parts.h"

#define KERNEL_BIT(bit, part, LIST) KERNEL_BIT_##bit,
#define KERNEL_MASK(bit, part, LIST) KERNEL_##bit = 1 << KERNEL_BIT_##bit,
enum { CUDA_KERNEL_PARTS(KERNEL_BIT) KERNEL_BITS };
// Which parts follow KERNEL_WORDS.
enum kernel_parts { CUDA_KERNEL_PARTS(KERNEL_MASK) KERNEL_SHAPES = 1 << KERNEL_BITS };
#undef KERNEL_BIT
#undef KERNEL_MASK

struct shapes {
    uint32_t latency; // KERNEL_LATENCY, where the user asked for it: every kernel has that part then, or none
    struct {
        uint16_t shape, words; // words: of the record, its head included
    } kernel[KERNEL_SHAPES];   // by enum kernel_parts
    CUDA_RECORDS(TRACK_RECORD_MEMBER)
};
extern struct shapes shapes __attribute__((visibility("hidden")));

void shapes_register(struct channel *channel);

#endif
