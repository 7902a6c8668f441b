// SPDX-License-Identifier: Apache-2.0
// The end of filling: everything gets its final place (the orders are in timeline.h), and a call and its wait
// of the same moment are merged.
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "event/sort.h"
#include "state/memory_limit.h"
#include "state/timeline.h"

// ---- sorting commands and calls

// Where elements go: order[i] is the index of the one that belongs at i.
struct placing {
    uint32_t *order, *scratch;
    int64_t *times;
    size_t *group_at; // first place of each group
};

static void placing_finish(struct placing *placing) {
    free(placing->order);
    free(placing->scratch);
    free(placing->times);
    free(placing->group_at);
}

// Whether all stand in their places already, as those of one queue after the other do.
static bool is_placed(const void *elements, size_t count, size_t size, size_t group_offset) {
    const char *at = elements;
    uint32_t group, group_before;
    int64_t start, start_before;
    for (size_t i = 1; i < count; i++, at += size) {
        memcpy(&group_before, at + group_offset, sizeof group_before);
        memcpy(&group, at + size + group_offset, sizeof group);
        memcpy(&start_before, at, sizeof start_before);
        memcpy(&start, at + size, sizeof start);
        if (group < group_before || (group == group_before && start < start_before))
            return false;
    }
    return true;
}

// Orders `count` elements by group (below `groups`) and start. The offsets are the positions of both in an element.
static bool placing_make(struct placing *placing, const void *elements, size_t count, size_t size,
                         size_t group_offset, size_t groups) {
    const char *base = elements;
    *placing = (struct placing){.order = malloc((count + 1) * sizeof(uint32_t)),
                                .scratch = malloc((count + 1) * sizeof(uint32_t)),
                                .times = malloc((count + 1) * sizeof(int64_t)),
                                .group_at = calloc(groups + 2, sizeof(size_t))};
    if (!placing->order || !placing->scratch || !placing->times || !placing->group_at)
        return false;
    uint32_t group;
    for (size_t i = 0; i < count; i++) {
        memcpy(&group, base + i * size + group_offset, sizeof group);
        placing->group_at[group + 2]++;
    }
    for (size_t i = 2; i < groups + 2; i++)
        placing->group_at[i] += placing->group_at[i - 1];
    uint32_t *by_group = placing->scratch; // until it is scratch below
    for (size_t i = 0; i < count; i++) {
        memcpy(&group, base + i * size + group_offset, sizeof group);
        by_group[placing->group_at[group + 1]++] = (uint32_t)i;
    }
    for (size_t i = 0; i < count; i++) // the start is an element's first member
        memcpy(&placing->times[i], base + by_group[i] * size, sizeof(int64_t));
    uint32_t *sorted = malloc((count + 1) * sizeof(uint32_t)), *room = malloc((count + 1) * sizeof(uint32_t));
    for (size_t g = 0; sorted && room && g < groups; g++) {
        size_t from = placing->group_at[g], n = placing->group_at[g + 1] - from;
        sort_order_by_time(placing->times + from, (uint32_t)n, sorted, room);
        for (size_t i = 0; i < n; i++)
            placing->order[from + i] = by_group[from + sorted[i]];
    }
    bool done = sorted && room;
    free(sorted);
    free(room);
    return done;
}

// Moves the elements of `size` bytes to their places, cycle by cycle; `order` is used up.
static void placing_apply(struct placing *placing, void *elements, size_t count, size_t size) {
    char *base = elements, held[128];
    for (size_t i = 0; i < count; i++) {
        if (placing->order[i] == i)
            continue;
        memcpy(held, base + i * size, size);
        size_t at = i;
        for (;;) {
            size_t from = placing->order[at];
            placing->order[at] = (uint32_t)at;
            if (from == i)
                break;
            memcpy(base + at * size, base + from * size, size);
            at = from;
        }
        memcpy(base + at * size, held, size);
    }
}

// False when memory is exhausted.
static bool sort_elements(void *elements, size_t count, size_t size, size_t group_offset, size_t groups) {
    if (is_placed(elements, count, size, group_offset))
        return true;
    struct placing placing;
    bool done = placing_make(&placing, elements, count, size, group_offset, groups);
    if (done)
        placing_apply(&placing, elements, count, size);
    placing_finish(&placing);
    return done;
}

_Static_assert(offsetof(tsmith_command, start) == 0 && offsetof(tsmith_call, start) == 0,
               "placing_make reads it");
_Static_assert(sizeof(tsmith_command) <= 128 && sizeof(tsmith_call) <= 128, "placing_apply holds one");

#define ORDER(a, b)                                                                                          \
    if ((a) != (b))                                                                                          \
    return (a) < (b) ? -1 : 1

static int order_commands(const void *left, const void *right, void *context) {
    const tsmith_timeline *timeline = context;
    const tsmith_command *a = left, *b = right;
    ORDER(a->end, b->end);
    ORDER(a->correlation, b->correlation);
    ORDER(a->kind, b->kind);
    ORDER(a->name, b->name);
    ORDER(timeline_command_details(timeline, a).wait_count, timeline_command_details(timeline, b).wait_count);
    return 0;
}

static int order_calls(const void *left, const void *right, void *context) {
    const tsmith_timeline *timeline = context;
    const tsmith_call *a = left, *b = right;
    ORDER(b->end, a->end); // the longest first
    ORDER(a->kind, b->kind);
    ORDER(a->correlation, b->correlation);
    ORDER(a->name, b->name);
    ORDER(timeline_call_details(timeline, a).wait_count, timeline_call_details(timeline, b).wait_count);
    return 0;
}

// Times are moved after their commands, which remember in `call` where they were: no call is known yet.
static bool sort_times(tsmith_timeline *timeline) {
    tsmith_command_times *sorted = malloc(timeline->time_count * sizeof *sorted);
    if (!sorted)
        return false;
    for (size_t i = 0; i < timeline->command_count; i++) {
        sorted[i] = timeline->times[timeline->commands[i].call];
        timeline->commands[i].call = TSMITH_INDEX_NONE;
    }
    free(timeline->times);
    timeline->times = sorted;
    return true;
}

static tsmith_status sort_commands(tsmith_timeline *timeline) {
    tsmith_command *commands = timeline->commands;
    size_t count = timeline->command_count;
    if (timeline->time_count && !timeline_fill_times(timeline, count))
        return TSMITH_ERROR_NO_MEMORY;
    for (size_t i = 0; i < timeline->time_count; i++)
        commands[i].call = (uint32_t)i;
    bool done =
        sort_elements(commands, count, sizeof *commands, offsetof(tsmith_command, row), timeline->row_count);
    for (size_t from = 0, to; done && from < count; from = to) {
        for (to = from + 1; to < count && commands[to].row == commands[from].row &&
                            commands[to].start == commands[from].start;)
            to++;
        if (to - from > 1)
            qsort_r(commands + from, to - from, sizeof *commands, order_commands, timeline);
    }
    done = done && (!timeline->time_count || sort_times(timeline));
    return done ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}

static tsmith_status sort_calls(tsmith_timeline *timeline) {
    tsmith_call *calls = timeline->calls;
    size_t count = timeline->call_count;
    bool done =
        sort_elements(calls, count, sizeof *calls, offsetof(tsmith_call, thread), timeline->thread_count);
    for (size_t from = 0, to; done && from < count; from = to) {
        for (to = from + 1;
             to < count && calls[to].thread == calls[from].thread && calls[to].start == calls[from].start;)
            to++;
        if (to - from > 1)
            qsort_r(calls + from, to - from, sizeof *calls, order_calls, timeline);
    }
    return done ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}

// ---- rows, devices, threads

// 1 + the API's own number of the row's device; 0: unknown.
static uint32_t device_number(const tsmith_dictionary *dictionary, const tsmith_row *row) {
    const tsmith_device *device = tsmith_dictionary_device(dictionary, row->dictionary_device);
    return device ? device->number : 0;
}

// Devices come by the API's number, as the user counts them, and not by who was seen first.
static int order_rows(const void *left, const void *right, void *dictionary) {
    const tsmith_row *a = left, *b = right;
    ORDER(device_number(dictionary, a), device_number(dictionary, b));
    ORDER(a->dictionary_device, b->dictionary_device);
    if (!a->dictionary_device)
        ORDER(a->process, b->process);
    ORDER(a->track, b->track);
    return 0;
}

static int order_threads(const void *left, const void *right) {
    const tsmith_thread *a = left, *b = right;
    ORDER(a->track, b->track);
    return 0;
}

// The final rows: those that have commands. Until they are sorted, first_row holds the old index.
static tsmith_status sort_rows(tsmith_timeline *timeline, const tsmith_dictionary *dictionary) {
    size_t kept = 0;
    uint32_t *moved = malloc((timeline->row_count + 1) * sizeof *moved);
    if (!moved)
        return TSMITH_ERROR_NO_MEMORY;
    for (size_t i = 0; i < timeline->command_count; i++)
        timeline->rows[timeline->commands[i].row].command_count++;
    for (size_t i = 0; i < timeline->row_count; i++) {
        moved[i] = TSMITH_INDEX_NONE;
        timeline->rows[i].first_row = (uint32_t)i;
        if (timeline->rows[i].command_count)
            timeline->rows[kept++] = timeline->rows[i];
    }
    timeline->row_count = kept;
    if (kept)
        qsort_r(timeline->rows, kept, sizeof *timeline->rows, order_rows, (void *)(uintptr_t)dictionary);
    uint32_t first = 0;
    for (size_t i = 0; i < kept; i++) {
        tsmith_row *row = &timeline->rows[i];
        moved[row->first_row] = (uint32_t)i;
        row->first_row = (uint32_t)i;
        row->row_count = 1;
        row->first_command = first;
        first += row->command_count;
    }
    for (size_t i = 0; i < timeline->command_count; i++)
        timeline->commands[i].row = moved[timeline->commands[i].row];
    for (size_t i = 0; i < timeline->call_count; i++)
        if (timeline->calls[i].row != TSMITH_INDEX_NONE)
            timeline->calls[i].row = moved[timeline->calls[i].row];
    for (size_t i = 0; i < timeline->note_count; i++)
        timeline->notes[i].row = moved[timeline->notes[i].row];
    free(moved);
    return TSMITH_OK;
}

static tsmith_status sort_threads(tsmith_timeline *timeline) {
    uint32_t *moved = malloc((timeline->thread_count + 1) * sizeof *moved);
    if (!moved)
        return TSMITH_ERROR_NO_MEMORY;
    for (size_t i = 0; i < timeline->thread_count; i++)
        timeline->threads[i].first_call = (uint32_t)i;
    if (timeline->thread_count)
        qsort(timeline->threads, timeline->thread_count, sizeof *timeline->threads, order_threads);
    for (size_t i = 0; i < timeline->thread_count; i++) {
        moved[timeline->threads[i].first_call] = (uint32_t)i;
        timeline->threads[i].first_call = 0;
    }
    for (size_t i = 0; i < timeline->call_count; i++)
        timeline->calls[i].thread = moved[timeline->calls[i].thread];
    for (size_t i = 0; i < timeline->command_count; i++)
        if (timeline->commands[i].thread != TSMITH_INDEX_NONE)
            timeline->commands[i].thread = moved[timeline->commands[i].thread];
    free(moved);
    return TSMITH_OK;
}

static tsmith_status make_devices(tsmith_timeline *timeline) {
    timeline->devices = calloc(timeline->row_count + 1, sizeof *timeline->devices);
    if (!timeline->devices)
        return TSMITH_ERROR_NO_MEMORY;
    for (size_t i = 0; i < timeline->row_count; i++) {
        tsmith_row *row = &timeline->rows[i];
        const tsmith_row *before = i ? row - 1 : NULL;
        if (!before || before->dictionary_device != row->dictionary_device ||
            (!row->dictionary_device && before->process != row->process)) {
            uint32_t index = (uint32_t)timeline->device_count++;
            timeline->devices[index] = (tsmith_row){.device = index,
                                                    .process = row->process,
                                                    .dictionary_device = row->dictionary_device,
                                                    .first_command = row->first_command,
                                                    .first_row = (uint32_t)i};
        }
        tsmith_row *device = &timeline->devices[timeline->device_count - 1];
        row->device = device->device;
        device->row_count++;
        device->command_count += row->command_count;
    }
    return TSMITH_OK;
}

// ---- holes

static int order_holes(const void *left, const void *right) {
    const tsmith_hole *a = left, *b = right;
    ORDER(a->from, b->from);
    ORDER(a->to, b->to);
    ORDER(a->process, b->process);
    ORDER(a->reason, b->reason);
    ORDER(a->lost, b->lost);
    return 0;
}

int64_t timeline_hole_time(const tsmith_timeline *timeline, uint32_t process, tsmith_interval window) {
    int64_t covered = window.from, sum = 0;
    for (size_t i = 0; i < timeline->hole_count; i++) {
        const tsmith_hole *hole = &timeline->holes[i];
        if (process && hole->process && hole->process != process)
            continue;
        int64_t from = hole->from > covered ? hole->from : covered;
        int64_t to = hole->to < window.to ? hole->to : window.to;
        if (to > from) {
            sum += to - from;
            covered = to;
        }
    }
    return sum;
}

tsmith_status tsmith_timeline_finish(tsmith_timeline *timeline, const tsmith_dictionary *dictionary,
                                     tsmith_error *error) {
    tsmith_status status = TSMITH_ERROR_STATE;
    if (timeline->finished)
        return status_set(error, status, "The timeline is already finished.");
    timeline->finished = true;
    if (timeline->too_large)
        return memory_limit_refuse(timeline->refused_commands,
                                   (timeline->has_times ? (size_t)MEMORY_PER_TIMES : 0) +
                                       (timeline->has_details ? (size_t)MEMORY_PER_DETAILS : 0),
                                   timeline->refused_calls, error);
    if (timeline->options.has_window)
        timeline->window = (tsmith_interval){timeline->options.from, timeline->options.to};
    if ((status = sort_rows(timeline, dictionary)) != TSMITH_OK ||
        (status = sort_threads(timeline)) != TSMITH_OK || (status = sort_commands(timeline)) != TSMITH_OK ||
        (status = sort_calls(timeline)) != TSMITH_OK || (status = make_devices(timeline)) != TSMITH_OK)
        goto done;
    timeline_merge_waits(timeline);
    if (timeline->hole_count)
        qsort(timeline->holes, timeline->hole_count, sizeof *timeline->holes, order_holes);
    status = timeline_pair(timeline, dictionary);
    if (status == TSMITH_OK)
        status = timeline_measure(timeline);
done:
    free(timeline->row_of_track);
    free(timeline->thread_of_track);
    free(timeline->text_class);
    timeline->row_of_track = timeline->thread_of_track = NULL;
    timeline->text_class = NULL;
    return status == TSMITH_OK
               ? status
               : status_set(error, status, "out of memory while building a timeline of %zu commands",
                            timeline->command_count);
}
