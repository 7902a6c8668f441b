// SPDX-License-Identifier: Apache-2.0
// The layout of the files of a session directory: shared memory between the profiled programs and the collector, and, after a
// crash, the input of recover.
//
//     control                          one per session: settings, the collector's heartbeat, ticks -> trace time
//     control.kept                     a copy that only the collector writes, for recover
//     <pid>-<start>-<api>-<n>.channel  one per process: its identity, the ledgers of the APIs that record in it (the name has
//                                      the first), its strings, tracks, devices, shapes (append only). A process has
//                                      more than one where its agents do not share one
//     <pid>-<start>-<api>-<n>.rings    its sub-buffers, each written by one thread at a time (ring.h)
//     <pid>-<start>-<api>-<n>.stacks   its call stacks, when they are wanted: a page, then segments (stacks.h)
//     journal                          the collector's own: what of the rings is in the output file (journal.h)
//
// The files are in the byte order of the machine and are valid only on the machine that made them. The reading side treats
// them as untrusted: it checks counts, ids and offsets at every use.
//
// Space is reserved (fallocate) before it is touched, so that a full file system is an error and never a
// SIGBUS.
#ifndef WIRE_LAYOUT_H
#define WIRE_LAYOUT_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define LAYOUT_VERSION 5u
#define LAYOUT_PAGE 4096u
#define LAYOUT_CONTROL_NAME "control"
#define LAYOUT_CONTROL_KEPT_NAME "control.kept"
#define LAYOUT_JOURNAL_NAME "journal"
#define LAYOUT_CHANNEL_SUFFIX ".channel"
#define LAYOUT_RINGS_SUFFIX ".rings"
#define LAYOUT_LOGS_NAME "logs" // a link to a folder with logs of the same session
#define LAYOUT_STACKS_SUFFIX ".stacks"
#define LAYOUT_UNRECORDED_SUFFIX ".unrecorded" // a folder <pid>.unrecorded: this process could not attach

#define LAYOUT_CONTROL_MAGIC 0x314c52544e4f4354ull // "TCONTRL1"
#define LAYOUT_CHANNEL_MAGIC 0x314e4e4148435354ull // "TSCHANN1"
#define LAYOUT_RINGS_MAGIC 0x3153474e49525354ull   // "TSRINGS1"
#define LAYOUT_STACKS_MAGIC 0x314b434154535354ull  // "TSSTACK1"
#define LAYOUT_JOURNAL_MAGIC 0x314e525543534a54ull // "TJSCURN1"

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
#define LAYOUT_TEXT 4096u // bytes of a path or a command line, its NUL included

// The clocks a device may use as its own, by number: what trace time minus the clock was at the last comparison.
enum {
    LAYOUT_HOST_RAW,
    LAYOUT_HOST_MONOTONIC,
    LAYOUT_HOST_BOOTTIME,
    LAYOUT_HOST_REALTIME,
    LAYOUT_HOST_CLOCKS
};

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
    int64_t
        block_timeout; // policy block: ns of silence of the collector; INT64_MAX: as long as its process lives
    // Every call that enqueues something gets its call stack, of at most this many frames; 0: none.
    uint32_t stacks;
    int64_t
        aggregate; // ns: agents write sums of events, once in this time (agentkit/sums.h); 0: they write events
    _Alignas(64) _Atomic uint32_t state;
    _Atomic uint32_t armed;
    _Atomic uint32_t generation;           // grows when a process has added a file
    _Atomic uint32_t collector_pid;        // who drains
    _Atomic int64_t heartbeat;             // trace time of its last heartbeat
    _Alignas(64) _Atomic uint32_t waiters; // threads that wait for a free sub-buffer (overflow policy block)
    _Atomic uint32_t wake;    // futex: grows when sub-buffers were freed while there were waiters
    _Atomic uint32_t trigger; // odd: recorders for a replay that wait for a trigger record
    // Recording processes map the first page; the rest is the collector's.
    _Alignas(64) _Atomic uint32_t segment_count;
    struct layout_segment segments[LAYOUT_SEGMENTS];
    char output
        [LAYOUT_TEXT]; // absolute path of the file that what is delivered is written to; "": there is none
    char command[LAYOUT_TEXT]; // what is recorded, for people; cut where it is longer
    _Atomic int64_t host_offsets[LAYOUT_HOST_CLOCKS];
    // The first recovery compares the clocks once more, for what was recorded after the collector was gone; later ones
    // find its comparison here, and so the same times. 0: not yet.
    uint64_t final_tick;
    int64_t final_trace;
};

// ---- journal

// Entries of the half that is `active`, up to `committed`, are what is known. When it is full the other half is
// written anew, shorter, and made the active one.
struct layout_journal {
    uint64_t magic;
    uint32_t version;
    uint32_t reserved;
    uint64_t half_bytes;
    _Atomic uint32_t active;
    _Atomic uint32_t
        failed; // an entry could not be written for want of space: what came after it is not known
    _Alignas(64) _Atomic uint64_t committed[2];
};

enum layout_journal_type {
    LAYOUT_JOURNAL_BASE = 1,    // events delivered before the entries that follow
    LAYOUT_JOURNAL_CHANNEL = 2, // a channel was found; they are numbered from 0 in this order
    LAYOUT_JOURNAL_TRACK = 3,   // a batch of a track is handed out
    LAYOUT_JOURNAL_FINISHED = 4 // all of a channel was delivered; its files go
};

// Before it come no entries of more events.
struct layout_journal_entry {
    uint32_t bytes; // of the whole entry, a multiple of 8
    uint32_t type;
    uint32_t channel;
    uint32_t track;            // of the channel, or LAYOUT_JOURNAL_PROCESS, LAYOUT_JOURNAL_LOSS
    uint64_t events;           // delivered in all, with this batch: it is in the file when that has as many
    uint32_t rows;             // of the batch; 0: there was none, but ranges were begun
    uint32_t dictionary_track; // its id in the file
    int64_t first_start, last_end;
    uint32_t marks;        // struct layout_journal_mark follow,
    uint32_t words;        // then the records of ranges that are open; of a CHANNEL: bytes of its name follow
    uint32_t too_deep;     // ranges open beyond those
    uint32_t flags;        // LAYOUT_JOURNAL_HAS_CLOCK, LAYOUT_JOURNAL_SHARES
    int64_t process_start; // of a CHANNEL
    // For the track's device: the offset of its times, and its possible error.
    uint32_t clock_model, clock_host;
    int64_t clock_low, clock_high, clock_widened, clock_offset, clock_last, clock_described;
};

// A ring that gave rows to the batch: up to where it had been read.
struct layout_journal_mark {
    uint32_t channel;
    uint32_t slot;   // or one of the states of a channel, LAYOUT_JOURNAL_STATE...
    uint32_t thread; // of the channel: whose records come next
    uint32_t reserved;
    uint64_t position; // collect_at(); of a state its value
    uint64_t ordinal;  // of the next record
    uint64_t last;     // tick of the end of what was read
};

#define LAYOUT_JOURNAL_PROCESS 0xfffffffeu
#define LAYOUT_JOURNAL_LOSS 0xffffffffu
enum {
    LAYOUT_JOURNAL_HAS_CLOCK = 1,
    LAYOUT_JOURNAL_SHARES = 2
}; // SHARES: its process was known by another channel
enum {
    LAYOUT_JOURNAL_STATE_STARTED = 0x10000, // the process's start is in the file
    LAYOUT_JOURNAL_STATE_ENDED,             // its end is
    LAYOUT_JOURNAL_STATE_FINAL_LOSSES,      // what was missing at its end is
    LAYOUT_JOURNAL_STATE_TABLE_BAD,         // that its table is damaged is
    LAYOUT_JOURNAL_STATE_LOST, // + reason + ledger * LAYOUT_REASONS: losses that the API itself counted are
};

// ---- channel

enum { LAYOUT_CHANNEL_OPEN = 1, LAYOUT_CHANNEL_CLOSED = 2 };
enum { LAYOUT_REASONS = 32 };

enum { LAYOUT_FLIGHTS = 32 };

// How many events of one list were begun, and how many of those have been recorded; how many were added to sums, and how
// many of those are in sums that were written. Each is written by one thread at a time, with plain stores: an atomic addition
// would wait for all that was stored into the ring before.
struct layout_flight {
    _Alignas(64) _Atomic uint64_t begun;
    _Atomic uint64_t ended;
    _Atomic uint64_t summed;
    _Atomic uint64_t summed_written;
};

enum { LAYOUT_API_BYTES = 32 }; // of the name of an API, its NUL included

// What one API counts in the channel of its process: its ledger. An API joins once and is never taken out.
struct layout_ledger {
    char api[LAYOUT_API_BYTES];
    int64_t attached; // trace time
    _Atomic uint32_t state;
    _Atomic uint32_t lost_reported;           // grows with every channel_lose
    _Alignas(64) _Atomic uint64_t lost_first; // ticks of the first and last channel_lose, 0 before
    _Atomic uint64_t lost_last;
    _Atomic uint64_t lost[LAYOUT_REASONS];
    struct layout_flight
        flights[LAYOUT_FLIGHTS]; // by list; the last is for all that are more, added to atomically
};

struct layout_channel {
    uint64_t magic;
    uint32_t version;
    uint32_t bytes; // of this structure
    uint64_t pid;
    uint64_t parent_pid;
    uint64_t start_time; // of the process, in clock ticks since boot (/proc/PID/stat), against reused pids
    int64_t attached;    // trace time
    uint32_t name;       // string ids of this channel
    uint32_t command_line;
    uint32_t host;
    uint32_t pid_namespace;                  // whose number `pid` is; 0: not known
    _Alignas(64) _Atomic uint64_t committed; // bytes of whole entries at LAYOUT_ENTRIES_AT
    _Atomic uint32_t state;                  // CLOSED when all its APIs are
    _Atomic uint32_t ledgers;   // how many APIs have joined; a ledger is written before it is counted
    struct layout_ledger first; // the ledger of the first API
};

enum layout_entry_type {
    LAYOUT_ENTRY_STRING = 1,    // u32 length, u32 flags, bytes
    LAYOUT_ENTRY_TRACK = 2,     // tsmith_track
    LAYOUT_ENTRY_DEVICE = 3,    // struct channel_device
    LAYOUT_ENTRY_FIELD = 4,     // u32 name, u32 type, u32 unit, u32 0
    LAYOUT_ENTRY_SHAPE = 5,     // the head of record_shape and its fields
    LAYOUT_ENTRY_NAME = 6,      // u32 track, u32 string: the track is called so from now on
    LAYOUT_ENTRY_ATTRIBUTE = 7, // u32 key, u32 value: strings
    LAYOUT_ENTRY_MODULE = 8,    // layout_module
    LAYOUT_ENTRY_RANK = 9,      // tsmith_rank, its process 0
};

// Code that was loaded: from this epoch on its addresses mean it.
struct layout_module {
    uint64_t begin, end; // from its first code to its last
    uint64_t bias;       // what it was moved by
    uint64_t epoch;
    uint32_t path, build_id; // strings of this channel
    uint64_t reserved;
};

enum { LAYOUT_STRING_MANGLED = 1 }; // a function as its compiler calls it: the trace has it as people do

struct layout_entry {
    uint32_t bytes; // of the whole entry, a multiple of 8
    uint32_t type;
};

#define LAYOUT_LEDGERS 8u // at most; those after the first have a page each behind the first page
#define LAYOUT_ENTRIES_AT (LAYOUT_LEDGERS * LAYOUT_PAGE)
#define LAYOUT_ENTRIES_MAX (1ull << 32) // bytes of entries of one channel

// ---- stacks

// The first page. A stack is a word with the number of words that follow (wire/stack_table.h), and those; its number
// is its position in the file, in words.
struct layout_stacks {
    uint64_t magic;
    uint32_t version;
    uint32_t reserved;
};

// ---- rings

// A ring. Used by one thread at a time; a thread that ends leaves it to the next one that begins, so that
// thousands of short threads need few. Written by its owner alone. Never given back while the channel lives.
struct layout_slot {
    _Alignas(64) _Atomic uint64_t ordinal; // records this ring was asked to take, kept or dropped, as of the
                                           // last hand-over or drop
    _Atomic uint64_t last;                 // tick of that
    _Atomic uint32_t reason;               // tsmith_reason of the last drop
    _Atomic uint32_t in_use;               // a thread has it at the moment, and may be about to write
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
    _Alignas(128) _Atomic uint64_t committed; // bytes of whole records; its neighbor shares its cache line
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
    // The collector's, when it begins with the sub-buffer: what it took the first record's ordinal to be, and the thread
    // whose records it had read before. So recover sees the gap that it saw, when what was before is freed.
    uint64_t expected;
    uint32_t thread_before; // of the channel
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
static_assert(sizeof(struct layout_ledger) <= LAYOUT_PAGE, "a ledger fits its page");

static inline struct layout_ledger *layout_ledger_at(struct layout_channel *head, uint32_t index) {
    return index ? (struct layout_ledger *)(void *)((char *)head + (size_t)LAYOUT_PAGE * index)
                 : &head->first;
}
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
