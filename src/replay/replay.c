// SPDX-License-Identifier: Apache-2.0
// Replays and their verdicts. Every result is compared as it arrives; of those that differ in any replay the least and the
// most of each element are kept, so that after the last replay it can be said whether that is noise.
#include "tracesmith/replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"
#include "replay/compare.h"
#include "replay/culprit.h"
#include "replay/execute.h"
#include "replay/select.h"
#include "replay/timing.h"

// What is kept of a result besides what is told of it.
struct gathered {
    size_t process, record;
    bool wide; // differed beyond tolerance in some replay
    uint8_t *recorded, *least, *most;
    size_t size;
    bool hashed; // only a hash was recorded; that of the last replay:
    struct chunk_hash hash;
};

struct tsmith_replay {
    struct execution *execution;
    tsmith_replay_result *results;
    struct gathered *gathered;
    size_t count, result_capacity, gathered_capacity;
    char **notes;
    size_t note_count, note_capacity;
    // of the replay that runs
    struct tsmith_recording *recording;
    const tsmith_replay_options *options;
    const struct recorded_process *process;
    size_t process_index, first; // where the results of the process begin
    uint32_t turn;
    size_t next;               // where the next result probably is, from `first`
    uint64_t *commands;        // how many were before each record
    struct chunk_table states; // of VERIFY numbers: record + 1 of the STATE
    struct compare_tolerance tolerance;
    bool failed; // memory
    struct timing timing;
    uint64_t asked; // commands, of a part
    tsmith_replay_culprit culprit;
};

const char *tsmith_verdict_name(tsmith_verdict verdict) {
    switch (verdict) {
#define NAME_CASE(NAME, number, name, doc)                                                                   \
    case TSMITH_VERDICT_##NAME:                                                                              \
        return name;
        TSMITH_VERDICT_TABLE(NAME_CASE)
#undef NAME_CASE
    default:
        return NULL;
    }
}

// ---- results

static const char *what_of(const struct recorded_process *process, size_t record) {
    const struct recording_record *at = &process->records[record];
    if (at->type == RECORDING_COMMAND)
        return recording_value(at, RECORDING_KEY_COMMAND) == RECORDING_COMMAND_MAP ? "map" : "read";
    if (recording_value(at, RECORDING_KEY_FLAGS) & RECORDING_VERIFY_COMMAND)
        return "written";
    for (size_t i = record + 1; i < process->count; i++) {
        const struct recording_record *next = &process->records[i];
        if (next->type == RECORDING_RELEASE &&
            recording_value(next, RECORDING_KEY_OBJECT) == recording_value(at, RECORDING_KEY_OBJECT))
            return "released";
        if (next->type != RECORDING_STATE && next->type != RECORDING_VERIFY && next->type != RECORDING_END &&
            next->type != RECORDING_RELEASE)
            return "overwritten";
    }
    return "at the end";
}

static const char *writer_of(struct tsmith_replay *replay, size_t writer) {
    if (!writer)
        return NULL;
    const struct recording_record *record = &replay->process->records[writer - 1];
    if (record->type != RECORDING_COMMAND)
        return recording_text(replay->recording, record, RECORDING_KEY_NAME);
    const uint64_t command = recording_value(record, RECORDING_KEY_COMMAND);
    const uint64_t kernel = recording_value(record, RECORDING_KEY_KERNEL);
    for (size_t i = 0; command == RECORDING_COMMAND_KERNEL && i < writer; i++) {
        const struct recording_record *made = &replay->process->records[i];
        if (made->type == RECORDING_KERNEL && recording_value(made, RECORDING_KEY_OBJECT) == kernel)
            return recording_text(replay->recording, made, RECORDING_KEY_NAME);
    }
    return recording_command_name(command);
}

// The one of this record, from an earlier replay or a new one; NULL when memory is exhausted.
static tsmith_replay_result *find_result(struct tsmith_replay *replay, const struct execute_result *from,
                                         struct gathered **gathered) {
    void *results = replay->results, *more = replay->gathered;
    // They come in nearly the same order every time.
    const size_t known = replay->turn ? replay->count - replay->first : 0;
    for (size_t i = 0; i < known; i++) {
        const size_t at = replay->first + (replay->next + i) % known;
        if (replay->gathered[at].process == replay->process_index &&
            replay->gathered[at].record == from->record) {
            replay->next = at - replay->first + 1;
            *gathered = &replay->gathered[at];
            return &replay->results[at];
        }
    }
    if (!array_reserve(&results, &replay->result_capacity, replay->count + 1, sizeof *replay->results))
        return NULL;
    replay->results = results;
    if (!array_reserve(&more, &replay->gathered_capacity, replay->count + 1, sizeof *replay->gathered))
        return NULL;
    replay->gathered = more;
    replay->gathered[replay->count] =
        (struct gathered){.process = replay->process_index, .record = from->record};
    *gathered = &replay->gathered[replay->count];
    tsmith_replay_result *result = &replay->results[replay->count++];
    *result = (tsmith_replay_result){.pid = replay->process->pid,
                                     .command = replay->commands[from->record],
                                     .what = what_of(replay->process, from->record),
                                     .buffer = from->buffer,
                                     .bytes = from->size,
                                     .writer = writer_of(replay, from->writer),
                                     .writer_command = from->writer ? replay->commands[from->writer - 1] : 0,
                                     .element = from->element};
    if (from->writer)
        result->writer_correlation =
            recording_value(&replay->process->records[from->writer - 1], RECORDING_KEY_CORRELATION);
    return result;
}

// The record with the recorded content: a VERIFY's STATE, or the command itself.
static const struct recording_record *content_of(const struct tsmith_replay *replay, size_t record) {
    const struct recording_record *at = &replay->process->records[record];
    if (at->type != RECORDING_VERIFY)
        return at;
    const uint64_t state =
        chunk_table_find(&replay->states, chunk_key_of(recording_value(at, RECORDING_KEY_VERIFY)));
    return state ? &replay->process->records[state - 1] : NULL;
}

// Least and most begin with this replay, or, when earlier ones were exact, with what was recorded.
static bool begin_envelope(struct tsmith_replay *replay, struct gathered *gathered, const uint8_t *recorded,
                           const uint8_t *replayed, size_t size) {
    gathered->recorded = malloc(size ? size : 1);
    gathered->least = malloc(size ? size : 1);
    gathered->most = malloc(size ? size : 1);
    if (!gathered->recorded || !gathered->least || !gathered->most)
        return false;
    gathered->size = size;
    memcpy(gathered->recorded, recorded, size);
    memcpy(gathered->least, replay->turn ? recorded : replayed, size);
    memcpy(gathered->most, replay->turn ? recorded : replayed, size);
    return true;
}

static void note_comparison(tsmith_replay_result *result, struct gathered *gathered,
                            const struct comparison *comparison) {
    if (comparison->different > result->different || (!comparison->within && !gathered->wide)) {
        result->offset = comparison->offset;
        result->recorded = comparison->recorded;
        result->replayed = comparison->replayed;
        result->different = comparison->different;
    }
    result->most_ulps = comparison->most_ulps > result->most_ulps ? comparison->most_ulps : result->most_ulps;
    if (comparison->most_absolute > result->most_absolute)
        result->most_absolute = comparison->most_absolute;
    gathered->wide |= !comparison->within;
}

static bool has_only_hashes(const struct tsmith_recording *recording,
                            const struct recording_record *content) {
    return recording_has_payload(content) &&
           (recording->hashes_only ||
            (recording_value(content, RECORDING_KEY_FLAGS) & RECORDING_STATE_HASHES) != 0);
}

// Of what data was not kept: the same or not, to the piece that has one hash.
static void compare_hashes(const struct recording_record *content, const struct execute_result *from,
                           tsmith_replay_result *result, struct gathered *gathered) {
    size_t offset;
    const bool equal = recording_hashes_equal(content, from->bytes, from->size, &offset);
    const struct chunk_hash hash = chunk_hash_of(from->bytes, from->size);
    result->varies |= gathered->hashed && !chunk_hash_equal(gathered->hash, hash);
    gathered->hashed = true;
    gathered->hash = hash;
    result->replays_exact += equal;
    if (equal || result->different)
        return;
    result->offset = offset;
    result->different = 1;
}

// How far off the content of a hash is, nobody can say: where that matters there is no verdict.
static void judge_hashes(const struct compare_tolerance *tolerance, tsmith_replay_result *result) {
    if (!result->different)
        return;
    if (result->varies && result->replays_exact) {
        result->verdict = TSMITH_VERDICT_WITHIN_NOISE;
        result->reason = "it differs from replay to replay, and was as recorded in some";
    } else if (result->varies) {
        result->verdict = TSMITH_VERDICT_UNCOMPARABLE;
        result->reason = "only a hash of it was recorded, and it differs from replay to replay";
    } else if (tolerance->ulps || tolerance->absolute > 0) {
        result->verdict = TSMITH_VERDICT_UNCOMPARABLE;
        result->reason = "only a hash of it was recorded: it differs, and how far is not known";
    } else {
        result->verdict = TSMITH_VERDICT_DIVERGED;
        result->reason = "only a hash of it was recorded: where in these 64 KiB it differs is not known";
    }
}

static void compare_result(struct tsmith_replay *replay, const struct execute_result *from,
                           tsmith_replay_result *result, struct gathered *gathered) {
    size_t size = 0;
    const struct recording_record *content = content_of(replay, from->record);
    uint8_t *recorded = content ? recording_payload(replay->recording, content, &size) : NULL;
    if (!recorded && content && has_only_hashes(replay->recording, content)) {
        compare_hashes(content, from, result, gathered);
        return;
    }
    if (!recorded || size != from->size) {
        result->verdict = TSMITH_VERDICT_UNCOMPARABLE;
        result->reason =
            recorded ? "its size is not what was recorded" : "what was recorded of it is damaged";
        free(recorded);
        return;
    }
    const bool equal = memcmp(recorded, from->bytes, size) == 0;
    result->replays_exact += equal;
    if (replay->options->take && replay->turn == 0)
        replay->options->take(replay->options->take_context,
                              &(tsmith_replay_bytes){result->pid, result->command, result->buffer,
                                                     result->what, result->element, recorded, from->bytes,
                                                     size, equal});
    if (!equal) {
        const struct comparison comparison =
            compare_buffers(from->element, recorded, from->bytes, size, &replay->tolerance);
        note_comparison(result, gathered, &comparison);
        if (!gathered->recorded)
            replay->failed |= !begin_envelope(replay, gathered, recorded, from->bytes, size);
    }
    if (gathered->least && gathered->most)
        envelope_extend(from->element, gathered->least, gathered->most, from->bytes, size);
    free(recorded);
}

static void take_result(void *context, const struct execute_result *from) {
    struct tsmith_replay *replay = context;
    struct gathered *gathered;
    tsmith_replay_result *result = find_result(replay, from, &gathered);
    if (!result) {
        replay->failed = true;
    } else if (!from->bytes) {
        result->verdict = TSMITH_VERDICT_UNCOMPARABLE;
        result->reason = from->why;
    } else {
        compare_result(replay, from, result, gathered);
    }
}

static void take_note(void *context, const char *text) {
    struct tsmith_replay *replay = context;
    void *notes = replay->notes;
    for (size_t i = 0; i < replay->note_count; i++)
        if (strcmp(replay->notes[i], text) == 0)
            return;
    char *copy = strdup(text);
    if (!copy ||
        !array_reserve(&notes, &replay->note_capacity, replay->note_count + 1, sizeof *replay->notes)) {
        replay->failed = true;
        free(copy);
        return;
    }
    replay->notes = notes;
    replay->notes[replay->note_count++] = copy;
}

static void take_timed(void *context, size_t record, int64_t duration) {
    struct tsmith_replay *replay = context;
    replay->failed |= !timing_add(&replay->timing, replay->process_index, record, duration);
}

// After the last replay.
static void judge(struct tsmith_replay *replay) {
    for (size_t i = 0; i < replay->count; i++) {
        tsmith_replay_result *result = &replay->results[i];
        const struct gathered *gathered = &replay->gathered[i];
        if (gathered->hashed && result->verdict != TSMITH_VERDICT_UNCOMPARABLE)
            judge_hashes(&replay->tolerance, result);
        if (result->verdict == TSMITH_VERDICT_UNCOMPARABLE || !gathered->recorded)
            continue;
        result->varies = memcmp(gathered->least, gathered->most, gathered->size) != 0;
        if (!gathered->wide)
            result->verdict = TSMITH_VERDICT_WITHIN_TOLERANCE;
        else if (replay->turn > 1 && envelope_holds(result->element, gathered->least, gathered->most,
                                                    gathered->recorded, gathered->size))
            result->verdict = TSMITH_VERDICT_WITHIN_NOISE;
        else
            result->verdict = TSMITH_VERDICT_DIVERGED;
    }
}

// ---- replaying

static bool count_commands(struct tsmith_replay *replay) {
    uint64_t commands = 0;
    replay->commands = calloc(replay->process->count + 1, sizeof *replay->commands);
    for (size_t i = 0; replay->commands && i < replay->process->count; i++) {
        const struct recording_record *record = &replay->process->records[i];
        replay->commands[i] = commands;
        commands += record->type == RECORDING_COMMAND;
        if (record->type == RECORDING_STATE &&
            !chunk_table_add(&replay->states, chunk_key_of(recording_value(record, RECORDING_KEY_VERIFY)),
                             i + 1))
            return false;
    }
    return replay->commands != NULL;
}

// Whether a result varies from replay to replay, and what was recorded lies outside all the same: a few replays do not
// show all that can come, so more are needed before it is called wrong.
static bool is_undecided(const struct tsmith_replay *replay) {
    for (size_t i = replay->first; i < replay->count; i++) {
        const struct gathered *gathered = &replay->gathered[i];
        if (gathered->recorded && gathered->wide &&
            replay->results[i].verdict != TSMITH_VERDICT_UNCOMPARABLE &&
            memcmp(gathered->least, gathered->most, gathered->size) != 0 &&
            !envelope_holds(replay->results[i].element, gathered->least, gathered->most, gathered->recorded,
                            gathered->size))
            return true;
    }
    return false;
}

static tsmith_status make_wishes(struct tsmith_replay *replay, const tsmith_replay_options *options,
                                 struct execute_wishes *wishes, uint8_t **left_out, tsmith_error *error) {
    struct plan plan;
    uint64_t asked = 0;
    *left_out = NULL;
    *wishes = (struct execute_wishes){.speed = options->speed, .timed = options->timing ? take_timed : NULL};
    if (options->speed > 0 && !replay->process->times)
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "the times of the recording were not taken: there is no pace to keep");
    wishes->pace = options->speed > 0 ? replay->process->times : NULL;
    if (!select_is_asked(options))
        return TSMITH_OK;
    tsmith_status status = plan_make(&plan, replay->recording, replay->process, error);
    if (status == TSMITH_OK)
        status = plan_check(&plan, error);
    if (status == TSMITH_OK)
        status = select_records(&plan, options, left_out, &asked, error);
    plan_finish(&plan);
    wishes->left_out = *left_out;
    replay->asked += asked;
    return status;
}

// Of the first process in which something diverged.
static tsmith_status find_culprit(struct tsmith_replay *replay, struct execution *execution,
                                  const tsmith_replay_options *options, tsmith_error *error) {
    size_t process = 0, count = 0;
    while (process < replay->count && replay->results[process].verdict != TSMITH_VERDICT_DIVERGED)
        process++;
    if (process == replay->count)
        return TSMITH_OK;
    process = replay->gathered[process].process;
    struct culprit_result *results = calloc(replay->count, sizeof *results);
    if (!results)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "no memory to find the first bad command");
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

static tsmith_status run_process(struct tsmith_replay *replay, struct execution *execution,
                                 const tsmith_replay_options *options, tsmith_error *error) {
    struct execute_wishes wishes;
    const struct execute_client client = {replay, take_result, take_note, &wishes};
    uint8_t *left_out;
    replay->first = replay->count;
    tsmith_status status = make_wishes(replay, options, &wishes, &left_out, error);
    if (status != TSMITH_OK) {
        free(left_out);
        return status;
    }
    if (!count_commands(replay))
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "no memory to replay");
    if (recording_unfinished(replay->process))
        take_note(replay,
                  "the recording of a process has no end: it was killed, left by _exit or exec, or there was "
                  "no room to write any further; what is whole is replayed");
    enum { MORE = 8 }; // times as many replays as asked for, where it is undecided
    for (replay->turn = 0; status == TSMITH_OK; replay->turn++) {
        if (replay->turn >= options->times &&
            (options->times < 2 || replay->turn >= (uint64_t)options->times * MORE || !is_undecided(replay)))
            break;
        replay->next = 0;
        status = execute_opencl_run(execution, replay->recording, replay->process, options, &client, error);
    }
    free(left_out);
    free(replay->commands);
    replay->commands = NULL;
    chunk_table_finish(&replay->states);
    return status;
}

tsmith_status tsmith_replay_run(tsmith_recording *recording, const tsmith_replay_options *given,
                                tsmith_replay **out, tsmith_error *error) {
    tsmith_replay_options options = {0};
    struct execution *execution = NULL;
    *out = NULL;
    if (given)
        memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
    options.times = options.times ? options.times : 1;
    struct tsmith_replay *replay = calloc(1, sizeof *replay);
    if (!replay)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "no memory to replay");
    tsmith_status status = execute_opencl_open(options.device, &execution, error);
    if (status != TSMITH_OK) {
        free(replay);
        return status;
    }
    replay->execution = execution;
    replay->recording = recording;
    replay->options = &options;
    replay->tolerance = (struct compare_tolerance){options.ulps, options.absolute};
    for (size_t i = 0; status == TSMITH_OK && i < recording->process_count; i++) {
        replay->process = &recording->processes[i];
        replay->process_index = i;
        status = run_process(replay, execution, &options, error);
    }
    if (status == TSMITH_OK && select_is_asked(&options) && !replay->asked)
        status =
            status_set(error, TSMITH_ERROR_NOT_FOUND, "no command of the recording is what was asked for");
    replay->failed |= !timing_conclude(&replay->timing, recording);
    if (status == TSMITH_OK && replay->failed)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "no memory for the results of the replay");
    judge(replay);
    if (status == TSMITH_OK)
        status = find_culprit(replay, execution, &options, error);
    replay->options = NULL;
    *out = replay;
    return status;
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
    free(replay);
}

const char *tsmith_replay_device(const tsmith_replay *replay) {
    return execute_opencl_device(replay->execution);
}

int tsmith_replay_mapping_get(const tsmith_replay *replay, size_t index, tsmith_replay_mapping *out) {
    const struct execute_mapping *mapping = execute_opencl_mapping(replay->execution, index);
    if (mapping)
        *out = (tsmith_replay_mapping){mapping->pid, mapping->recorded, mapping->device, mapping->name};
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
    *out = replay->timing.times[index];
    return 1;
}

int tsmith_replay_culprit_get(const tsmith_replay *replay, tsmith_replay_culprit *out) {
    *out = replay->culprit;
    return replay->culprit.count != 0;
}
