// SPDX-License-Identifier: Apache-2.0
// The owner's slow path. Invariants:
//
// - Only the owner writes its slot and the sub-buffers it has open; `writing` is true if one is.
// - `owned` is filled round and round, so that the next position is the oldest; a new sub-buffer is put in
//   between.
// - slot.ordinal grows before the sub-buffer that follows a drop is opened, and a sub-buffer is FULL before
//   the next is WRITING: so the collector, seeing one, sees all that came before it.
#include "wire/ring.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "tracesmith/capture.h"
#include "wire/record_part.h"
#include "wire/ring_pool.h"

const struct record_hook *record_hook;

static const int64_t COLLECTOR_SILENT =
    100000000;                             // ns after which a waiting owner looks whether it still lives
static const uint32_t GROW_BACKOFF = 4096; // attempts

static struct layout_sub *sub_of(const struct ring_owner *owner, uint32_t position) {
    return layout_sub_at(owner->pool->rings, owner->owned[position]);
}

static uint64_t tick_now(const struct ring_owner *owner) {
    return clock_tick(owner->ring.tick_is_tsc);
}

static void close_window(struct ring *ring) {
    ring->cursor = NULL;
    ring->limit = NULL;
    ring->base = NULL;
    ring->committed = NULL;
}

static void hand_over(struct ring_owner *owner) {
    if (!owner->writing)
        return;
    struct layout_sub *sub = sub_of(owner, owner->position);
    owner->writing = false;
    owner->ordinal = sub->first + atomic_load_explicit(&sub->records, memory_order_relaxed);
    sub->closed = tick_now(owner);
    atomic_store_explicit(&owner->slot->last, sub->closed, memory_order_relaxed);
    atomic_store_explicit(&owner->slot->ordinal, owner->ordinal, memory_order_release);
    // Exclusive or: the collector may have set PEEK, which stays.
    atomic_fetch_xor_explicit(&sub->state, LAYOUT_SUB_WRITING ^ LAYOUT_SUB_FULL, memory_order_acq_rel);
    close_window(&owner->ring);
}

// The sub-buffer at `position` is the owner's: makes it the one being written.
static void open_sub(struct ring_owner *owner, uint32_t position) {
    struct layout_sub *sub = sub_of(owner, position);
    struct ring *ring = &owner->ring;
    owner->position = position;
    owner->sequence++;
    atomic_store_explicit(&sub->slot, owner->slot_index, memory_order_relaxed);
    sub->thread_track = owner->thread_track;
    sub->reason = owner->drop_reason;
    atomic_store_explicit(&sub->sequence, owner->sequence, memory_order_relaxed);
    sub->first = owner->ordinal;
    sub->opened = tick_now(owner);
    sub->closed = 0;
    atomic_store_explicit(&sub->records, 0, memory_order_relaxed);
    atomic_store_explicit(&sub->committed, 0, memory_order_relaxed);
    owner->drop_reason = 0;
    atomic_store_explicit(&sub->state, LAYOUT_SUB_WRITING, memory_order_release);
    owner->writing = true;
    ring->base = atomic_load_explicit(&owner->pool->bases[owner->owned[position]], memory_order_relaxed);
    ring->cursor = ring->base;
    ring->limit = ring->base + owner->pool->sub_bytes / sizeof(uint64_t);
    ring->committed = &sub->committed;
}

static bool is_free(const struct ring_owner *owner, uint32_t position) {
    return atomic_load_explicit(&sub_of(owner, position)->state, memory_order_acquire) == LAYOUT_SUB_FREE;
}

// One more sub-buffer, placed after the current one.
static bool grow(struct ring_owner *owner, uint32_t position) {
    if (owner->count == owner->pool->quota)
        return false;
    if (owner->grow_backoff > 0) {
        owner->grow_backoff--;
        return false;
    }
    uint32_t index = ring_pool_grow(owner->pool);
    if (index == UINT32_MAX) {
        owner->grow_backoff = GROW_BACKOFF;
        return false;
    }
    memmove(&owner->owned[position + 1], &owner->owned[position],
            (owner->count - position) * sizeof owner->owned[0]);
    owner->owned[position] = index;
    owner->count++;
    return true;
}

// Drop-oldest: takes back the oldest sub-buffer that the collector has not begun to read, and moves it to
// `position`.
static bool take_back(struct ring_owner *owner, uint32_t position) {
    for (uint32_t i = 0; i < owner->count; i++) {
        uint32_t at = (position + i) % owner->count;
        uint32_t expected = LAYOUT_SUB_FULL;
        // ABSENT until it is opened again: the collector must not look at what is being rewritten.
        if (!atomic_compare_exchange_strong_explicit(&sub_of(owner, at)->state, &expected, LAYOUT_SUB_ABSENT,
                                                     memory_order_acq_rel, memory_order_acquire))
            continue;
        uint32_t index = owner->owned[at];
        owner->owned[at] = owner->owned[position];
        owner->owned[position] = index;
        return true;
    }
    return false;
}

// Why nothing is to be expected of the collector; NONE while it may make room.
static tsmith_reason why_not_wait(struct ring_owner *owner) {
    struct layout_control *control = owner->pool->control;
    int64_t heartbeat = atomic_load_explicit(&control->heartbeat, memory_order_relaxed);
    if (atomic_load_explicit(&control->state, memory_order_relaxed) != LAYOUT_SESSION_OPEN)
        return TSMITH_REASON_RING_FULL;
    if (heartbeat == owner->gone_heartbeat)
        return (tsmith_reason)owner->gone_reason;
    int64_t silent = clock_trace_now() - heartbeat;
    if (silent < COLLECTOR_SILENT)
        return TSMITH_REASON_NONE;
    pid_t pid = (pid_t)atomic_load_explicit(&control->collector_pid, memory_order_relaxed);
    bool lives = kill(pid, 0) == 0 || errno == EPERM;
    if (lives && (silent < control->block_timeout || control->block_timeout == INT64_MAX))
        return TSMITH_REASON_NONE;
    owner->gone_heartbeat = heartbeat; // until it beats again
    owner->gone_reason = lives ? TSMITH_REASON_BLOCK_TIMEOUT : TSMITH_REASON_RING_FULL;
    return (tsmith_reason)owner->gone_reason;
}

// Block: waits until the oldest sub-buffer is free. The reason when it is not freed.
static tsmith_reason wait_for_room(struct ring_owner *owner, uint32_t position) {
    struct layout_control *control = owner->pool->control;
    int saved = errno;
    tsmith_reason reason = TSMITH_REASON_NONE;
    atomic_fetch_add_explicit(&control->waiters, 1, memory_order_seq_cst);
    for (;;) {
        uint32_t wake = atomic_load_explicit(&control->wake, memory_order_seq_cst);
        if (is_free(owner, position) || (reason = why_not_wait(owner)) != TSMITH_REASON_NONE)
            break;
        const struct timespec patience = {.tv_nsec = 20000000};
        syscall(SYS_futex, &control->wake, FUTEX_WAIT, wake, &patience, NULL, 0);
    }
    atomic_fetch_sub_explicit(&control->waiters, 1, memory_order_relaxed);
    errno = saved;
    return reason;
}

// Opens the next sub-buffer there is by the session's policy; the reason when there is none.
static tsmith_reason open_next(struct ring_owner *owner) {
    uint32_t next = owner->count ? (owner->position + 1) % owner->count : 0;
    bool has = owner->count > 0 && is_free(owner, next);
    if (!has) {
        // Behind the current one, which may be the last of the round.
        uint32_t behind = owner->count ? owner->position + 1 : 0;
        has = grow(owner, behind);
        if (has)
            next = behind;
    }
    if (!has && owner->count == 0)
        return TSMITH_REASON_NO_MEMORY;
    if (!has && owner->pool->control->overflow == TSMITH_OVERFLOW_DROP_OLDEST)
        has = take_back(owner, next);
    else if (!has && owner->pool->control->overflow == TSMITH_OVERFLOW_BLOCK) {
        tsmith_reason reason = wait_for_room(owner, next);
        if (reason == TSMITH_REASON_BLOCK_TIMEOUT)
            return reason;
        has = reason == TSMITH_REASON_NONE;
    }
    if (!has)
        return owner->count < owner->pool->quota ? TSMITH_REASON_NO_MEMORY : TSMITH_REASON_RING_FULL;
    open_sub(owner, next);
    return TSMITH_REASON_NONE;
}

static uint64_t *drop(struct ring_owner *owner, tsmith_reason reason) {
    owner->ordinal++;
    owner->drop_reason = (uint32_t)reason;
    atomic_store_explicit(&owner->slot->reason, (uint32_t)reason, memory_order_relaxed);
    atomic_store_explicit(&owner->slot->last, tick_now(owner), memory_order_relaxed);
    atomic_store_explicit(&owner->slot->ordinal, owner->ordinal, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&owner->ring.busy, false, memory_order_relaxed);
    return NULL;
}

// The ordinals of the ring are in use by the interrupted emission, so the channel counts: with atomic additions, which
// are safe in a signal handler.
uint64_t *ring_refuse(struct ring *ring) {
    channel_lose(ring->owner->channel, TSMITH_REASON_INTERRUPTED, 1);
    return NULL;
}

uint64_t *ring_reserve_slow(struct ring *ring, uint32_t words) {
    struct ring_owner *owner = ring->owner;
    hand_over(owner);
    if (words > RECORD_MAX_WORDS)
        return drop(owner, TSMITH_REASON_TABLE_FULL);
    tsmith_reason reason = open_next(owner);
    if (reason)
        return drop(owner, reason);
    ring_count(ring);
    return ring->cursor;
}

// ---- the life of a ring

static struct ring_owner *take_idle(struct ring_pool *pool, uint32_t thread_track) {
    struct ring_owner *owner = pool->idle;
    if (!owner)
        return NULL;
    pool->idle = owner->next;
    owner->next = NULL;
    owner->thread_track = thread_track;
    // The rest of the open sub-buffer is the new thread's. This record is no event: it has no ordinal.
    struct ring *ring = &owner->ring;
    if (owner->writing && ring->limit - ring->cursor >= 1) {
        *ring->cursor++ = record_head(RECORD_SWITCH, 1, thread_track);
        atomic_store_explicit(ring->committed, (uint64_t)((char *)ring->cursor - (char *)ring->base),
                              memory_order_release);
    } else {
        hand_over(owner);
    }
    return owner;
}

struct ring *ring_open(struct ring_pool *pool, uint32_t thread_track) {
    struct ring_owner *owner = take_idle(pool, thread_track);
    if (!owner) {
        uint32_t slot = ring_pool_slot(pool);
        if (slot == UINT32_MAX)
            return NULL;
        // Not malloc: this may be the first thing a thread of the program does.
        owner = mmap(NULL, sizeof *owner, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (owner == MAP_FAILED)
            return NULL;
        owner->pool = pool;
        owner->slot_index = slot;
        owner->slot = layout_slot_at(pool->rings, slot);
        owner->thread_track = thread_track;
        owner->ring.owner = owner;
        owner->ring.tick_is_tsc = pool->control->tick_is_tsc != 0;
        owner->gone_heartbeat = INT64_MIN;
    }
    atomic_store_explicit(&owner->slot->in_use, 1, memory_order_relaxed);
    return &owner->ring;
}

void ring_leave(struct ring *ring) {
    struct ring_owner *owner = ring->owner;
    atomic_store_explicit(&owner->slot->in_use, 0, memory_order_relaxed);
    owner->next = owner->pool->idle;
    owner->pool->idle = owner;
}

void ring_rest(struct ring *ring, bool resting) {
    atomic_store_explicit(&ring->owner->slot->in_use, !resting, memory_order_relaxed);
}

void ring_finish(struct ring *ring) {
    hand_over(ring->owner);
    atomic_store_explicit(&ring->owner->slot->in_use, 0, memory_order_relaxed);
}

void ring_free(struct ring *ring) {
    munmap(ring->owner, sizeof *ring->owner);
}
