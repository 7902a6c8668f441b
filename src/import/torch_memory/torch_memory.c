// SPDX-License-Identifier: Apache-2.0
// The batch source of memory snapshots of PyTorch: reads the whole pickle, then hands out its events. formats.c opens it.
#include "import/torch_memory/torch_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/plural.h"

enum { LOOK = 4096, OPCODES_PER_RUN = 1 << 16, ROWS_PER_RUN = 4096 };

static bool contains(const char *bytes, size_t length, const char *text) {
    return memmem(bytes, length < LOOK ? length : LOOK, text, strlen(text)) != NULL;
}

bool torch_memory_is(const struct input *input) {
    const char *at = input->window + input->begin;
    const size_t length = input->end - input->begin;
    // Protocols 2 to 5, and what comes first: a frame, a dict, a list.
    if (length < 3 || at[0] != '\x80' || at[1] < 2 || at[1] > 5 || !strchr("\x95}](", at[2]))
        return false;
    return contains(at, length, "segments") || contains(at, length, "device_traces") ||
           contains(at, length, "segment_type") || contains(at, length, "total_size");
}

// ---- reading

static void note_problems(struct torch_memory *memory) {
    static const struct {
        const char *text;
        tsmith_reason reason;
        bool lost;
    } rows[TM_PROBLEM_COUNT] = {
#define ROW(NAME, lost, reason, text) [TM_PROBLEM_##NAME] = {text, reason, lost},
        TM_PROBLEM_TABLE(ROW)
#undef ROW
    };
    for (int i = 0; i < TM_PROBLEM_COUNT; i++)
        if (memory->problems[i])
            ledger_note(&memory->ledger, memory->dictionary, rows[i].reason,
                        rows[i].lost ? memory->problems[i] : 0, rows[i].lost, "%llu %s",
                        (unsigned long long)memory->problems[i], rows[i].text);
}

static void end(struct torch_memory *memory, tsmith_status status) {
    note_problems(memory);
    gather_flush(&memory->gather);
    memory->failed |= !ledger_write(&memory->ledger, memory->dictionary, &memory->gather);
    memory->end_status = status;
    memory->over = true;
}

static void note_damage(struct torch_memory *memory, uint64_t at, const char *what) {
    ledger_note(&memory->ledger, memory->dictionary, TSMITH_REASON_CORRUPT, 0, true, "%s", what);
    (void)status_set_at(&memory->stop, TSMITH_TRUNCATED, at, UINT64_MAX,
                        "%s: %s (at byte %llu); everything before it was read", memory->name, what,
                        (unsigned long long)at);
    memory->damaged = true;
}

// What follows the pickle is no part of it.
static void check_rest(struct torch_memory *memory) {
    const uint64_t at = memory->input.offset + memory->input.begin;
    bool spaces = true;
    const tsmith_status status = input_drain(&memory->input, &spaces, NULL);
    if (status != TSMITH_OK || memory->input.cut)
        note_damage(memory, at,
                    memory->input.problem ? memory->input.problem : "the compressed data is damaged");
    else if (!spaces)
        note_damage(memory, at, "the file continues after the end of the pickle; that part was not read");
}

static tsmith_status read_pickle(struct torch_memory *memory, tsmith_error *error) {
    struct pickle *pickle = &memory->pickle;
    while (pickle_run(pickle, OPCODES_PER_RUN))
        if (memory->failed)
            break;
    if (memory->failed || pickle->failed)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", memory->name);
    if (pickle->refused)
        return status_set_at(error, TSMITH_ERROR_FORMAT, pickle->problem_at, UINT64_MAX,
                             "%s: is refused: %s at byte %llu, as a memory snapshot never does", memory->name,
                             pickle->problem, (unsigned long long)pickle->problem_at);
    if (!pickle->over && !pickle->cut)
        return status_set_at(error, TSMITH_ERROR_FORMAT, pickle->problem_at, UINT64_MAX,
                             "%s: is no valid pickle: %s at byte %llu", memory->name, pickle->problem,
                             (unsigned long long)pickle->problem_at);
    if (pickle->cut) { // what there is of it is a snapshot, too
        note_damage(memory, pickle->problem_at, pickle->problem);
        pickle_close(pickle);
    } else {
        check_rest(memory);
    }
    free(pickle->memo); // a second of a large file's memory
    pickle->memo = NULL;
    pickle->memo_count = pickle->memo_capacity = 0;
    if (!tm_read_result(memory) && !memory->failed)
        return status_set(error, TSMITH_ERROR_FORMAT,
                          "%s: is a pickle, but no memory snapshot of PyTorch: no segments, no device_traces",
                          memory->name);
    memory->stage = TM_NEXT;
    return TSMITH_OK;
}

// ---- the source

static tsmith_status next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct torch_memory *memory = self;
    if (memory->stage == TM_READING) {
        const tsmith_status status = read_pickle(memory, error);
        if (status != TSMITH_OK)
            return status;
    }
    for (;;) {
        const tsmith_status status = gather_take(&memory->gather, out);
        if (status != TSMITH_OK || memory->failed || tsmith_dictionary_failed(memory->dictionary))
            return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", memory->name);
        if (*out)
            return TSMITH_OK;
        if (memory->over) {
            if (memory->end_status == TSMITH_TRUNCATED && error)
                *error = memory->stop;
            return memory->end_status;
        }
        while (!memory->over && !memory->failed && !gather_is_full(&memory->gather))
            for (int i = 0; i < ROWS_PER_RUN && !memory->over; i++)
                if (!tm_rows_run(memory))
                    end(memory, memory->damaged ? TSMITH_TRUNCATED : TSMITH_END);
    }
}

static const tsmith_dictionary *dictionary(void *self) {
    return ((struct torch_memory *)self)->dictionary;
}

static void destroy(void *self) {
    struct torch_memory *memory = self;
    pickle_finish(&memory->pickle);
    gather_finish(&memory->gather);
    ledger_finish(&memory->ledger);
    table_finish(&memory->streams);
    table_finish(&memory->alive);
    table_finish(&memory->tracks);
    input_close(&memory->input);
    tsmith_dictionary_destroy(memory->dictionary);
    free(memory->roles);
    free(memory->actions);
    free(memory->frames);
    free(memory->entries);
    free(memory->blocks);
    free(memory->segments);
    free(memory->extras);
    free(memory->stream_names);
    free(memory->devices);
    free(memory->balance.before);
    free(memory->name);
    free(memory);
}

tsmith_status torch_memory_open(struct input *input, char *name, tsmith_source **out, tsmith_error *error) {
    static const tsmith_source_ops ops = {next, dictionary, destroy};
    struct torch_memory *memory = calloc(1, sizeof *memory);
    if (!memory) {
        (void)status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", name);
        input_close(input);
        free(name);
        return TSMITH_ERROR_NO_MEMORY;
    }
    memory->name = name;
    memory->input = *input;
    tsmith_status status = tsmith_dictionary_create(&memory->dictionary);
    if (status == TSMITH_OK) {
        memory->pickle = (struct pickle){.input = &memory->input,
                                         .dictionary = memory->dictionary,
                                         .complete = tm_complete,
                                         .context = memory};
        tsmith_dictionary_set_attribute(memory->dictionary, "import.format", "torch-memory");
        status = tsmith_source_create(&ops, memory, out);
    }
    if (status != TSMITH_OK) {
        (void)status_set(error, status, "%s: out of memory", name);
        destroy(memory);
    }
    return status;
}
