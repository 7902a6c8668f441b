// SPDX-License-Identifier: Apache-2.0
// The segments of a row: stretches that run, and the gaps between them filled with what the head of the line did.
#include <stdlib.h>

#include "base/array.h"
#include "state/states.h"

// A command that could run for longer than this has not waited for its launch but for something that is not in the
// trace.
enum { LATENCY_MIN = 100000, LATENCY_TIMES = 10 };

// Stretches in which a state that is not seen cannot be believed: ascending, disjoint.
struct doubts {
    tsmith_interval *items;
    size_t count, capacity;
    size_t at; // the first that does not end before what has been filled
};

struct filling {
    tsmith_states *states;
    const tsmith_timeline *timeline;
    size_t first; // segment of the row
    struct doubts doubts;
    uint32_t *running;  // commands of the row that run
    uint32_t *earliest; // by place in `running`: of this one and those after it the one enqueued first
    uint32_t count;
    int64_t latency; // of the device
    tsmith_status status;
};

tsmith_status states_append(tsmith_states *states, size_t first, int64_t from, int64_t to, tsmith_state state,
                            uint32_t command) {
    if (from >= to)
        return TSMITH_OK;
    tsmith_segment *last =
        states->segment_count > first ? &states->segments[states->segment_count - 1] : NULL;
    if (last && last->state == (uint32_t)state && last->command == command) {
        last->to = to;
        return TSMITH_OK;
    }
    if (!ARRAY_RESERVE(states->segments, states->segment_capacity, states->segment_count + 1))
        return TSMITH_ERROR_NO_MEMORY;
    states->segments[states->segment_count++] = (tsmith_segment){from, to, (uint32_t)state, command};
    return TSMITH_OK;
}

static void append(struct filling *filling, int64_t from, int64_t to, tsmith_state state, uint32_t command) {
    if (filling->status == TSMITH_OK)
        filling->status = states_append(filling->states, filling->first, from, to, state, command);
}

// Fills [from, to), cut to the window. Where there is doubt, only what was seen (running, draining) counts.
static void fill(struct filling *filling, int64_t from, int64_t to, tsmith_state state, uint32_t command) {
    tsmith_interval window = filling->timeline->window;
    struct doubts *doubts = &filling->doubts;
    from = from > window.from ? from : window.from;
    to = to < window.to ? to : window.to;
    bool seen = state == TSMITH_STATE_RUNNING || state == TSMITH_STATE_DRAINING;
    while (from < to && !seen) {
        while (doubts->at < doubts->count && doubts->items[doubts->at].to <= from)
            doubts->at++;
        const tsmith_interval *doubt = doubts->at < doubts->count ? &doubts->items[doubts->at] : NULL;
        if (!doubt || doubt->from >= to)
            break;
        append(filling, from, doubt->from, state, command);
        int64_t until = doubt->to < to ? doubt->to : to;
        append(filling, from > doubt->from ? from : doubt->from, until, TSMITH_STATE_UNKNOWN,
               TSMITH_INDEX_NONE);
        from = until;
    }
    append(filling, from, to, state, command);
}

// ---- doubts

static int order_intervals(const void *left, const void *right) {
    const tsmith_interval *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

static bool add_doubt(struct doubts *doubts, int64_t from, int64_t to) {
    if (!ARRAY_RESERVE(doubts->items, doubts->capacity, doubts->count + 1))
        return false;
    doubts->items[doubts->count++] = (tsmith_interval){from, to};
    return true;
}

// The holes that concern the row, and from each command without times to the next that runs.
static bool find_doubts(struct filling *filling, const tsmith_row *row) {
    const tsmith_timeline *timeline = filling->timeline;
    struct doubts *doubts = &filling->doubts;
    for (size_t i = 0; i < timeline->hole_count; i++) {
        const tsmith_hole *hole = &timeline->holes[i];
        if ((!hole->process || !row->process || hole->process == row->process) &&
            !add_doubt(doubts, hole->from, hole->to))
            return false;
    }
    int64_t next = INT64_MAX;
    for (uint32_t i = row->command_count; i-- > 0;) {
        const tsmith_command *command = &timeline_row_commands(timeline, row)[i];
        if (timeline_runs(command))
            next = command->start;
        else if ((command->untimed || (command->end_unknown && command->work != TSMITH_WORK_CONTROL)) &&
                 !add_doubt(doubts, command->start, next))
            return false;
    }
    if (doubts->count)
        qsort(doubts->items, doubts->count, sizeof *doubts->items, order_intervals);
    size_t kept = 0;
    for (size_t i = 0; i < doubts->count; i++) {
        if (kept && doubts->items[i].from <= doubts->items[kept - 1].to) {
            if (doubts->items[i].to > doubts->items[kept - 1].to)
                doubts->items[kept - 1].to = doubts->items[i].to;
        } else {
            doubts->items[kept++] = doubts->items[i];
        }
    }
    doubts->count = kept;
    return true;
}

// ---- gaps

static tsmith_state blocked_state(const tsmith_life *life) {
    switch (life->block) {
    case TSMITH_BLOCK_COMPILE:
        return TSMITH_STATE_COMPILE;
    case TSMITH_BLOCK_RESOURCE:
        return TSMITH_STATE_WAIT_RESOURCE;
    case TSMITH_BLOCK_HOST:
        return TSMITH_STATE_WAIT_HOST;
    case TSMITH_BLOCK_NONE:
        return TSMITH_STATE_PENDING;
    default: // nothing of this queue runs: it is a barrier or another queue that it waits for
        return TSMITH_STATE_WAIT_EVENT;
    }
}

// The part of a command's life before its start that is in [from, to).
static void fill_waiting(struct filling *filling, uint32_t command, int64_t from, int64_t to) {
    const tsmith_life *life = &filling->states->lives[command];
    int64_t start = filling->timeline->commands[command].start;
    int64_t free_at = life->unblocked > life->submitted ? life->unblocked : life->submitted;
    bool unexplained = start - free_at > LATENCY_MIN && start - free_at > LATENCY_TIMES * filling->latency;
    const int64_t bounds[] = {life->queued, life->unblocked, free_at,
                              unexplained ? start - filling->latency : free_at, INT64_MAX};
    const tsmith_state phases[] = {TSMITH_STATE_QUEUED, blocked_state(life), TSMITH_STATE_QUEUED,
                                   TSMITH_STATE_UNKNOWN, TSMITH_STATE_PENDING};
    for (size_t i = 0; i < sizeof phases / sizeof *phases && from < to; i++) {
        int64_t until = bounds[i] < to ? bounds[i] : to;
        if (until > from) {
            fill(filling, from, until, phases[i], command);
            from = until;
        }
    }
}

// [from, to) up to the start of running[place]; nothing of the row runs. `place` is `count` after the last.
static void fill_gap(struct filling *filling, uint32_t place, int64_t from, int64_t to) {
    const tsmith_life *lives = filling->states->lives;
    if (from >= to)
        return;
    if (place == filling->count) {
        fill(filling, from, to, TSMITH_STATE_EMPTY, TSMITH_INDEX_NONE);
        return;
    }
    uint32_t next = filling->running[place], first = filling->earliest[place];
    if (lives[next].enqueued == TSMITH_TIME_UNKNOWN) {
        fill(filling, from, to, TSMITH_STATE_UNKNOWN, next);
        return;
    }
    int64_t there = lives[first].enqueued > from ? lives[first].enqueued : from;
    int64_t head = lives[next].enqueued > there ? lives[next].enqueued : there;
    there = there < to ? there : to;
    head = head < to ? head : to;
    fill(filling, from, there, TSMITH_STATE_EMPTY, TSMITH_INDEX_NONE);
    fill_waiting(filling, first, there, head);
    fill_waiting(filling, next, head, to);
}

static bool find_running(struct filling *filling, const tsmith_row *row) {
    const tsmith_life *lives = filling->states->lives;
    filling->running = malloc(((size_t)row->command_count + 1) * sizeof *filling->running);
    filling->earliest = malloc(((size_t)row->command_count + 1) * sizeof *filling->earliest);
    if (!filling->running || !filling->earliest)
        return false;
    for (uint32_t i = 0; i < row->command_count; i++)
        if (timeline_runs(&filling->timeline->commands[row->first_command + i]))
            filling->running[filling->count++] = row->first_command + i;
    uint32_t earliest = TSMITH_INDEX_NONE;
    for (uint32_t i = filling->count; i-- > 0;) {
        uint32_t command = filling->running[i];
        if (lives[command].enqueued != TSMITH_TIME_UNKNOWN &&
            (earliest == TSMITH_INDEX_NONE || lives[command].enqueued <= lives[earliest].enqueued))
            earliest = command;
        filling->earliest[i] = earliest;
    }
    return true;
}

tsmith_status states_add_row(tsmith_states *states, const tsmith_row *row, int64_t latency) {
    const tsmith_timeline *timeline = states->timeline;
    struct filling filling = {.states = states,
                              .timeline = timeline,
                              .first = states->segment_count,
                              .latency = latency,
                              .status = TSMITH_ERROR_NO_MEMORY};
    if (!find_running(&filling, row) || !find_doubts(&filling, row))
        goto done;
    filling.status = TSMITH_OK;
    int64_t at = timeline->window.from, complete = INT64_MIN;
    for (uint32_t i = 0; i < filling.count;) {
        const tsmith_command *first = &timeline->commands[filling.running[i]];
        int64_t drained = complete < first->start ? complete : first->start;
        fill(&filling, at, drained, TSMITH_STATE_DRAINING, TSMITH_INDEX_NONE);
        fill_gap(&filling, i, drained > at ? drained : at, first->start);
        uint32_t command = filling.running[i];
        int64_t end = first->start;
        for (; i < filling.count && timeline->commands[filling.running[i]].start <= end; i++) {
            const tsmith_command *next = &timeline->commands[filling.running[i]];
            end = next->end > end ? next->end : end;
            int64_t completed = states->lives[filling.running[i]].completed;
            complete = completed > complete ? completed : complete;
        }
        fill(&filling, first->start, end, TSMITH_STATE_RUNNING, command);
        at = end > at ? end : at;
    }
    fill(&filling, at, complete, TSMITH_STATE_DRAINING, TSMITH_INDEX_NONE);
    fill_gap(&filling, filling.count, complete > at ? complete : at, timeline->window.to);
done:
    free(filling.running);
    free(filling.earliest);
    free(filling.doubts.items);
    return filling.status;
}
