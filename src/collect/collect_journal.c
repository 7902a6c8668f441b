// SPDX-License-Identifier: Apache-2.0
// The collector and its journal: what is noted with every batch, and what recover makes of it.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collect/collect_private.h"

// ---- live

void collect_add_source(struct builder *builder, struct collect_channel *channel, uint32_t slot,
                        uint32_t local) {
    if (!builder->owner) {
        builder->owner = channel;
        builder->local = local;
    }
    if (slot == UINT32_MAX)
        return;
    for (size_t i = 0; i < builder->source_count; i++) {
        builder->source_at = i;
        if (builder->sources[i].channel == channel && builder->sources[i].slot == slot)
            return;
    }
    builder->source_at = builder->source_count;
    bool room = ARRAY_RESERVE(builder->sources, builder->source_capacity, builder->source_count + 1);
    if (room)
        builder->sources[builder->source_count++] = (struct builder_source){.channel = channel, .slot = slot};
}

static bool add_mark(struct collector *collector, uint32_t *count, const struct layout_journal_mark *mark) {
    bool room = mark->channel != UINT32_MAX &&
                ARRAY_RESERVE(collector->marks, collector->mark_capacity, *count + (size_t)1);
    if (room)
        collector->marks[(*count)++] = *mark;
    return room;
}

static struct layout_journal_mark mark_of_ring(const struct collector *collector,
                                               const struct collect_channel *channel, uint32_t slot) {
    const struct collect_work *work = &collector->work;
    const struct collect_ring *ring = &channel->ring_states[slot];
    struct layout_journal_mark mark = {.channel = channel->journal,
                                       .slot = slot,
                                       .thread = ring->local_thread,
                                       .position = ring->position,
                                       .ordinal = ring->expected,
                                       .last = ring->last};
    if (work->channel != channel || work->slot != slot)
        return mark;
    uint64_t sequence = atomic_load_explicit(&work->head.sequence, memory_order_relaxed);
    uint64_t reached = collect_at(sequence, work->at + 1);
    if (reached > mark.position) {
        mark.position = reached;
        mark.ordinal = work->head.first + work->records;
    }
    return mark;
}

// What each API counted is lost.
static bool add_ledgers(struct collector *collector, const struct collect_channel *channel, uint32_t *count) {
    struct layout_journal_mark mark = {.channel = channel->journal};
    bool done = true;
    for (uint32_t i = 0; i < channel->api_count; i++)
        for (uint32_t reason = 1; reason < LAYOUT_REASONS && done; reason++) {
            mark.slot = LAYOUT_JOURNAL_STATE_LOST + reason + i * LAYOUT_REASONS;
            mark.position = channel->apis[i].lost_seen[reason];
            done = mark.position == 0 || add_mark(collector, count, &mark);
        }
    return done;
}

static bool add_states(struct collector *collector, const struct builder *builder, uint32_t *count) {
    bool done = true;
    for (uint32_t i = 0; i < collector->channel_count && done; i++) {
        const struct collect_channel *channel = collector->channels[i];
        struct layout_journal_mark mark = {.channel = channel->journal, .position = 1};
        bool over = channel->state == COLLECT_DONE;
        if (channel->journal == UINT32_MAX || channel->removed)
            continue;
        if (channel->process_track == builder->track) {
            mark.slot = LAYOUT_JOURNAL_STATE_STARTED;
            done = add_mark(collector, count, &mark);
            mark.slot = LAYOUT_JOURNAL_STATE_ENDED;
            done = done && (!over || add_mark(collector, count, &mark));
        }
        if (channel->loss_track != builder->track)
            continue;
        mark.slot = LAYOUT_JOURNAL_STATE_FINAL_LOSSES;
        done = done && (!over || add_mark(collector, count, &mark));
        mark.slot = LAYOUT_JOURNAL_STATE_TABLE_BAD;
        done = done && (!channel->table_bad || add_mark(collector, count, &mark));
        done = done && add_ledgers(collector, channel, count);
    }
    return done;
}

static void add_clock(struct collector *collector, const struct builder *builder,
                      struct layout_journal_entry *entry) {
    const struct device_clock *clock = collect_device_clock(collector, builder->track);
    if (!clock || clock->model == DEVICE_CLOCK_UNKNOWN)
        return;
    entry->flags |= LAYOUT_JOURNAL_HAS_CLOCK;
    entry->clock_model = clock->model;
    entry->clock_host = (uint32_t)clock->host;
    entry->clock_low = clock->low;
    entry->clock_high = clock->high;
    entry->clock_widened = clock->widened;
    entry->clock_offset = clock->offset;
    entry->clock_last = clock->last_time;
    entry->clock_described = clock->described_at;
}

static uint32_t local_number(const struct collect_channel *channel, uint32_t track) {
    for (uint32_t local = 1; local < channel->tracks.count; local++)
        if (channel->tracks.items[local] == track)
            return local;
    return 0;
}

// A track of a channel whose files go is from then on another's that writes to it, by its own number for it; all that is
// known of its rings is noted anew under that.
static void keep_owner(struct builder *builder) {
    if (!builder->owner || builder->owner->state != COLLECT_DONE)
        return;
    for (size_t i = 0; i < builder->source_count; i++) {
        struct builder_source *source = &builder->sources[i];
        if (source->channel->state == COLLECT_DONE)
            continue;
        uint32_t local =
            builder->owner->state == COLLECT_DONE ? local_number(source->channel, builder->track) : 0;
        if (local) {
            builder->owner = source->channel;
            builder->local = local;
        }
        source->fresh = true;
    }
}

void collect_note_delivery(struct collector *collector, struct builder *builder, const tsmith_batch *batch) {
    keep_owner(builder);
    struct layout_journal_entry entry = {.track = builder->local,
                                         .channel = builder->owner ? builder->owner->journal : UINT32_MAX,
                                         .dictionary_track = builder->track,
                                         .words = (uint32_t)builder->open_word_count,
                                         .too_deep = builder->too_deep};
    bool done = true;
    if (batch) {
        entry.rows = tsmith_batch_count(batch);
        entry.first_start = tsmith_batch_first_start(batch);
        entry.last_end = tsmith_batch_last_end(batch);
    }
    for (size_t i = 0; i < builder->source_count; i++) {
        struct builder_source *source = &builder->sources[i];
        if (!source->fresh)
            continue;
        struct layout_journal_mark mark = mark_of_ring(collector, source->channel, source->slot);
        done = done && add_mark(collector, &entry.marks, &mark);
        source->fresh = false;
    }
    if (builder->local == LAYOUT_JOURNAL_PROCESS || builder->local == LAYOUT_JOURNAL_LOSS)
        done = done && add_states(collector, builder, &entry.marks);
    add_clock(collector, builder, &entry);
    if (!done)
        journal_give_up(collector->journal);
    (void)journal_deliver(collector->journal, &entry, collector->marks, builder->open_words);
}

struct builder *collect_waiting_losses(struct collector *collector) {
    for (uint32_t i = 0; i < collector->channel_count && collector->losses; i++) {
        uint32_t track = collector->channels[i]->loss_track;
        struct builder *builder = track < collector->builder_count ? collector->builders[track] : NULL;
        if (builder && builder->fresh)
            return builder;
    }
    collector->losses = false;
    return NULL;
}

// ---- recover

static void restore_state(struct collect_channel *channel, const struct layout_journal_mark *mark) {
    channel->started |= mark->slot == LAYOUT_JOURNAL_STATE_STARTED;
    channel->ended |= mark->slot == LAYOUT_JOURNAL_STATE_ENDED;
    channel->final_losses |= mark->slot == LAYOUT_JOURNAL_STATE_FINAL_LOSSES;
    channel->table_told |= mark->slot == LAYOUT_JOURNAL_STATE_TABLE_BAD;
    if (mark->slot <= LAYOUT_JOURNAL_STATE_LOST)
        return;
    const uint32_t at = mark->slot - LAYOUT_JOURNAL_STATE_LOST, reason = at % LAYOUT_REASONS;
    if (at / LAYOUT_REASONS < LAYOUT_LEDGERS) {
        uint64_t *seen = &channel->apis[at / LAYOUT_REASONS].lost_seen[reason];
        *seen = mark->position > *seen ? mark->position : *seen;
    }
}

void collect_journal_look_up(struct collector *collector, struct collect_channel *channel) {
    const struct journal_state *known = collector->known;
    uint32_t number = known ? journal_find_channel(known, channel->name) : UINT32_MAX;
    channel->journal = number;
    if (number == UINT32_MAX)
        return;
    channel->shares = known->channels[number].shares;
    channel->process_start = known->channels[number].process_start;
    for (size_t i = 0; i < known->track_count; i++)
        for (size_t mark = 0; mark < known->tracks[i].mark_count; mark++)
            if (known->tracks[i].marks[mark].channel == number &&
                known->tracks[i].marks[mark].slot >= LAYOUT_JOURNAL_STATE_STARTED)
                restore_state(channel, &known->tracks[i].marks[mark]);
}

// The latest position of a ring that is known is that of the collector.
static void restore_ring(struct collect_channel *channel, const struct layout_journal_mark *mark) {
    struct collect_ring *ring = collect_ring_of(channel, mark->slot);
    if (!ring || mark->position <= ring->accounted)
        return;
    ring->accounted = mark->position;
    ring->expected = ring->asked = mark->ordinal;
    ring->last = mark->last;
    ring->local_thread = mark->thread;
    ring->thread = mark->thread < channel->tracks.count ? channel->tracks.items[mark->thread] : 0;
}

static void restore_clock(struct collector *collector, uint32_t track,
                          const struct layout_journal_entry *entry) {
    struct device_clock *clock = collect_device_clock(collector, track);
    if (!clock || !(entry->flags & LAYOUT_JOURNAL_HAS_CLOCK) || entry->clock_host >= LAYOUT_HOST_CLOCKS ||
        entry->clock_last < clock->last_time ||
        (entry->clock_model != DEVICE_CLOCK_HOST && entry->clock_model != DEVICE_CLOCK_FITTED))
        return;
    clock->model = (enum device_clock_model)entry->clock_model;
    clock->host = (int)entry->clock_host;
    clock->low = entry->clock_low;
    clock->high = entry->clock_high;
    clock->widened = entry->clock_widened;
    clock->offset = entry->clock_offset;
    clock->last_time = entry->clock_last;
    clock->described_at = entry->clock_described;
}

static void restore_ranges(struct collector *collector, struct collect_channel *channel,
                           struct builder *builder, const struct journal_track *track) {
    for (uint32_t at = 0; at < track->entry.words;) {
        uint32_t words = track->words[at] >> 16 & 0xffff;
        if (words == 0 || words > track->entry.words - at)
            break;
        collect_reopen_range(collector, channel, builder, track->words + at, words);
        at += words;
    }
    builder->too_deep = track->entry.too_deep;
}

static struct collect_channel *find_numbered(const struct collector *collector, uint32_t number) {
    for (uint32_t i = 0; i < collector->channel_count; i++)
        if (collector->channels[i]->journal == number)
            return collector->channels[i];
    return NULL;
}

// The marks of a track that several channels of a process write to are restored when its owner is there and the marks'
// channels are, whichever comes last.
static void restore_track(struct collector *collector, struct collect_channel *channel,
                          const struct journal_track *track) {
    struct collect_channel *owner =
        track->entry.channel == channel->journal ? channel : find_numbered(collector, track->entry.channel);
    uint32_t local = track->entry.track;
    uint32_t id = owner && local < owner->tracks.count ? owner->tracks.items[local] : 0;
    struct builder *builder = id ? collect_builder(collector, id) : NULL;
    for (size_t i = 0; i < track->mark_count && builder; i++) {
        const struct layout_journal_mark *mark = &track->marks[i];
        struct collect_channel *of =
            mark->channel == channel->journal ? channel : find_numbered(collector, mark->channel);
        if (!of || mark->slot >= LAYOUT_SLOTS)
            continue;
        if (!builder->owner)
            collect_add_source(builder, owner, UINT32_MAX, local);
        collect_add_source(builder, of, mark->slot, local);
        if (builder->source_at < builder->source_count)
            builder->sources[builder->source_at].delivered = mark->position;
    }
    if (!builder || owner != channel)
        return;
    restore_clock(collector, id, &track->entry);
    restore_ranges(collector, channel, builder, track);
}

void collect_journal_found(struct collector *collector, struct collect_channel *channel) {
    const struct journal_state *known = collector->known;
    if (collector->journal)
        channel->journal = journal_add_channel(
            collector->journal, channel->name,
            tsmith_dictionary_process(collector->dictionary, channel->process)->start, channel->shares);
    for (size_t i = 0; known && channel->journal != UINT32_MAX && i < known->track_count; i++) {
        const struct journal_track *track = &known->tracks[i];
        bool writes = track->entry.channel == channel->journal;
        for (size_t mark = 0; mark < track->mark_count; mark++) {
            if (track->marks[mark].channel != channel->journal || track->marks[mark].slot >= LAYOUT_SLOTS)
                continue;
            restore_ring(channel, &track->marks[mark]);
            writes = true;
        }
        if (writes && track->entry.track < LAYOUT_JOURNAL_PROCESS)
            restore_track(collector, channel, track);
    }
}

uint64_t collect_delivered_to(const struct builder *builder, const struct collect_channel *channel,
                              uint32_t slot) {
    size_t at = builder->source_at;
    if (at < builder->source_count && builder->sources[at].channel == channel &&
        builder->sources[at].slot == slot)
        return builder->sources[at].delivered;
    for (at = 0; at < builder->source_count; at++)
        if (builder->sources[at].channel == channel && builder->sources[at].slot == slot)
            return builder->sources[at].delivered;
    return 0;
}
