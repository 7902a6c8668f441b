// SPDX-License-Identifier: Apache-2.0
// What the files of a session directory look like: shared memory between the programs that record and the
// collector, and, after a crash, the input of recover.
//
//     control                          one per session: what to record and how, is anybody there, ticks ->
//                                      trace time
//     <pid>-<start>-<api>-<n>.channel  one per process and API: who it is, its strings, tracks, devices,
//                                      shapes (append only)
//     <pid>-<start>-<api>-<n>.rings    its sub-buffers, each written by one thread at a time (ring.h)
//
// The files are in the machine's own byte order and only mean something on the machine that made them. The
// reading side believes nothing in them: counts, ids and offsets are checked at every use.
//
// Space is reserved (fallocate) before it is touched, so that a full file system is an error and never a
// SIGBUS.
#ifndef CAPTURE_LAYOUT_H
#define CAPTURE_LAYOUT_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#define LAYOUT_VERSION 1u
#define LAYOUT_PAGE 4096u
#define LAYOUT_CONTROL_NAME "control"
#define LAYOUT_CHANNEL_SUFFIX ".channel"
#define LAYOUT_RINGS_SUFFIX ".rings"
#define LAYOUT_UNRECORDED_SUFFIX ".unrecorded" // a folder <pid>.unrecorded: this process could not attach

#define LAYOUT_CONTROL_MAGIC 0x314c52544e4f4354ull // "TCONTRL1"
#define LAYOUT_CHANNEL_MAGIC 0x314e4e4148435354ull // "TSCHANN1"
#define LAYOUT_RINGS_MAGIC 0x3153474e49525354ull   // "TSRINGS1"

// ---- control

enum { LAYOUT_SESSION_OPEN = 1, LAYOUT_SESSION_CLOSED = 2 };

// From `tick` on: trace time = trace + ((ticks since) * scale >> 32). The next segment starts where this one
// arrives, so trace time never goes back. `error` bounds the whole segment.
struct layout_segment {
    uint64_t tick;
    int64_t trace;
    uint64_t scale;
    int64_t error;
};

#define LAYOUT_SEGMENTS 8192u

struct layout_control {
    uint64_t magic;
    uint32_t version;
    uint32_t bytes; // of this structure
    uint32_t overflow;
    uint32_t tick_is_tsc;
    uint32_t sub_buffer_bytes;
    uint32_t ring_sub_buffers; // at most, per thread
    int64_t started;           // trace time
    int64_t started_realtime;  // CLOCK_REALTIME at that moment, for people
    char boot_id[40];
    _Alignas(64) _Atomic uint32_t state;
    _Atomic uint32_t armed;
    _Atomic uint32_t generation;           // grows when a process has added a file
    _Atomic uint32_t collector_pid;        // who drains
    _Atomic int64_t heartbeat;             // trace time of its last sign of life
    _Alignas(64) _Atomic uint32_t waiters; // threads that wait for a free sub-buffer (overflow policy block)
    _Atomic uint32_t wake; // futex: grows when sub-buffers were freed while there were waiters
    _Alignas(64) _Atomic uint32_t segment_count;
    struct layout_segment segments[LAYOUT_SEGMENTS];
};

// ---- channel

enum { LAYOUT_CHANNEL_OPEN = 1, LAYOUT_CHANNEL_CLOSED = 2 };
enum { LAYOUT_REASONS = 32 };

struct layout_channel {
    uint64_t magic;
    uint32_t version;
    uint32_t bytes; // of this structure
    uint64_t pid;
    uint64_t parent_pid;
    uint64_t start_time; // of the process, in clock ticks since boot (/proc/PID/stat): tells a reused pid
    int64_t attached;    // trace time
    uint32_t name;       // string ids of this channel
    uint32_t command_line;
    uint32_t host;
    uint32_t reserved;
    char api[32];
    _Alignas(64) _Atomic uint64_t committed; // bytes of whole entries after the header page
    _Atomic uint32_t state;
    _Atomic uint32_t lost_reported;           // grows with every channel_lose
    _Alignas(64) _Atomic uint64_t lost_first; // ticks of the first and last channel_lose, 0 before
    _Atomic uint64_t lost_last;
    _Atomic uint64_t lost[LAYOUT_REASONS];
    _Alignas(64) _Atomic int64_t in_flight; // events begun and not recorded yet
};

enum layout_entry_type {
    LAYOUT_ENTRY_STRING = 1, // u32 length, u32 0, bytes
    LAYOUT_ENTRY_TRACK = 2,  // tsmith_track
    LAYOUT_ENTRY_DEVICE = 3, // tsmith_device
    LAYOUT_ENTRY_FIELD = 4,  // u32 name, u32 type, u32 unit, u32 0
    LAYOUT_ENTRY_SHAPE = 5,  // the head of record_shape and its fields
};

struct layout_entry {
    uint32_t bytes; // of the whole entry, a multiple of 8
    uint32_t type;
};

#define LAYOUT_ENTRIES_AT LAYOUT_PAGE
#define LAYOUT_ENTRIES_MAX (1ull << 32) // bytes of entries of one channel

// ---- rings

// A ring. Used by one thread at a time; a thread that ends leaves it to the next one that begins, so that
// thousands of short threads need few. Written by its owner alone. Never given back while the channel lives.
struct layout_slot {
    _Alignas(64) _Atomic uint64_t ordinal; // records this ring was asked to take, kept or dropped, as of the
                                           // last hand-over or drop
    _Atomic uint64_t last;                 // tick of that
    _Atomic uint32_t reason;               // tsmith_reason of the last drop
    _Atomic uint32_t in_use;               // a thread has it at the moment
};

enum layout_sub_state {
    LAYOUT_SUB_ABSENT = 0,
    LAYOUT_SUB_FREE = 1,
    LAYOUT_SUB_WRITING = 2,
    LAYOUT_SUB_FULL = 3,
    LAYOUT_SUB_READING = 4,
    LAYOUT_SUB_PEEK = 8, // flag: the collector is reading the committed part; the owner must not take it back
};

struct layout_sub {
    _Alignas(128) _Atomic uint64_t committed; // bytes of whole records; its neighbour shares its cache line
    _Atomic uint64_t records;                 // how many those are
    _Alignas(64) _Atomic uint32_t state;
    _Atomic uint32_t
        slot; // its ring; this and what follows is published by the release store that makes it WRITING;
              // atomic are those that a scan looks at before it knows that they will not change
    uint32_t thread_track;     // of the channel: whose records come first
    uint32_t reason;           // tsmith_reason of the records dropped just before it was opened; 0: none were
    _Atomic uint64_t sequence; // of its ring, from 1
    uint64_t first;            // ordinal in its ring of its first record
    uint64_t opened;           // ticks
    uint64_t closed;           // published by FULL
};

#define LAYOUT_SLOTS 8192u
#define LAYOUT_SUBS 16384u
#define LAYOUT_SLOTS_AT LAYOUT_PAGE
#define LAYOUT_SUBS_AT (LAYOUT_SLOTS_AT + LAYOUT_SLOTS * 64u)
#define LAYOUT_DATA_AT (LAYOUT_SUBS_AT + LAYOUT_SUBS * 128u)

struct layout_rings {
    uint64_t magic;
    uint32_t version;
    uint32_t sub_buffer_bytes;
    _Alignas(64) _Atomic uint32_t slot_count; // both: backed by space, ever grow
    _Atomic uint32_t sub_count;
};

static_assert(sizeof(struct layout_slot) == 64, "slots are cache lines");
static_assert(sizeof(struct layout_sub) == 128, "sub-buffer descriptors are two cache lines");
static_assert(sizeof(struct layout_channel) <= LAYOUT_PAGE && sizeof(struct layout_rings) <= LAYOUT_PAGE,
              "headers fit their page");

static inline struct layout_slot *layout_slot_at(struct layout_rings *rings, uint32_t index) {
    return (struct layout_slot *)(void *)((char *)rings + LAYOUT_SLOTS_AT) + index;
}
static inline struct layout_sub *layout_sub_at(struct layout_rings *rings, uint32_t index) {
    return (struct layout_sub *)(void *)((char *)rings + LAYOUT_SUBS_AT) + index;
}
static inline uint64_t layout_data_offset(uint32_t sub_buffer_bytes, uint32_t index) {
    return LAYOUT_DATA_AT + (uint64_t)sub_buffer_bytes * index;
}

#endif
