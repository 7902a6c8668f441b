// SPDX-License-Identifier: Apache-2.0
// Data that a sequence of packets has once: texts by number, defaults, and
// clocks.
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/sorted.h"
#include "base/table.h"
#include "import/perfetto/perfetto.h"

struct pf_slot {
    uint64_t a, b;
    uint32_t value;
    bool used;
};

static uint64_t hash_of(uint64_t a, uint64_t b) {
    return table_hash(a ^ b * 0xd6e8feb86659fd93u);
}

uint32_t *pf_map_at(struct pf *pf, struct pf_map *map, uint64_t a, uint64_t b, bool add) {
    if (add &&
        !TABLE_ROOM(map->slots, map->count, map->used, 32, slot, slot->used, hash_of(slot->a, slot->b))) {
        pf->failed = true;
        return NULL;
    }
    if (map->count == 0)
        return NULL;
    struct pf_slot *found = TABLE_SLOT(map->slots, map->count, hash_of(a, b), slot,
                                       !slot->used || (slot->a == a && slot->b == b));
    if (!found->used && !add)
        return NULL;
    if (!found->used) {
        *found = (struct pf_slot){a, b, 0, true};
        map->used++;
    }
    return &found->value;
}

void pf_map_finish(struct pf_map *map) {
    free(map->slots);
    *map = (struct pf_map){0};
}

// ---- sequences

struct pf_sequence *pf_sequence(struct pf *pf, uint64_t id) {
    uint32_t *index = pf_map_at(pf, &pf->sequence_map, id, 0, pf->sequence_count < PF_SEQUENCES_MAX);
    if (!index)
        return NULL;
    if (*index)
        return pf->sequences[*index - 1];
    struct pf_sequence *sequence = calloc(1, sizeof *sequence);
    if (!sequence || !ARRAY_RESERVE(pf->sequences, pf->sequence_capacity, pf->sequence_count + 1)) {
        free(sequence);
        pf->failed = true;
        return NULL;
    }
    pf->sequences[pf->sequence_count++] = sequence;
    *index = (uint32_t)pf->sequence_count;
    return sequence;
}

void pf_clear_sequence(struct pf *pf, struct pf_sequence *sequence) {
    pf->text_live -= sequence->texts.used;
    pf_map_finish(&sequence->texts);
    sequence->clock = 0;
    sequence->track = 0;
    sequence->extra_count = sequence->extra_double_count = 0;
    sequence->weights_are_ns = false;
    sequence->valid = true;
}

static void add_number(uint64_t *numbers, uint32_t *count, uint64_t number) {
    if (*count < PF_EXTRA_MAX)
        numbers[(*count)++] = number;
}

static void read_event_defaults(struct pf_sequence *sequence, struct proto_in in) {
    struct proto_field field;
    sequence->extra_count = sequence->extra_double_count = 0;
    while (proto_next(&in, &field)) {
        if (field.number == 11)
            sequence->track = field.value;
        else if (field.number == 31)
            add_number(sequence->extra, &sequence->extra_count, field.value);
        else if (field.number == 45)
            add_number(sequence->extra_double, &sequence->extra_double_count, field.value);
    }
}

void pf_read_defaults(struct pf *pf, struct pf_sequence *sequence, struct proto_in in) {
    struct proto_field field;
    (void)pf;
    while (proto_next(&in, &field)) {
        if (field.number == 58)
            sequence->clock = (uint32_t)field.value;
        else if (field.number == 11 && field.wire == PROTO_BYTES)
            read_event_defaults(sequence, proto_within(&field));
        else if (field.number == 100 && field.wire == PROTO_BYTES)
            pf_read_sample_defaults(sequence, proto_within(&field));
    }
}

// ---- texts

// "file:line (function)" of a source location.
static uint32_t read_location(struct pf *pf, const struct proto_field *file,
                              const struct proto_field *function, uint64_t line) {
    char number[32];
    int digits = snprintf(number, sizeof number, ":%llu", (unsigned long long)line);
    size_t length = file->length + (size_t)digits + function->length + 3;
    char *text = malloc(length);
    if (!text) {
        pf->failed = true;
        return 0;
    }
    size_t at = 0;
    memcpy(text, file->bytes ? (const void *)file->bytes : "", file->length);
    at += file->length;
    if (line) {
        memcpy(text + at, number, (size_t)digits);
        at += (size_t)digits;
    }
    if (function->length) {
        memcpy(text + at, " (", 2);
        memcpy(text + at + 2, function->bytes, function->length);
        at += 2 + function->length;
        text[at++] = ')';
    }
    uint32_t id = tsmith_dictionary_intern(pf->dictionary, text, at);
    free(text);
    return id;
}

static bool is_used(uint32_t field) {
    switch (field) {
    case PF_CATEGORIES:
    case PF_NAMES:
    case PF_ANNOTATIONS:
    case PF_LOCATIONS:
    case PF_LOG_BODIES:
    case PF_CONTEXTS:
    case PF_SPECIFICATIONS:
    case PF_STRINGS:
    case PF_CORRELATIONS:
    case PF_KERNELS:
    case PF_FUNCTION_NAMES:
    case PF_BUILD_IDS:
    case PF_MAPPING_PATHS:
    case PF_SOURCE_PATHS:
        return true;
    default:
        return false;
    }
}

uint32_t *pf_text_slot(struct pf *pf, struct pf_sequence *sequence, uint32_t space, uint64_t iid, bool bad) {
    if (bad || pf->text_live >= PF_TEXTS_MAX) {
        pf_problem(pf, bad ? PF_PROBLEM_MALFORMED : PF_PROBLEM_TOO_MANY_FIELDS);
        return NULL;
    }
    size_t had = sequence->texts.used;
    uint32_t *value = pf_map_at(pf, &sequence->texts, space, iid, true);
    pf->text_live += sequence->texts.used - had;
    return value;
}

static void read_text(struct pf *pf, struct pf_sequence *sequence, uint32_t space, struct proto_in in) {
    struct proto_field field, text = {.number = 0}, second = {.number = 0};
    uint64_t iid = 0, number = 0;
    while (proto_next(&in, &field)) {
        if (field.number == 1 && field.wire == PROTO_VARINT)
            iid = field.value;
        else if (field.number == 2 && field.wire == PROTO_BYTES)
            text = field;
        else if (field.number == 3 && field.wire == PROTO_BYTES)
            second = field;
        else if (field.wire == PROTO_VARINT && (field.number == 4 || field.number == 2))
            number = field.value; // a line, or the pid of a context
    }
    uint32_t *value = pf_text_slot(pf, sequence, space, iid, in.bad);
    if (!value)
        return;
    if (space == PF_LOCATIONS)
        *value = read_location(pf, &text, &second, number);
    else if (space == PF_CONTEXTS)
        *value = (uint32_t)number; // no text: the pid
    else if (space == PF_BUILD_IDS)
        *value = pf_build_id(pf, &text);
    else if (space == PF_ANNOTATIONS)
        *value = pf_name(pf, pf_intern(pf, &text));
    else
        *value = pf_intern(pf, &text);
}

void pf_read_interned(struct pf *pf, struct pf_sequence *sequence, struct proto_in in) {
    struct proto_in all = in;
    struct proto_field field;
    bool stacks = false;
    while (proto_next(&in, &field)) {
        if (field.wire != PROTO_BYTES)
            continue;
        if (is_used(field.number))
            read_text(pf, sequence, field.number, proto_within(&field));
        else if (field.number == PF_TASK_CONTEXTS)
            pf_read_task_context(pf, sequence, proto_within(&field));
        else if (field.number == PF_WEIGHTS)
            pf_read_weight_unit(pf, sequence, proto_within(&field));
        else
            stacks = true;
    }
    if (in.bad)
        pf_problem(pf, PF_PROBLEM_MALFORMED);
    else if (stacks)
        pf_read_interned_stacks(pf, sequence, all);
}

bool pf_find(struct pf *pf, const struct pf_sequence *sequence, uint32_t field, uint64_t iid, uint32_t *out) {
    struct pf_map texts = sequence->texts;
    const uint32_t *value = pf_map_at(pf, &texts, field, iid, false);
    if (value)
        *out = *value;
    return value != NULL;
}

bool pf_text(struct pf *pf, const struct pf_sequence *sequence, uint32_t field, uint64_t iid, uint32_t *out) {
    // A number without its text has no meaning; in a file of TraceSmith an empty text has one.
    bool found = pf_find(pf, sequence, field, iid, out) && (*out || pf->ours);
    if (!found)
        pf_problem(pf, PF_PROBLEM_NO_TEXT);
    return found;
}

// ---- clocks

struct reading {
    uint64_t id;
    int64_t time;
};

static struct pf_clock *clock_of(struct pf *pf, struct pf_sequence *sequence, uint64_t id) {
    if (id < PF_MACHINE_CLOCKS)
        return &pf->clocks[id];
    if (id >= 2 * PF_MACHINE_CLOCKS || !sequence)
        return NULL;
    if (!sequence->clocks)
        sequence->clocks = calloc(PF_MACHINE_CLOCKS, sizeof *sequence->clocks);
    pf->failed |= !sequence->clocks;
    return sequence->clocks ? &sequence->clocks[id - PF_MACHINE_CLOCKS] : NULL;
}

static void add_pair(struct pf *pf, struct pf_clock *clock, int64_t own, int64_t trace) {
    if (clock->count && clock->pairs[clock->count - 1].own >= own)
        clock->count = 0; // it went back: what comes after counts
    if (clock->count == PF_CLOCKS_MAX) {
        // Every other one will do.
        for (size_t i = 0; i < PF_CLOCKS_MAX / 2; i++)
            clock->pairs[i] = clock->pairs[2 * i + 1];
        clock->count /= 2;
    }
    if (!ARRAY_RESERVE(clock->pairs, clock->capacity, clock->count + 1)) {
        pf->failed = true;
        return;
    }
    clock->pairs[clock->count++] = (struct pf_pair){own, trace};
}

static bool convert(const struct pf_clock *clock, int64_t own, int64_t *out) {
    if (!clock || clock->count == 0)
        return false;
    const struct pf_pair *pair =
        &clock->pairs[SORTED_FIND(i, 1, clock->count, clock->pairs[i].own <= own) - 1];
    *out = (int64_t)((uint64_t)pair->trace + (uint64_t)own - (uint64_t)pair->own);
    return true;
}

static void note_realtime(struct pf *pf, int64_t own, int64_t trace) {
    if (pf->ours)
        return; // it lists the clocks it knew
    if (!pf->realtime) {
        tsmith_clock clock = {.name = tsmith_dictionary_intern_cstr(pf->dictionary, "CLOCK_REALTIME")};
        pf->realtime = tsmith_dictionary_add_clock(pf->dictionary, &clock);
    }
    tsmith_clock_pair pair = {.clock = pf->realtime, .clock_time = own, .trace_time = trace};
    if (tsmith_dictionary_clock_pair_count(pf->dictionary) < PF_CLOCKS_MAX)
        (void)tsmith_dictionary_add_clock_pair(pf->dictionary, &pair);
}

static struct reading read_clock(struct pf *pf, struct pf_sequence *sequence, struct proto_in in) {
    struct proto_field field;
    struct reading reading = {.id = UINT64_MAX};
    bool incremental = false;
    uint64_t unit = 1, time = 0;
    while (proto_next(&in, &field)) {
        if (field.number == 1)
            reading.id = field.value;
        else if (field.number == 2)
            time = field.value;
        else if (field.number == 3)
            incremental = field.value;
        else if (field.number == 4 && field.value && field.value < INT32_MAX)
            unit = field.value;
    }
    reading.time = (int64_t)(time * unit);
    struct pf_clock *clock = clock_of(pf, sequence, reading.id);
    if (clock) {
        clock->incremental = incremental;
        clock->unit = (int64_t)unit;
        clock->last = reading.time;
    }
    return reading;
}

void pf_read_clocks(struct pf *pf, struct pf_sequence *sequence, struct proto_in in) {
    enum { CLOCKS = 32 };
    struct reading readings[CLOCKS];
    struct proto_field field;
    size_t count = 0;
    while (proto_next(&in, &field)) {
        if (field.number == 2 && field.wire == PROTO_VARINT && field.value < PF_MACHINE_CLOCKS)
            pf->trace_clock = (uint32_t)field.value;
        if (field.number == 1 && field.wire == PROTO_BYTES && count < CLOCKS)
            readings[count++] = read_clock(pf, sequence, proto_within(&field));
    }
    // The value of the trace's clock: given, or derived from a known clock.
    int64_t trace = 0;
    bool known = false;
    for (size_t i = 0; i < count && !known; i++)
        if (readings[i].id == pf->trace_clock) {
            trace = readings[i].time;
            known = true;
        }
    for (size_t i = 0; i < count && !known; i++)
        known = convert(clock_of(pf, sequence, readings[i].id), readings[i].time, &trace);
    for (size_t i = 0; i < count && known; i++) {
        struct pf_clock *clock = clock_of(pf, sequence, readings[i].id);
        if (!clock || readings[i].id == pf->trace_clock)
            continue;
        add_pair(pf, clock, readings[i].time, trace);
        if (readings[i].id == PF_CLOCK_REALTIME)
            note_realtime(pf, readings[i].time, trace);
    }
}

int64_t pf_time(struct pf *pf, struct pf_sequence *sequence, uint64_t id, uint64_t time) {
    struct pf_clock *clock = clock_of(pf, sequence, id);
    int64_t own = (int64_t)(time * (uint64_t)(clock && clock->unit ? clock->unit : 1));
    if (clock && clock->incremental)
        own = clock->last = (int64_t)((uint64_t)clock->last + (uint64_t)own);
    int64_t trace;
    if (id == pf->trace_clock)
        return own;
    if (convert(clock, own, &trace))
        return trace;
    pf_problem(pf, PF_PROBLEM_NO_CLOCK);
    return own;
}

static void finish_clocks(struct pf_clock *clocks) {
    for (size_t i = 0; clocks && i < PF_MACHINE_CLOCKS; i++)
        free(clocks[i].pairs);
}

void pf_state_finish(struct pf *pf) {
    for (size_t i = 0; i < pf->sequence_count; i++) {
        finish_clocks(pf->sequences[i]->clocks);
        free(pf->sequences[i]->clocks);
        pf_map_finish(&pf->sequences[i]->texts);
        free(pf->sequences[i]);
    }
    finish_clocks(pf->clocks);
    free(pf->sequences);
    pf_map_finish(&pf->sequence_map);
    free(pf->names);
    pf_map_finish(&pf->name_map);
}
