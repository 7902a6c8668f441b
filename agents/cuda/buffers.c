// SPDX-License-Identifier: Apache-2.0
// Gives buffers to CUPTI and reads those that it returns; the states of a buffer are in buffers.h. Rules: agent.h.
#include "buffers.h"

#include <string.h>

#include "agentkit/buffer_pool.h"
#include "agentkit/control.h"
#include "agentkit/wait.h"
#include "library.h"
#include "records.h"
#include "sharing.h"
#include "throttling.h"

// EXTRA_OLD: for versions that crash when they get none; more than a gigabyte is more than any asks for.
enum {
    POOL_BYTES = 128 << 10,
    EXTRA_MOST = 192,
    EXTRA_OLD = BUFFER_POOL_EXTRA_MAX,
    EXTRA_BYTES = 1 << 20,
    WORDS = BUFFER_POOL_MAX / 64,
    WAITING_MOST = 128,
    WAIT_MOST = 1000000000 // ns
};

static struct buffer_pool pool;
static bool zeroed; // CUPTI takes buffers for zeroed
static atomic_bool may_wait;
static _Atomic uint64_t waiting[WORDS]; // a bit per buffer of the pool; its length is in waiting_bytes
static _Atomic uint32_t waiting_count;
static size_t waiting_bytes[BUFFER_POOL_MAX];
// How often threads flush, or have buffers that were handed back (a futex); how often the calling thread does.
static _Atomic uint32_t in_hand, in_hand_waiters;
static __thread uint32_t in_hand_here __attribute__((tls_model("initial-exec")));

bool buffers_init(void) {
    buffer_pool_extend(&pool, cupti_has(CUPTI_12_9) ? EXTRA_MOST : EXTRA_OLD, EXTRA_BYTES);
    return buffer_pool_make(&pool, BUFFER_POOL_MAX, POOL_BYTES);
}

void buffers_are_zeroed(void) {
    zeroed = true;
}

void buffers_wanted(uint8_t **buffer, size_t *size, size_t *records) {
    *records = 0; // as many as fit
    *buffer = buffer_pool_take(&pool, size);
}

static void in_hand_add(int32_t count) {
    in_hand_here += (uint32_t)count;
    atomic_fetch_add(&in_hand, (uint32_t)count);
    if (count < 0 && atomic_load(&in_hand_waiters))
        wait_wake(&in_hand);
}

static uint64_t bit_of(uint32_t place) {
    return UINT64_C(1) << place % 64;
}

static void read_and_free(uint32_t place, uint8_t *buffer, size_t valid) {
    if (agent_recording()) {
        const uint64_t begun = agent_overhead.on ? agent_tick() : 0;
        records_read(buffer, valid);
        if (begun)
            agent_overhead_add(agent_tick() - begun, 0);
    }
    if (atomic_load_explicit(&sharing_on, memory_order_relaxed))
        sharing_buffer(buffer, valid);
    if (zeroed && place < pool.count)
        memset(buffer, 0, POOL_BYTES);
    buffer_pool_give_back(&pool, place);
}

// ---- those that wait

void buffers_may_wait(void) {
    atomic_store(&may_wait, true);
}

// True: it is read later, or was handed back before.
static bool is_read_later(uint32_t place, uint8_t *buffer, size_t valid) {
    if (place >= pool.count)
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
    if (!buffers_any_wait())
        return;
    in_hand_add(1);
    for (size_t word = 0; word < WORDS && buffers_any_wait(); word++)
        for (uint64_t now = atomic_load(&waiting[word]); now; now = atomic_load(&waiting[word])) {
            const uint32_t place = (uint32_t)word * 64 + (uint32_t)__builtin_ctzll(now);
            // No other thread gets this buffer until it was read and returned to the pool.
            if (!(atomic_fetch_and(&waiting[word], ~bit_of(place)) & bit_of(place)))
                continue;
            atomic_fetch_sub(&waiting_count, 1);
            read_and_free(place, pool.memory + (size_t)place * POOL_BYTES, waiting_bytes[place]);
        }
    in_hand_add(-1);
}

static void handed_back(void *context, uint32_t stream, uint8_t *buffer, size_t valid) {
    uint32_t place;
    if (!buffer_pool_find(&pool, buffer, &place))
        return;
    in_hand_add(1);
    const size_t bytes = buffer_pool_bytes(&pool, place);
    valid = valid < bytes ? valid : bytes;
    if (!is_read_later(place, buffer, valid))
        read_and_free(place, buffer, valid);
    if (agent_recording())
        records_dropped(context, stream);
    in_hand_add(-1);
}

void buffers_flush(uint32_t flags) {
    in_hand_add(1);
    cupti.ActivityFlushAll(flags);
    in_hand_add(-1);
}

static void wait_for_others(int64_t until) {
    uint32_t now;
    atomic_fetch_add(&in_hand_waiters, 1);
    while ((now = atomic_load(&in_hand)) != in_hand_here && wait_change(&in_hand, now, until)) {
    }
    atomic_fetch_sub(&in_hand_waiters, 1);
}

// Another thread may have left its buffers to wait, or be reading those that did.
void buffers_read_all(void) {
    const int64_t until = clock_trace_now() + WAIT_MOST;
    wait_for_others(until);
    buffers_flushed();
    wait_for_others(until);
}

void buffers_after_fork_child(void) {
    atomic_store(&in_hand, in_hand_here);
    atomic_store(&in_hand_waiters, 0);
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
    return atomic_load_explicit(&pool.requested, memory_order_relaxed);
}

uint64_t buffers_out_bytes(void) {
    return buffer_pool_out(&pool);
}

uint64_t buffers_refused(void) {
    return atomic_load_explicit(&pool.refused, memory_order_relaxed);
}
