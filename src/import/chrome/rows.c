// SPDX-License-Identifier: Apache-2.0
// From events to batches.
//
// Every track has one batch under construction per category of event, because events of a category have the
// same columns. A batch that is full waits in `ready`; batches are given away when what waits there is more
// than may be held back, or when everything together is too much, or at the end.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/chrome/rows.h"
#include "tracesmith/view.h"

enum {
    GROUP_BYTES_MAX = 64 << 20,
    GROUP_BATCHES_MAX = 1 << 16, // each has 4 KiB at least
    DEFAULT_HOLD = 64 << 20
};

tsmith_status rows_create(struct chrome *chrome, size_t hold_bytes) {
    chrome->rows = calloc(1, sizeof *chrome->rows);
    if (!chrome->rows)
        return TSMITH_ERROR_NO_MEMORY;
    chrome->rows->hold_bytes = hold_bytes ? hold_bytes : DEFAULT_HOLD;
    return TSMITH_OK;
}

static void free_track(struct row_track *track) {
    for (struct group *group = track->groups; group;) {
        struct group *next = group->next;
        tsmith_batch_destroy(group->batch);
        free(group);
        group = next;
    }
    for (struct open_range *open = track->open; open;) {
        struct open_range *below = open->below;
        free(open);
        open = below;
    }
    around_track_finish(track);
    free(track);
}

void rows_destroy(struct rows *rows) {
    if (!rows)
        return;
    for (size_t i = 0; i < rows->track_count; i++)
        free_track(rows->tracks[i]);
    for (size_t i = rows->ready_taken; i < rows->ready_count; i++)
        tsmith_batch_destroy(rows->ready[i]);
    tsmith_batch_destroy(rows->given);
    free(rows->ready);
    tracks_finish(rows);
    stacks_finish(&rows->stacks);
    free(rows);
}

bool rows_failed(const struct rows *rows) {
    return rows->failed;
}

// ---- batches

static size_t batch_bytes(const tsmith_batch *batch) {
    size_t rows = 64;
    while (rows < tsmith_batch_count(batch))
        rows *= 2;
    return rows * tsmith_batch_column_count(batch) * 7;
}

// Behind those that are ready; destroyed when there is no memory.
static void push_ready(struct rows *rows, tsmith_batch *batch) {
    if (!ARRAY_RESERVE(rows->ready, rows->ready_capacity, rows->ready_count + 1)) {
        tsmith_batch_destroy(batch);
        rows->failed = true;
        return;
    }
    rows->ready[rows->ready_count++] = batch;
}

// The group's batch, if it has one with rows, goes to those that are ready.
static void close_batch(struct rows *rows, struct group *group) {
    tsmith_batch *batch = group->batch;
    if (!batch || tsmith_batch_count(batch) == 0)
        return;
    group->batch = NULL;
    rows->group_batches--;
    if (rows->last.group == group)
        rows->last.group = NULL;
    size_t bytes = batch_bytes(batch);
    rows->group_bytes -= bytes < rows->group_bytes ? bytes : rows->group_bytes;
    rows->ready_bytes += bytes;
    push_ready(rows, batch);
}

static void close_all(struct rows *rows) {
    for (size_t i = 0; i < rows->track_count; i++)
        for (struct group *group = rows->tracks[i]->groups; group; group = group->next)
            close_batch(rows, group);
    rows->group_bytes = 0;
}

static bool open_batch(struct rows *rows, struct group *group) {
    if (tsmith_batch_create(&group->batch) != TSMITH_OK)
        rows->failed = true;
    if (group->batch) {
        tsmith_batch_reset(group->batch, group->track->index + 1);
        rows->group_batches++;
    }
    return group->batch != NULL;
}

// ---- groups

static bool is_device_kind(tsmith_kind kind) {
    return kind == TSMITH_KIND_KERNEL || kind == TSMITH_KIND_MEMCPY || kind == TSMITH_KIND_MEMSET;
}

static bool fits_group(const struct chrome *chrome, const struct group *group, const struct event *event) {
    return group->category == event->category && group->ph == event->ph &&
           group->has_category == event->has_category &&
           ((!group->track->by_name && !chrome->by_us && !group->by_name) ||
            group->kind == kinds_of(chrome, group->track, event));
}

// The group of an event, first in its track's list; NULL when there are too many tracks or no memory.
static struct group *find_group(struct chrome *chrome, const struct event *event) {
    struct rows *rows = chrome->rows;
    struct row_track *track = tracks_find(chrome, event->pid, event->tid, false);
    if (!track)
        return NULL;
    if (track->groups && fits_group(chrome, track->groups, event))
        return track->groups;
    for (struct group **at = &track->groups; *at; at = &(*at)->next) {
        struct group *group = *at;
        if (!fits_group(chrome, group, event))
            continue;
        *at = group->next;
        group->next = track->groups;
        return track->groups = group;
    }
    struct group *group = calloc(1, sizeof *group);
    if (!group) {
        rows->failed = true;
        return NULL;
    }
    kinds_learn(chrome, track, event);
    *group = (struct group){.next = track->groups,
                            .track = track,
                            .category = event->category,
                            .has_category = event->has_category,
                            .ph = event->ph,
                            .by_name = kinds_is_mtia(chrome, event),
                            .kind = kinds_of(chrome, track, event)};
    group->around = around_role_of(chrome, event, group->kind);
    track->device |= !chrome->by_us && is_device_kind(group->kind);
    return track->groups = group;
}

// ---- fields

static const tsmith_type form_types[FORM_COUNT] = {TSMITH_TYPE_I64,  TSMITH_TYPE_U64,    TSMITH_TYPE_F64,
                                                   TSMITH_TYPE_BOOL, TSMITH_TYPE_STRING, TSMITH_TYPE_STRING};

static uint32_t add_field(struct chrome *chrome, uint32_t name, tsmith_type type, const char *unit) {
    tsmith_dynamic_field field = {.name = name,
                                  .unit = tsmith_dictionary_intern_cstr(chrome->dictionary, unit),
                                  .type = (uint32_t)type};
    uint32_t id = tsmith_dictionary_add_dynamic_field(chrome->dictionary, &field);
    return id ? TSMITH_FIELD_DYNAMIC + id : 0;
}

static uint32_t named_field(struct chrome *chrome, uint32_t *field, const char *name, tsmith_type type,
                            const char *unit) {
    if (!*field)
        *field = add_field(chrome, tsmith_dictionary_intern_cstr(chrome->dictionary, name), type, unit);
    return *field;
}

// The first value of that form is here. Not inline: this is seldom.
static __attribute__((noinline)) uint32_t add_key_field(struct chrome *chrome, struct key *key, uint32_t form,
                                                        bool end) {
    static const char *const units[][2] = {{"", "json"}, {"event", "event json"}, {"end", "end json"}};
    size_t place = key->place == PLACE_ARGUMENT ? (end ? 2 : 0) : 1;
    return key->fields[end][form] =
               add_field(chrome, key->name, form_types[form], units[place][form == FORM_JSON]);
}

static void set(struct rows *rows, tsmith_batch *batch, uint32_t field, uint64_t bits) {
    rows->failed |= tsmith_batch_set(batch, field, bits) != TSMITH_OK;
}

static void set_dynamic(struct rows *rows, tsmith_batch *batch, uint32_t field, tsmith_type type,
                        uint64_t bits) {
    rows->failed |= tsmith_batch_set_dynamic(batch, field, type, bits) != TSMITH_OK;
}

// "[1,2,3]", or {"x":1,"y":2,"z":3} as mcTracer has it, without spaces: how many, or 0 when it is anything else (also a
// leading zero, so that it can be written back the same).
static unsigned list_of_sizes(tsmith_string text, bool object, uint64_t *sizes) {
    static const char *const before[2][3] = {{"[", ",", ","}, {"{\"x\":", ",\"y\":", ",\"z\":"}};
    const char *at = text.bytes;
    unsigned count = 0;
    while (count < 3 && strncmp(at, before[object][count], strlen(before[object][count])) == 0) {
        uint64_t value = 0;
        at += strlen(before[object][count]);
        if (*at < '1' || *at > '9')
            return 0;
        for (; *at >= '0' && *at <= '9'; at++) {
            if (value > UINT32_MAX)
                return 0;
            value = value * 10 + (uint64_t)(*at - '0');
        }
        sizes[count++] = value;
    }
    bool whole = at == text.bytes + text.length - 1 && *at == (object ? '}' : ']');
    return whole && (count == 3 || !object) ? count : 0;
}

// Grid and block of a kernel launch become global and local size, when they come back from those exactly.
static bool set_sizes(struct chrome *chrome, tsmith_batch *batch, const struct value *grid,
                      const struct value *block) {
    uint64_t blocks[3], local[3];
    if (grid->form != FORM_JSON || block->form != FORM_JSON)
        return false;
    const tsmith_dictionary *dictionary = chrome->dictionary;
    unsigned count = list_of_sizes(tsmith_dictionary_string(dictionary, (uint32_t)grid->bits),
                                   chrome->by_mctracer, blocks);
    if (!count || list_of_sizes(tsmith_dictionary_string(dictionary, (uint32_t)block->bits),
                                chrome->by_mctracer, local) != count)
        return false;
    for (unsigned i = 0; i < count; i++) {
        set(chrome->rows, batch, TSMITH_FIELD_GLOBAL_X + i, blocks[i] * local[i]);
        set(chrome->rows, batch, TSMITH_FIELD_LOCAL_X + i, local[i]);
    }
    return true;
}

// The values that are examined together, by role; NULL: the event has none.
struct known_values {
    const struct event *event;
    const struct value *grid, *block, *bandwidth, *bytes;
};

// Bytes of an MTIA event are in "size"; both arguments come back as they were.
static bool is_mtia(const struct chrome *chrome, const struct known_values *known) {
    return kinds_is_mtia(chrome, known->event);
}

static bool is_natural(const struct value *value) {
    return value->form == FORM_U64 || (value->form == FORM_I64 && (int64_t)value->bits >= 0);
}

static void set_stack(struct chrome *chrome, tsmith_batch *batch, const struct value *id) {
    uint32_t stack = frames_stack(chrome, id);
    if (stack)
        set(chrome->rows, batch, TSMITH_FIELD_STACK, stack);
    else
        chrome->problems.counts[PROBLEM_NO_STACK]++;
}

// A value into the field of the vocabulary it belongs to, or aside; false when it has none or does not fit.
static bool set_known(struct chrome *chrome, tsmith_batch *batch, const struct value *value,
                      struct known_values *known) {
    struct rows *rows = chrome->rows;
    const uint8_t role = value->role;
    switch (role) {
    case ROLE_CO_ID:
    case ROLE_QUEUE_TS:
    case ROLE_SUBMIT_TS:
    case ROLE_COMPLETE_TS:
        if (!chrome->by_mctracer || value->form != FORM_I64 || (int64_t)value->bits < 0)
            return false;
        set(rows, batch,
            role == ROLE_CO_ID       ? TSMITH_FIELD_CORRELATION
            : role == ROLE_QUEUE_TS  ? TSMITH_FIELD_QUEUED
            : role == ROLE_SUBMIT_TS ? TSMITH_FIELD_SUBMITTED
                                     : TSMITH_FIELD_COMPLETED,
            value->bits);
        return true;
    case ROLE_SIZE:
        if (is_natural(value) && is_mtia(chrome, known))
            set(rows, batch, TSMITH_FIELD_BYTES, value->bits);
        return false;
    case ROLE_CORRELATION:
    case ROLE_BYTES:
        if (!is_natural(value) || (role == ROLE_BYTES && is_mtia(chrome, known)))
            return false;
        known->bytes = role == ROLE_BYTES ? value : known->bytes;
        set(rows, batch, role == ROLE_BYTES ? TSMITH_FIELD_BYTES : TSMITH_FIELD_CORRELATION, value->bits);
        return true;
    case ROLE_GRID:
        known->grid = value;
        return true;
    case ROLE_BLOCK:
        known->block = value;
        return true;
    case ROLE_BANDWIDTH:
        known->bandwidth = value;
        return true;
    case ROLE_STACK_FRAME:
        set_stack(chrome, batch, value);
        return false; // it comes back as it was
    default:
        return false;
    }
}

// Kineto also writes bytes / ns: that it does takes one bit, the quotient eight bytes of noise.
static bool set_bandwidth(struct chrome *chrome, tsmith_batch *batch, const struct event *event,
                          const struct known_values *known) {
    const struct moment *duration = &event->duration;
    if (!known->bytes || known->bandwidth->form != FORM_F64 || !duration->there || duration->odd ||
        duration->rest || duration->ns <= 0)
        return false;
    double quotient = (double)known->bytes->bits / (double)duration->ns;
    uint64_t bits;
    memcpy(&bits, &quotient, sizeof bits);
    if (bits != known->bandwidth->bits)
        return false;
    set_dynamic(chrome->rows, batch,
                named_field(chrome, &chrome->rows->field_bandwidth, "memory bandwidth (GB/s)",
                            TSMITH_TYPE_BOOL, "bytes/duration"),
                TSMITH_TYPE_BOOL, 1);
    return true;
}

static inline void set_value(struct chrome *chrome, tsmith_batch *batch, const struct value *value,
                             bool end) {
    struct key *key = &chrome->keys[value->key];
    uint32_t field = key->fields[end][value->form];
    if (__builtin_expect(!field, 0))
        field = add_key_field(chrome, key, value->form, end);
    set_dynamic(chrome->rows, batch, field, form_types[value->form], value->bits);
}

static void set_values(struct chrome *chrome, tsmith_batch *batch, const struct event *event, bool end) {
    struct known_values known = {.event = event};
    for (size_t i = 0; i < event->count; i++) {
        const struct value *value = &event->values[i];
        bool taken = !end && ((value->role > ROLE_ARGS && set_known(chrome, batch, value, &known)) ||
                              (chrome->by_us && own_set(chrome, batch, value)));
        if (!taken)
            set_value(chrome, batch, value, end);
    }
    if (known.bandwidth && !set_bandwidth(chrome, batch, event, &known))
        set_value(chrome, batch, known.bandwidth, false);
    if (known.grid && known.block && set_sizes(chrome, batch, known.grid, known.block))
        return;
    if (known.grid)
        set_value(chrome, batch, known.grid, false);
    if (known.block)
        set_value(chrome, batch, known.block, false);
}

// The part of a time that int64 ns cannot express.
static void set_moment_rest(struct chrome *chrome, tsmith_batch *batch, const char *name, uint32_t fields[2],
                            const struct moment *moment) {
    if (moment->odd)
        set_dynamic(chrome->rows, batch,
                    named_field(chrome, &fields[0], name, TSMITH_TYPE_STRING, "event json"),
                    TSMITH_TYPE_STRING, moment->text);
    else if (moment->rest)
        set_dynamic(chrome->rows, batch, named_field(chrome, &fields[1], name, TSMITH_TYPE_I64, "event fs"),
                    TSMITH_TYPE_I64, (uint64_t)moment->rest);
}

// The text is added before the field's name: every compiler numbers strings alike then.
static void set_text(struct chrome *chrome, tsmith_batch *batch, uint32_t *field, const char *name,
                     const char *unit, const char *text) {
    const uint32_t id = tsmith_dictionary_intern_cstr(chrome->dictionary, text);
    set_dynamic(chrome->rows, batch, named_field(chrome, field, name, TSMITH_TYPE_STRING, unit),
                TSMITH_TYPE_STRING, id);
}

// ---- rows

static void note_event_span(struct rows *rows, const struct event *event) {
    const int64_t start = event->start.ns;
    int64_t end;
    if (__builtin_add_overflow(start, event->duration.there ? event->duration.ns : 0, &end))
        end = start;
    if (!rows->any || start < rows->first_start)
        rows->first_start = start;
    if (!rows->any || end > rows->last_end)
        rows->last_end = end;
    rows->any = true;
}

// A new row of the group with what every event has. NULL when there is no memory.
static tsmith_batch *append_row(struct chrome *chrome, struct group *group, const struct event *event) {
    struct rows *rows = chrome->rows;
    if (group->batch && tsmith_batch_count(group->batch) == TSMITH_BATCH_MAX)
        close_batch(rows, group);
    if (!group->batch && !open_batch(rows, group))
        return NULL;
    tsmith_batch *batch = group->batch;
    const int64_t start = event->start.ns; // one without a time does not get here: times_lost
    uint32_t row = tsmith_batch_append(batch, group->kind, start);
    if (row == UINT32_MAX) {
        rows->failed = true;
        return NULL;
    }
    if ((row & (row - 1)) == 0 && row >= 64) // it has just doubled
        rows->group_bytes += (size_t)row * tsmith_batch_column_count(batch) * 7;
    note_event_span(rows, event);
    if (event->has_name)
        set(rows, batch, TSMITH_FIELD_NAME, event->name);
    if (event->has_category)
        set(rows, batch, TSMITH_FIELD_CATEGORY, event->category);
    if (event->duration.there && !event->duration.bad)
        set(rows, batch, TSMITH_FIELD_DURATION, (uint64_t)event->duration.ns);
    if (__builtin_expect(event->start.odd || event->start.rest, 0))
        set_moment_rest(chrome, batch, "ts", rows->field_time, &event->start);
    if (__builtin_expect(event->duration.odd || event->duration.rest, 0))
        set_moment_rest(chrome, batch, "dur", rows->field_duration, &event->duration);
    if (__builtin_expect(event->empty_args, 0))
        set_text(chrome, batch, &rows->field_args, "args", "event json", "{}");
    return batch;
}

// The ph that the exporter would give a row of this kind by itself.
static char natural_ph(tsmith_kind kind) {
    return kind == TSMITH_KIND_MARKER    ? 'i'
           : kind == TSMITH_KIND_COUNTER ? 'C'
           : kind == TSMITH_KIND_FLOW    ? 0
                                         : 'X';
}

static void note_last(struct rows *rows, struct group *group, const struct event *event) {
    rows->last = (struct last_row){.group = group,
                                   .row = tsmith_batch_count(group->batch) - 1,
                                   .pid = event->pid,
                                   .tid = event->tid,
                                   .start = event->start};
    if (!(event->roles >> ROLE_CORRELATION & 1))
        return;
    for (size_t i = 0; i < event->count; i++) {
        if (event->values[i].role == ROLE_CORRELATION && event->values[i].form == FORM_I64) {
            rows->last.correlation = event->values[i].bits;
            rows->last.has_correlation = true;
        }
    }
}

static void too_many(struct chrome *chrome) {
    chrome->problems.counts[PROBLEM_TOO_MANY]++;
}

static void add_row(struct chrome *chrome, const struct event *event) {
    struct group *group = find_group(chrome, event);
    if (!group) {
        too_many(chrome);
        return;
    }
    if (!needs_ask(chrome, group->kind, event)) {
        note_event_span(chrome->rows, event);
        needs_leave_out(chrome->rows, event);
        chrome->rows->last.group = NULL;
        return;
    }
    tsmith_batch *batch = append_row(chrome, group, event);
    if (!batch)
        return;
    set_values(chrome, batch, event, false);
    if (!chrome->by_us)
        kinds_derive(chrome, batch, group->kind, event);
    if (__builtin_expect(event->ph != natural_ph(group->kind) && event->ph != '?', 0)) {
        char ph[2] = {event->ph, 0};
        set_text(chrome, batch, &chrome->rows->field_ph, "ph", "event", ph);
    }
    note_last(chrome->rows, group, event);
    if (group->around && !chrome->arguments)
        around_event(chrome, group, batch, event);
}

// An event that has too much in it: its text, whole.
static void add_raw(struct chrome *chrome, struct event *event, const char *text, size_t length) {
    enum text_form form;
    uint32_t id = texts_json_once(&chrome->texts, text, length, &form);
    event->count = 0;
    event->roles = 0;
    event->ph = event->ph ? event->ph : '?';
    struct group *group = find_group(chrome, event);
    tsmith_batch *batch = group ? append_row(chrome, group, event) : NULL;
    if (!group)
        too_many(chrome);
    if (batch)
        set_dynamic(chrome->rows, batch,
                    named_field(chrome, &chrome->rows->field_raw, "event", TSMITH_TYPE_STRING, "raw json"),
                    TSMITH_TYPE_STRING, id);
    chrome->rows->last.group = NULL;
}

// ---- flows

// The text of a flow other than its place and id; 0 when it has anything else.
static uint32_t flow_form(struct chrome *chrome, const struct event *event) {
    struct rows *rows = chrome->rows;
    struct flow_form form = {.ph = event->ph, .name = event->name, .category = event->category};
    for (size_t i = 0; i < event->count; i++) {
        const struct key *key = &chrome->keys[event->values[i].key];
        if (key->role == ROLE_ID && event->values[i].form == FORM_I64)
            continue;
        tsmith_string text = tsmith_dictionary_string(chrome->dictionary, key->name);
        if (key->place != PLACE_EVENT || text.length != 2 || memcmp(text.bytes, "bp", 2) != 0 ||
            event->values[i].form != FORM_STRING)
            return 0;
        form.binding = (uint32_t)event->values[i].bits;
        form.has_binding = true;
    }
    for (size_t i = 0; i < rows->flow_form_count; i++) {
        const struct flow_form *known = &rows->flow_forms[i];
        if (known->ph == form.ph && known->name == form.name && known->category == form.category &&
            known->binding == form.binding && known->has_binding == form.has_binding)
            return known->text;
    }
    if (rows->flow_form_count == FLOW_FORMS)
        return 0;
    char text[256];
    tsmith_string name = tsmith_dictionary_string(chrome->dictionary, form.name);
    tsmith_string category = tsmith_dictionary_string(chrome->dictionary, form.category);
    tsmith_string binding = tsmith_dictionary_string(chrome->dictionary, form.binding);
    if (name.length + category.length + binding.length > 128)
        return 0;
    int length = snprintf(text, sizeof text, "{\"ph\":\"%c\",\"cat\":\"%s\",\"name\":\"%s\"%s%s%s}", form.ph,
                          category.bytes, name.bytes, form.has_binding ? ",\"bp\":\"" : "", binding.bytes,
                          form.has_binding ? "\"" : "");
    if (strpbrk(name.bytes, "\"\\") || strpbrk(category.bytes, "\"\\") || strpbrk(binding.bytes, "\"\\"))
        return 0;
    form.text = tsmith_dictionary_intern(chrome->dictionary, text, (size_t)length);
    rows->flow_forms[rows->flow_form_count++] = form;
    return form.text;
}

// A flow at the event just before it, of the same place and time, becomes a field of that event.
static bool attach_flow(struct chrome *chrome, const struct event *event) {
    struct rows *rows = chrome->rows;
    struct last_row *last = &rows->last;
    if (!last->group || !last->group->batch || last->has_flow || event->id.form != FORM_I64 ||
        !event->has_name || !event->has_category || event->empty_args || event->duration.there ||
        tsmith_batch_count(last->group->batch) != last->row + 1 || !ident_same(last->pid, event->pid) ||
        !ident_same(last->tid, event->tid) || event->start.odd || last->start.odd ||
        event->start.rest != last->start.rest || event->start.ns != last->start.ns)
        return false;
    uint32_t text = flow_form(chrome, event);
    if (!text)
        return false;
    set_dynamic(rows, last->group->batch,
                named_field(chrome, &rows->field_flow, "flow", TSMITH_TYPE_STRING, "flow"),
                TSMITH_TYPE_STRING, text);
    if (!last->has_correlation || last->correlation != event->id.bits)
        set_dynamic(rows, last->group->batch,
                    named_field(chrome, &rows->field_flow_id, "flow_id", TSMITH_TYPE_I64, "flow"),
                    TSMITH_TYPE_I64, event->id.bits);
    last->has_flow = true;
    return true;
}

// ---- begin and end

static bool begin_range(struct chrome *chrome, const struct event *event) {
    struct rows *rows = chrome->rows;
    struct row_track *track = tracks_find(chrome, event->pid, event->tid, false);
    const size_t values = event->count * sizeof *event->values;
    struct open_range *open =
        track && rows->open_ranges < OPEN_RANGES_MAX ? malloc(sizeof *open + values) : NULL;
    if (!open)
        return false;
    open->below = track->open;
    open->event = *event;
    open->event.values = open->values;
    if (values)
        memcpy(open->values, event->values, values);
    track->open = open;
    rows->open_ranges++;
    return true;
}

// A begun range as a row of its own that knows no duration.
static void add_unended(struct chrome *chrome, struct open_range *open) {
    chrome->problems.counts[PROBLEM_UNMATCHED_BEGIN]++;
    add_row(chrome, &open->event);
    free(open);
}

static struct open_range *pop_range(struct rows *rows, struct row_track *track) {
    struct open_range *open = track->open;
    if (open) {
        track->open = open->below;
        rows->open_ranges--;
    }
    return open;
}

// Whether all data of the end fits into the row of its range.
static bool pairs(struct chrome *chrome, const struct open_range *open, const struct event *event) {
    for (size_t i = 0; i < event->count; i++)
        if (chrome->keys[event->values[i].key].place != PLACE_ARGUMENT)
            return false;
    int64_t duration;
    bool same_name = event->has_name && open->event.has_name && event->name == open->event.name;
    bool same_category =
        event->has_category && open->event.has_category && event->category == open->event.category;
    return !event->start.odd && !event->start.rest && !open->event.start.odd && !open->event.start.rest &&
           !event->empty_args && !event->duration.there && !open->event.duration.there &&
           (same_name || !event->has_name) && (same_category || !event->has_category) &&
           !__builtin_sub_overflow(event->start.ns, open->event.start.ns, &duration) && duration >= 0;
}

// B and E become one row. Its ph records the parts of the E: "BE", "BEn" with the name, "BEc" with the category,
// "BEnc" with both.
static void end_range(struct chrome *chrome, const struct event *event) {
    struct row_track *track = tracks_find(chrome, event->pid, event->tid, false);
    struct open_range *open = track ? pop_range(chrome->rows, track) : NULL;
    if (!open) {
        chrome->problems.counts[PROBLEM_UNMATCHED_END]++;
        add_row(chrome, event);
        return;
    }
    if (!pairs(chrome, open, event)) {
        // They belong together, but come back as they were only when they stay apart.
        add_row(chrome, &open->event);
        add_row(chrome, event);
    } else {
        open->event.duration = (struct moment){.ns = event->start.ns - open->event.start.ns, .there = true};
        struct group *group = find_group(chrome, &open->event);
        tsmith_batch *batch = group ? append_row(chrome, group, &open->event) : NULL;
        if (batch) {
            char ph[8];
            (void)snprintf(ph, sizeof ph, "BE%s%s", event->has_name ? "n" : "",
                           event->has_category ? "c" : "");
            set_values(chrome, batch, &open->event, false);
            set_values(chrome, batch, event, true);
            set_text(chrome, batch, &chrome->rows->field_ph, "ph", "event", ph);
        }
        chrome->rows->last.group = NULL;
    }
    free(open);
}

// ---- from the reader

static bool is_full(struct rows *rows) {
    if (rows->group_bytes > GROUP_BYTES_MAX || rows->group_batches > GROUP_BATCHES_MAX)
        close_all(rows);
    return rows->ready_bytes > rows->hold_bytes;
}

bool rows_add(struct chrome *chrome, struct event *event, const char *text, size_t length) {
    if (__builtin_expect(event->too_large, 0)) {
        add_raw(chrome, event, text, length);
        return !is_full(chrome->rows);
    }
    switch (event->ph) {
    case 'M':
        tracks_metadata(chrome, event, text, length);
        return true;
    case 's':
    case 't':
    case 'f':
        if (!attach_flow(chrome, event))
            add_row(chrome, event);
        break;
    case 'B':
        if (!begin_range(chrome, event))
            add_row(chrome, event);
        break;
    case 'E':
        end_range(chrome, event);
        break;
    default:
        add_row(chrome, event);
    }
    return !is_full(chrome->rows);
}

// ---- to the consumer

tsmith_status rows_take(struct chrome *chrome, const tsmith_batch **out) {
    struct rows *rows = chrome->rows;
    *out = NULL;
    // Not kept for the next group: a batch that has been everybody's has room for everybody's columns.
    tsmith_batch_destroy(rows->given);
    rows->given = NULL;
    if (rows->failed)
        return TSMITH_ERROR_NO_MEMORY;
    if (rows->ready_taken == rows->ready_count || (!rows->ended && rows->ready_bytes <= rows->hold_bytes))
        return TSMITH_OK;
    rows->hold_bytes =
        0; // tracks and devices are registered now with the known data: nothing more to wait for
    tracks_write(chrome);
    tsmith_batch *batch = rows->ready[rows->ready_taken++];
    size_t bytes = batch_bytes(batch);
    rows->ready_bytes -= bytes < rows->ready_bytes ? bytes : rows->ready_bytes;
    if (rows->ready_taken == rows->ready_count)
        rows->ready_taken = rows->ready_count = 0;
    rows->given = batch;
    tsmith_status status = tsmith_batch_finish(batch);
    if (status == TSMITH_OK && tsmith_batch_track(batch) <= rows->track_count)
        overlaps_count(chrome, batch);
    *out = status == TSMITH_OK ? batch : NULL;
    return status;
}

// ---- the end

static void add_losses(struct chrome *chrome) {
    static const struct {
        const char *attribute, *text;
        int lost;
    } names[PROBLEM_COUNT] = {
#define ROW(NAME, attribute, lost, text) [PROBLEM_##NAME] = {"import." attribute, text, lost},
        PROBLEM_TABLE(ROW)
#undef ROW
    };
    struct rows *rows = chrome->rows;
    tsmith_batch *batch = NULL;
    for (int i = 0; i < PROBLEM_COUNT; i++) {
        uint64_t count = chrome->problems.counts[i];
        if (!count || !names[i].lost)
            continue;
        if (!batch && tsmith_batch_create(&batch) != TSMITH_OK) {
            rows->failed = true;
            return;
        }
        if (tsmith_batch_count(batch) == 0) {
            tracks_write(chrome);
            tsmith_track track = {.kind = TSMITH_TRACK_LOSS,
                                  .name = tsmith_dictionary_intern_cstr(chrome->dictionary, "import")};
            tsmith_batch_reset(batch, tsmith_dictionary_add_track(chrome->dictionary, &track));
        }
        int64_t span;
        if (tsmith_batch_append(batch, TSMITH_KIND_LOSS, rows->first_start) == UINT32_MAX)
            rows->failed = true;
        if (rows->any && !__builtin_sub_overflow(rows->last_end, rows->first_start, &span))
            set(rows, batch, TSMITH_FIELD_DURATION, (uint64_t)span);
        if (names[i].lost == 1)
            set(rows, batch, TSMITH_FIELD_LOST, count);
        set(rows, batch, TSMITH_FIELD_REASON,
            i == PROBLEM_TOO_MANY || i == PROBLEM_TOO_LARGE ? TSMITH_REASON_TABLE_FULL
            : i == PROBLEM_BACKWARDS                        ? TSMITH_REASON_NO_TIMING
                                                            : TSMITH_REASON_CORRUPT);
        char text[160];
        if (i == PROBLEM_NO_TIME)
            (void)snprintf(text, sizeof text, "%s (the first begins at byte %llu)", names[i].text,
                           (unsigned long long)chrome->no_time_at);
        set(rows, batch, TSMITH_FIELD_TEXT,
            tsmith_dictionary_intern_cstr(chrome->dictionary, i == PROBLEM_NO_TIME ? text : names[i].text));
    }
    if (batch)
        push_ready(rows, batch);
}

void rows_count_problems(struct chrome *chrome) {
    static const char *const names[PROBLEM_COUNT] = {
#define ROW(NAME, attribute, lost, text) [PROBLEM_##NAME] = "import." attribute,
        PROBLEM_TABLE(ROW)
#undef ROW
    };
    char number[24];
    for (int i = 0; i < PROBLEM_COUNT; i++) {
        if (!chrome->problems.counts[i])
            continue;
        (void)snprintf(number, sizeof number, "%llu", (unsigned long long)chrome->problems.counts[i]);
        tsmith_dictionary_set_attribute(chrome->dictionary, names[i], number);
    }
}

static void add_bound(struct chrome *chrome, const struct bound *bound) {
    struct group *group = bound->any ? find_group(chrome, &bound->event) : NULL;
    if (group)
        (void)append_row(chrome, group, &bound->event);
}

void rows_end(struct chrome *chrome) {
    struct rows *rows = chrome->rows;
    for (size_t i = 0; i < rows->track_count; i++)
        for (struct open_range *open; (open = pop_range(rows, rows->tracks[i]));)
            add_unended(chrome, open);
    add_bound(chrome, &rows->first_left_out);
    add_bound(chrome, &rows->last_left_out);
    close_all(rows);
    tracks_write(chrome);
    if (!rows->stacks.python) // without Python functions no stacks were requested
        chrome->problems.counts[PROBLEM_LATE_RANGE] = 0;
    add_losses(chrome);
    rows->ended = true;
}
