// SPDX-License-Identifier: Apache-2.0
// Memory that is allocated in pieces and freed as a whole. The dictionary, importers, reports, queries and the
// symbolizer use it.
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };

struct arena_block {
    struct arena_block *next;
    size_t capacity;
    _Alignas(max_align_t) unsigned char bytes[];
};

// A piece larger than the ordinary block gets a block of its own size, so that a long string costs what it is
// long.
static struct arena_block *add_block(struct arena *arena, size_t least) {
    size_t capacity = arena->blocks ? arena->blocks->capacity * 2 : FIRST_BLOCK;
    if (capacity > LARGEST_BLOCK)
        capacity = LARGEST_BLOCK;
    if (capacity < least)
        capacity = least;
    if (capacity > SIZE_MAX - sizeof(struct arena_block))
        return NULL;
    struct arena_block *block = malloc(sizeof *block + capacity);
    if (!block)
        return NULL;
    block->next = arena->blocks;
    block->capacity = capacity;
    arena->blocks = block;
    arena->used = 0;
    return block;
}

void *arena_take(struct arena *arena, size_t size, size_t alignment) {
    size_t start = (arena->used + alignment - 1) & ~(alignment - 1);
    if (!arena->blocks || start > arena->blocks->capacity || size > arena->blocks->capacity - start) {
        if (!add_block(arena, size))
            return NULL;
        start = 0;
    }
    arena->used = start + size;
    return arena->blocks->bytes + start;
}

char *arena_copy(struct arena *arena, const void *bytes, size_t length) {
    if (length == SIZE_MAX)
        return NULL;
    char *copy = arena_take(arena, length + 1, 1);
    if (!copy)
        return NULL;
    if (length)
        memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}

void arena_finish(struct arena *arena) {
    while (arena->blocks) {
        struct arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    arena->used = 0;
}
