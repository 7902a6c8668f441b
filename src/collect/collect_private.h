// SPDX-License-Identifier: Apache-2.0
// Declarations that the files of the collector share: collector.c (the source), collect_channel.c (a process's files and
// table), collect_ring.c (its sub-buffers), collect_record.c (their records), collect_loss.c (the ledger),
// collect_journal.c (what is in the file), collect_shared.c (reading and changing files of other processes).
#ifndef COLLECT_COLLECT_PRIVATE_H
#define COLLECT_COLLECT_PRIVATE_H

#include "collect/collector.h"
#include "collect/session_directory.h"

struct collect_held {
    struct collect_channel *channel;
    uint32_t sub;
    uint32_t slot;
    uint64_t serial;
};

// A sub-buffer being read. Reading stops when a builder is full, and continues from here.
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

// Records whose heads are the same are of one shape, as long, of one subject: the result for the first of them
// applies to the others of the sub-buffer, as long as one thread owns it. Their values are processed together.
enum { COLLECT_TARGETS = 64, COLLECT_WAITING = 32 };
struct collect_target {
    struct builder *builder;
    const struct collect_plan *plan;
    struct builder_layout *layout;
    uint32_t name;
    bool now;  // something cannot wait: the collector's own moves,
    bool more; // or what a row has beyond values
    uint32_t waiting;
    uint32_t rows[COLLECT_WAITING];
    const uint64_t *words[COLLECT_WAITING]; // of the records, after their heads
};
struct collect_targets {
    uint64_t heads[COLLECT_TARGETS]; // 0: none
    uint64_t used;                   // bits of those that may have something waiting
    struct collect_target of[COLLECT_TARGETS];
};

struct collector {
    int directory;
    struct layout_control *control;
    const struct control_file *file; // live; NULL: recover
    uint32_t segments_written;       // of the control file
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
    bool round_over;     // the next call continues after the end of a round
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
    struct identity {
        uint32_t text, device;
    } * identities; // of devices that have one
    size_t identity_count, identity_capacity;
    struct device_clock *clocks; // of devices, for each process that uses one
    size_t clock_capacity;
    uint32_t clock_count;
    uint32_t *clock_of_track; // by track of the dictionary: its index + 1, 0 not looked for or none
    size_t clock_of_track_capacity;
    uint32_t clock_of_track_count;
    struct builder *due;               // must be flushed before reading continues
    struct journal *journal;           // live, and there is a file; NULL: none
    const struct journal_state *known; // recover: what is in the file
    struct layout_journal_mark *marks; // of the batch handed out, scratch
    size_t mark_capacity;
    bool losses; // rows of a ledger may be waiting
    bool begun;  // the first round
    struct collect_work work;
    struct collect_targets targets;
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
    uint32_t plan_count; // of all channels
    struct collect_totals totals;
};

// ---- collect_channel.c
// Opens the files of `name`; OK, AGAIN (not ready yet), or a failure (the channel is passed over).
tsmith_status collect_channel_open(struct collector *collector, const char *name,
                                   struct collect_channel **out);
// Closes and unmaps its files; what is known of it stays.
void collect_channel_release(struct collect_channel *channel);
void collect_channel_close(struct collect_channel *channel);
// Takes in the entries that were added, and the APIs that have joined.
void collect_channel_read_table(struct collector *collector, struct collect_channel *channel);
// A file of the channel; -1 when there is none of at least that many bytes.
int collect_open_file(int directory, const char *name, const char *suffix, uint64_t least);

// ---- collect_stacks.c
// An entry of the table. False: it is damaged, or there is no memory.
bool collect_read_module(struct collector *collector, struct collect_channel *channel, const char *payload,
                         size_t bytes);
// The dictionary's id of a stack, by the number that a record has; 0: there is none.
uint32_t collect_stack(struct collector *collector, struct collect_channel *channel, uint64_t word);

// ---- collect_shared.c
// Live, of another process: looks at the files again. False when they were found to be truncated or overwritten, once
// and for all.
bool collect_look_at_head(struct collect_channel *channel);
// By a head that has been looked at.
static inline bool collect_is_closed(const struct collect_channel *channel) {
    return atomic_load_explicit(&channel->head->state, memory_order_acquire) == LAYOUT_CHANNEL_CLOSED;
}
bool collect_look_at_subs(struct collect_channel *channel);
bool collect_look_at_slots(struct collect_channel *channel);
bool collect_look_at_sub(struct collect_channel *channel, uint32_t sub);
// Live: sets or clears PEEK; sets the state of a sub-buffer whose owner waits for that. False: the file is not there
// any more.
bool collect_set_peek(struct collect_channel *channel, uint32_t sub);
bool collect_clear_peek(struct collect_channel *channel, uint32_t sub);
bool collect_set_state(struct collect_channel *channel, uint32_t sub, uint32_t state);
// Live: writes `expected` and `thread_before`.
void collect_write_before(struct collect_channel *channel, uint32_t sub);

// How many APIs have joined, as of the last look.
static inline uint32_t collect_ledger_count(const struct collect_channel *channel) {
    uint32_t count = atomic_load_explicit(&channel->head->ledgers, memory_order_acquire);
    return count < LAYOUT_LEDGERS ? count : LAYOUT_LEDGERS;
}

// ---- collect_ring.c, collect_record.c
static inline uint32_t collect_id(const struct collect_ids *ids, uint64_t local) {
    return local < ids->count ? ids->items[local] : 0;
}
// The place of what is being read next.
static inline uint64_t collect_here(const struct collect_work *work) {
    return collect_at(atomic_load_explicit(&work->head.sequence, memory_order_relaxed), work->at + 1);
}
// Recover: whether events at this position were seen and reported by the collector that ended.
static inline bool collect_is_known(const struct collect_ring *ring, uint64_t place) {
    return place < ring->accounted;
}
// What comes next is of this thread.
void collect_switch_thread(struct collector *collector, struct collect_work *work, struct collect_ring *ring,
                           uint32_t local_track, uint64_t place);
// The sub-buffer was read as far as it can be.
void collect_end_work(struct collector *collector);
// How many sub-buffers wait to be read.
uint32_t collect_full(struct collect_channel *channel);
// Finds what there is to read in a channel, in order, into collector->found.
bool collect_scan(struct collector *collector, struct collect_channel *channel, bool peek);
// Begins with the next one found; reads records until it is done or a builder is full (collector->due).
bool collect_begin(struct collector *collector);
void collect_read(struct collector *collector);
struct collect_ring *collect_ring_of(struct collect_channel *channel, uint32_t slot);
// Recover: the record of a range that was open when the file ended, read once more.
void collect_reopen_range(struct collector *collector, struct collect_channel *channel,
                          struct builder *builder, const uint64_t *record, uint32_t words);

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

// ---- collector.c
// The builder of a track of the dictionary; NULL when memory is exhausted.
struct builder *collect_builder(struct collector *collector, uint32_t track);
struct device_clock *collect_device_clock(struct collector *collector, uint32_t track);
// Something is about to be read for a builder that was empty: from now on it keeps sub-buffers.
void collect_freshen(struct collector *collector, struct builder *builder);
// False when the builder is full (it is due then).
static inline bool collect_row_allowed(struct collector *collector, struct builder *builder) {
    if (builder_full(builder))
        collector->due = builder;
    return !builder_full(builder);
}

// ---- collect_journal.c
// Something changes in a builder by a record of this ring; slot UINT32_MAX: by no ring.
static inline void collect_touch(struct collector *collector, struct builder *builder,
                                 struct collect_channel *channel, uint32_t slot, uint32_t local);
void collect_add_source(struct builder *builder, struct collect_channel *channel, uint32_t slot,
                        uint32_t local);
// The builder's batch, NULL when it only has ranges that are open, is about to be handed out.
void collect_note_delivery(struct collector *collector, struct builder *builder, const tsmith_batch *batch);
// A row of a ledger that must be handed out before other rows are; NULL: none.
struct builder *collect_waiting_losses(struct collector *collector);
// A channel that was found: gives it a number, or (recover) looks up what is known of it; before anything is read of
// it, and after its table was.
void collect_journal_look_up(struct collector *collector, struct collect_channel *channel);
void collect_journal_found(struct collector *collector, struct collect_channel *channel);
// Recover: up to where the ring's records of this builder are in the file.
uint64_t collect_delivered_to(const struct builder *builder, const struct collect_channel *channel,
                              uint32_t slot);

static inline void collect_touch(struct collector *collector, struct builder *builder,
                                 struct collect_channel *channel, uint32_t slot, uint32_t local) {
    if (!builder->fresh)
        collect_freshen(collector, builder);
    if (!collector->journal)
        return;
    size_t at = builder->source_at;
    if (at >= builder->source_count || builder->sources[at].channel != channel ||
        builder->sources[at].slot != slot)
        collect_add_source(builder, channel, slot, local);
    if (builder->source_at < builder->source_count)
        builder->sources[builder->source_at].fresh = true;
}

#endif
