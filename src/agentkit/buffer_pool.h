// SPDX-License-Identifier: Apache-2.0
// Buffers into which a driver's tool interface writes its records (CUPTI; rocprofiler and OMPT likewise). They are allocated in
// advance: the driver requests a buffer on the program's own threads, so taking one is a single atomic operation.
//
//     FREE --take--> the driver's --handed back: find, read, give back--> FREE
//
// If the driver holds all of them, it gets larger ones, allocated on demand, up to a limit; the memory that it holds is that of the
// buffers that it has not handed back. Beyond the limit it gets none. Any thread; no lock.
#ifndef AGENTKIT_BUFFER_POOL_H
#define AGENTKIT_BUFFER_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BUFFER_POOL_MAX = 512, BUFFER_POOL_EXTRA_MAX = 1024 };

struct buffer_pool {
    uint8_t *memory;
    size_t bytes, extra_bytes; // of a buffer; of one beyond those
    uint32_t count, extra_count;
    _Atomic uint64_t given[BUFFER_POOL_MAX / 64]; // a bit per buffer
    uint8_t *_Atomic extra[BUFFER_POOL_EXTRA_MAX];
    _Atomic uint64_t requested, refused;
};

// `count` buffers of `bytes`, a multiple of 64 and of 4096, at most BUFFER_POOL_MAX. Memory is taken as they are written to. False:
// there is none.
bool buffer_pool_make(struct buffer_pool *pool, uint32_t count, size_t bytes);
// From now on up to `count` more at once, at most BUFFER_POOL_EXTRA_MAX, of so many bytes.
void buffer_pool_extend(struct buffer_pool *pool, uint32_t count, size_t bytes);
// The lowest that is free, so that the same few are used over and over. NULL, counted in `refused`: there is none.
uint8_t *buffer_pool_take(struct buffer_pool *pool, size_t *bytes);
// The place of a buffer that was taken: below `count`, or `count` + its place among the extra ones. False: it is not one of
// these, or was given back already.
bool buffer_pool_find(const struct buffer_pool *pool, const uint8_t *buffer, uint32_t *place);
size_t buffer_pool_bytes(const struct buffer_pool *pool, uint32_t place);
void buffer_pool_give_back(struct buffer_pool *pool, uint32_t place);
// How much room those have that were not given back.
uint64_t buffer_pool_out(const struct buffer_pool *pool);

#endif
