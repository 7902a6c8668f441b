// SPDX-License-Identifier: Apache-2.0
// Finding sub-buffers and taking them; their records are read in collect_record.c.
//
// Order: within a ring, sub-buffers are read by ascending sequence. A scan has two passes: all sub-buffers
// that precede one that is FULL in the first pass are visible in the second, so no older one can appear
// later.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/collect_private.h"

struct collect_ring *collect_ring_of(struct collect_channel *channel, uint32_t slot) {
    if (slot >= LAYOUT_SLOTS)
        return NULL;
    if (slot >= channel->ring_count) {
        bool room = ARRAY_RESERVE(channel->ring_states, channel->ring_capacity, slot + 1u);
        if (!room)
            return NULL;
        memset(channel->ring_states + channel->ring_count, 0,
               (slot + 1u - channel->ring_count) * sizeof *channel->ring_states);
        channel->ring_count = slot + 1;
    }
    return &channel->ring_states[slot];
}

// ---- scanning

static bool add_found(struct collector *collector, const struct collect_found *one) {
    bool room = ARRAY_RESERVE(collector->found, collector->found_capacity, collector->found_count + 1u);
    if (room)
        collector->found[collector->found_count++] = *one;
    return room;
}

static int by_ring_and_sequence(const void *left, const void *right) {
    const struct collect_found *a = left, *b = right;
    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

static uint32_t sub_count(const struct collect_channel *channel) {
    uint32_t count = atomic_load_explicit(&channel->rings->sub_count, memory_order_acquire);
    return count < LAYOUT_SUBS ? count : LAYOUT_SUBS;
}

uint32_t collect_full(struct collect_channel *channel) {
    if (!collect_look_at_subs(channel))
        return 0;
    uint32_t count = sub_count(channel), full = 0;
    for (uint32_t i = 0; i < count; i++)
        full += (atomic_load_explicit(&layout_sub_at(channel->rings, i)->state, memory_order_relaxed) &
                 ~(uint32_t)LAYOUT_SUB_PEEK) == LAYOUT_SUB_FULL;
    return full;
}

bool collect_scan(struct collector *collector, struct collect_channel *channel, bool peek) {
    bool any = false;
    collector->found_count = 0;
    collector->found_next = 0;
    if (!collect_look_at_subs(channel))
        return false;
    uint32_t count = sub_count(channel);
    for (uint32_t i = 0; i < count && !any; i++) {
        uint32_t state =
            atomic_load_explicit(&layout_sub_at(channel->rings, i)->state, memory_order_acquire) &
            ~(uint32_t)LAYOUT_SUB_PEEK;
        any = state == LAYOUT_SUB_FULL || (peek && state == LAYOUT_SUB_WRITING) ||
              (collector->recover && state != LAYOUT_SUB_FREE && state != LAYOUT_SUB_ABSENT);
    }
    if (!any)
        return false;
    uint64_t *newest = calloc(LAYOUT_SLOTS, sizeof *newest); // sequence, by slot, seen FULL in the first look
    if (!newest)
        return false;
    for (int look = 0; look < 2 && collect_look_at_subs(channel); look++) {
        // Anew: what the first look saw FULL may have an elder that the ring was given meanwhile.
        count = sub_count(channel);
        for (uint32_t i = 0; i < count; i++) {
            struct layout_sub *sub = layout_sub_at(channel->rings, i);
            uint32_t state =
                atomic_load_explicit(&sub->state, memory_order_acquire) & ~(uint32_t)LAYOUT_SUB_PEEK;
            struct collect_found found = {
                .sub = i,
                .slot = atomic_load_explicit(&sub->slot, memory_order_relaxed),
                .sequence = atomic_load_explicit(&sub->sequence, memory_order_relaxed),
                .full = state == LAYOUT_SUB_FULL || (collector->recover && state == LAYOUT_SUB_READING)};
            if (found.slot >= LAYOUT_SLOTS || !(found.full || state == LAYOUT_SUB_WRITING))
                continue;
            if (look == 0 && found.full && found.sequence > newest[found.slot])
                newest[found.slot] = found.sequence;
            // What became FULL between the looks waits for the next scan, as elders might have been missed; in
            // the last scan there is no next one.
            bool wanted =
                found.full ? channel->state != COLLECT_LIVE || found.sequence <= newest[found.slot] : peek;
            if (look == 1 && wanted)
                add_found(collector, &found);
        }
    }
    free(newest);
    if (collector->found_count > 0)
        qsort(collector->found, collector->found_count, sizeof *collector->found, by_ring_and_sequence);
    return collector->found_count > 0;
}

// ---- taking

static const uint64_t *borrow_words(struct collector *collector, struct collect_channel *channel,
                                    uint32_t sub, uint64_t bytes) {
    if (channel->local)
        return atomic_load_explicit(&channel->local->bases[sub], memory_order_acquire);
    if (collector->copy_bytes < channel->sub_bytes) {
        free(collector->copy);
        collector->copy = malloc(channel->sub_bytes);
        collector->copy_bytes = collector->copy ? channel->sub_bytes : 0;
    }
    uint64_t done = 0;
    while (collector->copy && done < bytes) {
        ssize_t got = pread(channel->rings_fd, (char *)collector->copy + done, bytes - done,
                            (off_t)(layout_data_offset(channel->sub_bytes, sub) + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            channel->files_damaged |= channel->live;
            return NULL;
        }
        done += (uint64_t)got;
    }
    return collector->copy;
}

static void hold_work(struct collector *collector, const struct collect_work *work) {
    if (collector->held_first > 0 && collector->held_first == collector->held_count)
        collector->held_first = collector->held_count = 0;
    bool room = ARRAY_RESERVE(collector->held, collector->held_capacity, collector->held_count + 1u);
    if (!room) {
        collector->out_of_memory = true;
        return;
    }
    collector->held[collector->held_count++] = (struct collect_held){
        .channel = work->channel, .sub = work->sub, .slot = work->slot, .serial = collector->serial};
    work->channel->held++;
    struct collect_ring *ring = &work->channel->ring_states[work->slot];
    ring->held++;
    if (2 * ring->held >= collector->control->ring_sub_buffers)
        collector->pressure = true;
}

// READING, or WRITING|PEEK, in found->full. False when it is neither any more (drop-oldest has taken it back).
static bool take_sub(struct collector *collector, struct collect_channel *channel,
                     struct collect_found *found) {
    if (collector->recover)
        return true; // a private copy of a dead process's head
    if (!collect_set_peek(channel, found->sub) || !collect_look_at_sub(channel, found->sub))
        return false;
    // From here on its owner does not take it back. One that was WRITING in the scan may have been handed over since:
    // then the whole of it is read. One that was FULL and is WRITING has been filled anew.
    uint32_t state =
        atomic_load_explicit(&layout_sub_at(channel->rings, found->sub)->state, memory_order_acquire);
    if (state == (LAYOUT_SUB_WRITING | LAYOUT_SUB_PEEK) && !found->full)
        return true;
    if (state == (LAYOUT_SUB_FULL | LAYOUT_SUB_PEEK)) {
        found->full = true;
        return collect_set_state(channel, found->sub, LAYOUT_SUB_READING);
    }
    (void)collect_clear_peek(channel, found->sub);
    return false;
}

// Where there is a file, a sub-buffer that was read in part keeps PEEK until it is read whole: its owner must not
// overwrite rows that are on their way, or they would be nowhere if the collector were killed now.
static void unpeek(struct collector *collector, struct collect_channel *channel, uint32_t sub,
                   bool read_in_part) {
    if (!collector->recover && !(collector->journal && read_in_part))
        (void)collect_clear_peek(channel, sub);
}

static void give_back(struct collector *collector, const struct collect_ring *ring,
                      struct collect_channel *channel, const struct collect_found *found) {
    const struct layout_sub *sub = layout_sub_at(channel->rings, found->sub);
    bool in_part = ring->peek_sequence != 0 &&
                   ring->peek_sequence == atomic_load_explicit(&sub->sequence, memory_order_relaxed);
    if (!found->full)
        unpeek(collector, channel, found->sub, in_part);
    else if (!collector->recover)
        (void)collect_set_state(channel, found->sub,
                                in_part && collector->journal ? LAYOUT_SUB_FULL | LAYOUT_SUB_PEEK
                                                              : LAYOUT_SUB_FULL);
}

// The ranges of a builder that are open at this place have no end.
static void abandon(struct collector *collector, struct collect_work *work, struct builder *builder,
                    const struct collect_ring *ring, uint64_t place, int64_t at) {
    if (!builder || (collector->known && place < collect_delivered_to(builder, work->channel, work->slot)))
        return; // the ranges that are open now were begun later
    uint32_t open = builder_abandon_ranges(builder);
    if (!open)
        return;
    collect_touch(collector, builder, work->channel, work->slot, ring->local_thread);
    if (!collect_is_known(ring, place))
        collect_lose(collector, work->channel, TSMITH_REASON_UNMATCHED, open, at, at, ring->thread);
}

void collect_switch_thread(struct collector *collector, struct collect_work *work, struct collect_ring *ring,
                           uint32_t local_track, uint64_t place) {
    uint32_t track = collect_id(&work->channel->tracks, local_track);
    if (track != ring->thread && ring->thread)
        abandon(collector, work, collect_builder(collector, ring->thread), ring, place,
                session_clock_convert(&collector->clock, ring->last));
    ring->thread = track;
    ring->local_thread = local_track;
    work->builder = track ? collect_builder(collector, track) : NULL;
}

// What is missing before the sub-buffer that was just taken.
static void check_gap(struct collector *collector, struct collect_work *work, struct collect_ring *ring) {
    const struct layout_sub *head = &work->head;
    uint64_t next = head->first + work->records;
    uint64_t place = collect_at(atomic_load_explicit(&head->sequence, memory_order_relaxed), 0);
    if (next > ring->expected) {
        tsmith_reason reason = head->reason && head->reason < TSMITH_REASON_LIMIT
                                   ? (tsmith_reason)head->reason
                                   : TSMITH_REASON_OVERWRITTEN;
        uint64_t from = ring->last ? ring->last : head->opened;
        int64_t to = session_clock_convert(&collector->clock, head->opened);
        if (!collect_is_known(ring, place))
            collect_lose(collector, work->channel, reason, next - ring->expected,
                         session_clock_convert(&collector->clock, from), to, ring->thread);
        // Which ends belong to which beginnings is not known any more.
        if (ring->thread)
            abandon(collector, work, collect_builder(collector, ring->thread), ring, place, to);
    }
    ring->expected = next;
}

static bool resume_peek(const struct collect_found *found, const struct collect_ring *ring,
                        struct collect_work *work) {
    bool same =
        ring->peek_sequence == found->sequence && ring->peek_sub == found->sub && ring->peek_sequence != 0;
    work->at = same ? ring->peek_bytes / sizeof(uint64_t) : 0;
    work->records = same ? ring->peek_records : 0;
    return same;
}

// Field by field: the owner may be writing its counts right now.
static void copy_head(struct layout_sub *to, struct layout_sub *from, bool full) {
    memset(to, 0, sizeof *to);
    atomic_store_explicit(&to->records, atomic_load_explicit(&from->records, memory_order_relaxed),
                          memory_order_relaxed);
    to->thread_track = from->thread_track;
    to->reason = from->reason;
    atomic_store_explicit(&to->sequence, atomic_load_explicit(&from->sequence, memory_order_relaxed),
                          memory_order_relaxed);
    to->first = from->first;
    to->opened = from->opened;
    to->closed = full ? from->closed : 0;
}

// Whether a sub-buffer that was just taken is the one to read now.
//
// One that was WRITING in the scan is read only where it continues what was read: the scan can have missed an elder
// that became FULL while it looked. And nothing is read that is older than what was read: its records have been counted as lost then
// (which takes a thread that still records while its channel is closed).
static bool is_next(const struct collector *collector, const struct collect_ring *ring,
                    struct layout_sub *sub, const struct collect_found *found, bool scanned_full) {
    uint64_t sequence = atomic_load_explicit(&sub->sequence, memory_order_relaxed);
    if (sequence != found->sequence || atomic_load_explicit(&sub->slot, memory_order_relaxed) != found->slot)
        return false; // taken back and filled anew since the scan: its turn comes later
    if (scanned_full)
        return true;
    const struct collect_channel *channel = collector->channels[collector->draining];
    return channel->last_scan || sub->first == ring->expected || sequence == ring->sequence;
}

static void set_up_work(struct collector *collector, const struct collect_found *found,
                        struct layout_sub *sub, struct collect_ring *ring) {
    struct collect_channel *channel = collector->channels[collector->draining];
    struct collect_work *work = &collector->work;
    *work = (struct collect_work){
        .channel = channel, .sub = found->sub, .slot = found->slot, .taken = found->full};
    uint64_t committed = atomic_load_explicit(&sub->committed, memory_order_acquire);
    if (committed > channel->sub_bytes || committed % sizeof(uint64_t))
        committed = 0;
    copy_head(&work->head, sub, found->full);
    bool resumed = resume_peek(found, ring, work);
    work->end = committed / sizeof(uint64_t);
    work->words = committed ? borrow_words(collector, channel, found->sub, committed) : NULL;
    if (!work->words || work->at > work->end)
        work->at = work->end = 0;
    collector->serial++;
    if (found->full)
        hold_work(collector, work);
    // The table has every id these records use: they were registered before.
    collect_channel_read_table(collector, channel);
    uint64_t place = collect_at(found->sequence, 0);
    if (!ring->begun && collect_is_known(ring, place)) {
        // What is known of the ring is of a later moment.
        ring->expected = sub->expected;
        ring->local_thread = sub->thread_before;
        ring->thread = collect_id(&channel->tracks, sub->thread_before);
    }
    ring->begun = true;
    if (collector->journal && !resumed) {
        sub->expected = ring->expected;
        sub->thread_before = ring->local_thread;
        collect_write_before(channel, found->sub);
    }
    if (!resumed)
        collect_switch_thread(collector, work, ring, work->head.thread_track, place);
    else
        work->builder = ring->thread ? collect_builder(collector, ring->thread) : NULL;
}

static bool begin(struct collector *collector, struct collect_found *found) {
    struct collect_channel *channel = collector->channels[collector->draining];
    struct collect_work *work = &collector->work;
    struct layout_sub *sub = layout_sub_at(channel->rings, found->sub);
    struct collect_ring *ring = collect_ring_of(channel, found->slot);
    channel->stack_words_count = 0;
    if (!ring)
        return false;
    bool scanned_full = found->full;
    if (!take_sub(collector, channel, found))
        return false;
    if (!is_next(collector, ring, sub, found, scanned_full)) {
        give_back(collector, ring, channel, found);
        return false;
    }
    bool late = found->sequence < ring->sequence;
    set_up_work(collector, found, sub, ring);
    uint64_t records = atomic_load_explicit(&work->head.records, memory_order_relaxed);
    if (late) {
        work->at = work->end;
        work->records = records;
        work->head.first = ring->expected - records;
        return true;
    }
    ring->sequence = found->sequence;
    check_gap(collector, work, ring);
    if (records <= channel->sub_bytes / sizeof(uint64_t) && work->head.first + records > ring->asked)
        ring->asked = work->head.first + records;
    return true;
}

bool collect_begin(struct collector *collector) {
    while (collector->found_next < collector->found_count)
        if (begin(collector, &collector->found[collector->found_next++]))
            return true;
    return false;
}

static void count_unread(struct collector *collector, struct collect_work *work, uint64_t asked) {
    struct collect_ring *ring = &work->channel->ring_states[work->slot];
    uint64_t lost = asked > work->records ? asked - work->records : 0;
    int64_t from = session_clock_convert(&collector->clock, work->head.opened);
    int64_t to = session_clock_convert(&collector->clock, work->head.closed);
    uint64_t end =
        collect_at(atomic_load_explicit(&work->head.sequence, memory_order_relaxed), COLLECT_SUB_END - 1);
    if (lost && !collect_is_known(ring, end))
        collect_lose(collector, work->channel, TSMITH_REASON_CORRUPT, lost, from, to, ring->thread);
    work->records += lost;
}

void collect_end_work(struct collector *collector) {
    struct collect_work *work = &collector->work;
    struct collect_channel *channel = work->channel;
    struct collect_ring *ring = &channel->ring_states[work->slot];
    if (work->taken) {
        // Damaged records leave a difference to what the owner counted; a count beyond what fits is damage
        // itself.
        uint64_t asked = atomic_load_explicit(&work->head.records, memory_order_relaxed);
        count_unread(collector, work, asked <= channel->sub_bytes / sizeof(uint64_t) ? asked : 0);
        ring->peek_sequence = 0;
        ring->last = work->head.closed ? work->head.closed : work->head.opened;
        work->at = COLLECT_SUB_END - 1;
    } else {
        ring->peek_sub = work->sub;
        ring->peek_sequence = atomic_load_explicit(&work->head.sequence, memory_order_relaxed);
        ring->peek_bytes = work->at * sizeof(uint64_t);
        ring->peek_records = work->records;
        unpeek(collector, channel, work->sub, work->at > 0);
    }
    if (collect_here(work) > ring->position)
        ring->position = collect_here(work);
    ring->expected = work->head.first + work->records;
    work->channel = NULL;
}
