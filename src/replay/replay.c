// SPDX-License-Identifier: Apache-2.0
// Replays of a recording, of all its processes, as often as they are wanted. Results are results.c's.
#include "tracesmith/replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sized.h"
#include "base/status.h"
#include "replay/culprit.h"
#include "replay/execute.h"
#include "replay/results.h"
#include "replay/select.h"
#include "replay/two_devices.h"

static void take_timed(void *context, size_t record, int64_t duration) {
    struct tsmith_replay *replay = context;
    replay->failed |= !timing_add(&replay->timing, replay->process_index, record, duration);
}

static tsmith_status make_execute_options(struct tsmith_replay *replay, const tsmith_replay_options *options,
                                          struct execute_options *run_options, uint8_t **left_out,
                                          tsmith_error *error) {
    struct plan plan;
    uint64_t asked = 0;
    *left_out = NULL;
    *run_options =
        (struct execute_options){.speed = options->speed, .timed = options->timing ? take_timed : NULL};
    if (options->speed > 0 && !replay->process->times)
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "the times of the recording were not read, so its pace is unknown");
    run_options->pace = options->speed > 0 ? replay->process->times : NULL;
    if (!select_is_asked(options))
        return TSMITH_OK;
    if (replay->process->vulkan) {
        const tsmith_status selected =
            select_vulkan_records(replay->process, options, left_out, &asked, error);
        run_options->left_out = *left_out;
        replay->asked += asked;
        return selected;
    }
    tsmith_status status = plan_make(&plan, replay->recording, replay->process, error);
    if (status == TSMITH_OK)
        status = plan_check(&plan, error);
    if (status == TSMITH_OK)
        status = select_records(&plan, options, left_out, &asked, error);
    plan_finish(&plan);
    run_options->left_out = *left_out;
    replay->asked += asked;
    return status;
}

// For the first process in which something diverged.
static tsmith_status find_culprit(struct tsmith_replay *replay, struct execution *execution,
                                  const tsmith_replay_options *options, tsmith_error *error) {
    size_t process = 0, count = 0;
    while (process < replay->count && replay->results[process].verdict != TSMITH_VERDICT_DIVERGED)
        process++;
    if (process == replay->count)
        return TSMITH_OK;
    process = replay->gathered[process].process;
    if (replay->recording->processes[process].vulkan)
        return TSMITH_OK; // its results are those of single submissions
    struct culprit_result *results = calloc(replay->count, sizeof *results);
    if (!results)
        return status_set(error, TSMITH_ERROR_NO_MEMORY,
                          "out of memory while searching for the first wrong command");
    for (size_t i = 0; i < replay->count; i++)
        if (replay->gathered[i].process == process)
            results[count++] =
                (struct culprit_result){.record = replay->gathered[i].record,
                                        .exact = replay->results[i].verdict == TSMITH_VERDICT_EXACT,
                                        .diverged = replay->results[i].verdict == TSMITH_VERDICT_DIVERGED};
    const tsmith_status status =
        culprit_find(execution, replay->recording, &replay->recording->processes[process], results, count,
                     options, &replay->culprit, error);
    free(results);
    return status;
}

static void count_commands(struct tsmith_replay *replay, const uint8_t *left_out, uint64_t asked) {
    uint64_t commands = 0, ran = 0;
    for (size_t i = 0; i < replay->process->count; i++)
        if (replay->process->records[i].type == RECORDING_COMMAND) {
            commands++;
            ran += !left_out || !left_out[i];
        }
    replay->extent.commands += commands;
    replay->extent.ran += ran;
    replay->extent.asked += left_out ? asked : commands;
}

// As often as was asked for, and more often where that does not decide.
static tsmith_status run_turns(struct tsmith_replay *replay, struct execution *execution,
                               const tsmith_replay_options *options, const struct execute_client *client,
                               tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    enum { MORE = 8 }; // times as many replays as asked for, where it is undecided
    for (replay->turn = 0; status == TSMITH_OK; replay->turn++) {
        if (replay->turn >= options->times &&
            (options->times < 2 || replay->turn >= (uint64_t)options->times * MORE ||
             !results_undecided(replay)))
            break;
        replay->next = 0;
        if (replay->process->vulkan)
            status = execute_vulkan_run(replay->vulkan, replay->recording, replay->process, options, client,
                                        error);
        else
            status = replay->against ? two_devices_run(replay, options, error)
                                     : execute_opencl_run(execution, replay->recording, replay->process,
                                                          options, client, error);
    }
    return status;
}

static tsmith_status run_process(struct tsmith_replay *replay, struct execution *execution,
                                 const tsmith_replay_options *options, tsmith_error *error) {
    struct execute_options run_options;
    const struct execute_client client = {replay, results_take, results_note, &run_options};
    uint8_t *left_out;
    replay->first = replay->count;
    const uint64_t asked = replay->asked;
    tsmith_status status = make_execute_options(replay, options, &run_options, &left_out, error);
    if (status != TSMITH_OK) {
        free(left_out);
        return status;
    }
    count_commands(replay, left_out, replay->asked - asked);
    if (!results_begin(replay))
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while preparing the replay");
    if (recording_unfinished(replay->process))
        results_note(replay, "the recording of a process has no end: it was killed, left by _exit or exec, "
                             "or there was no room to continue; the complete part is replayed");
    if (status == TSMITH_OK)
        status = run_turns(replay, execution, options, &client, error);
    free(left_out);
    results_end(replay);
    return status;
}

tsmith_status replay_run_part(struct execution *execution, struct tsmith_recording *recording, size_t process,
                              const tsmith_replay_options *given, const struct execute_options *run_options,
                              bool *diverged, tsmith_error *error) {
    tsmith_replay_options options = *given;
    struct tsmith_replay *replay = calloc(1, sizeof *replay);
    const struct execute_client client = {replay, results_take, results_note, run_options};
    *diverged = false;
    options.take = NULL;
    tsmith_status status = replay ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
    if (replay) {
        replay->recording = recording;
        replay->options = &options;
        replay->tolerance = (struct compare_tolerance){options.ulps, options.absolute};
        replay->process = &recording->processes[process];
        replay->process_index = process;
        status = results_begin(replay) ? run_turns(replay, execution, &options, &client, error)
                                       : TSMITH_ERROR_NO_MEMORY;
        results_end(replay);
        results_judge(replay);
        if (status == TSMITH_OK && replay->failed)
            status = TSMITH_ERROR_NO_MEMORY;
        for (size_t i = 0; i < replay->count; i++)
            *diverged |= replay->results[i].verdict == TSMITH_VERDICT_DIVERGED;
    }
    tsmith_replay_destroy(replay);
    return status == TSMITH_ERROR_NO_MEMORY
               ? status_set(error, status, "out of memory while replaying a part of the recording")
               : status;
}

// What replays of captured frames do not do.
static tsmith_status check_vulkan(const tsmith_replay_options *options, tsmith_error *error) {
    const char *what = options->against         ? "a comparison of two devices"
                       : options->source_kernel ? "an edited source"
                       : options->only_kernel   ? "a selection by kernel"
                       : options->speed > 0     ? "the recorded pace"
                       : options->timing        ? "the times of commands"
                       : options->device && strcmp(options->device, "oclgrind") == 0 ? "a run on Oclgrind"
                                                                                     : NULL;
    return what ? status_set(error, TSMITH_ERROR_UNSUPPORTED,
                             "the recording has frames of Vulkan, for which replay does not have %s", what)
                : TSMITH_OK;
}

// The devices of the APIs that the recording is of.
static tsmith_status open_devices(struct tsmith_replay *replay, const struct tsmith_recording *recording,
                                  const tsmith_replay_options *options, tsmith_error *error) {
    bool vulkan = false, opencl = false;
    for (size_t i = 0; i < recording->process_count; i++) {
        vulkan |= recording->processes[i].vulkan;
        opencl |= !recording->processes[i].vulkan && recording->processes[i].used;
    }
    tsmith_status status = vulkan ? check_vulkan(options, error) : TSMITH_OK;
    if (status == TSMITH_OK && vulkan)
        status = execute_vulkan_open(options->device, &replay->vulkan, error);
    if (status == TSMITH_OK && (opencl || !vulkan))
        status = execute_opencl_open(options->device, &replay->execution, error);
    return status;
}

tsmith_status tsmith_replay_run(tsmith_recording *recording, const tsmith_replay_options *given,
                                tsmith_replay **out, tsmith_error *error) {
    tsmith_replay_options options = {0};
    *out = NULL;
    tsmith_status status = sized_take(tsmith_replay_options, given, &options, error);
    if (status != TSMITH_OK)
        return status;
    options.times = options.times ? options.times : 1;
    struct tsmith_replay *replay = calloc(1, sizeof *replay);
    if (!replay)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while preparing the replay");
    status = recording_has_source_of(recording, options.source_kernel, error);
    if (status == TSMITH_OK)
        status = open_devices(replay, recording, &options, error);
    struct execution *const execution = replay->execution;
    if (status == TSMITH_OK && options.against)
        status = execute_opencl_open(options.against, &replay->against, error);
    if (status != TSMITH_OK) {
        tsmith_replay_destroy(replay);
        return status;
    }
    replay->recording = recording;
    replay->options = &options;
    replay->tolerance = (struct compare_tolerance){options.ulps, options.absolute};
    for (size_t i = 0; status == TSMITH_OK && i < recording->process_count; i++) {
        replay->process = &recording->processes[i];
        replay->process_index = i;
        if (execution || replay->process->vulkan)
            status = run_process(replay, execution, &options, error);
    }
    if (status == TSMITH_OK && select_is_asked(&options) && !replay->asked)
        status = status_set(error, TSMITH_ERROR_NOT_FOUND, "no recorded command matches the selection");
    replay->failed |= !timing_conclude(&replay->timing, recording);
    if (status == TSMITH_OK && replay->failed)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY,
                            "out of memory while keeping the results of the replay");
    results_judge(replay);
    if (status == TSMITH_OK && execution && execute_opencl_source_failed(execution))
        status = status_set(error, TSMITH_ERROR_FORMAT,
                            "the source given for the kernel '%s' does not build that kernel; see the notes",
                            options.source_kernel);
    if (status == TSMITH_OK)
        status = replay->against ? two_devices_find_first(replay, &options, error)
                                 : find_culprit(replay, execution, &options, error);
    replay->options = NULL;
    *out = replay;
    return status;
}

tsmith_status tsmith_replay_choose(tsmith_recording *recording, const tsmith_replay_options *given,
                                   tsmith_replay **out, tsmith_error *error) {
    tsmith_replay_options options = {0};
    *out = NULL;
    tsmith_status status = sized_take(tsmith_replay_options, given, &options, error);
    if (status != TSMITH_OK)
        return status;
    struct tsmith_replay *replay = calloc(1, sizeof *replay);
    if (!replay)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while choosing devices");
    status = open_devices(replay, recording, &options, error);
    for (size_t i = 0; status == TSMITH_OK && replay->execution && i < recording->process_count; i++)
        if (!execute_opencl_choose(replay->execution, recording, &recording->processes[i]))
            status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while choosing devices");
    if (status == TSMITH_OK)
        *out = replay;
    else
        tsmith_replay_destroy(replay);
    return status;
}

void tsmith_replay_get_extent(const tsmith_replay *replay, tsmith_replay_extent *out) {
    sized_give(tsmith_replay_extent, &replay->extent, out);
}

void tsmith_replay_destroy(tsmith_replay *replay) {
    if (!replay)
        return;
    for (size_t i = 0; i < replay->count; i++) {
        free(replay->gathered[i].recorded);
        free(replay->gathered[i].least);
        free(replay->gathered[i].most);
    }
    for (size_t i = 0; i < replay->note_count; i++)
        free(replay->notes[i]);
    timing_finish(&replay->timing);
    free(replay->notes);
    free(replay->results);
    free(replay->gathered);
    execute_opencl_close(replay->execution);
    execute_opencl_close(replay->against);
    execute_vulkan_close(replay->vulkan);
    free(replay);
}

const char *tsmith_replay_device(const tsmith_replay *replay) {
    return replay->execution ? execute_opencl_device(replay->execution)
           : replay->vulkan  ? execute_vulkan_device(replay->vulkan)
                             : "";
}

const char *tsmith_replay_against(const tsmith_replay *replay) {
    return replay->against ? execute_opencl_device(replay->against) : NULL;
}

int tsmith_replay_mapping_get(const tsmith_replay *replay, size_t index, tsmith_replay_mapping *out) {
    const struct execute_mapping *mapping =
        replay->execution ? execute_opencl_mapping(replay->execution, index) : NULL;
    if (mapping)
        sized_give(tsmith_replay_mapping,
                   (&(tsmith_replay_mapping){.pid = mapping->pid,
                                             .recorded = mapping->recorded,
                                             .device = mapping->device,
                                             .name = mapping->name,
                                             .recorded_driver = mapping->recorded_driver,
                                             .driver = mapping->driver}),
                   out);
    return mapping != NULL;
}

size_t tsmith_replay_result_count(const tsmith_replay *replay) {
    return replay->count;
}

const tsmith_replay_result *tsmith_replay_result_get(const tsmith_replay *replay, size_t index) {
    return index < replay->count ? &replay->results[index] : NULL;
}

const char *tsmith_replay_note(const tsmith_replay *replay, size_t index) {
    return index < replay->note_count ? replay->notes[index] : NULL;
}

int tsmith_replay_time_get(const tsmith_replay *replay, size_t index, tsmith_replay_time *out) {
    if (index >= replay->timing.time_count)
        return 0;
    sized_give(tsmith_replay_time, &replay->timing.times[index], out);
    return 1;
}

int tsmith_replay_culprit_get(const tsmith_replay *replay, tsmith_replay_culprit *out) {
    sized_give(tsmith_replay_culprit, &replay->culprit, out);
    return replay->culprit.count != 0;
}
