// SPDX-License-Identifier: Apache-2.0
// Memory for one frame at a time: given out piece by piece, taken back all at once, and kept for the next
// frame, so that decoding frame after frame never goes to the system. It has a limit: what a hostile frame
// can make us take.
#ifndef SBT_SCRATCH_H
#define SBT_SCRATCH_H

#include <stddef.h>

struct scratch_block;

// A zeroed one is valid and empty but has no limit to give from until it is reset.
struct scratch {
    struct scratch_block *first, *current;
    size_t used; // of the current block
    size_t left; // of the limit
    void *zstd;  // of unzstd
};

void scratch_reset(struct scratch *scratch, size_t limit);
// Uninitialized memory with the alignment of uint64_t; NULL when memory or the limit is exhausted.
void *scratch_take(struct scratch *scratch, size_t size);
// Counts memory that is taken elsewhere toward the limit; false when it is exhausted.
int scratch_charge(struct scratch *scratch, size_t size);
// Gives back all that was taken since the mark was made: for trying something out.
struct scratch_mark {
    struct scratch_block *current;
    size_t used, left;
};
struct scratch_mark scratch_mark(const struct scratch *scratch);
void scratch_release(struct scratch *scratch, struct scratch_mark mark);
void scratch_finish(struct scratch *scratch);

#endif
