// SPDX-License-Identifier: Apache-2.0
// Pairs each use after a release with that release. memory.c calls it.
#include "analyze/memory_released.h"

#include <string.h>

#include "base/array.h"
#include "tracesmith/time.h"

// As the agent of OpenCL writes them (agents/opencl/released.h).
static const char RELEASED[] = "memory object released", USED[] = "memory object used after release";

static const tsmith_report_column COLUMNS[] = {
    {"process", TSMITH_CELL_COUNT},    {"at", TSMITH_CELL_TIME},
    {"object", TSMITH_CELL_COUNT},     {"call", TSMITH_CELL_TEXT},
    {"stack", TSMITH_CELL_TEXT},       {"released_at", TSMITH_CELL_TIME},
    {"released_by", TSMITH_CELL_TEXT}, {"released_stack", TSMITH_CELL_TEXT}};

bool memory_released_is(const char *name, bool *use) {
    *use = strcmp(name, USED) == 0;
    return *use || strcmp(name, RELEASED) == 0;
}

bool memory_released_add(struct memory_released *released, const struct memory_released_event *event) {
    struct memory_released_event *item = ARRAY_PUSH(released->items, released->count, released->capacity);
    if (item)
        *item = *event;
    return item;
}

// By object; its release first.
static int by_object(const void *left, const void *right) {
    const struct memory_released_event *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    if (a->use != b->use)
        return a->use ? 1 : -1;
    return a->time < b->time ? -1 : a->time > b->time;
}

static void write_use(const struct memory_released_event *use, const struct memory_released_event *release,
                      struct memory_sites *sites, const struct analysis_context *context,
                      struct report *report, struct report_table *table) {
    const tsmith_process *process = tsmith_dictionary_process(context->dictionary, use->process);
    if (process)
        report_integer(report, table, (int64_t)process->pid);
    else
        report_unknown(report, table);
    report_integer(report, table, tsmith_time_subtract(use->time, context->window.from));
    report_integer(report, table, (int64_t)use->object);
    report_text(report, table, tsmith_dictionary_string(context->dictionary, use->text));
    memory_write_stack(sites, context, report, table, use->stack);
    if (!release) {
        for (int i = 0; i < 3; i++)
            report_unknown(report, table);
        return;
    }
    report_integer(report, table, tsmith_time_subtract(release->time, context->window.from));
    report_text(report, table, tsmith_dictionary_string(context->dictionary, release->text));
    memory_write_stack(sites, context, report, table, release->stack);
}

void memory_released_write(struct memory_released *released, struct memory_sites *sites,
                           const struct analysis_context *context, struct report *report) {
    struct report_table *table =
        REPORT_TABLE(report, "used_after_release",
                     "memory objects passed to a call or a kernel after their last release", COLUMNS);
    const struct memory_released_event *release = NULL;
    if (released->count)
        qsort(released->items, released->count, sizeof *released->items, by_object);
    for (size_t i = 0; i < released->count; i++) {
        const struct memory_released_event *item = &released->items[i];
        if (release && (release->process != item->process || release->object != item->object))
            release = NULL;
        if (!item->use) {
            release = item;
        } else if (item->time >= context->window.from) {
            write_use(item, release, sites, context, report, table);
            released->uses++;
        }
    }
    if (released->uses)
        report_note(
            report,
            "%llu time%s a memory object was passed to a call or a kernel after its last release; the table "
            "used_after_release has where.",
            (unsigned long long)released->uses, report_plural(released->uses));
}

void memory_released_finish(struct memory_released *released) {
    free(released->items);
}
