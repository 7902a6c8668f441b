// SPDX-License-Identifier: Apache-2.0
// Collects and compares recorded and replayed command times. replay.c calls it, and the command reads the result.
#include "replay/timing.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "base/status.h"
#include "tracesmith/dictionary.h"

// ---- what was recorded

struct key {
    uint64_t pid, correlation;
    uint32_t command; // index + 1; 0: only a call
    uint32_t call;
};

static int by_key(const void *left, const void *right) {
    const struct key *a = left, *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    return a->command < b->command ? -1 : a->command > b->command;
}

static uint64_t pid_of_command(const tsmith_timeline *timeline, const tsmith_dictionary *dictionary,
                               const tsmith_command *command) {
    size_t rows;
    const tsmith_row *row = &tsmith_timeline_rows(timeline, &rows)[command->row];
    const tsmith_process *process = tsmith_dictionary_process(dictionary, row->process);
    return process ? process->pid : 0;
}

static size_t make_keys(const tsmith_timeline *timeline, const tsmith_dictionary *dictionary,
                        struct key *keys) {
    size_t commands, count = 0;
    const tsmith_command *command = tsmith_timeline_commands(timeline, &commands);
    for (size_t i = 0; i < commands; i++)
        if (command[i].correlation && command[i].kind != TSMITH_KIND_COMPILE)
            keys[count++] = (struct key){pid_of_command(timeline, dictionary, &command[i]),
                                         command[i].correlation, (uint32_t)i + 1, command[i].call};
    qsort(keys, count, sizeof *keys, by_key);
    return count;
}

static void take_times(struct recorded_process *process, const tsmith_timeline *timeline,
                       const struct key *keys, size_t count) {
    size_t any;
    const tsmith_command *commands = tsmith_timeline_commands(timeline, &any);
    const tsmith_call *calls = tsmith_timeline_calls(timeline, &any);
    for (size_t i = 0; i < process->count; i++) {
        const struct recording_record *record = &process->records[i];
        const struct key wanted = {.pid = process->pid,
                                   .correlation = recording_value(record, RECORDING_KEY_CORRELATION)};
        size_t at = SORTED_FIND(k, 0, wanted.correlation && record->type == RECORDING_COMMAND ? count : 0,
                                by_key(&keys[k], &wanted) < 0);
        if (at == count || keys[at].pid != wanted.pid || keys[at].correlation != wanted.correlation)
            continue;
        const tsmith_command *command = &commands[keys[at].command - 1];
        struct recorded_time *time = &process->times[i];
        time->called = keys[at].call != TSMITH_INDEX_NONE ? calls[keys[at].call].start : command->start;
        time->start = command->untimed ? 0 : command->start;
        time->end = command->end_unknown ? 0 : command->end;
    }
}

tsmith_status tsmith_recording_take_times(tsmith_recording *recording, const tsmith_timeline *timeline,
                                          const tsmith_dictionary *dictionary, tsmith_error *error) {
    size_t commands;
    tsmith_timeline_commands(timeline, &commands);
    struct key *keys = malloc((commands + 1) * sizeof *keys);
    bool done = keys != NULL;
    const size_t count = done ? make_keys(timeline, dictionary, keys) : 0;
    for (size_t i = 0; i < recording->process_count && done; i++) {
        struct recorded_process *process = &recording->processes[i];
        free(process->times);
        process->times = calloc(process->count + 1, sizeof *process->times);
        done = process->times != NULL;
        if (done)
            take_times(process, timeline, keys, count);
    }
    free(keys);
    return done ? TSMITH_OK
                : status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading the recorded times");
}

// ---- what replays took

bool timing_add(struct timing *timing, size_t process, size_t record, int64_t duration) {
    if (!ARRAY_RESERVE(timing->samples, timing->capacity, timing->count + 1))
        return false;
    timing->samples[timing->count++] = (struct timing_sample){process, record, duration};
    return true;
}

static int by_command(const void *left, const void *right) {
    const struct timing_sample *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->record != b->record)
        return a->record < b->record ? -1 : 1;
    return a->duration < b->duration ? -1 : a->duration > b->duration;
}

// Names of kernels by their numbers: one of a process at a time.
static bool index_kernels(struct chunk_table *kernels, const struct recorded_process *process) {
    for (size_t i = 0; i < process->count; i++)
        if (process->records[i].type == RECORDING_KERNEL &&
            !chunk_table_add(
                kernels, chunk_key_of(recording_value(&process->records[i], RECORDING_KEY_OBJECT)), i + 1))
            return false;
    return true;
}

static tsmith_replay_time time_of(struct tsmith_recording *recording, const struct chunk_table *kernels,
                                  const struct timing_sample *samples, size_t count, uint64_t command) {
    const struct recorded_process *process = &recording->processes[samples->process];
    const struct recording_record *record = &process->records[samples->record];
    const uint64_t kernel = recording_value(record, RECORDING_KEY_KERNEL);
    const uint64_t made = kernel ? chunk_table_find(kernels, chunk_key_of(kernel)) : 0;
    const struct recorded_time *time = process->times ? &process->times[samples->record] : NULL;
    return (tsmith_replay_time){
        .pid = process->pid,
        .command = command,
        .what = recording_command_name(recording_value(record, RECORDING_KEY_COMMAND)),
        .kernel = made ? recording_text(recording, &process->records[made - 1], RECORDING_KEY_NAME) : NULL,
        .queue = recording_value(record, RECORDING_KEY_QUEUE),
        .replays = (uint32_t)count,
        .recorded = time && time->end > time->start ? time->end - time->start : -1,
        .least = samples[0].duration,
        .median = samples[count / 2].duration,
        .most = samples[count - 1].duration};
}

bool timing_conclude(struct timing *timing, struct tsmith_recording *recording) {
    struct chunk_table kernels = {0};
    size_t process = SIZE_MAX, seen = 0;
    uint64_t commands = 0;
    if (!timing->count)
        return true;
    qsort(timing->samples, timing->count, sizeof *timing->samples, by_command);
    timing->times = calloc(timing->count, sizeof *timing->times);
    bool done = timing->times != NULL;
    for (size_t i = 0, end; i < timing->count && done; i = end) {
        const struct timing_sample *sample = &timing->samples[i];
        for (end = i; end < timing->count && timing->samples[end].process == sample->process &&
                      timing->samples[end].record == sample->record;)
            end++;
        if (sample->process != process) {
            process = sample->process;
            seen = commands = 0;
            chunk_table_finish(&kernels);
            kernels = (struct chunk_table){0};
            done = index_kernels(&kernels, &recording->processes[process]);
        }
        for (; seen < sample->record; seen++)
            commands += recording->processes[process].records[seen].type == RECORDING_COMMAND;
        timing->times[timing->time_count++] = time_of(recording, &kernels, sample, end - i, commands);
    }
    chunk_table_finish(&kernels);
    return done;
}

void timing_finish(struct timing *timing) {
    free(timing->samples);
    free(timing->times);
    *timing = (struct timing){0};
}
