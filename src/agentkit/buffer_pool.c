// SPDX-License-Identifier: Apache-2.0
// The pool of buffers for a driver's records. Invariants and states: buffer_pool.h. The CUDA agent uses it.
#include "agentkit/buffer_pool.h"

#include <sys/mman.h>

#include "wire/memory.h"

bool buffer_pool_make(struct buffer_pool *pool, uint32_t count, size_t bytes) {
    pool->memory = memory_take(count * bytes);
    pool->bytes = bytes;
    pool->count = count;
    return pool->memory != NULL;
}

void buffer_pool_extend(struct buffer_pool *pool, uint32_t count, size_t bytes) {
    pool->extra_bytes = bytes;
    pool->extra_count = count < BUFFER_POOL_EXTRA_MAX ? count : BUFFER_POOL_EXTRA_MAX;
}

static uint64_t bit_of(uint32_t place) {
    return UINT64_C(1) << place % 64;
}

static uint8_t *take_free(struct buffer_pool *pool) {
    for (uint32_t word = 0; word * 64 < pool->count; word++) {
        const uint32_t left = pool->count - word * 64;
        const uint64_t absent = left < 64 ? UINT64_MAX << left : 0;
        uint64_t now = atomic_load_explicit(&pool->given[word], memory_order_relaxed);
        while (~(now | absent)) {
            const uint32_t bit = (uint32_t)__builtin_ctzll(~(now | absent));
            if (atomic_compare_exchange_weak_explicit(&pool->given[word], &now, now | bit_of(bit),
                                                      memory_order_acquire, memory_order_relaxed))
                return pool->memory + (word * 64 + bit) * pool->bytes;
        }
    }
    return NULL;
}

static uint8_t *make_extra(struct buffer_pool *pool) {
    uint8_t *at = pool->extra_count ? memory_take(pool->extra_bytes) : NULL;
    for (uint32_t i = 0; at && i < pool->extra_count; i++) {
        uint8_t *none = NULL;
        if (atomic_compare_exchange_strong(&pool->extra[i], &none, at))
            return at;
    }
    if (at)
        munmap(at, pool->extra_bytes);
    return NULL;
}

uint8_t *buffer_pool_take(struct buffer_pool *pool, size_t *bytes) {
    uint8_t *at = take_free(pool);
    atomic_fetch_add_explicit(&pool->requested, 1, memory_order_relaxed);
    *bytes = at ? pool->bytes : pool->extra_bytes;
    if (!at)
        at = make_extra(pool);
    if (!at) {
        *bytes = 0;
        atomic_fetch_add_explicit(&pool->refused, 1, memory_order_relaxed);
    }
    return at;
}

bool buffer_pool_find(const struct buffer_pool *pool, const uint8_t *buffer, uint32_t *place) {
    if (buffer >= pool->memory && buffer < pool->memory + pool->count * pool->bytes) {
        *place = (uint32_t)((size_t)(buffer - pool->memory) / pool->bytes);
        return atomic_load_explicit(&pool->given[*place / 64], memory_order_relaxed) & bit_of(*place);
    }
    for (uint32_t i = 0; buffer && i < pool->extra_count; i++) {
        *place = pool->count + i;
        if (atomic_load_explicit(&pool->extra[i], memory_order_relaxed) == buffer)
            return true;
    }
    return false;
}

size_t buffer_pool_bytes(const struct buffer_pool *pool, uint32_t place) {
    return place < pool->count ? pool->bytes : pool->extra_bytes;
}

void buffer_pool_give_back(struct buffer_pool *pool, uint32_t place) {
    if (place < pool->count)
        atomic_fetch_and_explicit(&pool->given[place / 64], ~bit_of(place), memory_order_release);
    else
        munmap(atomic_exchange(&pool->extra[place - pool->count], NULL), pool->extra_bytes);
}

uint64_t buffer_pool_out(const struct buffer_pool *pool) {
    uint64_t bytes = 0;
    for (uint32_t word = 0; word * 64 < pool->count; word++)
        bytes += pool->bytes * (uint64_t)__builtin_popcountll(atomic_load(&pool->given[word]));
    for (uint32_t i = 0; i < pool->extra_count; i++)
        bytes += atomic_load_explicit(&pool->extra[i], memory_order_relaxed) ? pool->extra_bytes : 0;
    return bytes;
}
