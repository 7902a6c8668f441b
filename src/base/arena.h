// SPDX-License-Identifier: Apache-2.0
// An arena: memory that is given out piece by piece and freed as a whole. Pieces never move.
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *blocks;
    size_t used; // of the newest block
};

// A zeroed struct is a valid, empty arena.
void *arena_take(struct arena *arena, size_t size, size_t alignment);    // NULL when memory is exhausted
char *arena_copy(struct arena *arena, const void *bytes, size_t length); // NUL-terminated copy
void arena_finish(struct arena *arena);

#endif
