// SPDX-License-Identifier: Apache-2.0
// Filling a timeline from batches. What happens at the end is in timeline_finish.c.
#include "state/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/names.h"
#include "base/sized.h"
#include "base/status.h"
#include "state/memory_limit.h"
#include "state/names.h"
#include "tracesmith/view.h"

// The fields that matter here. X(NAME)
#define TIMELINE_FIELDS(X)                                                                                   \
    X(START)                                                                                                 \
    X(KIND)                                                                                                  \
    X(DURATION)                                                                                              \
    X(NAME)                                                                                                  \
    X(CORRELATION)                                                                                           \
    X(QUEUED)                                                                                                \
    X(SUBMITTED)                                                                                             \
    X(COMPLETED)                                                                                             \
    X(HOST_TRACK)                                                                                            \
    X(QUEUE_TRACK)                                                                                           \
    X(OPERATION)                                                                                             \
    X(DIRECTION)                                                                                             \
    X(BYTES)                                                                                                 \
    X(BLOCKING)                                                                                              \
    X(CERTAINTY)                                                                                             \
    X(WAITS)                                                                                                 \
    X(REASON)                                                                                                \
    X(LOST)

enum {
#define FIELD_INDEX(NAME) AT_##NAME,
    TIMELINE_FIELDS(FIELD_INDEX)
#undef FIELD_INDEX
        FIELD_COUNT
};

struct columns {
    const tsmith_batch *batch;
    uint32_t count;
    const int64_t *start;
    const uint8_t *kind;
    tsmith_view at[FIELD_COUNT];
    tsmith_view record, stream; // the trace's own
};

static bool find_columns(const tsmith_timeline *timeline, const tsmith_batch *batch,
                         struct columns *columns) {
    static const uint32_t fields[FIELD_COUNT] = {
#define FIELD_NUMBER(NAME) TSMITH_FIELD_##NAME,
        TIMELINE_FIELDS(FIELD_NUMBER)
#undef FIELD_NUMBER
    };
    columns->batch = batch;
    columns->count = tsmith_batch_count(batch);
    tsmith_view_batch(batch, fields, FIELD_COUNT, columns->at);
    columns->start = tsmith_view_every(&columns->at[AT_START]);
    columns->kind = tsmith_view_every(&columns->at[AT_KIND]);
    columns->record = tsmith_view_typed(batch, timeline->fields[STATE_FIELD_RECORD], TSMITH_TYPE_I64);
    columns->stream = tsmith_view_typed(batch, timeline->fields[STATE_FIELD_STREAM], TSMITH_TYPE_I64);
    return columns->start && columns->kind;
}

// Times beyond +-73 years are cut, so that the difference of any two of them is a number.
#define TIME_LIMIT ((int64_t)1 << 61)

static int64_t clamp_time(int64_t time) {
    return time < -TIME_LIMIT ? -TIME_LIMIT : time > TIME_LIMIT ? TIME_LIMIT : time;
}

static int64_t get_time(const tsmith_view *view, uint32_t row) {
    int64_t time;
    return tsmith_view_i64(view, row, &time) ? clamp_time(time) : TSMITH_TIME_UNKNOWN;
}

// The end of an event, its start where it is unknown; a negative or overflowing duration counts as none.
static int64_t get_end(const struct columns *columns, uint32_t row) {
    int64_t start = clamp_time(columns->start[row]), end, duration;
    return tsmith_view_i64(&columns->at[AT_DURATION], row, &duration) && duration > 0 &&
                   !__builtin_add_overflow(start, duration, &end)
               ? clamp_time(end)
               : start;
}

// A word that this version does not know is the largest one that has room.
static uint8_t get_certainty(const struct columns *columns, uint32_t row) {
    enum { MOST = 7 }; // of three bits
    const uint8_t word = tsmith_view_word(&columns->at[AT_CERTAINTY], row);
    return word < MOST ? word : MOST;
}

tsmith_status tsmith_timeline_create(const tsmith_timeline_options *given, tsmith_timeline **out) {
    tsmith_timeline_options options;
    const tsmith_status status = sized_take(tsmith_timeline_options, given, &options, NULL);
    if (status != TSMITH_OK)
        return status;
    if (options.has_window &&
        (options.from > options.to || options.from < -TIME_LIMIT || options.to > TIME_LIMIT))
        return TSMITH_ERROR_INVALID_ARGUMENT;
    tsmith_timeline *timeline = calloc(1, sizeof *timeline);
    if (!timeline)
        return TSMITH_ERROR_NO_MEMORY;
    timeline->options = options;
    timeline->most_bytes = memory_limit();
    *out = timeline;
    return TSMITH_OK;
}

void tsmith_timeline_destroy(tsmith_timeline *timeline) {
    if (!timeline)
        return;
    free(timeline->commands);
    free(timeline->times);
    free(timeline->command_details);
    free(timeline->calls);
    free(timeline->call_details);
    free(timeline->rows);
    free(timeline->devices);
    free(timeline->threads);
    free(timeline->holes);
    free(timeline->raw_waits);
    free(timeline->waits);
    free(timeline->settings);
    free(timeline->notes);
    free(timeline->row_of_track);
    free(timeline->thread_of_track);
    free(timeline->text_class);
    free(timeline);
}

// Room for one more element of an array of the timeline.
#define RESERVE(timeline, array, count, capacity, more)                                                      \
    ({                                                                                                       \
        void *items_ = (timeline)->array;                                                                    \
        bool done_ = array_reserve(&items_, &(timeline)->capacity, (timeline)->count + (more),               \
                                   sizeof *(timeline)->array);                                               \
        (timeline)->array = items_;                                                                          \
        done_;                                                                                               \
    })

// table[id], grown with zeros; NULL when memory is exhausted.
static uint32_t *index_slot(uint32_t **table, size_t *count, uint32_t id) {
    if (id >= *count) {
        size_t grown = (size_t)id + 64;
        uint32_t *moved = realloc(*table, grown * sizeof **table);
        if (!moved)
            return NULL;
        memset(moved + *count, 0, (grown - *count) * sizeof *moved);
        *table = moved;
        *count = grown;
    }
    return &(*table)[id];
}

// The index of the row of a track, adding it; TSMITH_INDEX_NONE when memory is exhausted.
static uint32_t find_row(tsmith_timeline *timeline, const tsmith_dictionary *dictionary, uint32_t track) {
    uint32_t *slot = index_slot(&timeline->row_of_track, &timeline->row_of_track_count, track);
    if (!slot || !RESERVE(timeline, rows, row_count, row_capacity, 1))
        return TSMITH_INDEX_NONE;
    if (!*slot) {
        const tsmith_track *entry = tsmith_dictionary_track(dictionary, track);
        timeline->rows[timeline->row_count] =
            (tsmith_row){.track = track,
                         .process = entry ? entry->process : 0,
                         .dictionary_device = entry ? entry->device : 0,
                         .in_order = !entry || !(entry->flags & TSMITH_TRACK_OUT_OF_ORDER)};
        *slot = (uint32_t)++timeline->row_count;
    }
    return *slot - 1;
}

static uint32_t find_thread(tsmith_timeline *timeline, const tsmith_dictionary *dictionary, uint32_t track) {
    uint32_t *slot = index_slot(&timeline->thread_of_track, &timeline->thread_of_track_count, track);
    if (!slot || !RESERVE(timeline, threads, thread_count, thread_capacity, 1))
        return TSMITH_INDEX_NONE;
    if (!*slot) {
        const tsmith_track *entry = tsmith_dictionary_track(dictionary, track);
        timeline->threads[timeline->thread_count] =
            (tsmith_thread){.track = track, .process = entry ? entry->process : 0};
        *slot = (uint32_t)++timeline->thread_count;
    }
    return *slot - 1;
}

// The track, or 0 when the dictionary has no such one.
static uint32_t known_track(const tsmith_dictionary *dictionary, uint32_t track) {
    return tsmith_dictionary_track(dictionary, track) ? track : 0;
}

static uint16_t classify(tsmith_timeline *timeline, const tsmith_dictionary *dictionary, uint32_t name) {
    if (name >= tsmith_dictionary_string_count(dictionary))
        name = 0; // an id that is none
    if (name >= timeline->text_class_count) {
        size_t grown = tsmith_dictionary_string_count(dictionary);
        grown += grown / 4 + 1;
        uint16_t *moved = realloc(timeline->text_class, grown * sizeof *moved);
        if (!moved)
            return names_classify(tsmith_dictionary_string(dictionary, name));
        memset(moved + timeline->text_class_count, 0, (grown - timeline->text_class_count) * sizeof *moved);
        timeline->text_class = moved;
        timeline->text_class_count = grown;
    }
    if (!timeline->text_class[name])
        timeline->text_class[name] = names_classify(tsmith_dictionary_string(dictionary, name));
    return timeline->text_class[name];
}

// Copies the wait list of an event; false when memory is exhausted.
static bool take_waits(tsmith_timeline *timeline, const tsmith_view *view, uint32_t row, uint32_t *first,
                       uint32_t *count) {
    const uint64_t *waits;
    const uint32_t more = tsmith_view_list(view, row, &waits);
    *first = (uint32_t)timeline->raw_wait_count;
    *count = 0;
    if (!more)
        return true;
    if (timeline->raw_wait_count + more >= UINT32_MAX ||
        !RESERVE(timeline, raw_waits, raw_wait_count, raw_wait_capacity, more))
        return false;
    memcpy(timeline->raw_waits + timeline->raw_wait_count, waits, more * sizeof *waits);
    timeline->raw_wait_count += more;
    *count = more;
    return true;
}

static uint8_t work_of(tsmith_timeline *timeline, const tsmith_dictionary *dictionary, uint8_t kind,
                       uint32_t name) {
    switch (kind) {
    case TSMITH_KIND_MEMCPY:
    case TSMITH_KIND_MEMSET:
        return TSMITH_WORK_COPY;
    case TSMITH_KIND_COLLECTIVE:
        return TSMITH_WORK_COMMUNICATION;
    case TSMITH_KIND_KERNEL:
        return classify(timeline, dictionary, name) & NAME_COMMUNICATION ? TSMITH_WORK_COMMUNICATION
                                                                         : TSMITH_WORK_COMPUTE;
    case TSMITH_KIND_GRAPH_LAUNCH:
    case TSMITH_KIND_HOST_FUNCTION:
        return TSMITH_WORK_COMPUTE;
    default:
        return TSMITH_WORK_CONTROL;
    }
}

bool timeline_fill_times(tsmith_timeline *timeline, size_t count) {
    if (count > timeline->time_count &&
        !RESERVE(timeline, times, time_count, time_capacity, count - timeline->time_count))
        return false;
    while (timeline->time_count < count)
        timeline->times[timeline->time_count++] =
            (tsmith_command_times){TSMITH_TIME_UNKNOWN, TSMITH_TIME_UNKNOWN, TSMITH_TIME_UNKNOWN};
    return true;
}

// The other times of the next command, if the trace has one of them.
static bool add_times(tsmith_timeline *timeline, const struct columns *columns, uint32_t at) {
    const tsmith_command_times times = {.queued = get_time(&columns->at[AT_QUEUED], at),
                                        .submitted = get_time(&columns->at[AT_SUBMITTED], at),
                                        .completed = get_time(&columns->at[AT_COMPLETED], at)};
    if (times.queued == TSMITH_TIME_UNKNOWN && times.submitted == TSMITH_TIME_UNKNOWN &&
        times.completed == TSMITH_TIME_UNKNOWN)
        return true;
    if (!timeline_fill_times(timeline, timeline->command_count + 1))
        return false;
    timeline->times[timeline->command_count] = times;
    return true;
}

// Its bytes and waits, if it has any.
static bool add_command_details(tsmith_timeline *timeline, const struct columns *columns, uint32_t at,
                                tsmith_command *command) {
    struct command_details details = {.bytes = tsmith_view_u64_or(&columns->at[AT_BYTES], at, 0)};
    if (!take_waits(timeline, &columns->at[AT_WAITS], at, &details.wait_first, &details.wait_count))
        return false;
    if (!details.bytes && !details.wait_count)
        return true;
    if (!RESERVE(timeline, command_details, command_detail_count, command_detail_capacity, 1))
        return false;
    timeline->command_details[timeline->command_detail_count++] = details;
    command->details = (uint32_t)timeline->command_detail_count;
    return true;
}

static bool add_call_details(tsmith_timeline *timeline, const struct columns *columns, uint32_t at,
                             tsmith_call *call) {
    struct call_details details = {.record = TSMITH_INDEX_NONE};
    if (!take_waits(timeline, &columns->at[AT_WAITS], at, &details.wait_first, &details.wait_count))
        return false;
    if (!details.wait_count)
        return true;
    if (!RESERVE(timeline, call_details, call_detail_count, call_detail_capacity, 1))
        return false;
    timeline->call_details[timeline->call_detail_count++] = details;
    call->details = (uint32_t)timeline->call_detail_count;
    return true;
}

static bool add_command(tsmith_timeline *timeline, const tsmith_dictionary *dictionary,
                        const struct columns *columns, uint32_t at, uint32_t row) {
    if (!RESERVE(timeline, commands, command_count, command_capacity, 1) || !add_times(timeline, columns, at))
        return false;
    tsmith_command command = {
        .start = clamp_time(columns->start[at]),
        .correlation = tsmith_view_u64_or(&columns->at[AT_CORRELATION], at, 0),
        .end = get_end(columns, at),
        .row = row,
        .call = TSMITH_INDEX_NONE,
        .name = tsmith_view_id(&columns->at[AT_NAME], at),
        .kind = columns->kind[at],
        .operation = tsmith_view_word(&columns->at[AT_OPERATION], at),
        .direction = tsmith_view_word(&columns->at[AT_DIRECTION], at),
        .certainty = get_certainty(columns, at) & 7u,
        .thread = TSMITH_INDEX_NONE,
    };
    command.end_unknown = !tsmith_view_has(&columns->at[AT_DURATION], at);
    // Files of before the field had a word for it say "inferred".
    command.untimed = command.end_unknown && command.certainty >= TSMITH_CERTAINTY_INFERRED;
    command.work = work_of(timeline, dictionary, command.kind, command.name) & 3u;
    if (command.kind == TSMITH_KIND_MEMCPY) {
        uint16_t class = classify(timeline, dictionary, command.name);
        command.direction = command.direction ? command.direction : names_direction(class);
        command.pageable = (class & NAME_PAGEABLE) != 0;
    }
    uint32_t host = known_track(dictionary, tsmith_view_id(&columns->at[AT_HOST_TRACK], at));
    if (host && (command.thread = find_thread(timeline, dictionary, host)) == TSMITH_INDEX_NONE)
        return false;
    if (!add_command_details(timeline, columns, at, &command))
        return false;
    timeline->commands[timeline->command_count++] = command;
    return true;
}

static uint8_t role_of(uint8_t kind, uint8_t operation, uint16_t class) {
    uint8_t role;
    switch (kind) {
    case TSMITH_KIND_SYNC:
        role = timeline_wait_role(operation);
        return role != TSMITH_CALL_OTHER ? role : names_role(class);
    case TSMITH_KIND_COMPILE:
        return TSMITH_CALL_COMPILE;
    case TSMITH_KIND_ALLOC:
    case TSMITH_KIND_FREE:
        return TSMITH_CALL_MEMORY;
    default:
        return names_role(class);
    }
}

static bool add_call(tsmith_timeline *timeline, const tsmith_dictionary *dictionary,
                     const struct columns *columns, uint32_t at, uint32_t thread) {
    if (!RESERVE(timeline, calls, call_count, call_capacity, 1))
        return false;
    tsmith_call call = {
        .start = clamp_time(columns->start[at]),
        .end = get_end(columns, at),
        .correlation = tsmith_view_u64_or(&columns->at[AT_CORRELATION], at, 0),
        .thread = thread,
        .name = tsmith_view_id(&columns->at[AT_NAME], at),
        .row = TSMITH_INDEX_NONE,
        .kind = columns->kind[at],
        .operation = tsmith_view_word(&columns->at[AT_OPERATION], at),
        .blocking = tsmith_view_word(&columns->at[AT_BLOCKING], at) != 0,
        .end_unknown = !tsmith_view_has(&columns->at[AT_DURATION], at),
        .certainty = get_certainty(columns, at) & 7u,
    };
    uint16_t class = classify(timeline, dictionary, call.name);
    call.role = role_of(call.kind, call.operation, class) & 15u;
    call.blocking |= (class & NAME_BLOCKING) != 0;
    uint32_t queue = known_track(dictionary, tsmith_view_id(&columns->at[AT_QUEUE_TRACK], at));
    if (queue && (call.row = find_row(timeline, dictionary, queue)) == TSMITH_INDEX_NONE)
        return false;
    if (!add_call_details(timeline, columns, at, &call))
        return false;
    timeline->calls[timeline->call_count++] = call;
    return true;
}

static bool add_note(tsmith_timeline *timeline, const struct columns *columns, uint32_t at, uint32_t row) {
    const uint64_t correlation = tsmith_view_u64_or(&columns->at[AT_CORRELATION], at, 0);
    if (!correlation)
        return true;
    if (!RESERVE(timeline, notes, note_count, note_capacity, 1))
        return false;
    const int64_t record = tsmith_view_i64_or(&columns->record, at, 0);
    const int64_t stream = tsmith_view_i64_or(&columns->stream, at, -1);
    timeline->notes[timeline->note_count++] = (struct sync_note){.correlation = correlation,
                                                                 .record = record > 0 ? (uint64_t)record : 0,
                                                                 .stream = stream,
                                                                 .row = row};
    return true;
}

static bool add_hole(tsmith_timeline *timeline, const struct columns *columns, uint32_t at,
                     uint32_t process) {
    if (!RESERVE(timeline, holes, hole_count, hole_capacity, 1))
        return false;
    timeline->holes[timeline->hole_count++] =
        (tsmith_hole){.from = clamp_time(columns->start[at]),
                      .to = get_end(columns, at),
                      .process = process,
                      .reason = tsmith_view_word(&columns->at[AT_REASON], at),
                      .lost = tsmith_view_u64_or(&columns->at[AT_LOST], at, 0)};
    return true;
}

// What an event is to a timeline, by its kind and where it happened.
enum what { WHAT_NOTHING, WHAT_COMMAND, WHAT_CALL, WHAT_NOTE, WHAT_HOLE };

// A wait with the number of a call is a record of what that call did, unless it is on the track of the thread that waited.
// So is one without an operation, wherever it is: files of before 2026-12 have these. Markers and barriers are commands.
static enum what what_wait_is(const struct columns *columns, uint32_t at, const tsmith_track *track,
                              bool queue) {
    const uint8_t operation = tsmith_view_word(&columns->at[AT_OPERATION], at);
    const bool host_waits = timeline_wait_role(operation) != TSMITH_CALL_OTHER;
    if (tsmith_view_has(&columns->at[AT_CORRELATION], at) &&
        (!operation || operation == TSMITH_OPERATION_STREAM_WAIT ||
         (host_waits && track && track->kind != TSMITH_TRACK_THREAD)))
        return WHAT_NOTE;
    return queue ? WHAT_COMMAND : WHAT_CALL;
}

static enum what what_is(const struct columns *columns, uint32_t at, const tsmith_track *track, bool queue) {
    switch (columns->kind[at]) {
    case TSMITH_KIND_KERNEL:
    case TSMITH_KIND_MEMCPY:
    case TSMITH_KIND_MEMSET:
        return WHAT_COMMAND;
    case TSMITH_KIND_COLLECTIVE:
    case TSMITH_KIND_HOST_FUNCTION:
    case TSMITH_KIND_EVENT_RECORD:
        return queue ? WHAT_COMMAND : WHAT_NOTHING;
    case TSMITH_KIND_COMPILE:
        return queue ? WHAT_COMMAND : WHAT_CALL;
    case TSMITH_KIND_GRAPH_LAUNCH:
    case TSMITH_KIND_FREE:
        return queue ? WHAT_COMMAND : WHAT_CALL;
    case TSMITH_KIND_SYNC:
        return what_wait_is(columns, at, track, queue);
    case TSMITH_KIND_API:
    case TSMITH_KIND_ALLOC:
        return queue ? WHAT_NOTHING : WHAT_CALL;
    case TSMITH_KIND_LOSS:
        return tsmith_reason_is_of_events((tsmith_reason)tsmith_view_word(&columns->at[AT_REASON], at))
                   ? WHAT_HOLE
                   : WHAT_NOTHING;
    default:
        return WHAT_NOTHING;
    }
}

// The numbers of the dynamic fields that a timeline needs.
static void learn_fields(tsmith_timeline *timeline, const tsmith_dictionary *dictionary) {
    static const char *const NAMES[] = {
#define FIELD_NAME(NAME, name) name,
        STATE_FIELD_TABLE(FIELD_NAME)
#undef FIELD_NAME
    };
    uint32_t count = tsmith_dictionary_dynamic_field_count(dictionary);
    for (uint32_t id = timeline->dynamic_fields_seen ? timeline->dynamic_fields_seen : 1; id < count; id++) {
        const tsmith_dynamic_field *field = tsmith_dictionary_dynamic_field(dictionary, id);
        for (size_t i = 0; field && field->type == TSMITH_TYPE_I64 && i < STATE_FIELD_LIMIT; i++)
            if (strcmp(tsmith_dictionary_string(dictionary, field->name).bytes, NAMES[i]) == 0)
                timeline->fields[i] = TSMITH_FIELD_DYNAMIC + id;
    }
    timeline->dynamic_fields_seen = count;
}

// Whether one more command or call is over the limit. From the first that is, what was kept is given back.
static bool is_too_large(tsmith_timeline *timeline) {
    uint64_t bytes = (uint64_t)timeline->command_count * MEMORY_PER_COMMAND +
                     ((uint64_t)timeline->call_count + timeline->note_count) * MEMORY_PER_CALL +
                     (uint64_t)timeline->time_count * MEMORY_PER_TIMES +
                     (uint64_t)timeline->command_detail_count * MEMORY_PER_DETAILS +
                     (uint64_t)timeline->call_detail_count * MEMORY_PER_DETAILS +
                     (uint64_t)timeline->raw_wait_count * MEMORY_PER_WAIT;
    if (timeline->too_large || bytes <= timeline->most_bytes)
        return timeline->too_large;
    timeline->has_times = timeline->time_count > 0;
    timeline->has_details = timeline->command_detail_count > 0;
    timeline->refused_commands = timeline->command_count;
    timeline->refused_calls = timeline->call_count + timeline->note_count;
    free(timeline->commands);
    free(timeline->times);
    free(timeline->command_details);
    free(timeline->calls);
    free(timeline->call_details);
    free(timeline->raw_waits);
    timeline->commands = NULL;
    timeline->command_details = NULL;
    timeline->call_details = NULL;
    timeline->command_detail_count = timeline->command_detail_capacity = 0;
    timeline->call_detail_count = timeline->call_detail_capacity = 0;
    timeline->times = NULL;
    timeline->time_count = timeline->time_capacity = 0;
    timeline->calls = NULL;
    timeline->raw_waits = NULL;
    timeline->command_count = timeline->command_capacity = timeline->call_count = timeline->call_capacity = 0;
    timeline->raw_wait_count = timeline->raw_wait_capacity = 0;
    return timeline->too_large = true;
}

static bool add_event(tsmith_timeline *timeline, const tsmith_dictionary *dictionary,
                      const struct columns *columns, uint32_t at, const tsmith_track *entry, bool queue) {
    const uint8_t kind = columns->kind[at];
    const bool works = kind == TSMITH_KIND_KERNEL || kind == TSMITH_KIND_MEMCPY || kind == TSMITH_KIND_MEMSET;
    timeline->work += works;
    timeline->timed_work += works && tsmith_view_has(&columns->at[AT_DURATION], at);
    if (timeline->ledger_only && kind != TSMITH_KIND_LOSS)
        return true;
    uint32_t track = tsmith_batch_track(columns->batch), place;
    enum what what = what_is(columns, at, entry, queue);
    if (what != WHAT_NOTHING && what != WHAT_HOLE && is_too_large(timeline)) {
        timeline->refused_commands += what == WHAT_COMMAND;
        timeline->refused_calls += what != WHAT_COMMAND;
        return true;
    }
    switch (what) {
    case WHAT_COMMAND:
        place = find_row(timeline, dictionary, track);
        return place != TSMITH_INDEX_NONE && add_command(timeline, dictionary, columns, at, place);
    case WHAT_CALL:
        place = find_thread(timeline, dictionary, track);
        return place != TSMITH_INDEX_NONE && add_call(timeline, dictionary, columns, at, place);
    case WHAT_NOTE:
        place = find_row(timeline, dictionary, track);
        return place != TSMITH_INDEX_NONE && add_note(timeline, columns, at, place);
    case WHAT_HOLE:
        return add_hole(timeline, columns, at, entry ? entry->process : 0);
    default:
        return true;
    }
}

tsmith_status tsmith_timeline_add(tsmith_timeline *timeline, const tsmith_dictionary *dictionary,
                                  const tsmith_batch *batch, tsmith_error *error) {
    struct columns columns;
    if (timeline->finished)
        return status_set(error, TSMITH_ERROR_STATE, "The timeline is finished and accepts no more batches.");
    if (tsmith_dictionary_dynamic_field_count(dictionary) != timeline->dynamic_fields_seen)
        learn_fields(timeline, dictionary);
    if (!find_columns(timeline, batch, &columns) || !columns.count)
        return TSMITH_OK;
    const tsmith_track *track = tsmith_dictionary_track(dictionary, tsmith_batch_track(batch));
    bool queue = track && (track->kind == TSMITH_TRACK_QUEUE || track->kind == TSMITH_TRACK_COPY_ENGINE);
    for (uint32_t at = 0; at < columns.count; at++)
        if (!add_event(timeline, dictionary, &columns, at, track, queue))
            return status_set(error, TSMITH_ERROR_NO_MEMORY,
                              "out of memory while building a timeline of %zu commands",
                              timeline->command_count);
    if (timeline->command_count >= TSMITH_INDEX_NONE || timeline->call_count >= TSMITH_INDEX_NONE)
        return status_set(error, TSMITH_ERROR_LIMIT,
                          "A timeline holds at most 4294967294 commands and calls.");
    if (track && track->kind == TSMITH_TRACK_LOSS)
        return TSMITH_OK; // what was lost is not what happened: the window ends where the events do
    int64_t from = clamp_time(tsmith_batch_first_start(batch)), to = clamp_time(tsmith_batch_last_end(batch));
    timeline->window.from = !timeline->any || from < timeline->window.from ? from : timeline->window.from;
    timeline->window.to = !timeline->any || to > timeline->window.to ? to : timeline->window.to;
    timeline->any = true;
    return TSMITH_OK;
}

tsmith_status tsmith_timeline_read(tsmith_source *source, const tsmith_timeline_options *options,
                                   tsmith_timeline **out, tsmith_error *error) {
    const tsmith_batch *batch;
    tsmith_timeline *timeline = NULL;
    tsmith_timeline_options taken;
    tsmith_status got, status = sized_take(tsmith_timeline_options, options, &taken, error);
    if (status != TSMITH_OK)
        return status;
    status = tsmith_timeline_create(&taken, &timeline);
    if (status != TSMITH_OK)
        return status_set(error, status, "The options of the timeline are invalid, or memory is exhausted.");
    for (;;) {
        got = tsmith_source_next(source, &batch, error);
        if (got == TSMITH_AGAIN)
            continue;
        if (got != TSMITH_OK)
            break;
        status = tsmith_timeline_add(timeline, tsmith_source_dictionary(source), batch, error);
        if (status != TSMITH_OK)
            goto fail;
    }
    status = got;
    if (got != TSMITH_END && got != TSMITH_TRUNCATED)
        goto fail;
    status = tsmith_timeline_finish(timeline, tsmith_source_dictionary(source), error);
    if (status != TSMITH_OK)
        goto fail;
    *out = timeline;
    return got == TSMITH_END ? TSMITH_OK : TSMITH_TRUNCATED;
fail:
    tsmith_timeline_destroy(timeline);
    return status;
}

// ---- what is handed out

tsmith_interval tsmith_timeline_window(const tsmith_timeline *timeline) {
    return timeline->window;
}

#define GETTER(plural, singular, type)                                                                       \
    const type *tsmith_timeline_##plural(const tsmith_timeline *timeline, size_t *count) {                   \
        *count = timeline->singular##_count;                                                                 \
        return timeline->plural;                                                                             \
    }
GETTER(commands, command, tsmith_command)
GETTER(times, time, tsmith_command_times)
GETTER(calls, call, tsmith_call)
GETTER(rows, row, tsmith_row)
GETTER(devices, device, tsmith_row)
GETTER(threads, thread, tsmith_thread)
GETTER(holes, hole, tsmith_hole)

uint64_t tsmith_command_bytes(const tsmith_timeline *timeline, const tsmith_command *command) {
    return timeline_command_details(timeline, command).bytes;
}

const uint32_t *tsmith_command_waits(const tsmith_timeline *timeline, const tsmith_command *command,
                                     size_t *count) {
    const struct command_details details = timeline_command_details(timeline, command);
    *count = details.wait_count;
    return timeline->waits + details.wait_first;
}

const uint32_t *tsmith_call_waits(const tsmith_timeline *timeline, const tsmith_call *call, size_t *count) {
    const struct call_details details = timeline_call_details(timeline, call);
    *count = details.wait_count;
    return timeline->waits + details.wait_first;
}

uint32_t tsmith_call_record(const tsmith_timeline *timeline, const tsmith_call *call) {
    return timeline_call_details(timeline, call).record;
}

_Static_assert(TSMITH_WORK_LIMIT <= 4 && TSMITH_CALL_LIMIT <= 16,
               "tsmith_command and tsmith_call have room for them");
NAMES_CHECK_LIMIT(TSMITH_WORK_TABLE, TSMITH_WORK_LIMIT);
NAMES_CHECK_LIMIT(TSMITH_CALL_TABLE, TSMITH_CALL_LIMIT);

NAMES_DEFINE(tsmith_work_name, tsmith_work, TSMITH_WORK_TABLE, NAMES_NAME, "?")
NAMES_DEFINE(tsmith_call_role_name, tsmith_call_role, TSMITH_CALL_TABLE, NAMES_NAME, "?")

int64_t timeline_enqueued(const tsmith_timeline *timeline, const tsmith_command *command) {
    if (command->call != TSMITH_INDEX_NONE)
        return timeline->calls[command->call].start;
    return timeline_times(timeline, command).queued;
}
