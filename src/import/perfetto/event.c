// SPDX-License-Identifier: Apache-2.0
// Track events: slices from their begins and ends, instants, counters; also in the older form of
// event.
#include <stdlib.h>

#include "base/array.h"
#include "event/category.h"
#include "event/copy_name.h"
#include "event/python_name.h"
#include "event/wait_name.h"
#include "import/perfetto/perfetto.h"

enum {
    TYPE_BEGIN = 1,
    TYPE_END = 2,
    TYPE_INSTANT = 3,
    TYPE_COUNTER = 4,
    TYPE_STATE = 5,
    SPACE_ASYNC = 1 << 21, // of keys of tracks: ids of the older form, per process
    SPACE_DEFAULT = 1 << 22,
    FLOWS_MAX = 64
};

// What is read of the older form of event.
struct legacy {
    bool there, has_id, has_duration;
    char phase;
    int64_t duration_us;
    uint64_t id, bind;
    uint64_t pid, tid; // that override the thread's; 0: none
    uint32_t name;     // iid
    uint64_t flow;     // direction
    bool has_bind;
};

// An event as it is being read.
struct reading {
    struct pf_sequence *sequence;
    uint64_t type, track;
    bool has_track, has_counter, has_time;
    double counter;
    uint64_t counter_bits;
    bool counter_is_double;
    int64_t time;
    struct legacy legacy;
    uint64_t extra_tracks[PF_EXTRA_MAX], extra[PF_EXTRA_MAX];
    uint64_t double_tracks[PF_EXTRA_MAX], doubles[PF_EXTRA_MAX];
    uint32_t extra_track_count, extra_count, double_track_count, double_count;
    uint64_t flows[FLOWS_MAX], ending[FLOWS_MAX];
    uint32_t flow_count, ending_count;
};

// ---- rows

static void set(struct pf *pf, tsmith_batch *batch, uint32_t field, uint64_t bits) {
    pf->failed |= tsmith_batch_set(batch, field, bits) != TSMITH_OK;
}

static void put_value(struct pf *pf, tsmith_batch *batch, const struct pf_event *event,
                      const struct pf_value *value) {
    tsmith_status status = TSMITH_OK;
    if (value->type == TSMITH_TYPE_LIST)
        status = tsmith_batch_set_list(batch, value->field, event->items + value->bits, value->count);
    else if (value->field > TSMITH_FIELD_DYNAMIC)
        status = tsmith_batch_set_dynamic(batch, value->field, (tsmith_type)value->type, value->bits);
    else
        status = tsmith_batch_set(batch, value->field, value->bits);
    pf->failed |= status != TSMITH_OK;
}

// In a file of ours what had no name or category has that of its kind.
static bool is_own_word(struct pf *pf, tsmith_kind kind, uint32_t string) {
    if (!pf->ours || (pf->verbatim && kind != TSMITH_KIND_LOSS))
        return false;
    if (!pf->words[kind]) {
        const char *word = tsmith_kind_name(kind);
        pf->words[kind] = tsmith_dictionary_intern_cstr(pf->dictionary, word ? word : "unknown");
    }
    return string == pf->words[kind];
}

// The direction of a copy, from its name or else from a text among its arguments ("kind": "HtoD").
static tsmith_direction direction_of(struct pf *pf, const struct pf_event *event) {
    tsmith_direction direction = event->has_name
                                     ? copy_direction(tsmith_dictionary_string(pf->dictionary, event->name))
                                     : TSMITH_DIRECTION_NONE;
    for (size_t i = 0; i < event->count && !direction; i++)
        if (event->values[i].type == TSMITH_TYPE_STRING)
            direction =
                copy_direction(tsmith_dictionary_string(pf->dictionary, (uint32_t)event->values[i].bits));
    return direction;
}

// Facts in the name or an argument: the direction of a copy, file and line of a Python function. A file of ours has
// these columns itself.
static void derive(struct pf *pf, tsmith_batch *batch, tsmith_kind kind, const struct pf_event *event) {
    tsmith_string name = tsmith_dictionary_string(pf->dictionary, event->has_name ? event->name : 0),
                  category = tsmith_dictionary_string(pf->dictionary, event->category);
    const tsmith_direction direction =
        kind == TSMITH_KIND_MEMCPY ? direction_of(pf, event) : TSMITH_DIRECTION_NONE;
    const tsmith_operation operation =
        kind == TSMITH_KIND_SYNC ? wait_operation(name) : TSMITH_OPERATION_NONE;
    size_t length;
    uint32_t line;
    if (direction)
        set(pf, batch, TSMITH_FIELD_DIRECTION, direction);
    if (operation)
        set(pf, batch, TSMITH_FIELD_OPERATION, operation);
    if (kind == TSMITH_KIND_RANGE && event->has_category && strcmp(category.bytes, "python_function") == 0 &&
        python_name_place(name, &length, &line)) {
        set(pf, batch, TSMITH_FIELD_FILE, tsmith_dictionary_intern(pf->dictionary, name.bytes, length));
        set(pf, batch, TSMITH_FIELD_LINE, line);
    }
}

void pf_put_event(struct pf *pf, uint32_t track, const struct pf_event *event) {
    tsmith_string category = tsmith_dictionary_string(pf->dictionary, event->category);
    tsmith_kind kind = event->kind;
    if (!kind && event->category)
        kind =
            pf->ours ? category_own_kind(category, event->natural) : category_kind(category, event->natural);
    else if (!kind)
        kind = event->natural;
    if (kind == TSMITH_KIND_LIMIT) // it states that it has none
        kind = TSMITH_KIND_NONE;
    uint32_t id = pf_track_id(pf, pf_main_track(pf, track));
    if (!id) {
        pf_problem(pf, PF_PROBLEM_TOO_MANY);
        return;
    }
    tsmith_batch *batch =
        gather_row(&pf->gather, id, event->category << 5 ^ (uint32_t)kind, kind, event->start,
                   event->has_duration && event->duration > 0 ? event->duration : 0);
    if (!batch)
        return;
    if (event->has_duration)
        set(pf, batch, TSMITH_FIELD_DURATION, (uint64_t)event->duration);
    if (event->has_name && (event->own_name || !is_own_word(pf, kind, event->name)))
        set(pf, batch, TSMITH_FIELD_NAME, event->name);
    if (event->has_category && (event->own_category || !is_own_word(pf, kind, event->category)))
        set(pf, batch, TSMITH_FIELD_CATEGORY, event->category);
    for (size_t i = 0; i < event->count; i++)
        put_value(pf, batch, event, &event->values[i]);
    if (!pf->ours)
        derive(pf, batch, kind, event);
}

void pf_put_counter(struct pf *pf, uint32_t track, int64_t time, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t id = pf_track_id(pf, track);
    tsmith_batch *batch = id ? gather_row(&pf->gather, id, 0, TSMITH_KIND_COUNTER, time, 0) : NULL;
    if (!batch) {
        pf_problem(pf, PF_PROBLEM_TOO_MANY);
        return;
    }
    if (pf->tracks[track].name)
        set(pf, batch, TSMITH_FIELD_NAME, pf->tracks[track].name);
    set(pf, batch, TSMITH_FIELD_VALUE, bits);
}

// ---- slices

static void begin_slice(struct pf *pf, uint32_t track) {
    struct pf_open *open = pf->open_slices < PF_OPEN_MAX ? malloc(sizeof *open) : NULL;
    if (!open) {
        pf_problem(pf, PF_PROBLEM_NO_END);
        pf_put_event(pf, track, &pf->event);
        return;
    }
    *open = (struct pf_open){pf->tracks[track].open, pf->event};
    pf->event = (struct pf_event){0}; // the slice has its values now
    pf->tracks[track].open = open;
    pf->open_slices++;
}

static struct pf_open *pop_slice(struct pf *pf, uint32_t track) {
    struct pf_open *open = pf->tracks[track].open;
    if (open) {
        pf->tracks[track].open = open->below;
        pf->open_slices--;
    }
    return open;
}

static void free_slice(struct pf_open *open) {
    pf_event_finish(&open->event);
    free(open);
}

static bool has_stack(const struct pf_event *event) {
    for (size_t i = 0; i < event->count; i++)
        if (event->values[i].field == TSMITH_FIELD_STACK)
            return true;
    return false;
}

// Data of the end goes to the slice, whose stack remains that of its begin.
static void add_values(struct pf *pf, struct pf_event *to, const struct pf_event *from) {
    bool stack = has_stack(to);
    for (size_t i = 0; i < from->count; i++) {
        const struct pf_value *value = &from->values[i];
        if (value->field == TSMITH_FIELD_STACK && stack) {
            pf_problem(pf, PF_PROBLEM_UNREAD_FIELD);
            continue;
        }
        if (value->type == TSMITH_TYPE_LIST)
            pf_add_list(pf, to, value->field, from->items + value->bits, value->count);
        else
            pf_add_value(pf, to, value->field, value->type, value->bits);
    }
}

static void end_slice(struct pf *pf, uint32_t track, int64_t time) {
    struct pf_open *open = pop_slice(pf, track);
    if (!open) {
        pf_problem(pf, PF_PROBLEM_NO_BEGIN);
        return;
    }
    struct pf_event *event = &open->event;
    int64_t duration;
    if (__builtin_sub_overflow(time, event->start, &duration) || duration < 0) {
        pf_problem(pf, PF_PROBLEM_BACKWARDS);
    } else if (!event->has_duration) {
        event->duration = duration;
        event->has_duration = true;
    }
    add_values(pf, event, &pf->event);
    pf_put_event(pf, track, event);
    free_slice(open);
}

void pf_end_events(struct pf *pf) {
    for (uint32_t track = 1; track < pf->track_count; track++)
        for (struct pf_open *open; (open = pop_slice(pf, track));) {
            pf_problem(pf, PF_PROBLEM_NO_END);
            pf_put_event(pf, track, &open->event);
            free_slice(open);
        }
}

// ---- counters

static double counter_value(struct pf_track *track, double value) {
    value *= (double)track->multiplier;
    if (!track->incremental)
        return value;
    return track->total += value;
}

// In a file of ours a series of a counter is a field of the event.
static bool set_series(struct pf *pf, uint32_t index, bool is_double, uint64_t bits) {
    struct pf_track *track = &pf->tracks[index];
    if (!pf->ours || !track->main)
        return false;
    uint32_t field = track->field ? track->field : (uint32_t)TSMITH_FIELD_VALUE;
    uint32_t type = track->field ? track->field_type : (uint32_t)TSMITH_TYPE_F64;
    if (is_double != (type == TSMITH_TYPE_F64) ||
        (type != TSMITH_TYPE_F64 && type != TSMITH_TYPE_I64 && type != TSMITH_TYPE_U64))
        return false;
    pf_add_value(pf, &pf->event, field, type, bits);
    return true;
}

static void read_counter(struct pf *pf, const struct reading *reading, uint32_t track) {
    if (!reading->has_counter) {
        pf_problem(pf, PF_PROBLEM_UNREAD_FIELD);
        return;
    }
    if (set_series(pf, track, reading->counter_is_double, reading->counter_bits)) {
        pf_put_event(pf, track, &pf->event);
        return;
    }
    double value = counter_value(&pf->tracks[track], reading->counter);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (!pf->event.has_name && pf->tracks[track].name) {
        pf->event.name = pf->tracks[track].name;
        pf->event.has_name = true;
    }
    pf_add_value(pf, &pf->event, TSMITH_FIELD_VALUE, TSMITH_TYPE_F64, bits);
    pf_put_event(pf, track, &pf->event);
}

static void put_extra(struct pf *pf, const struct reading *reading, const uint64_t *tracks,
                      uint32_t track_count, const uint64_t *values, uint32_t count, bool is_double) {
    for (uint32_t i = 0; i < count && i < track_count; i++) {
        uint32_t track = pf_track_of_uuid(pf, tracks[i]);
        double value = (double)(int64_t)values[i];
        if (is_double)
            memcpy(&value, &values[i], sizeof value);
        if (track && !(reading->type == TYPE_COUNTER && set_series(pf, track, is_double, values[i])))
            pf_put_counter(pf, track, reading->time, counter_value(&pf->tracks[track], value));
    }
    if (count > track_count)
        pf_problem(pf, PF_PROBLEM_UNREAD_FIELD);
}

static void put_extras(struct pf *pf, const struct reading *reading) {
    const struct pf_sequence *sequence = reading->sequence;
    bool own = reading->extra_track_count, own_double = reading->double_track_count;
    put_extra(pf, reading, own ? reading->extra_tracks : sequence->extra,
              own ? reading->extra_track_count : sequence->extra_count, reading->extra, reading->extra_count,
              false);
    put_extra(pf, reading, own_double ? reading->double_tracks : sequence->extra_double,
              own_double ? reading->double_track_count : sequence->extra_double_count, reading->doubles,
              reading->double_count, true);
}

// ---- the older form

static void read_legacy(struct pf *pf, struct reading *reading, struct proto_in in) {
    struct legacy *legacy = &reading->legacy;
    struct proto_field field;
    legacy->there = true;
    while (proto_next(&in, &field)) {
        switch (field.number) {
        case 1:
            legacy->name = (uint32_t)field.value;
            break;
        case 2:
            legacy->phase = (char)field.value;
            break;
        case 3:
            legacy->duration_us = (int64_t)field.value;
            legacy->has_duration = true;
            break;
        case 6:
        case 10:
        case 11:
            legacy->id = field.value;
            legacy->has_id = true;
            break;
        case 8:
            legacy->bind = field.value;
            legacy->has_bind = true;
            break;
        case 13:
            legacy->flow = field.value;
            break;
        case 18:
            legacy->pid = (uint64_t)(int64_t)(int32_t)field.value;
            break;
        case 19:
            legacy->tid = (uint64_t)(int64_t)(int32_t)field.value;
            break;
        case 4:
        case 9:
        case 12:
        case 14:
            break; // thread time, and how it is drawn
        default:
            pf_problem(pf, PF_PROBLEM_UNREAD_FIELD);
        }
    }
}

// A name for a process or thread, given as an event.
static void read_metadata(struct pf *pf, uint32_t track) {
    const char *what = tsmith_dictionary_string(pf->dictionary, pf->event.name).bytes;
    for (size_t i = 0; i < pf->event.count; i++) {
        if (pf->event.values[i].type != TSMITH_TYPE_STRING)
            continue;
        uint32_t text = (uint32_t)pf->event.values[i].bits, process = pf->tracks[track].process;
        if (strcmp(what, "thread_name") == 0)
            pf->tracks[track].name = text;
        else if (strcmp(what, "process_name") == 0 && process)
            pf->processes[process].entry.name = text;
        return;
    }
}

static uint32_t async_track(struct pf *pf, const struct reading *reading, uint32_t thread) {
    uint64_t key = reading->legacy.id ^ (uint64_t)pf->event.category << 40;
    uint32_t process = pf->tracks[thread].process;
    uint32_t track = pf_track_of_key(pf, SPACE_ASYNC + process, key);
    if (track && !pf->tracks[track].described) {
        pf->tracks[track].described = true;
        pf->tracks[track].process = process;
        pf->tracks[track].name = pf->event.name;
    }
    return track;
}

static void put_phase(struct pf *pf, const struct reading *reading) {
    char phase[2] = {reading->legacy.phase, 0};
    if (!*phase)
        return;
    pf_add_named(pf, &pf->event, "phase", TSMITH_TYPE_STRING,
                 tsmith_dictionary_intern_cstr(pf->dictionary, phase));
    if (reading->legacy.has_id)
        pf_add_named(pf, &pf->event, "id", TSMITH_TYPE_U64, reading->legacy.id);
}

// Begins, ends and steps of what has an id are on a track of their own.
static bool is_async(char phase) {
    return phase && strchr("bSeFnTp", phase);
}

static void put_legacy(struct pf *pf, const struct reading *reading, uint32_t track) {
    const struct legacy *legacy = &reading->legacy;
    if (is_async(legacy->phase))
        track = async_track(pf, reading, track);
    if (!track) {
        pf_problem(pf, PF_PROBLEM_TOO_MANY);
        return;
    }
    if (legacy->has_bind)
        pf_add_named(pf, &pf->event, "bind_id", TSMITH_TYPE_U64, legacy->bind);
    pf->event.natural = TSMITH_KIND_RANGE;
    switch (legacy->phase) {
    case 'B':
    case 'b':
    case 'S':
        begin_slice(pf, track);
        return;
    case 'E':
    case 'e':
    case 'F':
        end_slice(pf, track, reading->time);
        return;
    case 'X':
        pf->event.has_duration = legacy->has_duration && legacy->duration_us >= 0 &&
                                 !__builtin_mul_overflow(legacy->duration_us, 1000, &pf->event.duration);
        if (legacy->has_duration && legacy->duration_us < 0)
            pf_problem(pf, PF_PROBLEM_BACKWARDS);
        pf_put_event(pf, track, &pf->event);
        return;
    case 's':
    case 't':
    case 'f':
        pf->event.kind = TSMITH_KIND_FLOW;
        put_phase(pf, reading);
        break;
    case 'C':
        pf->event.natural = TSMITH_KIND_COUNTER;
        break;
    case 'M':
        read_metadata(pf, track);
        return;
    case 'i':
    case 'I':
    case 'R':
        pf->event.natural = TSMITH_KIND_MARKER;
        break;
    default:
        pf->event.natural = TSMITH_KIND_MARKER;
        put_phase(pf, reading);
    }
    pf_put_event(pf, track, &pf->event);
}

// ---- reading

static void push(uint64_t *values, uint32_t *count, uint32_t most, uint64_t value) {
    if (*count < most)
        values[(*count)++] = value;
}

// A repeated number, packed or not.
static void push_all(struct pf *pf, uint64_t *values, uint32_t *count, uint32_t most,
                     const struct proto_field *field, bool fixed) {
    uint32_t had = *count;
    if (field->wire != PROTO_BYTES) {
        push(values, count, most, field->value);
        had++;
    }
    struct proto_in in = proto_within(field);
    uint64_t value;
    while (field->wire == PROTO_BYTES && in.at < in.end) {
        if (fixed && in.end - in.at >= 8) {
            value = bytes_get_u64(in.at);
            in.at += 8;
        } else if (fixed || !proto_get_varint(&in, &value)) {
            break;
        }
        push(values, count, most, value);
        had++;
    }
    if (*count < had)
        pf_problem(pf, PF_PROBLEM_UNREAD_FIELD); // more than there is room for
}

// Categories are joined: an event has one.
static void add_category(struct pf *pf, uint32_t string) {
    struct pf_event *event = &pf->event;
    if (!event->has_category) {
        event->category = string;
        event->has_category = true;
        return;
    }
    tsmith_string a = tsmith_dictionary_string(pf->dictionary, event->category);
    tsmith_string b = tsmith_dictionary_string(pf->dictionary, string);
    char *both = a.length + b.length < 1 << 16 ? malloc(a.length + b.length + 1) : NULL;
    if (!both)
        return;
    memcpy(both, a.bytes, a.length);
    both[a.length] = ',';
    memcpy(both + a.length + 1, b.bytes, b.length);
    event->category = tsmith_dictionary_intern(pf->dictionary, both, a.length + b.length + 1);
    free(both);
}

static void add_interned(struct pf *pf, const struct reading *reading, const char *name, uint32_t space,
                         uint64_t iid) {
    uint32_t string;
    if (pf_text(pf, reading->sequence, space, iid, &string))
        pf_add_named(pf, &pf->event, name, TSMITH_TYPE_STRING, string);
}

static void read_log(struct pf *pf, const struct reading *reading, struct proto_in in) {
    struct proto_field field;
    uint32_t string;
    while (proto_next(&in, &field)) {
        if (field.number == 2 && pf_text(pf, reading->sequence, PF_LOG_BODIES, field.value, &string))
            pf_add_value(pf, &pf->event, TSMITH_FIELD_TEXT, TSMITH_TYPE_STRING, string);
        else if (field.number == 1)
            add_interned(pf, reading, "source_location", PF_LOCATIONS, field.value);
    }
}

static void read_name(struct pf *pf, struct reading *reading, const struct proto_field *field) {
    if (field->number == 23)
        pf->event.name = pf_intern(pf, field);
    else if (!pf_text(pf, reading->sequence, PF_NAMES, field->value, &pf->event.name))
        return;
    pf->event.has_name = true;
}

static void read_counter_field(struct reading *reading, const struct proto_field *field) {
    reading->has_counter = true;
    reading->counter_bits = field->value;
    reading->counter_is_double = field->number == 44;
    reading->counter = reading->counter_is_double ? proto_double(field) : (double)(int64_t)field->value;
}

// The older forms of time: microseconds since the one before, or of the machine's monotonic clock.
static void read_old_time(struct pf *pf, struct reading *reading, const struct proto_field *field) {
    int64_t us = (int64_t)field->value;
    struct pf_sequence *sequence = reading->sequence;
    if (field->number == 1)
        us = sequence->delta_us = (int64_t)((uint64_t)sequence->delta_us + field->value);
    reading->has_time = true;
    reading->time = pf_time(pf, sequence, PF_CLOCK_MONOTONIC, (uint64_t)us * 1000);
}

static void add_stack(struct pf *pf, uint32_t stack) {
    if (stack)
        pf_add_value(pf, &pf->event, TSMITH_FIELD_STACK, TSMITH_TYPE_U32, stack);
}

static void read_plain(struct pf *pf, struct reading *reading, const struct proto_field *field) {
    uint32_t string;
    switch (field->number) {
    case 1:
    case 16:
        read_old_time(pf, reading, field);
        break;
    case 3:
        if (pf_text(pf, reading->sequence, PF_CATEGORIES, field->value, &string))
            add_category(pf, string);
        break;
    case 9:
        reading->type = field->value;
        break;
    case 10:
        read_name(pf, reading, field);
        break;
    case 11:
        reading->track = field->value;
        reading->has_track = true;
        break;
    case 30:
    case 44:
        read_counter_field(reading, field);
        break;
    case 34:
        add_interned(pf, reading, "source_location", PF_LOCATIONS, field->value);
        break;
    case 52:
        pf_add_value(pf, &pf->event, TSMITH_FIELD_CORRELATION, TSMITH_TYPE_U64, field->value);
        break;
    case 54:
        add_interned(pf, reading, "correlation_id", PF_CORRELATIONS, field->value);
        break;
    case 56:
        add_stack(pf, pf_stack(pf, reading->sequence, field->value));
        break;
    default:
        pf_problem(pf, PF_PROBLEM_UNREAD_FIELD);
    }
}

static void read_bytes(struct pf *pf, struct reading *reading, const struct proto_field *field) {
    switch (field->number) {
    case 4:
        pf_read_annotation(pf, reading->sequence, &pf->event, proto_within(field));
        break;
    case 6:
        read_legacy(pf, reading, proto_within(field));
        break;
    case 21:
        read_log(pf, reading, proto_within(field));
        break;
    case 22:
        add_category(pf, pf_intern(pf, field));
        break;
    case 23:
        read_name(pf, reading, field);
        break;
    case 53:
        pf_add_named(pf, &pf->event, "correlation_id", TSMITH_TYPE_STRING, pf_intern(pf, field));
        break;
    case 55:
        add_stack(pf, pf_read_inline_stack(pf, reading->sequence, proto_within(field)));
        break;
    default:
        pf_problem(pf, PF_PROBLEM_UNREAD_FIELD);
    }
}

static void read_field(struct pf *pf, struct reading *reading, const struct proto_field *field) {
    switch (field->number) {
    case 12:
        push_all(pf, reading->extra, &reading->extra_count, PF_EXTRA_MAX, field, false);
        break;
    case 31:
        push_all(pf, reading->extra_tracks, &reading->extra_track_count, PF_EXTRA_MAX, field, false);
        break;
    case 36:
    case 47:
        push_all(pf, reading->flows, &reading->flow_count, FLOWS_MAX, field, field->number == 47);
        break;
    case 42:
    case 48:
        push_all(pf, reading->ending, &reading->ending_count, FLOWS_MAX, field, field->number == 48);
        break;
    case 45:
        push_all(pf, reading->double_tracks, &reading->double_track_count, PF_EXTRA_MAX, field, false);
        break;
    case 46:
        push_all(pf, reading->doubles, &reading->double_count, PF_EXTRA_MAX, field, true);
        break;
    default:
        if (field->wire == PROTO_BYTES)
            read_bytes(pf, reading, field);
        else
            read_plain(pf, reading, field);
    }
}

// Arrows of other programs; TraceSmith's own are derived again from the events.
static void put_flows(struct pf *pf, const struct reading *reading) {
    static const struct { const char *name; } names[2] = {{"flow_ids"}, {"terminating_flow_ids"}};
    const uint64_t *flows[2] = {reading->flows, reading->ending};
    const uint32_t counts[2] = {reading->flow_count, reading->ending_count};
    tsmith_string format = tsmith_dictionary_find_attribute(pf->dictionary, "import.format");
    if (pf->ours && !(format.bytes && strcmp(format.bytes, "perfetto") == 0))
        return;
    for (int i = 0; i < 2; i++) {
        uint32_t name =
            counts[i] ? pf_name(pf, tsmith_dictionary_intern_cstr(pf->dictionary, names[i].name)) : 0;
        if (!name)
            continue;
        if (!pf->names[name].fields[PF_LIST])
            pf->names[name].fields[PF_LIST] =
                pf_new_field(pf, pf->names[name].string, TSMITH_TYPE_LIST, "flow");
        pf_add_list(pf, &pf->event, pf->names[name].fields[PF_LIST], flows[i], counts[i]);
    }
}

// Where the event happened: given in the event, in its sequence, or the thread of the sequence.
static uint32_t track_of(struct pf *pf, const struct reading *reading) {
    struct pf_sequence *sequence = reading->sequence;
    uint32_t thread = sequence->thread;
    if (reading->legacy.pid || reading->legacy.tid) {
        uint64_t pid = reading->legacy.pid;
        uint32_t process = thread ? pf->tracks[thread].process : 0;
        if (!pid && process)
            pid = pf->processes[process].entry.pid;
        return pf_thread_track(pf, pid, reading->legacy.tid);
    }
    if (reading->has_track && reading->track)
        return pf_track_of_uuid(pf, reading->track);
    if (!reading->has_track && sequence->track)
        return pf_track_of_uuid(pf, sequence->track);
    return thread ? thread : pf_track_of_key(pf, SPACE_DEFAULT, 0);
}

static void put_reading(struct pf *pf, const struct reading *reading, uint32_t track) {
    switch (reading->type) {
    case TYPE_BEGIN:
        pf->event.natural = TSMITH_KIND_RANGE;
        begin_slice(pf, track);
        break;
    case TYPE_END:
        end_slice(pf, track, reading->time);
        break;
    case TYPE_COUNTER:
        pf->event.natural = TSMITH_KIND_COUNTER;
        read_counter(pf, reading, track);
        break;
    case TYPE_INSTANT:
    case TYPE_STATE:
        pf->event.natural = TSMITH_KIND_MARKER;
        pf_put_event(pf, track, &pf->event);
        break;
    default:
        put_legacy(pf, reading, track);
    }
}

void pf_read_event(struct pf *pf, struct pf_sequence *sequence, struct proto_in in, bool has_time,
                   int64_t time) {
    struct reading reading = {.sequence = sequence, .has_time = has_time, .time = time};
    struct proto_field field;
    pf_event_begin(&pf->event);
    while (proto_next(&in, &field))
        read_field(pf, &reading, &field);
    if (in.bad || !reading.has_time) {
        pf_problem(pf, in.bad ? PF_PROBLEM_MALFORMED : PF_PROBLEM_NO_TIME);
        return;
    }
    if (reading.legacy.there && reading.legacy.name && !pf->event.has_name)
        pf->event.has_name = pf_text(pf, sequence, PF_NAMES, reading.legacy.name, &pf->event.name);
    if (!pf->event.has_start)
        pf->event.start = reading.time;
    uint32_t track = track_of(pf, &reading);
    if (!track) {
        pf_problem(pf, PF_PROBLEM_TOO_MANY);
        return;
    }
    if (!reading.has_track && !sequence->track && !sequence->thread && !pf->tracks[track].name)
        pf->tracks[track].name = tsmith_dictionary_intern_cstr(pf->dictionary, "events without a track");
    put_flows(pf, &reading);
    put_extras(pf, &reading);
    put_reading(pf, &reading, track);
}
