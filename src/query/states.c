// SPDX-License-Identifier: Apache-2.0
// What every queue and device did at every moment, and the life of every command (tracesmith/states.h). Worked out
// when a statement first asks, from all commands and calls of the trace.
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "query/lists.h"

// The segments of one row or device, and how many come before them.
struct segment_run {
    const tsmith_segment *segments;
    uint64_t first;
    const tsmith_row *row;
    bool is_device;
};

static uint64_t segment_count(const tsmith_query *query) {
    return query->run_count ? query->runs[query->run_count - 1].first : 0;
}

tsmith_status states_load(tsmith_query *query, tsmith_error *error) {
    if (query->runs)
        return TSMITH_OK;
    tsmith_status status = query->backend.states(query->backend.context, &query->states, error);
    if (status < 0)
        return status;
    size_t rows, devices, count;
    const tsmith_row *row = tsmith_timeline_rows(query->states.timeline, &rows);
    const tsmith_row *device = tsmith_timeline_devices(query->states.timeline, &devices);
    struct segment_run *runs = calloc(rows + devices + 1, sizeof *runs);
    if (!runs)
        return TSMITH_ERROR_NO_MEMORY;
    uint64_t first = 0;
    for (size_t i = 0; i < rows + devices; i++) {
        uint32_t index = (uint32_t)(i < rows ? i : i - rows);
        runs[i].is_device = i >= rows;
        runs[i].row = i < rows ? &row[index] : &device[index];
        runs[i].first = first;
        runs[i].segments = i < rows ? tsmith_states_row(query->states.states, index, &count)
                                    : tsmith_states_device(query->states.states, index, &count);
        first += count;
    }
    runs[rows + devices].first = first; // where the last one ends
    query->runs = runs;
    query->run_count = rows + devices + 1;
    return TSMITH_OK;
}

static const struct segment_run *run_of(const tsmith_query *query, uint64_t at) {
    return &query->runs[SORTED_FIND(i, 1, query->run_count - 1, query->runs[i].first <= at) - 1];
}

static void give_name(const tsmith_query *query, sqlite3_context *context, uint32_t string) {
    list_give_text(context, tsmith_dictionary_string(query->backend.dictionary, string));
}

static void give_track_name(const tsmith_query *query, sqlite3_context *context, uint32_t id) {
    list_give_track_name(context, query->backend.dictionary, id);
}

static void give_static(sqlite3_context *context, const char *text) {
    sqlite3_result_text(context, text, -1, SQLITE_STATIC);
}

static void give_time(sqlite3_context *context, int64_t time) {
    if (time != TSMITH_TIME_UNKNOWN)
        sqlite3_result_int64(context, time);
}

static void give_index(sqlite3_context *context, uint32_t index) {
    if (index != TSMITH_INDEX_NONE)
        sqlite3_result_int64(context, index);
}

// ---- states

#define SAY_NAME(NAME, number, name, ...) " " name

#define STATE_COLUMNS(X)                                                                                     \
    X(start, "INTEGER", "ns", "begin of the state", sqlite3_result_int64(context, segment->from))            \
    X(end, "INTEGER", "ns", "end of the state", sqlite3_result_int64(context, segment->to))                  \
    X(duration, "INTEGER", "ns", "end - start; those of a queue or device add up to the trace's",            \
      sqlite3_result_int64(context, segment->to - segment->from))                                            \
    X(state, "TEXT", "", "one of" TSMITH_STATE_TABLE(SAY_NAME),                                              \
      give_static(context, tsmith_state_name((tsmith_state)segment->state)))                                 \
    X(coarse, "TEXT", "", "one of" TSMITH_COARSE_TABLE(SAY_NAME),                                            \
      give_static(context, tsmith_coarse_name(tsmith_state_coarse((tsmith_state)segment->state))))           \
    X(scope, "TEXT", "", "queue, or device: all queues of one device together",                              \
      give_static(context, run->is_device ? "device" : "queue"))                                             \
    X(track, "INTEGER", "", "the queue: tracks.id", list_give_id(context, run->row->track))                  \
    X(track_name, "TEXT", "", "the queue's name", give_track_name(query, context, run->row->track))          \
    X(device, "INTEGER", "", "the device: devices.id", list_give_id(context, run->row->dictionary_device))   \
    X(command, "INTEGER", "", "queue: the command that runs or waits, lives.id",                             \
      give_index(context, segment->command))

static void state_cell(const tsmith_query *query, uint64_t row, int column, sqlite3_context *context) {
    const struct segment_run *run = run_of(query, row);
    const tsmith_segment *segment = &run->segments[row - run->first];
    int at = 0;
    STATE_COLUMNS(LIST_CELL)
}

static const tsmith_query_column state_shown[] = {STATE_COLUMNS(LIST_SHOWN)};

const struct list_table states_table = {
    .base = {.shown = {"states", "the state of every queue and device at every time", state_shown,
                       sizeof state_shown / sizeof state_shown[0]}},
    .load = states_load,
    .count = segment_count,
    .cell = state_cell,
    .first_id = -1};

// ---- lives

#define LIFE_COLUMNS(X)                                                                                      \
    X(id, "INTEGER", "", "id; states.command and lives.blocker refer to it",                                 \
      sqlite3_result_int64(context, (int64_t)row))                                                           \
    X(kind, "TEXT", "", "kind of event", give_static(context, tsmith_kind_name((tsmith_kind)command->kind))) \
    X(name, "TEXT", "", "its name", give_name(query, context, command->name))                                \
    X(work, "TEXT", "", "one of" TSMITH_WORK_TABLE(SAY_NAME),                                                \
      give_static(context, tsmith_work_name((tsmith_work)command->work)))                                    \
    X(track, "INTEGER", "", "its queue: tracks.id", list_give_id(context, in->track))                        \
    X(track_name, "TEXT", "", "its queue's name", give_track_name(query, context, in->track))                \
    X(device, "INTEGER", "", "its device: devices.id", list_give_id(context, in->dictionary_device))         \
    X(correlation, "INTEGER", "", "as in events", list_give_id(context, command->correlation))               \
    X(call, "TEXT", "", "the call that made it", give_name(query, context, call ? call->name : 0))           \
    X(host_track, "INTEGER", "", "the thread that made the call: tracks.id",                                 \
      list_give_id(context, thread ? thread->track : 0))                                                     \
    X(enqueued, "INTEGER", "ns", "begin of the call", give_time(context, life->enqueued))                    \
    X(queued, "INTEGER", "ns", "when it was put into its queue", give_time(context, life->queued))           \
    X(submitted, "INTEGER", "ns", "when it was submitted to the device",                                     \
      give_time(context, life->submitted))                                                                   \
    X(unblocked, "INTEGER", "ns", "when the last command it depends on had ended",                           \
      give_time(context, life->unblocked))                                                                   \
    X(start, "INTEGER", "ns", "when it began to run",                                                        \
      give_time(context, command->untimed ? TSMITH_TIME_UNKNOWN : command->start))                           \
    X(end, "INTEGER", "ns", "when it ended",                                                                 \
      give_time(context, command->end_unknown ? TSMITH_TIME_UNKNOWN : command->end))                         \
    X(completed, "INTEGER", "ns", "when it was reported complete",                                           \
      give_time(context, command->untimed ? TSMITH_TIME_UNKNOWN : life->completed))                          \
    X(observed, "INTEGER", "ns", "when a host thread that waited for it continued",                          \
      give_time(context, life->observed))                                                                    \
    X(block, "TEXT", "", "why it did not run at once, one of" TSMITH_BLOCK_TABLE(SAY_NAME),                  \
      give_static(context, tsmith_block_name((tsmith_block)life->block)))                                    \
    X(blocker, "INTEGER", "", "the command it waited for longest: lives.id",                                 \
      give_index(context, life->blocker))

static uint64_t life_count(const tsmith_query *query) {
    size_t count = 0;
    if (query->states.states)
        (void)tsmith_states_lives(query->states.states, &count);
    return count;
}

static void life_cell(const tsmith_query *query, uint64_t row, int column, sqlite3_context *context) {
    size_t count;
    const tsmith_life *life = &tsmith_states_lives(query->states.states, &count)[row];
    const tsmith_command *command = &tsmith_timeline_commands(query->states.timeline, &count)[row];
    const tsmith_row *in = &tsmith_timeline_rows(query->states.timeline, &count)[command->row];
    const tsmith_call *call = command->call == TSMITH_INDEX_NONE
                                  ? NULL
                                  : &tsmith_timeline_calls(query->states.timeline, &count)[command->call];
    const tsmith_thread *thread =
        command->thread == TSMITH_INDEX_NONE
            ? NULL
            : &tsmith_timeline_threads(query->states.timeline, &count)[command->thread];
    int at = 0;
    LIFE_COLUMNS(LIST_CELL)
}

static const tsmith_query_column life_shown[] = {LIFE_COLUMNS(LIST_SHOWN)};

const struct list_table lives_table = {
    .base = {.shown = {"lives",
                       "the life of every command, from the call that made it to the wait that saw it",
                       life_shown, sizeof life_shown / sizeof life_shown[0]}},
    .load = states_load,
    .count = life_count,
    .cell = life_cell,
    .first_id = 0};
