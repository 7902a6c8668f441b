// SPDX-License-Identifier: Apache-2.0
// What stacks.c, stacks_file.c and stacks_modules.c share.
#ifndef AGENTKIT_STACKS_PRIVATE_H
#define AGENTKIT_STACKS_PRIVATE_H

#include "agentkit/stacks.h"

// ---- stacks_file.c

// The channel whose files are in use; 0 and closed channels are none.
bool stacks_file_current(const struct channel *channel);
// The channel of the file: numbers of stacks are valid within one channel.
uint64_t stacks_file_of(void);
// Makes the file of the channel as it is now (after a fork: the child's). False: there is none to be had.
bool stacks_file_open(struct channel *channel);
// No thread begins to use it from now on.
void stacks_file_end(void);
// After that: gives its memory back, unless a thread may still use it.
void stacks_file_forget(bool is_used);
// Makes more room before it is needed. Not on the event path.
void stacks_file_prepare(void);
// The number of these words; 0: there is no room and no more is to be had.
uint32_t stacks_file_add(const uint64_t *words, uint32_t count, uint32_t flags);

// ---- stacks_modules.c

// While a thread holds the turn, no other thread of the agent lists modules and holds the linker's lock for it: a
// forked child would find that lock held forever. False: the turn did not become free in a reasonable time.
bool stacks_modules_take_turn(void);
void stacks_modules_end_turn(void);
// With the turn: publishes what is loaded, for walks and in the channel's table. Not on the event path.
void stacks_modules_refresh(struct channel *channel);
// Whether this is code of one of our own libraries.
bool stacks_modules_ours(uint64_t pc);

#endif
