// SPDX-License-Identifier: Apache-2.0
// What the files of the collector share: collect.c (the source), collect_channel.c (a process's files and
// table), collect_ring.c (its sub-buffers and records), collect_loss.c (the ledger).
#ifndef CAPTURE_COLLECT_PRIVATE_H
#define CAPTURE_COLLECT_PRIVATE_H

#include "capture/collect.h"

struct collect_held {
    struct collect_channel *channel;
    uint32_t sub;
    uint32_t slot;
    uint64_t serial;
};

// A sub-buffer being read. Reading stops when a builder is full, and goes on from here.
struct collect_work {
    struct collect_channel *channel; // NULL: none
    uint32_t sub;
    uint32_t slot;
    bool taken;             // READING; otherwise a peek at a WRITING one
    struct layout_sub head; // as it was when it was taken
    const uint64_t *words;
    uint64_t at, end;        // words
    uint64_t records;        // read so far, earlier peeks included
    struct builder *builder; // of the thread
};

// A sub-buffer found in a scan.
struct collect_found {
    uint32_t sub;
    uint32_t slot;
    uint64_t sequence;
    bool full;
};

struct collector {
    int directory;
    struct layout_control *control;
    bool recover;
    bool before_boot;
    bool closing;
    uint64_t program; // pid, 0: none
    bool program_ended;
    int program_status;
    bool settling;
    bool settled_round;  // this round began while settling
    uint64_t handed_out; // records in the batch that the consumer has at the moment
    bool delivered;
    bool progress;       // this round has read something
    bool round_over;     // the next call goes on after the end of a round
    uint32_t unreadable; // channels that could not be opened (recover)
    int64_t now;         // trace time at the beginning of the round
    bool pressure;       // a ring is mostly held by us: flush what keeps its sub-buffers
    bool out_of_memory;
    struct session_clock clock;
    tsmith_dictionary *dictionary;
    tsmith_batch *batch;
    uint32_t generation; // of the control file when the directory was read
    bool rescan;
    int64_t scanned; // trace time of the last look at the directory
    struct collect_channel **channels;
    size_t channel_capacity;
    uint32_t channel_count;
    struct builder **builders; // by track of the dictionary, NULL where there is none yet
    size_t builder_capacity;
    uint32_t builder_count;
    struct device_clock *devices; // by device of the dictionary
    size_t device_capacity;
    uint32_t device_count;
    struct builder *due; // must be flushed before reading goes on
    struct collect_work work;
    struct collect_found *found; // of the channel being drained, in order
    size_t found_capacity;
    uint32_t found_count, found_next;
    uint32_t draining;         // index of that channel
    int64_t peeked;            // trace time of the last round of peeks
    bool peek;                 // this round looks at WRITING sub-buffers too
    struct collect_held *held; // in the order of their serials
    size_t held_capacity;
    uint32_t held_first, held_count;
    uint64_t serial; // of the sub-buffer taken last
    uint64_t *copy;  // a sub-buffer of another process
    size_t copy_bytes;
    struct collect_totals totals;
};

// ---- collect_channel.c
// Opens the files of `name`; OK, AGAIN (not ready yet), or a failure (the channel is passed over).
tsmith_status collect_channel_open(struct collector *collector, const char *name,
                                   struct collect_channel **out);
// Closes and unmaps its files; what is known of it stays.
void collect_channel_release(struct collect_channel *channel);
void collect_channel_close(struct collect_channel *channel);
// Takes in the entries that were added.
void collect_channel_read_table(struct collector *collector, struct collect_channel *channel);
bool collect_process_alive(uint64_t pid, uint64_t start_time);

// ---- collect_ring.c
// Finds what there is to read in a channel, in order, into collector->found.
bool collect_scan(struct collector *collector, struct collect_channel *channel, bool peek);
// Begins with the next one found; reads records until it is done or a builder is full (collector->due).
bool collect_begin(struct collector *collector);
void collect_read(struct collector *collector);
struct collect_ring *collect_ring_of(struct collect_channel *channel, uint32_t slot);

// ---- collect_loss.c
void collect_lose(struct collector *collector, struct collect_channel *channel, tsmith_reason reason,
                  uint64_t count, int64_t from, int64_t to, uint32_t thread);
// The losses that channel_lose counted since the last time.
void collect_reported_losses(struct collector *collector, struct collect_channel *channel);
// The process's rings are final: what they were asked to take and was not read is lost.
void collect_finish_rings(struct collector *collector, struct collect_channel *channel);
void collect_process_event(struct collector *collector, struct collect_channel *channel,
                           tsmith_operation operation, int64_t at);
void collect_channel_ended(struct collector *collector, struct collect_channel *channel, bool alive);

// ---- collect.c
// The builder of a track of the dictionary; NULL when memory is exhausted.
struct builder *collect_builder(struct collector *collector, uint32_t track);
struct device_clock *collect_device_clock(struct collector *collector, uint32_t track);
// A row is about to be appended: marks where it came from. False when the builder is full (it is due then).
bool collect_row_allowed(struct collector *collector, struct builder *builder);

#endif
