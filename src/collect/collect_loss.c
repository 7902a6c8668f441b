// SPDX-License-Identifier: Apache-2.0
// The ledger: what was not recorded, as events on the loss track of the process, and the beginning and end of
// processes.
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/collect_private.h"

// Losses and process events are few, and their place in the order of sub-buffers does not matter: they are
// allowed to grow a builder beyond what has been taken.
static struct builder *begin_row(struct collector *collector, struct collect_channel *channel, uint32_t local,
                                 tsmith_kind kind, int64_t at) {
    bool loss = local == LAYOUT_JOURNAL_LOSS;
    uint32_t track = loss ? channel->loss_track : channel->process_track;
    struct builder *builder = track ? collect_builder(collector, track) : NULL;
    if (!builder || builder_full(builder))
        return NULL;
    const struct collect_work *work = &collector->work;
    collect_touch(collector, builder, channel, work->channel == channel ? work->slot : UINT32_MAX, local);
    collector->losses |= loss;
    return builder_append(builder, kind, at) ? builder : NULL;
}

// One damaged or unmatched record after the other makes one row and not thousands.
static bool add_to_last(struct builder *builder, tsmith_reason reason, uint64_t count, int64_t to,
                        uint32_t thread) {
    uint16_t start = builder->column_of[TSMITH_FIELD_START], lost = builder->column_of[TSMITH_FIELD_LOST];
    uint16_t why = builder->column_of[TSMITH_FIELD_REASON], who = builder->column_of[TSMITH_FIELD_HOST_TRACK];
    if ((reason != TSMITH_REASON_CORRUPT && reason != TSMITH_REASON_UNMATCHED &&
         reason != TSMITH_REASON_NO_STACK) ||
        builder->rows == 0 || !start || !lost || !why || !who || !thread)
        return false;
    uint32_t row = builder->rows - 1;
    int64_t from = (int64_t)builder_value(&builder->columns[start - 1], row);
    if (builder_value(&builder->columns[why - 1], row) != (uint64_t)reason ||
        builder_value(&builder->columns[who - 1], row) != thread || to < from)
        return false;
    return builder_set(builder, TSMITH_FIELD_DURATION, TSMITH_TYPE_I64, (uint64_t)to - (uint64_t)from) &&
           builder_set(builder, TSMITH_FIELD_LOST, TSMITH_TYPE_U64,
                       builder_value(&builder->columns[lost - 1], row) + count);
}

// Whether a loss of this reason is an event that was not recorded. What is unmatched, or has no stack, was.
static bool is_event(tsmith_reason reason) {
    return reason != TSMITH_REASON_UNMATCHED && tsmith_reason_is_of_events(reason);
}

void collect_lose(struct collector *collector, struct collect_channel *channel, tsmith_reason reason,
                  uint64_t count, int64_t from, int64_t to, uint32_t thread) {
    if (channel->final_losses)
        return;
    if (is_event(reason))
        collector->totals.dropped += count;
    struct builder *last = channel->loss_track ? collect_builder(collector, channel->loss_track) : NULL;
    if (last && add_to_last(last, reason, count, to, thread))
        return;
    struct builder *builder = begin_row(collector, channel, LAYOUT_JOURNAL_LOSS, TSMITH_KIND_LOSS, from);
    if (!builder)
        return;
    builder_set(builder, TSMITH_FIELD_DURATION, TSMITH_TYPE_I64,
                to > from ? (uint64_t)to - (uint64_t)from : 0);
    builder_set(builder, TSMITH_FIELD_LOST, TSMITH_TYPE_U64, count);
    builder_set(builder, TSMITH_FIELD_REASON, TSMITH_TYPE_REASON, (uint64_t)reason);
    if (thread)
        builder_set(builder, TSMITH_FIELD_HOST_TRACK, TSMITH_TYPE_TRACK, thread);
}

// What one API counted since the last time.
static void take_ledger(struct collector *collector, struct collect_channel *channel,
                        struct layout_ledger *ledger, struct collect_api *api) {
    uint32_t reported = atomic_load_explicit(&ledger->lost_reported, memory_order_acquire);
    if (reported == api->lost_reported)
        return;
    api->lost_reported = reported;
    uint64_t first = atomic_load_explicit(&ledger->lost_first, memory_order_relaxed);
    uint64_t last = atomic_load_explicit(&ledger->lost_last, memory_order_relaxed);
    // What was lost since the report before this one is of the time since then. Threads may note their times in another order.
    int64_t from = api->lost_until ? api->lost_until : session_clock_convert(&collector->clock, first);
    int64_t to = session_clock_convert(&collector->clock, last);
    to = to > from ? to : from;
    api->lost_until = to;
    for (uint32_t reason = 1; reason < TSMITH_REASON_LIMIT; reason++) {
        uint64_t lost = atomic_load_explicit(&ledger->lost[reason], memory_order_relaxed);
        if (lost > api->lost_seen[reason]) {
            collector->totals.asked += is_event((tsmith_reason)reason) ? lost - api->lost_seen[reason] : 0;
            collect_lose(collector, channel, (tsmith_reason)reason, lost - api->lost_seen[reason], from, to,
                         0);
        }
        api->lost_seen[reason] = lost;
    }
}

void collect_reported_losses(struct collector *collector, struct collect_channel *channel) {
    (void)collect_look_at_head(channel);
    for (uint32_t i = 0; i < collect_ledger_count(channel); i++)
        take_ledger(collector, channel, layout_ledger_at(channel->head, i), &channel->apis[i]);
}

// Why records are missing that the owner counted and that are not there.
static tsmith_reason why_missing(const struct collect_channel *channel, const struct layout_slot *slot,
                                 uint64_t missing, bool dropped) {
    uint32_t reason = atomic_load_explicit(&slot->reason, memory_order_relaxed);
    if (dropped)
        return reason && reason < TSMITH_REASON_LIMIT ? (tsmith_reason)reason : TSMITH_REASON_OVERWRITTEN;
    if (channel->files_damaged)
        return TSMITH_REASON_FILES_DAMAGED;
    if (channel->alive)
        return TSMITH_REASON_STILL_RUNNING;
    // A record is counted before it is written.
    return missing == 1 ? TSMITH_REASON_PROCESS_DIED : TSMITH_REASON_CORRUPT;
}

static void finish_ring(struct collector *collector, struct collect_channel *channel, uint32_t index) {
    struct layout_slot *slot = layout_slot_at(channel->rings, index);
    struct collect_ring *ring = &channel->ring_states[index];
    uint64_t ordinal = atomic_load_explicit(&slot->ordinal, memory_order_acquire);
    uint64_t last = atomic_load_explicit(&slot->last, memory_order_relaxed);
    bool dropped = ordinal > ring->asked;
    uint64_t asked = dropped ? ordinal : ring->asked;
    int64_t end = session_clock_convert(&collector->clock, ring->last);
    if (asked > ring->expected) {
        uint64_t missing = asked - ring->expected;
        collect_lose(collector, channel, why_missing(channel, slot, missing, dropped), missing,
                     session_clock_convert(&collector->clock, ring->last ? ring->last : last),
                     session_clock_convert(&collector->clock, last), ring->thread);
        ring->expected = asked;
    }
    collector->totals.asked += asked;
    collector->totals.rings++;
    struct builder *builder = ring->thread ? collect_builder(collector, ring->thread) : NULL;
    uint32_t open = builder ? builder_abandon_ranges(builder) : 0;
    if (!open)
        return;
    collect_touch(collector, builder, channel, index, ring->local_thread);
    collect_lose(collector, channel, TSMITH_REASON_UNMATCHED, open, end, end, ring->thread);
}

// What was lost with files that were truncated or overwritten: what is known of it is counted ring by ring; that there
// may be more is one row, in any case.
static void lose_files(struct collector *collector, struct collect_channel *channel) {
    int64_t from = channel->head->attached;
    for (uint32_t slot = 0; slot < channel->ring_count; slot++) {
        int64_t last = session_clock_convert(&collector->clock, channel->ring_states[slot].last);
        if (channel->ring_states[slot].last && last > from)
            from = last;
    }
    collect_lose(collector, channel, TSMITH_REASON_FILES_DAMAGED, 1, from, collector->now, 0);
    collector->totals.asked++;
}

void collect_finish_rings(struct collector *collector, struct collect_channel *channel) {
    (void)collect_look_at_slots(channel);
    if (channel->files_damaged)
        lose_files(collector, channel);
    uint32_t slots = atomic_load_explicit(&channel->rings->slot_count, memory_order_acquire);
    for (uint32_t slot = 0; slot < slots && slot < LAYOUT_SLOTS; slot++) {
        if (collect_ring_of(channel, slot))
            finish_ring(collector, channel, slot);
    }
}

static bool is_own(const struct collect_channel *channel) {
    return !channel->elsewhere && channel->seen.pid == (uint64_t)getpid();
}

void collect_process_event(struct collector *collector, struct collect_channel *channel,
                           tsmith_operation operation, int64_t at) {
    const tsmith_process *process = tsmith_dictionary_process(collector->dictionary, channel->process);
    bool known = operation == TSMITH_OPERATION_PROCESS_START ? channel->started : channel->ended;
    if (known || channel->shares)
        return;
    struct builder *builder = begin_row(collector, channel, LAYOUT_JOURNAL_PROCESS, TSMITH_KIND_PROCESS, at);
    if (!builder || !process)
        return;
    builder_set(builder, TSMITH_FIELD_OPERATION, TSMITH_TYPE_OPERATION, (uint64_t)operation);
    if (process->name)
        builder_set(builder, TSMITH_FIELD_NAME, TSMITH_TYPE_STRING, process->name);
    if (operation != TSMITH_OPERATION_PROCESS_START && channel->has_end_status) {
        int status = channel->end_status;
        int64_t result = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
        builder_set(builder, TSMITH_FIELD_RESULT, TSMITH_TYPE_I64, (uint64_t)result);
    } else if (operation == TSMITH_OPERATION_PROCESS_EXIT && !collect_is_closed(channel) &&
               !is_own(channel)) {
        builder_set(builder, TSMITH_FIELD_TEXT, TSMITH_TYPE_STRING,
                    tsmith_dictionary_intern_cstr(collector->dictionary,
                                                  "it ended without closing its recording (_exit, exec or a "
                                                  "signal): its last events may be missing"));
    }
}

// Whether this thread's end was reported by another channel of the process: a thread writes one record at a time.
static bool torn_elsewhere(const struct collector *collector, const struct collect_channel *channel,
                           uint32_t thread) {
    for (uint32_t i = 0; i < collector->channel_count; i++) {
        const struct collect_channel *other = collector->channels[i];
        if (other == channel || other->process != channel->process)
            continue;
        for (uint32_t slot = 0; slot < other->ring_count; slot++)
            if (other->ring_states[slot].torn && other->ring_states[slot].thread == thread)
                return true;
    }
    return false;
}

// Threads that may have been about to write and were not counted yet. One that has written nothing is none of them.
static uint32_t threads_torn(struct collector *collector, struct collect_channel *channel) {
    uint32_t slots = atomic_load_explicit(&channel->rings->slot_count, memory_order_acquire);
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < slots && slot < channel->ring_count; slot++) {
        struct collect_ring *ring = &channel->ring_states[slot];
        uint32_t in_use =
            atomic_load_explicit(&layout_slot_at(channel->rings, slot)->in_use, memory_order_relaxed);
        ring->torn = in_use == 1 && ring->thread && !torn_elsewhere(collector, channel, ring->thread);
        count += ring->torn;
    }
    return count;
}

struct unfinished {
    uint64_t in_flight; // events that were begun and not recorded
    uint64_t in_sums;   // events in sums that were not written
};

// Of the APIs that did not close.
static struct unfinished find_unfinished(struct collect_channel *channel) {
    struct unfinished all = {0};
    for (uint32_t i = 0; i < collect_ledger_count(channel); i++) {
        struct layout_ledger *ledger = layout_ledger_at(channel->head, i);
        uint64_t open = 0, summed = 0;
        for (uint32_t list = 0; list < LAYOUT_FLIGHTS; list++) {
            struct layout_flight *flight = &ledger->flights[list];
            open += atomic_load_explicit(&flight->begun, memory_order_relaxed) -
                    atomic_load_explicit(&flight->ended, memory_order_relaxed);
            summed += atomic_load_explicit(&flight->summed, memory_order_relaxed) -
                      atomic_load_explicit(&flight->summed_written, memory_order_relaxed);
        }
        if (atomic_load_explicit(&ledger->state, memory_order_acquire) == LAYOUT_CHANNEL_CLOSED)
            continue;
        all.in_flight += (int64_t)open > 0 ? open : 0;
        all.in_sums += (int64_t)summed > 0 ? summed : 0;
    }
    return all;
}

// When the process was last heard of, in a directory whose collector is gone.
static int64_t last_sign(struct collector *collector, const struct collect_channel *channel) {
    int64_t last = channel->head->attached;
    for (uint32_t slot = 0; slot < channel->ring_count; slot++) {
        int64_t at = session_clock_convert(&collector->clock, channel->ring_states[slot].last);
        if (channel->ring_states[slot].last && at > last)
            last = at;
    }
    return last;
}

void collect_channel_ended(struct collector *collector, struct collect_channel *channel, bool alive) {
    (void)collect_look_at_head(channel);
    int64_t now = collector->recover ? last_sign(collector, channel) : clock_trace_now();
    bool closed = collect_is_closed(channel);
    bool killed = channel->has_end_status && WIFSIGNALED(channel->end_status);
    // A process that ends by _exit or exec ends between records, and unfinished records of its other threads are
    // counted as missing (finish_ring). A process that was killed may have been about to write: at most one record
    // per thread, which is the number stated. The calling process itself continues after its recording ends, with no
    // record cut short.
    bool torn = (alive && !is_own(channel)) || killed || collector->recover;
    uint32_t in_use = torn && !closed ? threads_torn(collector, channel) : 0;
    if (in_use > 0) {
        collect_lose(collector, channel, alive ? TSMITH_REASON_STILL_RUNNING : TSMITH_REASON_PROCESS_DIED,
                     in_use, now, now, 0);
        collector->totals.dropped -= in_use; // they are not known to have been requested
    }
    const struct unfinished unfinished = find_unfinished(channel);
    collector->totals.asked += unfinished.in_flight + unfinished.in_sums;
    if (unfinished.in_flight)
        collect_lose(collector, channel, TSMITH_REASON_NO_COMPLETION, unfinished.in_flight, now, now, 0);
    if (unfinished.in_sums)
        collect_lose(collector, channel, TSMITH_REASON_SUM_UNWRITTEN, unfinished.in_sums, now, now, 0);
    for (uint32_t i = 0; i < collector->channel_count; i++) {
        if (collector->channels[i]->process != channel->process)
            continue;
        if (collector->channels[i] == channel && !alive)
            collect_process_event(collector, channel,
                                  killed ? TSMITH_OPERATION_PROCESS_KILLED : TSMITH_OPERATION_PROCESS_EXIT,
                                  now);
        break; // once per process, by its first channel
    }
}
