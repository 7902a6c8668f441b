// SPDX-License-Identifier: Apache-2.0
// Results and their verdicts. Every result is compared as it arrives; for those that differ in any replay the minimum
// and the maximum of each element are kept, so that noise can be recognized after the last replay.
#include "replay/results.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/names.h"

NAMES_DEFINE(tsmith_verdict_name, tsmith_verdict, TSMITH_VERDICT_TABLE, NAMES_NAME, NULL)

static const char *what_of(const struct recorded_process *process, size_t record) {
    const struct recording_record *at = &process->records[record];
    if (at->type == RECORDING_COMMAND)
        switch (recording_value(at, RECORDING_KEY_COMMAND)) {
        case RECORDING_COMMAND_MAP:
            return "map";
        case RECORDING_COMMAND_READ:
        case RECORDING_COMMAND_READ_RECT:
        case RECORDING_COMMAND_READ_IMAGE:
            return "read";
        default:
            return "written";
        }
    if (at->type != RECORDING_VERIFY)
        return "at the end"; // of the memory that was made there
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
    const struct recording_record *at = &replay->process->records[from->record];
    // They come in nearly the same order every time.
    const size_t known = replay->turn ? replay->count - replay->first : 0;
    for (size_t i = 0; i < known; i++) {
        const size_t index = replay->first + (replay->next + i) % known;
        if (replay->gathered[index].process == replay->process_index &&
            replay->gathered[index].record == from->record && replay->results[index].buffer == from->buffer) {
            replay->next = index - replay->first + 1;
            *gathered = &replay->gathered[index];
            return &replay->results[index];
        }
    }
    if (!ARRAY_RESERVE(replay->results, replay->result_capacity, replay->count + 1))
        return NULL;
    if (!ARRAY_RESERVE(replay->gathered, replay->gathered_capacity, replay->count + 1))
        return NULL;
    replay->gathered[replay->count] =
        (struct gathered){.process = replay->process_index, .record = from->record};
    *gathered = &replay->gathered[replay->count];
    tsmith_replay_result *result = &replay->results[replay->count++];
    const bool in_place = at->type == RECORDING_COMMAND || at->type == RECORDING_VERIFY;
    *result =
        (tsmith_replay_result){.pid = replay->process->pid,
                               .command = replay->commands[in_place ? from->record : replay->process->count],
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

// For data that was not kept: equal or different, per piece with one hash.
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

// How far off the content behind a hash is cannot be known: where that matters there is no verdict.
static void judge_hashes(const struct compare_tolerance *tolerance, tsmith_replay_result *result) {
    if (!result->different)
        return;
    if (result->varies && result->replays_exact) {
        result->verdict = TSMITH_VERDICT_WITHIN_NOISE;
        result->reason = "it differs between replays, and was as recorded in some of them";
    } else if (result->varies) {
        result->verdict = TSMITH_VERDICT_UNCOMPARABLE;
        result->reason = "only a hash of it was recorded, and it differs between replays";
    } else if (tolerance->ulps || tolerance->absolute > 0) {
        result->verdict = TSMITH_VERDICT_UNCOMPARABLE;
        result->reason = "only a hash of it was recorded: it differs by an unknown amount";
    } else {
        result->verdict = TSMITH_VERDICT_DIVERGED;
        result->reason = "only a hash of it was recorded: where in these 64 KiB it differs is unknown";
    }
}

static void compare_bytes(struct tsmith_replay *replay, const struct execute_result *from,
                          const uint8_t *recorded, tsmith_replay_result *result, struct gathered *gathered) {
    const size_t size = from->size;
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
        result->reason = recorded ? "its size is not what was recorded" : "its recorded data is damaged";
        free(recorded);
        return;
    }
    compare_bytes(replay, from, recorded, result, gathered);
    free(recorded);
}

void results_take(void *context, const struct execute_result *from) {
    struct tsmith_replay *replay = context;
    struct gathered *gathered;
    tsmith_replay_result *result = find_result(replay, from, &gathered);
    if (!result) {
        replay->failed = true;
    } else if (!from->bytes) {
        result->verdict = TSMITH_VERDICT_UNCOMPARABLE;
        result->reason = from->why;
    } else {
        gathered->doubt = from->doubt;
        compare_result(replay, from, result, gathered);
    }
}

void results_compare(struct tsmith_replay *replay, const struct execute_result *first,
                     const struct execute_result *second) {
    struct gathered *gathered;
    tsmith_replay_result *result = find_result(replay, second, &gathered);
    if (!result) {
        replay->failed = true;
    } else if (!first->bytes && !second->bytes) {
        result->verdict = TSMITH_VERDICT_UNCOMPARABLE;
        result->reason = first->why;
    } else if (!first->bytes || !second->bytes || first->size != second->size) {
        result->verdict = TSMITH_VERDICT_DIVERGED;
        result->reason = !first->bytes    ? "only the second device has this result"
                         : !second->bytes ? "only the first device has this result"
                                          : "the devices give different sizes";
    } else {
        compare_bytes(replay, second, first->bytes, result, gathered);
    }
}

void results_note(void *context, const char *text) {
    struct tsmith_replay *replay = context;
    for (size_t i = 0; i < replay->note_count; i++)
        if (strcmp(replay->notes[i], text) == 0)
            return;
    char *copy = strdup(text);
    if (!copy || !ARRAY_RESERVE(replay->notes, replay->note_capacity, replay->note_count + 1)) {
        replay->failed = true;
        free(copy);
        return;
    }
    replay->notes[replay->note_count++] = copy;
}

// A difference that the host may have made is none of the replay's.
static void judge_doubt(tsmith_replay_result *result, const struct gathered *gathered) {
    if (result->verdict != TSMITH_VERDICT_DIVERGED || !gathered->doubt)
        return;
    result->verdict = TSMITH_VERDICT_UNCOMPARABLE;
    result->reason = gathered->doubt;
}

void results_judge(struct tsmith_replay *replay) {
    for (size_t i = 0; i < replay->count; i++) {
        tsmith_replay_result *result = &replay->results[i];
        const struct gathered *gathered = &replay->gathered[i];
        if (gathered->hashed && result->verdict != TSMITH_VERDICT_UNCOMPARABLE)
            judge_hashes(&replay->tolerance, result);
        if (result->verdict == TSMITH_VERDICT_UNCOMPARABLE || !gathered->recorded) {
            judge_doubt(result, gathered);
            continue;
        }
        result->varies = memcmp(gathered->least, gathered->most, gathered->size) != 0;
        if (!gathered->wide)
            result->verdict = TSMITH_VERDICT_WITHIN_TOLERANCE;
        else if (replay->turn > 1 && envelope_holds(result->element, gathered->least, gathered->most,
                                                    gathered->recorded, gathered->size))
            result->verdict = TSMITH_VERDICT_WITHIN_NOISE;
        else
            result->verdict = TSMITH_VERDICT_DIVERGED;
        judge_doubt(result, gathered);
    }
}

// ---- one process

bool results_begin(struct tsmith_replay *replay) {
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
    if (replay->commands)
        replay->commands[replay->process->count] = commands;
    return replay->commands != NULL;
}

struct kept {
    tsmith_replay_result result;
    struct gathered gathered;
};

static int by_record(const void *a, const void *b) {
    const struct kept *left = a, *right = b;
    if (left->gathered.record != right->gathered.record)
        return left->gathered.record < right->gathered.record ? -1 : 1;
    return (left->result.buffer > right->result.buffer) - (left->result.buffer < right->result.buffer);
}

// Copies of memory arrive in any order; an answer has them in the order of the recording. Without memory they stay.
static void sort_results(struct tsmith_replay *replay) {
    const size_t count = replay->count - replay->first;
    struct kept *kept = count > 1 ? calloc(count, sizeof *kept) : NULL;
    if (!kept)
        return;
    for (size_t i = 0; i < count; i++)
        kept[i] = (struct kept){replay->results[replay->first + i], replay->gathered[replay->first + i]};
    qsort(kept, count, sizeof *kept, by_record);
    for (size_t i = 0; i < count; i++) {
        replay->results[replay->first + i] = kept[i].result;
        replay->gathered[replay->first + i] = kept[i].gathered;
    }
    free(kept);
}

void results_end(struct tsmith_replay *replay) {
    sort_results(replay);
    free(replay->commands);
    replay->commands = NULL;
    chunk_table_finish(&replay->states);
}

bool results_undecided(const struct tsmith_replay *replay) {
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
