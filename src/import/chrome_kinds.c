// SPDX-License-Identifier: Apache-2.0
// What an event of a Chrome trace is: by its category, or by what its process is called. msprof and torch_npu (Ascend)
// write the tasks of the hardware and the calls of its runtime without categories, as processes of these names.
#include <string.h>

#include "event/category.h"
#include "import/rows.h"

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

tsmith_kind kinds_of(const struct chrome *chrome, const struct row_track *track, const struct event *event) {
    switch (event->ph) {
    case 'X':
    case 'B':
        if (track->by_name)
            return kind_of_task(tsmith_dictionary_string(chrome->dictionary, event->name));
        if (track->is_runtime)
            return TSMITH_KIND_API;
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
        return TSMITH_KIND_MARKER;
    }
}

// A process says what it is called before its first event, as msprof has it; later is too late.
void kinds_learn(struct chrome *chrome, struct row_track *track) {
    tsmith_dictionary *dictionary = chrome->dictionary;
    struct row_process *process = &chrome->rows->processes[track->process];
    tsmith_string name = tsmith_dictionary_string(dictionary, process->name);
    if (track->groups || !name.length)
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
    track->queue = track->tid.form == FORM_I64 ? track->tid.bits : 0;
}
