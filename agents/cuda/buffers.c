// SPDX-License-Identifier: Apache-2.0
// Rules: agent.h; states: buffers.h.
#include "buffers.h"

#include <string.h>
#include <sys/mman.h>

#include "agentkit/control.h"
#include "agentkit/memory.h"
#include "library.h"
#include "records.h"
#include "sharing.h"
#include "thinning.h"

// EXTRA_OLD: for versions that crash when they get none; more than a gigabyte is more than any asks for.
enum {
    POOL = 512,
    WORDS = POOL / 64,
    WAITING_MOST = 128,
    POOL_BYTES = 128 << 10,
    EXTRA_MAX = 192,
    EXTRA_OLD = 1024,
    EXTRA_BYTES = 1 << 20
};

static uint8_t *pool;
static _Atomic uint64_t given[WORDS];     // a bit per buffer of the pool
static bool zeroed;                       // CUPTI takes buffers for zeroed
static uint8_t *_Atomic extra[EXTRA_OLD]; // given beyond the pool
static _Atomic uint64_t refused, requested;
static atomic_bool may_wait;
static _Atomic uint64_t waiting[WORDS]; // a bit per buffer of the pool; its length is in waiting_bytes
static _Atomic uint32_t waiting_count;
static size_t waiting_bytes[POOL];

bool buffers_init(void) {
    pool = agent_memory((size_t)POOL * POOL_BYTES);
    return pool != NULL;
}

void buffers_are_zeroed(void) {
    zeroed = true;
}

static uint64_t bit_of(size_t place) {
    return UINT64_C(1) << place % 64;
}

// The lowest that is free, so that the same few are used over and over.
static uint8_t *take(void) {
    for (size_t word = 0; word < WORDS; word++) {
        uint64_t now = atomic_load_explicit(&given[word], memory_order_relaxed);
        while (~now) {
            const size_t bit = (size_t)__builtin_ctzll(~now);
            if (atomic_compare_exchange_weak_explicit(&given[word], &now, now | UINT64_C(1) << bit,
                                                      memory_order_acquire, memory_order_relaxed))
                return pool + (word * 64 + bit) * POOL_BYTES;
        }
    }
    return NULL;
}

static uint8_t *make_extra(void) {
    const size_t most = cupti_has(CUPTI_12_9) ? EXTRA_MAX : EXTRA_OLD;
    void *at = mmap(NULL, EXTRA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    for (size_t i = 0; i < most; i++) {
        uint8_t *none = NULL;
        if (atomic_compare_exchange_strong(&extra[i], &none, at))
            return at;
    }
    munmap(at, EXTRA_BYTES);
    return NULL;
}

void buffers_wanted(uint8_t **buffer, size_t *size, size_t *records) {
    uint8_t *at = take();
    atomic_fetch_add_explicit(&requested, 1, memory_order_relaxed);
    *size = at ? POOL_BYTES : EXTRA_BYTES;
    *records = 0; // as many as fit
    if (!at)
        at = make_extra();
    if (!at) {
        *size = 0;
        atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed);
    }
    *buffer = at;
}

// Where a buffer is kept: its bit, or POOL + its place among the extra ones. What is not ours, or was handed back already,
// is nowhere.
static bool find(const uint8_t *buffer, size_t *place) {
    if (buffer >= pool && buffer < pool + (size_t)POOL * POOL_BYTES) {
        *place = (size_t)(buffer - pool) / POOL_BYTES;
        return (atomic_load_explicit(&given[*place / 64], memory_order_relaxed) & bit_of(*place)) != 0;
    }
    for (size_t i = 0; i < EXTRA_OLD; i++) {
        *place = POOL + i;
        if (atomic_load_explicit(&extra[i], memory_order_relaxed) == buffer)
            return true;
    }
    return false;
}

static void read_and_free(size_t place, uint8_t *buffer, size_t valid) {
    if (agent_recording()) {
        const uint64_t begun = agent_overhead.on ? agent_tick() : 0;
        records_read(buffer, valid);
        if (begun)
            agent_overhead_add(agent_tick() - begun, 0);
    }
    if (atomic_load_explicit(&sharing_on, memory_order_relaxed))
        sharing_buffer(buffer, valid);
    if (place < POOL) {
        if (zeroed)
            memset(buffer, 0, POOL_BYTES);
        atomic_fetch_and_explicit(&given[place / 64], ~bit_of(place), memory_order_release);
    } else {
        atomic_store(&extra[place - POOL], NULL);
        munmap(buffer, EXTRA_BYTES);
    }
}

// ---- those that wait

void buffers_may_wait(void) {
    atomic_store(&may_wait, true);
}

// True: it is read later, or was handed back before.
static bool waits(size_t place, uint8_t *buffer, size_t valid) {
    if (place >= POOL)
        return false;
    if (atomic_load(&waiting[place / 64]) & bit_of(place))
        return true;
    if (!valid || !atomic_load_explicit(&may_wait, memory_order_relaxed) || !agent_recording() ||
        records_know_devices(buffer, valid) || atomic_load(&waiting_count) >= WAITING_MOST)
        return false;
    waiting_bytes[place] = valid;
    atomic_fetch_add(&waiting_count, 1);
    atomic_fetch_or(&waiting[place / 64], bit_of(place));
    agent_control_wake();
    return true;
}

bool buffers_any_wait(void) {
    return atomic_load_explicit(&waiting_count, memory_order_relaxed) != 0;
}

void buffers_flushed(void) {
    for (size_t word = 0; word < WORDS && buffers_any_wait(); word++)
        for (uint64_t now = atomic_load(&waiting[word]); now; now = atomic_load(&waiting[word])) {
            const size_t place = word * 64 + (size_t)__builtin_ctzll(now);
            // The bit in `given` keeps it from being anybody else's until it is read.
            if (!(atomic_fetch_and(&waiting[word], ~bit_of(place)) & bit_of(place)))
                continue;
            atomic_fetch_sub(&waiting_count, 1);
            read_and_free(place, pool + place * POOL_BYTES, waiting_bytes[place]);
        }
}

static void handed_back(void *context, uint32_t stream, uint8_t *buffer, size_t valid) {
    size_t place;
    if (!buffer || !find(buffer, &place))
        return;
    const size_t bytes = place < POOL ? POOL_BYTES : EXTRA_BYTES;
    valid = valid < bytes ? valid : bytes;
    if (!waits(place, buffer, valid))
        read_and_free(place, buffer, valid);
    if (agent_recording())
        records_dropped(context, stream);
}

void buffers_full(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
    (void)size;
    handed_back(context, stream, buffer, valid);
}

void buffers_wanted_v2(uint8_t **buffer, size_t *size, size_t *records, void *info) {
    (void)info;
    buffers_wanted(buffer, size, records);
}

void buffers_full_v2(uint8_t *buffer, size_t size, size_t valid, void *info) {
    (void)info;
    (void)size;
    handed_back(NULL, 0, buffer, valid);
}

uint64_t buffers_requested(void) {
    return atomic_load_explicit(&requested, memory_order_relaxed);
}

uint64_t buffers_out_bytes(void) {
    uint64_t bytes = 0;
    for (size_t word = 0; word < WORDS; word++)
        bytes += POOL_BYTES * (uint64_t)__builtin_popcountll(atomic_load(&given[word]));
    for (size_t i = 0; i < EXTRA_OLD; i++)
        bytes += atomic_load_explicit(&extra[i], memory_order_relaxed) ? EXTRA_BYTES : 0;
    return bytes;
}

uint64_t buffers_refused(void) {
    return atomic_load_explicit(&refused, memory_order_relaxed);
}
