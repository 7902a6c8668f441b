// SPDX-License-Identifier: Apache-2.0
// A ring: the records of one thread, in a MAP_SHARED file, so that they outlive the thread, the process and
// the collector.
//
// The rings of a process are sub-buffers of one file (layout.h). The owner, the one thread that writes, fills
// one sub-buffer and hands it over whole; the collector takes whole sub-buffers, so the two share no cache
// line while events come. A ring starts with no sub-buffer and gets more, up to its limit, only when those it
// has are not free. Each sub-buffer is in one state:
//
//     ABSENT --owner--> WRITING --owner--> FULL --collector--> READING --collector--> FREE --owner--> WRITING
//                                           \--owner (drop-oldest): ABSENT, unless PEEK is set
//
// Within WRITING the owner advances `committed` by a release store after each record: a reader of the file
// after a crash stops there. The collector may read the committed part of a WRITING
// sub-buffer too (PEEK). It frees a sub-buffer only when all its records were delivered: records that a killed
// collector had not delivered are still here.
//
// Accounting: every attempted record has an ordinal in its ring, kept or dropped. A sub-buffer states the
// ordinal of its first record, the slot of the ring the last one given; a jump between the last record read and
// the next one is exactly the number of lost records, under every policy.
#ifndef WIRE_RING_H
#define WIRE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tracesmith/schema.h"
#include "wire/layout.h"
#include "wire/record.h"

// The owner's side; one per thread, never shared. Its first fields are all the event path touches.
struct ring {
    uint64_t *cursor;            // where the next record goes
    uint64_t *limit;             // end of the sub-buffer being written
    _Atomic uint64_t *committed; // of that sub-buffer: bytes of whole records; [1]: how many records
    uint64_t *base;              // its first word
    _Atomic bool busy;           // the thread is between reserve and commit, or in the slow path
    bool tick_is_tsc;
    struct ring_owner *owner; // the rest, for the slow path
};

// The slow path: hands the sub-buffer over and opens the next, or applies the overflow policy. NULL when the
// record is dropped (and counted).
uint64_t *ring_reserve_slow(struct ring *ring, uint32_t words);
// A signal handler emits while its own thread is inside an emission: NULL, and the record is counted as interrupted.
uint64_t *ring_refuse(struct ring *ring);

// Counts a record before it is written, so that a reader of the file after a crash knows that it existed.
static inline void ring_count(struct ring *ring) {
    _Atomic uint64_t *records = &ring->committed[1];
    atomic_store_explicit(records, atomic_load_explicit(records, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    atomic_signal_fence(memory_order_release);
}

// Room for a record of `words` words (head included, at most RECORD_MAX_WORDS); NULL when it is dropped. What is
// reserved must be committed: between the two the owner only stores. A signal handler may call it at any moment: `busy`
// is set before the cursor is read, so a handler either finds it set and is refused, or finishes its record first.
static inline uint64_t *ring_reserve(struct ring *ring, uint32_t words) {
    if (__builtin_expect(atomic_load_explicit(&ring->busy, memory_order_relaxed), 0))
        return ring_refuse(ring);
    atomic_store_explicit(&ring->busy, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    uint64_t *at = ring->cursor;
    if (__builtin_expect((uint64_t)(ring->limit - at) < words, 0))
        return ring_reserve_slow(ring, words);
    ring_count(ring);
    return at;
}

static inline void ring_commit(struct ring *ring, uint32_t words) {
    ring->cursor += words;
    atomic_store_explicit(ring->committed, (uint64_t)((char *)ring->cursor - (char *)ring->base),
                          memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&ring->busy, false, memory_order_relaxed);
}

// ---- the life of a ring (used by channel.c)

#define RING_QUOTA_MAX 256u // sub-buffers of one ring

struct ring_pool;

// Gives the calling thread a ring: one that an ended thread left, or a new one. NULL when there is no slot or
// memory. Under the channel's lock.
struct ring *ring_open(struct ring_pool *pool, uint32_t thread_track);
// The thread has ended: its ring waits for the next one. Under the channel's lock.
void ring_leave(struct ring *ring);
// The thread is about to wait, or continues: a waiting thread is not about to write.
void ring_rest(struct ring *ring, bool resting);
// The process is about to end: hands over what it holds. Its thread must not emit any more.
void ring_finish(struct ring *ring);
// Frees the owner's side without touching the file, which belongs to the parent of this process or is
// detached.
void ring_free(struct ring *ring);

struct ring_owner {
    struct ring ring;
    struct ring_pool *pool;
    struct layout_slot *slot;
    uint32_t slot_index;
    uint32_t thread_track;
    uint64_t sequence;     // of the sub-buffer opened last
    uint64_t ordinal;      // records asked for, up to the last hand-over or drop
    uint32_t position;     // in owned, of the one being written or written last
    uint32_t count;        // of owned
    uint32_t drop_reason;  // of records dropped since the last one was closed
    uint32_t grow_backoff; // attempts to skip after the file could not grow
    bool writing;
    int64_t gone_heartbeat;          // of the collector when it was given up (block),
    uint32_t gone_reason;            // and the reason of what is dropped until it beats again
    struct channel *channel;         // that asked for it first,
    struct channel_process *process; // whose channel it is,
    uint64_t process_id;             // and what id that had then
    struct ring_owner *next;         // of the same thread in other sessions; or of the pool's idle ones
    uint32_t owned[RING_QUOTA_MAX];  // sub-buffers, in the order they are filled, round and round
};

#endif
