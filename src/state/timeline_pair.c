// SPDX-License-Identifier: Apache-2.0
// Which call launched which command, and to which commands a wait list refers.
//
// Correlation numbers are unique within a process. A queue's process is that of its track, or that of the thread
// in its commands; an importer may know neither (Kineto's streams are processes of their own), then
// a number counts if exactly one process has it. A number that no process or more than one has stays unpaired.
#include <stdlib.h>

#include "base/array.h"
#include "base/table.h"
#include "state/timeline.h"

// Indices by number; a slot holds index + 1.
struct index {
    uint32_t *slots;
    size_t capacity;
};

// Numbers are given in order and looked up nearly in order: 64 neighbors stay neighbors in the table, so that a
// look-up finds its slot in the cache; groups are scattered, so that no stride of numbers causes collisions.
static uint64_t hash_key(uint64_t correlation, uint32_t process) {
    uint64_t hash = ((correlation >> 6) + ((uint64_t)process << 40)) * 0x9e3779b97f4a7c15u;
    return (hash ^ hash >> 29) << 6 | (correlation & 63);
}

static bool index_make(struct index *table, size_t count) {
    const size_t capacity = table_capacity(count);
    *table = (struct index){calloc(capacity, sizeof *table->slots), capacity};
    return table->slots;
}

// ---- calls by number

static bool is_call(const tsmith_timeline *timeline, const tsmith_call *call, uint64_t correlation,
                    uint32_t process) {
    return call->correlation == correlation && timeline->threads[call->thread].process == process;
}

static uint32_t *call_slot(const tsmith_timeline *timeline, const struct index *table, uint64_t correlation,
                           uint32_t process) {
    return TABLE_SLOT(table->slots, table->capacity, hash_key(correlation, process), slot,
                      !*slot || is_call(timeline, &timeline->calls[*slot - 1], correlation, process));
}

// If two calls have one number, the API call is used, and the earlier one: it called the other.
static bool better_call(const tsmith_call *call, const tsmith_call *than) {
    bool api = call->kind == TSMITH_KIND_API, api_than = than->kind == TSMITH_KIND_API;
    return api != api_than ? api : call->start < than->start;
}

static bool index_calls(const tsmith_timeline *timeline, struct index *table) {
    if (!index_make(table, timeline->call_count))
        return false;
    for (size_t i = 0; i < timeline->call_count; i++) {
        const tsmith_call *call = &timeline->calls[i];
        if (!call->correlation || call->kind == TSMITH_KIND_COMPILE)
            continue;
        uint32_t *slot =
            call_slot(timeline, table, call->correlation, timeline->threads[call->thread].process);
        if (!*slot || better_call(call, &timeline->calls[*slot - 1]))
            *slot = (uint32_t)i + 1;
    }
    return true;
}

struct processes {
    uint32_t *items; // that have calls
    bool *launches;  // a command of the process has the number of one of its calls
    size_t count;
};

static bool list_processes(const tsmith_timeline *timeline, struct processes *processes) {
    *processes = (struct processes){malloc((timeline->thread_count + 1) * sizeof(uint32_t)),
                                    calloc(timeline->thread_count + 1, sizeof(bool)), 0};
    for (size_t i = 0; processes->items && processes->launches && i < timeline->thread_count; i++) {
        const tsmith_thread *thread = &timeline->threads[i];
        bool known = !thread->call_count;
        for (size_t k = 0; k < processes->count && !known; k++)
            known = processes->items[k] == thread->process;
        if (!known)
            processes->items[processes->count++] = thread->process;
    }
    return processes->items && processes->launches;
}

// A process that represents a device may have calls of its own (MTIA's), but none that launched the device's work.
static void find_launching(const tsmith_timeline *timeline, const struct index *table,
                           struct processes *processes) {
    size_t k = 0; // neighbors are of one process, mostly
    for (size_t i = 0; i < timeline->command_count; i++) {
        const tsmith_command *command = &timeline->commands[i];
        const uint32_t process = timeline->rows[command->row].process;
        if (k == processes->count || processes->items[k] != process)
            for (k = 0; k < processes->count && processes->items[k] != process;)
                k++;
        if (command->correlation && k < processes->count && !processes->launches[k])
            processes->launches[k] = *call_slot(timeline, table, command->correlation, process) != 0;
    }
}

// The call with a number, of `process` if that launches, else of the only process that has the number.
static uint32_t find_call(const tsmith_timeline *timeline, const struct index *table,
                          const struct processes *processes, uint64_t correlation, uint32_t process) {
    uint32_t found = 0;
    if (!correlation)
        return TSMITH_INDEX_NONE;
    for (size_t i = 0; i < processes->count; i++)
        if (processes->items[i] == process && processes->launches[i])
            return *call_slot(timeline, table, correlation, process) - 1; // 0 - 1 is TSMITH_INDEX_NONE
    for (size_t i = 0; i < processes->count; i++) {
        uint32_t slot = *call_slot(timeline, table, correlation, processes->items[i]);
        if (slot && found)
            return TSMITH_INDEX_NONE;
        found = slot ? slot : found;
    }
    return found - 1;
}

// The slot of a command some way ahead, and the call in the one of a command that is nearer: what they are found in is
// larger than any cache, and a look-up would wait for both.
static void fetch_ahead(const tsmith_timeline *timeline, const struct index *table, size_t i) {
    enum { AHEAD = 16 };
    if (i + 2 * AHEAD >= timeline->command_count)
        return;
    const tsmith_command *far = &timeline->commands[i + 2 * AHEAD], *near = far - AHEAD;
    __builtin_prefetch(
        &table->slots[hash_key(far->correlation, timeline->rows[far->row].process) & (table->capacity - 1)]);
    uint32_t slot =
        table->slots[hash_key(near->correlation, timeline->rows[near->row].process) & (table->capacity - 1)];
    if (slot)
        __builtin_prefetch(&timeline->calls[slot - 1].correlation, 1);
}

// The row's commands were launched by this process.
static void note_process(tsmith_row *row, uint32_t process, struct processes *processes) {
    if (row->process == process)
        return;
    row->process = process;
    for (size_t k = 0; k < processes->count; k++)
        processes->launches[k] |= processes->items[k] == process;
}

static void pair_commands(tsmith_timeline *timeline, const struct index *table, struct processes *processes) {
    for (size_t i = 0; i < timeline->command_count; i++) {
        tsmith_command *command = &timeline->commands[i];
        tsmith_row *row = &timeline->rows[command->row];
        fetch_ahead(timeline, table, i);
        uint32_t process =
            command->thread != TSMITH_INDEX_NONE ? timeline->threads[command->thread].process : row->process;
        command->call = find_call(timeline, table, processes, command->correlation, process);
        if (command->call == TSMITH_INDEX_NONE)
            continue;
        tsmith_call *call = &timeline->calls[command->call];
        command->thread = call->thread;
        note_process(row, timeline->threads[call->thread].process, processes);
        if (command->kind == TSMITH_KIND_COMPILE)
            continue;
        call->command_count++;
        if (call->role == TSMITH_CALL_OTHER)
            call->role = TSMITH_CALL_LAUNCH;
        if (call->row == TSMITH_INDEX_NONE && call->role == TSMITH_CALL_LAUNCH)
            call->row = command->row;
    }
    for (size_t i = 0; i < timeline->device_count; i++)
        timeline->devices[i].process = timeline->rows[timeline->devices[i].first_row].process;
}

// ---- waits in queue-side records

static uint32_t find_stream(const tsmith_timeline *timeline, const tsmith_dictionary *dictionary,
                            uint32_t like, int64_t stream) {
    for (size_t i = 0; stream >= 0 && like != TSMITH_INDEX_NONE && i < timeline->row_count; i++) {
        const tsmith_track *track = tsmith_dictionary_track(dictionary, timeline->rows[i].track);
        if (track && timeline->rows[i].device == timeline->rows[like].device &&
            track->queue == (uint64_t)stream)
            return (uint32_t)i;
    }
    return TSMITH_INDEX_NONE;
}

// False when memory is exhausted.
static bool set_record(tsmith_timeline *timeline, tsmith_call *call, uint32_t record) {
    const struct call_details details = timeline_call_details(timeline, call);
    if (record == details.record)
        return true;
    if (!call->details) {
        if (!ARRAY_RESERVE(timeline->call_details, timeline->call_detail_capacity,
                           timeline->call_detail_count + 1))
            return false;
        timeline->call_details[timeline->call_detail_count++] = details;
        call->details = (uint32_t)timeline->call_detail_count;
    }
    timeline->call_details[call->details - 1].record = record;
    return true;
}

static bool apply_notes(tsmith_timeline *timeline, const tsmith_dictionary *dictionary,
                        const struct index *table, const struct processes *processes) {
    for (size_t i = 0; i < timeline->note_count; i++) {
        const struct sync_note *note = &timeline->notes[i];
        uint32_t process = note->row != TSMITH_INDEX_NONE ? timeline->rows[note->row].process : 0;
        uint32_t index = find_call(timeline, table, processes, note->correlation, process);
        if (index == TSMITH_INDEX_NONE)
            continue;
        tsmith_call *call = &timeline->calls[index];
        if (call->role == TSMITH_CALL_SYNC_QUEUE || call->role == TSMITH_CALL_WAIT_EVENT)
            call->row = note->row;
        const uint32_t record =
            find_call(timeline, table, processes, note->record, timeline->threads[call->thread].process);
        if (!set_record(timeline, call, record))
            return false;
        if (record == TSMITH_INDEX_NONE)
            continue;
        uint32_t row = find_stream(timeline, dictionary, note->row, note->stream);
        if (row != TSMITH_INDEX_NONE)
            timeline->calls[record].row = row;
    }
    return true;
}

// A wait for a queue that the trace does not name: programs wait for what they have just launched.
static void infer_queues(tsmith_timeline *timeline) {
    uint32_t row = TSMITH_INDEX_NONE;
    for (size_t i = 0; i < timeline->call_count; i++) {
        tsmith_call *call = &timeline->calls[i];
        if (i && call->thread != call[-1].thread)
            row = TSMITH_INDEX_NONE;
        if (call->role == TSMITH_CALL_LAUNCH && call->command_count)
            row = call->row;
        if (call->role == TSMITH_CALL_SYNC_QUEUE && call->row == TSMITH_INDEX_NONE &&
            row != TSMITH_INDEX_NONE) {
            call->row = row;
            call->row_inferred = 1;
        }
    }
}

// ---- wait lists

static bool is_command(const tsmith_timeline *timeline, const tsmith_command *command, uint64_t correlation,
                       uint32_t process) {
    return command->correlation == correlation && timeline->rows[command->row].process == process;
}

static uint32_t *command_slot(const tsmith_timeline *timeline, const struct index *table,
                              uint64_t correlation, uint32_t process) {
    return TABLE_SLOT(table->slots, table->capacity, hash_key(correlation, process), slot,
                      !*slot || is_command(timeline, &timeline->commands[*slot - 1], correlation, process));
}

// Among several commands with one number, the one that ends last: only then all are complete.
static bool index_commands(const tsmith_timeline *timeline, struct index *table) {
    if (!index_make(table, timeline->command_count))
        return false;
    for (size_t i = 0; i < timeline->command_count; i++) {
        const tsmith_command *command = &timeline->commands[i];
        if (!command->correlation || command->kind == TSMITH_KIND_COMPILE)
            continue;
        uint32_t *slot =
            command_slot(timeline, table, command->correlation, timeline->rows[command->row].process);
        if (!*slot || timeline->commands[*slot - 1].end < command->end)
            *slot = (uint32_t)i + 1;
    }
    return true;
}

// Calls that set a user event, by its number; of several only the first sets it. No slots when there is none.
static bool index_settings(const tsmith_timeline *timeline, struct index *table) {
    size_t count = 0;
    for (size_t i = 0; i < timeline->call_count; i++)
        count += timeline->calls[i].role == TSMITH_CALL_SET_EVENT;
    if (count && !index_make(table, count))
        return false;
    for (size_t i = 0; i < timeline->call_count && count; i++) {
        const tsmith_call *call = &timeline->calls[i];
        if (call->role != TSMITH_CALL_SET_EVENT || !call->correlation)
            continue;
        uint32_t *slot =
            call_slot(timeline, table, call->correlation, timeline->threads[call->thread].process);
        if (!*slot || timeline->calls[*slot - 1].start > call->start)
            *slot = (uint32_t)i + 1;
    }
    return true;
}

// Notes the calls that set the events a command waits for. False when memory is exhausted.
static bool find_settings(tsmith_timeline *timeline, const struct index *settings, uint32_t index) {
    const tsmith_command *command = &timeline->commands[index];
    const uint32_t process = timeline->rows[command->row].process;
    const struct command_details details = timeline_command_details(timeline, command);
    for (uint32_t i = 0; settings->slots && i < details.wait_count; i++) {
        const uint64_t number = timeline->raw_waits[details.wait_first + i];
        const uint32_t slot = *call_slot(timeline, settings, number, process);
        if (slot &&
            !ARRAY_RESERVE(timeline->settings, timeline->setting_capacity, timeline->setting_count + 1))
            return false;
        if (slot)
            timeline->settings[timeline->setting_count++] = (struct setting){index, slot - 1};
    }
    return true;
}

// Replaces numbers by indices; what is no command of the trace (user events, commands before the trace) goes.
static void resolve(tsmith_timeline *timeline, const struct index *table, uint32_t process, uint32_t *first,
                    uint32_t *count) {
    uint32_t from = *first, n = *count, slot;
    *first = (uint32_t)timeline->wait_count;
    *count = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!(slot = *command_slot(timeline, table, timeline->raw_waits[from + i], process)))
            continue;
        timeline->waits[timeline->wait_count++] = slot - 1;
        ++*count;
    }
}

static tsmith_status resolve_waits(tsmith_timeline *timeline) {
    struct index table = {0}, settings = {0};
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    timeline->waits = malloc((timeline->raw_wait_count + 1) * sizeof *timeline->waits);
    if (!timeline->waits)
        return status;
    status = TSMITH_OK;
    if (timeline->raw_wait_count &&
        !(index_commands(timeline, &table) && index_settings(timeline, &settings)))
        status = TSMITH_ERROR_NO_MEMORY;
    for (size_t i = 0; i < timeline->command_count && table.slots; i++) {
        const tsmith_command *command = &timeline->commands[i];
        if (!command->details)
            continue;
        struct command_details *details = &timeline->command_details[command->details - 1];
        if (!find_settings(timeline, &settings, (uint32_t)i))
            status = TSMITH_ERROR_NO_MEMORY;
        resolve(timeline, &table, timeline->rows[command->row].process, &details->wait_first,
                &details->wait_count);
    }
    for (size_t i = 0; i < timeline->call_count && table.slots; i++) {
        const tsmith_call *call = &timeline->calls[i];
        if (!call->details)
            continue;
        struct call_details *details = &timeline->call_details[call->details - 1];
        resolve(timeline, &table, timeline->threads[call->thread].process, &details->wait_first,
                &details->wait_count);
    }
    free(table.slots);
    free(settings.slots);
    free(timeline->raw_waits);
    timeline->raw_waits = NULL;
    return status;
}

tsmith_status timeline_pair(tsmith_timeline *timeline, const tsmith_dictionary *dictionary) {
    struct index table = {0};
    struct processes processes = {0};
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    if (index_calls(timeline, &table) && list_processes(timeline, &processes)) {
        find_launching(timeline, &table, &processes);
        pair_commands(timeline, &table, &processes);
        const bool applied = apply_notes(timeline, dictionary, &table, &processes);
        infer_queues(timeline);
        status = applied ? resolve_waits(timeline) : TSMITH_ERROR_NO_MEMORY;
    }
    free(table.slots);
    free(processes.items);
    free(processes.launches);
    free(timeline->notes);
    timeline->notes = NULL;
    timeline->note_count = 0;
    return status;
}
