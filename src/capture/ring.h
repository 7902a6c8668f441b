// SPDX-License-Identifier: Apache-2.0
// A ring: the records of one thread, in a MAP_SHARED file, so that they outlive the thread, the process and
// the collector.
//
// The file is a header and a number of sub-buffers. The owner (the one thread that writes) fills one
// sub-buffer and hands it over whole; the collector takes whole sub-buffers, so the two share no cache line
// while events come. Each sub-buffer is in one state:
//
//     FREE --owner--> WRITING --owner--> FULL --collector--> READING --collector--> FREE
//                                         \--owner (drop-oldest): WRITING, its records counted as overwritten
//
// Within WRITING the owner advances `committed` by a release store after each record: whoever finds the file
// after a crash reads up to there and no further.
#ifndef CAPTURE_RING_H
#define CAPTURE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/record.h"

// The owner's side; one per thread, never shared. Its first fields are all the event path touches.
struct ring {
    uint64_t *cursor;            // where the next record goes
    uint64_t *limit;             // end of the sub-buffer being written
    _Atomic uint64_t *committed; // of that sub-buffer: bytes of whole records
    uint64_t *base;              // its first word
    struct ring_owner *owner;    // the rest, for the slow path
};

// The slow path: hands the sub-buffer over and opens the next, or applies the overflow policy. NULL when the
// record is dropped (and counted).
uint64_t *ring_reserve_slow(struct ring *ring, uint32_t words);

// Room for a record of `words` words (head included, at most RECORD_MAX_WORDS); NULL when it is dropped. The
// record does not exist until ring_commit; between the two the owner only stores.
static inline uint64_t *ring_reserve(struct ring *ring, uint32_t words) {
    uint64_t *at = ring->cursor;
    if (__builtin_expect((uint64_t)(ring->limit - at) < words, 0))
        return ring_reserve_slow(ring, words);
    return at;
}

static inline void ring_commit(struct ring *ring, uint32_t words) {
    ring->cursor += words;
    atomic_store_explicit(ring->committed, (uint64_t)((char *)ring->cursor - (char *)ring->base),
                          memory_order_release);
}

#endif
