// SPDX-License-Identifier: Apache-2.0
// Between rude.cc and C: the walk, and functions that are compiled without rules for their frames.
#ifndef MODULES_RUDE_H
#define MODULES_RUDE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct walk_state walk_state;

typedef struct walked {
    uint32_t count, exact;
    bool is_whole;
} walked;

// For the calling thread. NULL: it failed.
walk_state *walk_begin(void);
bool walk_refresh(void);
// The stack from walk_here itself on.
walked walk_here(walk_state *state, uint64_t *frames, uint32_t capacity);
// Whether one is taken to be under way.
bool walk_is_nested(const walk_state *state);

// rude_frames.c: calls `function`, with a frame pointer and without.
void rude_framed(void (*function)(void));
void rude_unframed(void (*function)(void));

#endif
