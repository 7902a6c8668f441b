// SPDX-License-Identifier: Apache-2.0
// What the calling thread has begun and not ended, for interfaces that call a tool at the begin and at the end of something (OMPT,
// XPTI, OpenACC, roctx). No lock, and no allocation but at a thread's first. What is open when a program is killed is counted as missing (channel_begun), for the first threads.
#ifndef AGENTKIT_NESTING_H
#define AGENTKIT_NESTING_H

#include <stdint.h>

struct nesting {
    uint64_t start; // ticks; 0: not recorded
    uint64_t id;    // that both calls have; 0 where the interface has none
    int64_t value;  // the caller's
    uint32_t kind;  // the caller's
    uint32_t stack;
};

// Takes the time and the stack, if the thread is recorded.
void nesting_begin(uint32_t kind, uint64_t id, int64_t value);
// The innermost that has this kind and id, and no longer what was begun in it and has no end. Its `start` is 0 if there is none, or it
// is not recorded.
struct nesting nesting_end(uint32_t kind, uint64_t id);
// The value of the innermost; `otherwise` if nothing is open.
int64_t nesting_value(int64_t otherwise);

#endif
