// SPDX-License-Identifier: Apache-2.0
// Computes the state of each stream and device over time. The analyses and the SQL table of states call it.
#include "state/states.h"

#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/status.h"
#include "state/sweep.h"

// ---- devices

// A row's place in the merge: its segment now, and those after it.
struct cursor {
    size_t at, end;
};

// Rows by the time at which they change state next: a binary heap, the earliest first.
struct heap {
    struct cursor *rows;
    size_t count;
};

static int64_t change_at(const tsmith_states *states, const struct cursor *cursor) {
    return states->segments[cursor->at].to;
}

static void sift_down(const tsmith_states *states, struct heap *heap, size_t at) {
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap->count; child++)
            if (change_at(states, &heap->rows[child]) < change_at(states, &heap->rows[least]))
                least = child;
        if (least == at)
            return;
        struct cursor held = heap->rows[at];
        heap->rows[at] = heap->rows[least];
        heap->rows[least] = held;
        at = least;
    }
}

static tsmith_state first_state(const uint32_t counts[TSMITH_STATE_LIMIT]) {
#define STATE_ORDER(NAME, number, name, COARSE, doc) TSMITH_STATE_##NAME,
    static const tsmith_state ORDER[TSMITH_STATE_LIMIT] = {TSMITH_STATE_TABLE(STATE_ORDER)};
#undef STATE_ORDER
    size_t at = 0;
    while (at + 1 < TSMITH_STATE_LIMIT && !counts[ORDER[at]])
        at++;
    return ORDER[at];
}

// A device's state is the first, in the order of the table, that any of its rows is in.
static tsmith_status add_device(tsmith_states *states, const tsmith_row *device, struct cursor *room) {
    struct heap heap = {room, 0};
    uint32_t counts[TSMITH_STATE_LIMIT] = {0};
    size_t first = states->segment_count;
    int64_t at = states->timeline->window.from, to = states->timeline->window.to;
    tsmith_status status = TSMITH_OK;
    if (at >= to)
        return status;
    for (uint32_t row = device->first_row; row < device->first_row + device->row_count; row++) {
        heap.rows[heap.count++] = (struct cursor){states->first[row], states->first[row + 1]};
        counts[states->segments[states->first[row]].state]++;
    }
    for (size_t i = heap.count / 2; i-- > 0;)
        sift_down(states, &heap, i);
    while (status == TSMITH_OK && at < to) {
        struct cursor *next = &heap.rows[0];
        int64_t until = change_at(states, next);
        status = states_append(states, first, at, until, first_state(counts), TSMITH_INDEX_NONE);
        at = until;
        counts[states->segments[next->at].state]--;
        if (++next->at < next->end)
            counts[states->segments[next->at].state]++;
        else
            heap.rows[0] = heap.rows[--heap.count];
        sift_down(states, &heap, 0);
    }
    return status;
}

// The median time of a device's commands from being free to run to the start; 0 when none is known.
static tsmith_status find_latency(const tsmith_states *states, const tsmith_row *device, int64_t *latency) {
    const tsmith_timeline *timeline = states->timeline;
    size_t bytes = ((size_t)device->command_count + 1) * sizeof(int64_t), count = 0;
    int64_t *times = malloc(bytes), *scratch = malloc(bytes);
    bool done = times && scratch;
    for (uint32_t i = device->first_command; done && i < device->first_command + device->command_count; i++)
        if (timeline_runs(&timeline->commands[i]) && states->lives[i].enqueued != TSMITH_TIME_UNKNOWN)
            times[count++] =
                timeline->commands[i].start - (states->lives[i].unblocked > states->lives[i].submitted
                                                   ? states->lives[i].unblocked
                                                   : states->lives[i].submitted);
    *latency = 0;
    if (done && count) {
        sweep_sort(times, scratch, count);
        *latency = times[(count - 1) / 2];
    }
    free(times);
    free(scratch);
    return done ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}

static tsmith_status add_rows(tsmith_states *states, const tsmith_row *device) {
    int64_t latency = 0;
    tsmith_status status = find_latency(states, device, &latency);
    for (uint32_t i = device->first_row; i < device->first_row + device->row_count && status == TSMITH_OK;
         i++) {
        states->first[i] = states->segment_count;
        status = states_add_row(states, &states->timeline->rows[i], latency);
        states->first[i + 1] = states->segment_count;
    }
    return status;
}

// The segments of all rows, then those of the devices.
static tsmith_status add_all(tsmith_states *states, struct cursor *room) {
    const tsmith_timeline *timeline = states->timeline;
    tsmith_status status = TSMITH_OK;
    for (size_t i = 0; i < timeline->device_count && status == TSMITH_OK; i++)
        status = add_rows(states, &timeline->devices[i]);
    for (size_t i = 0; i < timeline->device_count && status == TSMITH_OK; i++) {
        status = add_device(states, &timeline->devices[i], room);
        states->first[timeline->row_count + i + 1] = states->segment_count;
    }
    return status;
}

// Those of the devices alone: the rows of each are dropped as soon as it is made of them.
static tsmith_status add_devices(tsmith_states *states, struct cursor *room) {
    const tsmith_timeline *timeline = states->timeline;
    size_t *starts = calloc(timeline->device_count + 1, sizeof *starts);
    tsmith_status status = starts ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
    for (size_t i = 0; i < timeline->device_count && status == TSMITH_OK; i++) {
        status = add_rows(states, &timeline->devices[i]);
        size_t rows_end = states->segment_count;
        if (status == TSMITH_OK)
            status = add_device(states, &timeline->devices[i], room);
        size_t count = states->segment_count - rows_end;
        if (count)
            memmove(states->segments + starts[i], states->segments + rows_end,
                    count * sizeof *states->segments);
        states->segment_count = starts[i + 1] = starts[i] + count;
    }
    if (starts) {
        memset(states->first, 0, timeline->row_count * sizeof *states->first);
        memcpy(states->first + timeline->row_count, starts, (timeline->device_count + 1) * sizeof *starts);
    }
    free(starts);
    return status;
}

static tsmith_status add_segments(tsmith_states *states, bool devices_only) {
    size_t rows = states->timeline->row_count, devices = states->timeline->device_count;
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    states->first = calloc(rows + devices + 1, sizeof *states->first);
    struct cursor *room = malloc((rows + 1) * sizeof *room);
    if (states->first && room)
        status = devices_only ? add_devices(states, room) : add_all(states, room);
    free(room);
    return status;
}

tsmith_status states_create(const tsmith_timeline *timeline, const tsmith_graph *graph, bool devices_only,
                            tsmith_states **out, tsmith_error *error) {
    if (!timeline->finished || graph->timeline != timeline)
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "States need a finished timeline and its own graph.");
    tsmith_states *states = calloc(1, sizeof *states);
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    if (states) {
        states->timeline = timeline;
        states->graph = graph;
        status = states_make_lives(states);
    }
    if (status == TSMITH_OK)
        status = add_segments(states, devices_only);
    if (status != TSMITH_OK) {
        tsmith_states_destroy(states);
        return status_set(error, status, "out of memory while computing the states of %zu commands",
                          timeline->command_count);
    }
    *out = states;
    return TSMITH_OK;
}

tsmith_status tsmith_states_create(const tsmith_timeline *timeline, const tsmith_graph *graph,
                                   tsmith_states **out, tsmith_error *error) {
    return states_create(timeline, graph, false, out, error);
}

void tsmith_states_destroy(tsmith_states *states) {
    if (!states)
        return;
    free(states->lives);
    free(states->segments);
    free(states->first);
    free(states);
}

const tsmith_life *tsmith_states_lives(const tsmith_states *states, size_t *count) {
    *count = states->timeline->command_count;
    return states->lives;
}

static const tsmith_segment *segments_of(const tsmith_states *states, size_t index, size_t *count) {
    *count = states->first[index + 1] - states->first[index];
    return *count ? states->segments + states->first[index] : NULL;
}

const tsmith_segment *tsmith_states_row(const tsmith_states *states, uint32_t row, size_t *count) {
    *count = 0;
    return row < states->timeline->row_count ? segments_of(states, row, count) : NULL;
}

const tsmith_segment *tsmith_states_device(const tsmith_states *states, uint32_t device, size_t *count) {
    *count = 0;
    return device < states->timeline->device_count
               ? segments_of(states, states->timeline->row_count + device, count)
               : NULL;
}

void tsmith_states_totals(const tsmith_segment *segments, size_t count, int64_t totals[TSMITH_STATE_LIMIT]) {
    memset(totals, 0, TSMITH_STATE_LIMIT * sizeof *totals);
    for (size_t i = 0; i < count; i++)
        totals[segments[i].state] += segments[i].to - segments[i].from;
}

// ---- names

static const struct {
    const char *name, *doc;
    tsmith_coarse coarse;
} STATES[] = {
#define STATE_ROW(NAME, number, name, COARSE, doc) [number] = {name, doc, TSMITH_COARSE_##COARSE},
    TSMITH_STATE_TABLE(STATE_ROW)
#undef STATE_ROW
};

const char *tsmith_state_name(tsmith_state state) {
    return (unsigned)state < TSMITH_STATE_LIMIT ? STATES[state].name : "?";
}

const char *tsmith_state_doc(tsmith_state state) {
    return (unsigned)state < TSMITH_STATE_LIMIT ? STATES[state].doc : "?";
}

tsmith_coarse tsmith_state_coarse(tsmith_state state) {
    return (unsigned)state < TSMITH_STATE_LIMIT ? STATES[state].coarse : TSMITH_COARSE_UNKNOWN;
}

NAMES_CHECK_LIMIT(TSMITH_COARSE_TABLE, TSMITH_COARSE_LIMIT);
NAMES_CHECK_LIMIT(TSMITH_STATE_TABLE, TSMITH_STATE_LIMIT);
NAMES_CHECK_LIMIT(TSMITH_BLOCK_TABLE, TSMITH_BLOCK_LIMIT);

NAMES_DEFINE(tsmith_coarse_name, tsmith_coarse, TSMITH_COARSE_TABLE, NAMES_NAME, "?")
NAMES_DEFINE(tsmith_block_name, tsmith_block, TSMITH_BLOCK_TABLE, NAMES_NAME, "?")
