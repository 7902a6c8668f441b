// SPDX-License-Identifier: Apache-2.0
// Rows into events. Cells are known by their engineering type (the name of the element), which every schema shares; what
// a column is called is the name of the field that keeps it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/table.h"
#include "import/xctrace/xctrace.h"

enum { PLACES_MAX = 1 << 16 };

enum place { PROCESS = 1, THREAD, QUEUE, PROCESS_TRACK, CUSTOM, COUNTER };

struct xctrace_place {
    int64_t key[3];
    uint32_t id; // 0: free
};

// Schemas whose rows are more than a stretch of time.
static const struct schema {
    const char *name;
    tsmith_kind kind;
    enum place place; // 0: of the thread or process, whichever the row names
} SCHEMAS[] = {
    {"metal-gpu-intervals", TSMITH_KIND_KERNEL, QUEUE},
    {"metal-application-command-buffer-submissions", TSMITH_KIND_API, 0},
    {"metal-application-event-interval", TSMITH_KIND_RANGE, 0},
    {"metal-application-encoders-list", TSMITH_KIND_RANGE, 0},
    {"metal-shader-compiler-intervals", TSMITH_KIND_COMPILE, 0},
    {"metal-gpu-counter-intervals", TSMITH_KIND_COUNTER, COUNTER},
    {"gpu-counter-value", TSMITH_KIND_COUNTER, COUNTER},
    {"time-profile", TSMITH_KIND_SAMPLE, 0},
    {"time-sample", TSMITH_KIND_SAMPLE, 0},
    {"cpu-profile", TSMITH_KIND_SAMPLE, 0},
    {"os-signpost", TSMITH_KIND_MARKER, 0},
    {"os-signpost-interval", TSMITH_KIND_RANGE, 0},
    {"os-log", TSMITH_KIND_MARKER, 0},
    {"syscall", TSMITH_KIND_HOST_FUNCTION, 0},
    {"display-surface-swap", TSMITH_KIND_FRAME, 0},
};

static const struct schema UNKNOWN = {"", TSMITH_KIND_NONE, 0};

static const struct schema *find_schema(const char *name) {
    for (size_t i = 0; i < sizeof SCHEMAS / sizeof *SCHEMAS; i++)
        if (strcmp(SCHEMAS[i].name, name) == 0)
            return &SCHEMAS[i];
    return &UNKNOWN;
}

// ---- cells

// What the row is made of, as indices of cells; -1: none.
struct found {
    int start, duration, thread, process, channel, device, name, stack, bytes, counter, value;
};

static bool is_one_of(const char *text, const char *const *list) {
    while (*list && strcmp(text, *list) != 0)
        list++;
    return *list != NULL;
}

static const char *column_of(const struct xctrace *xctrace, size_t index) {
    return index < xctrace->column_count ? xctrace->columns[index] : xctrace->cells[index].tag;
}

static const struct xctrace_part *part_of(const struct xctrace *xctrace, int index) {
    const struct xctrace_value *value = index < 0 ? NULL : &xctrace->cells[index].value;
    return value && value->form == XCTRACE_NESTED ? &xctrace->parts[value->number] : NULL;
}

// The first cell counts, or the one whose column has the better name.
static void take_index(int *place, int index) {
    if (*place < 0)
        *place = index;
}

static struct found find_cells(const struct xctrace *xctrace) {
    static const char *const TIMES[] = {"start-time", "event-time", "sample-time", "timestamp", NULL};
    static const char *const LABELS[] = {"label",   "event-label", "name", "event-name",
                                         "message", "function",    NULL};
    struct found found = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    for (int i = 0; i < (int)xctrace->cell_count; i++) {
        const struct xctrace_cell *cell = &xctrace->cells[i];
        const char *column = column_of(xctrace, (size_t)i);
        const struct xctrace_part *part = part_of(xctrace, i);
        bool number = cell->value.form == XCTRACE_NUMBER;
        if (cell->value.form == XCTRACE_NONE)
            continue;
        if (number && is_one_of(cell->tag, TIMES))
            take_index(&found.start, i);
        else if (number && strcmp(cell->tag, "duration") == 0 && strcmp(column, "duration") == 0)
            take_index(&found.duration, i);
        else if (number && strcmp(cell->tag, "size-in-bytes") == 0)
            take_index(&found.bytes, i);
        else if (number && strcmp(column, "value") == 0)
            take_index(&found.value, i);
        else if (part && part->is_stack)
            take_index(&found.stack, i);
        else if (strcmp(cell->tag, "thread") == 0)
            take_index(&found.thread, i);
        else if (strcmp(cell->tag, "process") == 0)
            take_index(&found.process, i);
        else if (strcmp(cell->tag, "gpu-channel-name") == 0)
            take_index(&found.channel, i);
        else if (strcmp(cell->tag, "metal-device-name") == 0)
            take_index(&found.device, i);
        else if (strcmp(column, "counter-name") == 0)
            take_index(&found.counter, i);
        else if (is_one_of(column, LABELS) || strcmp(cell->tag, "formatted-label") == 0)
            take_index(&found.name, i);
    }
    return found;
}

// ---- places

static struct xctrace_place *slot_of(const struct xctrace *xctrace, const int64_t key[3]) {
    return TABLE_SLOT(xctrace->places, xctrace->place_slots, hash_words(key, 3), slot,
                      !slot->id || memcmp(slot->key, key, sizeof slot->key) == 0);
}

// The id of a place, 0 when it is new.
static uint32_t find_place(const struct xctrace *xctrace, const int64_t key[3]) {
    return xctrace->place_slots ? slot_of(xctrace, key)->id : 0;
}

static uint32_t add_place(struct xctrace *xctrace, const int64_t key[3], uint32_t id) {
    if (!TABLE_ROOM(xctrace->places, xctrace->place_slots, xctrace->place_count, 64, slot, slot->id,
                    hash_words(slot->key, 3))) {
        xctrace->failed = true;
        return 0;
    }
    struct xctrace_place *place = slot_of(xctrace, key);
    memcpy(place->key, key, sizeof place->key);
    place->id = id;
    xctrace->place_count++;
    xctrace->failed |= id == 0;
    return id;
}

static uint32_t process_of(struct xctrace *xctrace, const struct xctrace_part *part) {
    if (!part || !part->has_pid)
        return 0;
    int64_t key[3] = {PROCESS, part->pid, 0};
    uint32_t id = find_place(xctrace, key);
    if (id)
        return id;
    // "name (123)" without the repeated number
    tsmith_string text =
        tsmith_dictionary_string(xctrace->dictionary, part->process ? part->process : part->text);
    const char *open = text.length ? memrchr(text.bytes, '(', text.length) : NULL;
    size_t length =
        open && open > text.bytes + 1 && open[-1] == ' ' ? (size_t)(open - text.bytes) - 1 : text.length;
    tsmith_process process = {.pid = (uint64_t)part->pid,
                              .name = tsmith_dictionary_intern(xctrace->dictionary, text.bytes, length)};
    return add_place(xctrace, key, tsmith_dictionary_add_process(xctrace->dictionary, &process));
}

static uint32_t device_of(struct xctrace *xctrace, const struct found *found) {
    uint32_t name = found->device < 0 ? 0 : xctrace->cells[found->device].value.text;
    uint32_t count = tsmith_dictionary_device_count(xctrace->dictionary);
    if (!name)
        name = tsmith_dictionary_intern_cstr(xctrace->dictionary, "GPU");
    for (uint32_t id = 1; id < count; id++)
        if (tsmith_dictionary_device(xctrace->dictionary, id)->name == name)
            return id;
    tsmith_device device = {.name = name,
                            .vendor = tsmith_dictionary_intern_cstr(xctrace->dictionary, "Apple"),
                            .api = tsmith_dictionary_intern_cstr(xctrace->dictionary, "metal"),
                            .type = tsmith_dictionary_intern_cstr(xctrace->dictionary, "gpu")};
    return tsmith_dictionary_add_device(xctrace->dictionary, &device);
}

// Where the row happened; cells without further data are marked in `told`.
static uint32_t track_of(struct xctrace *xctrace, const struct schema *schema, const struct found *found,
                         bool told[XCTRACE_CELLS]) {
    const struct xctrace_part *thread = part_of(xctrace, found->thread),
                              *process = part_of(xctrace, found->process);
    tsmith_track track = {.kind = TSMITH_TRACK_CUSTOM};
    int64_t key[3] = {CUSTOM, 0, 0};
    int says = -1;
    if (schema->place == QUEUE && found->channel >= 0) {
        says = found->channel;
        track.kind = TSMITH_TRACK_QUEUE;
        track.name = xctrace->cells[says].value.text;
        track.device = device_of(xctrace, found);
        if (found->device >= 0)
            told[found->device] = true;
        key[0] = QUEUE, key[1] = track.name, key[2] = track.device;
    } else if (schema->place == COUNTER && found->counter >= 0) {
        says = found->counter;
        track.kind = TSMITH_TRACK_COUNTER;
        track.name = xctrace->cells[says].value.text;
        key[0] = COUNTER, key[1] = track.name;
    } else if (thread && thread->has_tid) {
        says = found->thread;
        track.kind = TSMITH_TRACK_THREAD;
        track.name = thread->text;
        track.tid = (uint64_t)thread->tid;
        key[0] = THREAD, key[1] = thread->has_pid ? thread->pid : -1, key[2] = thread->tid;
    } else if (process && process->has_pid) {
        says = found->process;
        track.kind = TSMITH_TRACK_PROCESS;
        track.name = process->text;
        key[0] = PROCESS_TRACK, key[1] = process->pid;
    } else {
        track.name = tsmith_dictionary_intern_cstr(xctrace->dictionary,
                                                   xctrace->schema[0] ? xctrace->schema : "xctrace");
        key[1] = track.name;
    }
    if (says >= 0)
        told[says] = true;
    uint32_t id = find_place(xctrace, key);
    if (id || xctrace->failed || xctrace->place_count >= PLACES_MAX)
        return id;
    track.process = key[0] == THREAD          ? process_of(xctrace, thread)
                    : key[0] == PROCESS_TRACK ? process_of(xctrace, process)
                                              : 0;
    return add_place(xctrace, key, tsmith_dictionary_add_track(xctrace->dictionary, &track));
}

// ---- fields

static void set(struct xctrace *xctrace, tsmith_batch *batch, uint32_t field, uint64_t bits) {
    xctrace->failed |= tsmith_batch_set(batch, field, bits) != TSMITH_OK;
}

static void keep_cell(struct xctrace *xctrace, tsmith_batch *batch, size_t index) {
    const struct xctrace_value *value = &xctrace->cells[index].value;
    bool number = value->form == XCTRACE_NUMBER;
    tsmith_type type = number ? TSMITH_TYPE_I64 : TSMITH_TYPE_STRING;
    uint32_t passing = 0,
             *field = index < xctrace->column_count ? &xctrace->column_fields[index][!number] : &passing;
    if (value->form == XCTRACE_NONE)
        return;
    if (!*field)
        *field = tsmith_dictionary_field(xctrace->dictionary, column_of(xctrace, index), type, "");
    uint64_t bits = number ? (uint64_t)value->number : value->text;
    xctrace->failed |= !*field || tsmith_batch_set_dynamic(batch, *field, type, bits) != TSMITH_OK;
}

static bool is_time(int64_t time) {
    return time > -((int64_t)1 << 61) && time < (int64_t)1 << 61;
}

static void set_name(struct xctrace *xctrace, tsmith_batch *batch, const struct found *found,
                     bool told[XCTRACE_CELLS]) {
    const struct xctrace_part *part = part_of(xctrace, found->name), *stack = part_of(xctrace, found->stack);
    uint32_t name = 0;
    if (stack) {
        told[found->stack] = true;
        set(xctrace, batch, TSMITH_FIELD_TEXT, stack->text);
        name = stack->leaf;
    } else if (found->name >= 0) {
        // The rest of a label is kept as well.
        name = part && part->leaf ? part->leaf : xctrace->cells[found->name].value.text;
        told[found->name] = name && name == xctrace->cells[found->name].value.text;
    } else if (found->counter >= 0) {
        name = xctrace->cells[found->counter].value.text;
    }
    if (name)
        set(xctrace, batch, TSMITH_FIELD_NAME, name);
}

// The number of a cell, into a field of the vocabulary.
static void set_number(struct xctrace *xctrace, tsmith_batch *batch, int index, uint32_t field,
                       bool told[XCTRACE_CELLS]) {
    int64_t number = index < 0 ? -1 : xctrace->cells[index].value.number;
    double real = (double)number;
    uint64_t bits = (uint64_t)number;
    if (index < 0 || (field != TSMITH_FIELD_VALUE && number < 0) ||
        (field == TSMITH_FIELD_VALUE && (number > (int64_t)1 << 53 || number < -((int64_t)1 << 53))))
        return;
    if (field == TSMITH_FIELD_VALUE)
        memcpy(&bits, &real, sizeof bits);
    set(xctrace, batch, field, bits);
    told[index] = true;
}

void xctrace_add_row(struct xctrace *xctrace) {
    const struct schema *schema = find_schema(xctrace->schema);
    struct found found = find_cells(xctrace);
    bool told[XCTRACE_CELLS] = {false};
    int64_t start = found.start < 0 ? INT64_MAX : xctrace->cells[found.start].value.number;
    if (!is_time(start)) {
        xctrace->no_time++;
        return;
    }
    uint32_t track = track_of(xctrace, schema, &found, told);
    if (!track) {
        xctrace->too_many++;
        return;
    }
    int64_t duration = found.duration < 0 ? 0 : xctrace->cells[found.duration].value.number;
    bool lasts = found.duration >= 0 && is_time(duration) && duration >= 0;
    tsmith_kind kind = schema->kind ? schema->kind : lasts ? TSMITH_KIND_RANGE : TSMITH_KIND_MARKER;
    uint32_t category = tsmith_dictionary_intern_cstr(xctrace->dictionary, xctrace->schema);
    tsmith_batch *batch = gather_row(&xctrace->gather, track, category, kind, start, lasts ? duration : 0);
    if (!batch)
        return;
    told[found.start] = true;
    if (category)
        set(xctrace, batch, TSMITH_FIELD_CATEGORY, category);
    if (lasts) {
        set(xctrace, batch, TSMITH_FIELD_DURATION, (uint64_t)duration);
        told[found.duration] = true;
    }
    set_name(xctrace, batch, &found, told);
    set_number(xctrace, batch, found.bytes, TSMITH_FIELD_BYTES, told);
    if (kind == TSMITH_KIND_COUNTER)
        set_number(xctrace, batch, found.value, TSMITH_FIELD_VALUE, told);
    for (size_t i = 0; i < xctrace->cell_count; i++)
        if (!told[i])
            keep_cell(xctrace, batch, i);
}

void xctrace_rows_finish(struct xctrace *xctrace) {
    free(xctrace->places);
    gather_finish(&xctrace->gather);
}
