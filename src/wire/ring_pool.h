// SPDX-License-Identifier: Apache-2.0
// The process's side of its rings file: where the sub-buffers of its rings come from.
#ifndef WIRE_RING_POOL_H
#define WIRE_RING_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/layout.h"

struct ring_owner;

struct ring_pool {
    struct layout_control *control; // of the session, mapped by the channel
    struct layout_rings *rings;     // the file's head, mapped
    _Atomic(uint64_t *) *bases;     // of LAYOUT_SUBS sub-buffers, where this process has them mapped
    atomic_flag growing;            // held while the file grows: on the event path, so no mutex
    uint32_t sub_bytes;
    uint32_t quota;          // sub-buffers per ring
    uint64_t device, inode;  // of the file
    struct ring_owner *idle; // rings whose thread has ended
    char *path;              // the channel's; no descriptor stays open, so it is opened again to grow
};

// Makes the file. False (errno set) when there is no space.
bool ring_pool_open(struct ring_pool *pool, char *path, struct layout_control *control);
// Takes everything out of this process's memory. No thread may emit any more.
void ring_pool_unmap(struct ring_pool *pool);
// Gives the memory back while threads may still be emitting: their stores go to private pages from now on.
void ring_pool_detach(struct ring_pool *pool);

// Puts private pages of zeros in the place of a mapping, in one step as far as other threads can see.
void ring_pool_make_private(void *at, size_t bytes);

// The index of a new slot, or of a new sub-buffer, backed by space and mapped; UINT32_MAX when there is none.
uint32_t ring_pool_slot(struct ring_pool *pool);
uint32_t ring_pool_grow(struct ring_pool *pool);

#endif
