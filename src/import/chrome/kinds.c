// SPDX-License-Identifier: Apache-2.0
// What an event of a Chrome trace is: by its category, or by what its process is called. msprof and torch_npu (Ascend)
// write the tasks of the hardware and the calls of its runtime without categories, as processes of these names.
#include <math.h>
#include <string.h>

#include "event/category.h"
#include "event/copy_name.h"
#include "event/python_name.h"
#include "event/wait_name.h"
#include "import/chrome/rows.h"

static const double EXACT_MOST = 0x1p53; // every integer below it is exact as a double

// What the hardware of an Ascend NPU did, by the name of the task; what is none of these is an operator.
static tsmith_kind kind_of_task(tsmith_string name) {
    static const struct {
        const char *beginning;
        tsmith_kind kind;
    } tasks[] = {{"MEMCPY", TSMITH_KIND_MEMCPY},
                 {"EVENT_WAIT", TSMITH_KIND_SYNC},
                 {"NOTIFY_WAIT", TSMITH_KIND_SYNC},
                 {"EVENT_RECORD", TSMITH_KIND_EVENT_RECORD},
                 {"NOTIFY_RECORD", TSMITH_KIND_EVENT_RECORD}};
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        if (name.length >= strlen(tasks[i].beginning) &&
            memcmp(name.bytes, tasks[i].beginning, strlen(tasks[i].beginning)) == 0)
            return tasks[i].kind;
    return TSMITH_KIND_KERNEL;
}

// What the hardware of MTIA did, by its name.
static tsmith_kind kind_of_mtia(tsmith_string name) {
    static const struct {
        const char *name;
        tsmith_kind kind;
    } works[] = {{"dma_request", TSMITH_KIND_MEMCPY},
                 {"event_wait", TSMITH_KIND_SYNC},
                 {"event_record", TSMITH_KIND_EVENT_RECORD}};
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        if (strcmp(name.bytes, works[i].name) == 0)
            return works[i].kind;
    return TSMITH_KIND_KERNEL;
}

bool kinds_is_mtia(const struct chrome *chrome, const struct event *event) {
    struct rows *rows = chrome->rows;
    if (!event->has_category || chrome->by_us)
        return false;
    if (!rows->mtia_category &&
        strcmp(tsmith_dictionary_string(chrome->dictionary, event->category).bytes, "mtia_ccp_events") == 0)
        rows->mtia_category = event->category;
    return rows->mtia_category && event->category == rows->mtia_category;
}

// mcTracer (MetaX) writes neither categories nor names of processes: kernels have a grid, copies of the device begin
// with a small letter, and other events with a number are calls ("mcMemcpyAsync").
static tsmith_kind kind_of_mctracer(const struct chrome *chrome, const struct event *event) {
    tsmith_string name = tsmith_dictionary_string(chrome->dictionary, event->name);
    if (event_value(event, ROLE_GRID))
        return TSMITH_KIND_KERNEL;
    if (name.length >= 6 && memcmp(name.bytes, "memcpy", 6) == 0)
        return TSMITH_KIND_MEMCPY;
    if (name.length >= 6 && memcmp(name.bytes, "memset", 6) == 0)
        return TSMITH_KIND_MEMSET;
    return event_value(event, ROLE_CO_ID) ? TSMITH_KIND_API : TSMITH_KIND_RANGE;
}

tsmith_kind kinds_of(const struct chrome *chrome, const struct row_track *track, const struct event *event) {
    switch (event->ph) {
    case 'X':
    case 'B':
        if (chrome->by_us)
            return own_kind(chrome, event, TSMITH_KIND_RANGE);
        if (chrome->by_mctracer)
            return kind_of_mctracer(chrome, event);
        if (track->by_name)
            return kind_of_task(tsmith_dictionary_string(chrome->dictionary, event->name));
        if (track->is_runtime)
            return TSMITH_KIND_API;
        if (kinds_is_mtia(chrome, event))
            return kind_of_mtia(tsmith_dictionary_string(chrome->dictionary, event->name));
        return event->has_category
                   ? category_kind(tsmith_dictionary_string(chrome->dictionary, event->category),
                                   TSMITH_KIND_RANGE)
                   : TSMITH_KIND_RANGE;
    case 'C':
        return TSMITH_KIND_COUNTER;
    case 's':
    case 't':
    case 'f':
        return TSMITH_KIND_FLOW;
    default:
        return chrome->by_us ? own_kind(chrome, event, TSMITH_KIND_MARKER) : TSMITH_KIND_MARKER;
    }
}

// The device of that number, which the only process with a name is called after.
static uint32_t mctracer_device(struct chrome *chrome, uint64_t number) {
    struct rows *rows = chrome->rows;
    tsmith_dictionary *dictionary = chrome->dictionary;
    tsmith_device device = {.vendor = tsmith_dictionary_intern_cstr(dictionary, "MetaX"),
                            .api = tsmith_dictionary_intern_cstr(dictionary, "maca"),
                            .type = tsmith_dictionary_intern_cstr(dictionary, "gpu")};
    for (size_t i = 0; i < rows->process_count && !device.name; i++)
        device.name = rows->processes[i].name;
    device.number = number < UINT32_MAX ? (uint32_t)number + 1 : 0;
    uint32_t *slot = tracks_device(rows, number);
    if (slot && !*slot)
        *slot = tsmith_dictionary_add_device(dictionary, &device);
    return slot ? *slot : 0;
}

static void learn_mctracer(struct chrome *chrome, struct row_track *track, const struct event *event) {
    const struct value *number = event_value(event, ROLE_DEVICE_ID);
    track->by_name = true;
    if (!number || number->form != FORM_I64)
        return;
    track->device_id = mctracer_device(chrome, number->bits);
    track->device = track->device_id != 0;
    track->unnumbered = !tracks_number(chrome, track->tid, &track->queue);
}

// The first slice shows whether mcTracer wrote the file: nanoseconds, and the number that it gives each call.
static void find_writer(struct chrome *chrome, const struct event *event) {
    if (chrome->has_writer || event->ph != 'X')
        return;
    chrome->has_writer = true;
    if (!chrome->in_ns || !event_value(event, ROLE_CO_ID))
        return;
    tsmith_attribute attribute = {tsmith_dictionary_intern_cstr(chrome->dictionary, "import.writer"),
                                  tsmith_dictionary_intern_cstr(chrome->dictionary, "mcTracer")};
    (void)tsmith_dictionary_add_attribute(chrome->dictionary, &attribute);
    chrome->by_mctracer = true;
}

// The name of a process must come before its first event, as in msprof's files; later is too late.
void kinds_learn(struct chrome *chrome, struct row_track *track, const struct event *event) {
    tsmith_dictionary *dictionary = chrome->dictionary;
    struct row_process *process = &chrome->rows->processes[track->process];
    tsmith_string name = tsmith_dictionary_string(dictionary, process->name);
    if (chrome->by_us)
        own_learn(chrome, track, event);
    if (chrome->by_us || track->groups)
        return;
    find_writer(chrome, event);
    if (chrome->by_mctracer)
        learn_mctracer(chrome, track, event);
    if (chrome->by_mctracer || !name.length)
        return;
    track->is_runtime = strcmp(name.bytes, "CANN") == 0;
    track->by_name = strcmp(name.bytes, "Ascend Hardware") == 0;
    if (!track->by_name)
        return;
    tsmith_device device = {.name = tsmith_dictionary_intern_cstr(dictionary, "Ascend NPU"),
                            .vendor = tsmith_dictionary_intern_cstr(dictionary, "Huawei"),
                            .api = tsmith_dictionary_intern_cstr(dictionary, "cann"),
                            .type = tsmith_dictionary_intern_cstr(dictionary, "accelerator")};
    if (!process->device)
        process->device = tsmith_dictionary_add_device(dictionary, &device);
    track->device = true;
    track->device_id = process->device;
    track->unnumbered = !tracks_number(chrome, track->tid, &track->queue);
}

static tsmith_direction direction_of(struct chrome *chrome, const struct event *event) {
    struct rows *rows = chrome->rows;
    tsmith_direction direction = event->direction;
    const struct value *said = direction ? NULL : event_value(event, ROLE_DIRECTION);
    if (said && said->form == FORM_STRING)
        direction = copy_direction(tsmith_dictionary_string(chrome->dictionary, (uint32_t)said->bits));
    if (direction || !event->has_name)
        return direction;
    if (event->name != rows->copy_name) {
        rows->copy_name = event->name;
        rows->copy_direction =
            (uint8_t)copy_direction(tsmith_dictionary_string(chrome->dictionary, event->name));
    }
    return (tsmith_direction)rows->copy_direction;
}

static void set(struct rows *rows, tsmith_batch *batch, uint32_t field, uint64_t bits) {
    rows->failed |= tsmith_batch_set(batch, field, bits) != TSMITH_OK;
}

static void set_python_place(struct chrome *chrome, tsmith_batch *batch, const struct event *event) {
    struct rows *rows = chrome->rows;
    tsmith_dictionary *dictionary = chrome->dictionary;
    size_t length;
    if (!rows->python_category &&
        strcmp(tsmith_dictionary_string(dictionary, event->category).bytes, "python_function") == 0)
        rows->python_category = event->category;
    if (!rows->python_category || event->category != rows->python_category || !event->has_name)
        return;
    struct python_place *place = &rows->python_places[event->name % PYTHON_PLACES];
    if (event->name != place->name) {
        tsmith_string name = tsmith_dictionary_string(dictionary, event->name);
        place->name = event->name;
        place->file = python_name_place(name, &length, &place->line)
                          ? tsmith_dictionary_intern(dictionary, name.bytes, length)
                          : 0;
    }
    if (!place->file)
        return;
    set(rows, batch, TSMITH_FIELD_FILE, place->file);
    set(rows, batch, TSMITH_FIELD_LINE, place->line);
}

// The value of a counter with one series: its only number. With several series each is an argument, because none of
// them is the value.
static void set_counter_value(struct chrome *chrome, tsmith_batch *batch, const struct event *event) {
    const struct value *only = NULL;
    double number;
    uint64_t bits;
    for (size_t i = 0; i < event->count; i++) {
        const struct value *value = &event->values[i];
        if (chrome->keys[value->key].place != PLACE_ARGUMENT || value->form > FORM_F64)
            continue;
        if (only)
            return;
        only = value;
    }
    if (!only)
        return;
    memcpy(&number, &only->bits, sizeof number);
    number = only->form == FORM_I64   ? (double)(int64_t)only->bits
             : only->form == FORM_U64 ? (double)only->bits
                                      : number;
    if (only->form != FORM_F64 && fabs(number) >= EXACT_MOST)
        return; // it would be another number
    memcpy(&bits, &number, sizeof bits);
    set(chrome->rows, batch, TSMITH_FIELD_VALUE, bits);
}

void kinds_derive(struct chrome *chrome, tsmith_batch *batch, tsmith_kind kind, const struct event *event) {
    const tsmith_direction direction = kind == TSMITH_KIND_MEMCPY ? direction_of(chrome, event) : 0;
    if (direction)
        set(chrome->rows, batch, TSMITH_FIELD_DIRECTION, direction);
    const tsmith_operation operation =
        kind == TSMITH_KIND_SYNC && event->has_name
            ? wait_operation(tsmith_dictionary_string(chrome->dictionary, event->name))
            : TSMITH_OPERATION_NONE;
    if (operation)
        set(chrome->rows, batch, TSMITH_FIELD_OPERATION, operation);
    if (kind == TSMITH_KIND_COUNTER)
        set_counter_value(chrome, batch, event);
    if (kind == TSMITH_KIND_RANGE && event->has_category && !chrome->arguments)
        set_python_place(chrome, batch, event);
    if (kind != TSMITH_KIND_KERNEL && kind != TSMITH_KIND_MEMCPY && kind != TSMITH_KIND_MEMSET)
        return;
    const struct value *priority = event_value(event, ROLE_PRIORITY);
    priority = priority ? priority : event_value(event, ROLE_STREAM_PRIORITY);
    if (priority && priority->form == FORM_I64)
        set(chrome->rows, batch, TSMITH_FIELD_PRIORITY, priority->bits);
}
