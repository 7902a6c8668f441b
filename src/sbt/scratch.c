// SPDX-License-Identifier: Apache-2.0
// Memory for encoding or decoding one frame, with a limit. The reader, the writer and the column codecs call it.
#include "sbt/scratch.h"

#include <stdint.h>
#include <stdlib.h>

#include "platform/unzstd.h"

enum { FIRST_BLOCK_SIZE = 1 << 16, BLOCK_SIZE = 1 << 20 };

struct scratch_block {
    struct scratch_block *next;
    size_t size;
    uint64_t bytes[];
};

void scratch_reset(struct scratch *scratch, size_t limit) {
    // A block much larger than usual came from one extraordinary frame; keeping it would keep its memory for
    // ever.
    struct scratch_block **link = &scratch->first;
    while (*link) {
        struct scratch_block *block = *link;
        if (block->size > 4 * (size_t)BLOCK_SIZE) {
            *link = block->next;
            free(block);
        } else {
            link = &block->next;
        }
    }
    scratch->current = scratch->first;
    scratch->used = 0;
    scratch->left = limit;
}

int scratch_charge(struct scratch *scratch, size_t size) {
    if (size > scratch->left)
        return 0;
    scratch->left -= size;
    return 1;
}

void *scratch_take(struct scratch *scratch, size_t size) {
    size = (size + 7) & ~(size_t)7;
    if (!scratch_charge(scratch, size))
        return NULL;
    while (scratch->current && scratch->current->size - scratch->used < size && scratch->current->next) {
        scratch->current = scratch->current->next;
        scratch->used = 0;
    }
    if (!scratch->current || scratch->current->size - scratch->used < size) {
        size_t usual = scratch->first ? BLOCK_SIZE : FIRST_BLOCK_SIZE;
        size_t block_size = size > usual ? size : usual;
        struct scratch_block *block = malloc(sizeof *block + block_size);
        if (!block)
            return NULL;
        block->next = NULL;
        block->size = block_size;
        if (scratch->current)
            scratch->current->next = block;
        else
            scratch->first = block;
        scratch->current = block;
        scratch->used = 0;
    }
    void *taken = (char *)scratch->current->bytes + scratch->used;
    scratch->used += size;
    return taken;
}

struct scratch_mark scratch_mark(const struct scratch *scratch) {
    return (struct scratch_mark){scratch->current, scratch->used, scratch->left};
}

void scratch_release(struct scratch *scratch, struct scratch_mark mark) {
    scratch->current = mark.current ? mark.current : scratch->first;
    scratch->used = mark.used;
    scratch->left = mark.left;
}

void scratch_finish(struct scratch *scratch) {
    for (struct scratch_block *block = scratch->first; block;) {
        struct scratch_block *next = block->next;
        free(block);
        block = next;
    }
    unzstd_finish(scratch->zstd);
    *scratch = (struct scratch){0};
}
