// SPDX-License-Identifier: Apache-2.0
// Rules between queues: the default stream, what a device cannot do at once, collectives.
//
// The first two are inferred, because a trace rarely records them. The rule is the same for both: nothing that
// the rule forbids ever happens in the trace (two commands at once), and at least EVIDENCE times a command
// that was enqueued before another ended began only after that end. Without such evidence no edge is added;
// with it, edges are added exactly where a command was enqueued before the other ended.
#include <stdlib.h>
#include <string.h>

#include "event/sort.h"
#include "state/graph.h"

enum { EVIDENCE = 2 };

// The commands of a device that run, by start.
struct by_start {
    uint32_t *commands;
    uint32_t count;
};

static bool by_start_make(struct by_start *list, const tsmith_timeline *timeline, const tsmith_row *device) {
    size_t room = (size_t)device->command_count + 1;
    *list = (struct by_start){malloc(room * sizeof(uint32_t)), 0};
    int64_t *times = malloc(room * sizeof *times);
    uint32_t *order = malloc(room * sizeof *order), *scratch = malloc(room * sizeof *scratch);
    bool done = list->commands && times && order && scratch;
    for (uint32_t i = 0; done && i < device->command_count; i++) {
        const tsmith_command *command = &timeline->commands[device->first_command + i];
        if (!timeline_runs(command))
            continue;
        times[list->count] = command->start;
        list->commands[list->count++] = device->first_command + i;
    }
    if (done) {
        sort_order_by_time(times, list->count, order, scratch);
        memcpy(scratch, list->commands, list->count * sizeof *scratch);
        for (uint32_t i = 0; i < list->count; i++)
            list->commands[i] = scratch[order[i]];
    }
    free(times);
    free(order);
    free(scratch);
    return done;
}

// Whether it is known that `command` was enqueued before another ended.
static bool enqueued_before(const struct graph_builder *builder, uint32_t command, uint32_t end_of) {
    int64_t enqueued = timeline_enqueued(builder->timeline, &builder->timeline->commands[command]);
    return enqueued != TSMITH_TIME_UNKNOWN && enqueued < graph_command_time(builder->graph, end_of, true);
}

// ---- one thing at a time

struct resource {
    uint8_t direction; // 0: the device as a whole
    uint32_t last;     // the command before
    uint32_t evidence;
    bool shared; // ran two at once
};

static bool uses_resource(const struct resource *resource, const tsmith_command *command) {
    return !resource->direction ||
           (command->kind == TSMITH_KIND_MEMCPY && command->direction == resource->direction);
}

static void walk_resource(struct graph_builder *builder, const struct by_start *list, const bool *is_default,
                          struct resource *resource, bool add) {
    const tsmith_timeline *timeline = builder->timeline;
    resource->last = TSMITH_INDEX_NONE;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t index = list->commands[i], last = resource->last;
        const tsmith_command *command = &timeline->commands[index];
        if (!uses_resource(resource, command))
            continue;
        resource->last = index;
        if (last == TSMITH_INDEX_NONE)
            continue;
        const tsmith_command *before = &timeline->commands[last];
        resource->shared |= before->end > command->start;
        if (before->row == command->row || is_default[before->row] || is_default[command->row] ||
            !enqueued_before(builder, index, last))
            continue;
        if (add)
            graph_add(builder, TSMITH_EDGE_RESOURCE, last, index);
        else
            resource->evidence++;
    }
}

static bool add_resource(struct graph_builder *builder, const struct by_start *list, const bool *is_default,
                         uint8_t direction) {
    struct resource resource = {.direction = direction};
    walk_resource(builder, list, is_default, &resource, false);
    if (resource.shared || resource.evidence < EVIDENCE)
        return false;
    walk_resource(builder, list, is_default, &resource, true);
    return true;
}

// ---- the default stream

// CUDA's legacy default stream is 0 in the API and 7 in what CUPTI reports; HIP's is 0.
static bool is_default_stream(const tsmith_dictionary *dictionary, const tsmith_row *row) {
    const tsmith_track *track = tsmith_dictionary_track(dictionary, row->track);
    const tsmith_device *device = tsmith_dictionary_device(dictionary, row->dictionary_device);
    if (!track || !device || track->kind != TSMITH_TRACK_QUEUE || !row->in_order)
        return false;
    tsmith_string api = tsmith_dictionary_string(dictionary, device->api);
    bool gpu = strcmp(tsmith_dictionary_string(dictionary, device->type).bytes, "gpu") == 0;
    bool hip = strcmp(api.bytes, "hip") == 0;
    bool cuda = strcmp(api.bytes, "cuda") == 0 || (api.length == 0 && gpu); // importers do not know the API
    return (hip || cuda) && (track->queue == 0 || (cuda && track->queue == 7));
}

struct streams {
    const bool *is_default; // by row
    bool *concurrent;       // by row: ran concurrently with the default stream
    uint32_t *evidence;     // by row
    int64_t *row_end;       // by row: the latest end so far
    uint32_t *running;      // rows that ran something since the default stream last began to
    uint32_t running_count;
    uint32_t last_default, last_other; // with the latest end so far
};

static void note_latest(const tsmith_timeline *timeline, uint32_t *latest, uint32_t command) {
    if (*latest == TSMITH_INDEX_NONE || timeline->commands[*latest].end <= timeline->commands[command].end)
        *latest = command;
}

// Marks the rows that run concurrently with a command. Each command of another stream is checked once.
static void mark_beside(const tsmith_timeline *timeline, struct streams *streams,
                        const tsmith_command *command) {
    if (!streams->is_default[command->row]) {
        uint32_t last = streams->last_default;
        streams->concurrent[command->row] |=
            last != TSMITH_INDEX_NONE && timeline->commands[last].end > command->start;
        streams->running[streams->running_count++] = command->row;
        return;
    }
    for (; streams->running_count; streams->running_count--) {
        uint32_t row = streams->running[streams->running_count - 1];
        streams->concurrent[row] |= streams->row_end[row] > command->start;
    }
}

static void walk_streams(struct graph_builder *builder, const struct by_start *list, struct streams *streams,
                         bool add) {
    const tsmith_timeline *timeline = builder->timeline;
    streams->running_count = 0;
    streams->last_default = streams->last_other = TSMITH_INDEX_NONE;
    for (uint32_t i = 0; i < list->count; i++)
        streams->row_end[timeline->commands[list->commands[i]].row] = INT64_MIN;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t index = list->commands[i];
        const tsmith_command *command = &timeline->commands[index];
        bool is_default = streams->is_default[command->row];
        mark_beside(timeline, streams, command);
        uint32_t last = is_default ? streams->last_other : streams->last_default;
        if (last != TSMITH_INDEX_NONE && timeline->commands[last].end <= command->start &&
            enqueued_before(builder, index, last)) {
            uint32_t row = is_default ? timeline->commands[last].row : command->row;
            if (!add)
                streams->evidence[row]++;
            else if (!streams->concurrent[row] && streams->evidence[row] >= EVIDENCE)
                graph_add(builder, TSMITH_EDGE_DEFAULT_STREAM, last, index);
        }
        note_latest(timeline, is_default ? &streams->last_default : &streams->last_other, index);
        if (command->end > streams->row_end[command->row])
            streams->row_end[command->row] = command->end;
    }
}

static bool add_default_stream(struct graph_builder *builder, const struct by_start *list,
                               const bool *is_default) {
    size_t rows = builder->timeline->row_count + 1;
    struct streams streams = {.is_default = is_default,
                              .concurrent = calloc(rows, sizeof(bool)),
                              .evidence = calloc(rows, sizeof(uint32_t)),
                              .row_end = calloc(rows, sizeof(int64_t)),
                              .running = malloc(((size_t)list->count + 1) * sizeof(uint32_t))};
    bool done = streams.concurrent && streams.evidence && streams.row_end && streams.running;
    if (done) {
        walk_streams(builder, list, &streams, false);
        walk_streams(builder, list, &streams, true);
    }
    free(streams.concurrent);
    free(streams.evidence);
    free(streams.row_end);
    free(streams.running);
    return done;
}

// ---- collectives

struct participant {
    uint32_t name, device, command;
    int64_t start;
};

static int order_participants(const void *left, const void *right) {
    const struct participant *a = left, *b = right;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->command < b->command ? -1 : a->command > b->command;
}

// The k-th collective of a name on each of `devices` devices is one collective if all of them overlap: none ends
// before the last has begun.
static void add_collective(struct graph_builder *builder, const struct participant *first, size_t devices,
                           size_t each, size_t k) {
    const tsmith_graph *graph = builder->graph;
    uint32_t latest = first[k].command;
    int64_t earliest_end = graph_command_time(graph, latest, true);
    for (size_t d = 1; d < devices; d++) {
        uint32_t command = first[d * each + k].command;
        if (graph_command_time(graph, command, false) > graph_command_time(graph, latest, false))
            latest = command;
        if (graph_command_time(graph, command, true) < earliest_end)
            earliest_end = graph_command_time(graph, command, true);
    }
    if (graph_command_time(graph, latest, false) > earliest_end)
        return;
    for (size_t d = 0; d < devices; d++)
        graph_add(builder, TSMITH_EDGE_COLLECTIVE, latest, first[d * each + k].command);
}

// The participants of one name, if every device has as many of them.
static void add_name(struct graph_builder *builder, const struct participant *first, size_t count) {
    size_t each = 1, devices = 1;
    while (each < count && first[each].device == first[0].device)
        each++;
    if (each == count || count % each)
        return;
    for (size_t i = each; i < count; i++) {
        bool new_device = first[i].device != first[i - 1].device;
        if (new_device != (i % each == 0))
            return;
        devices += new_device;
    }
    for (size_t k = 0; k < each; k++)
        add_collective(builder, first, devices, each, k);
}

static bool add_collectives(struct graph_builder *builder) {
    const tsmith_timeline *timeline = builder->timeline;
    size_t count = 0;
    for (size_t i = 0; i < timeline->command_count; i++)
        count += timeline->commands[i].work == TSMITH_WORK_COMMUNICATION;
    struct participant *list = malloc((count + 1) * sizeof *list);
    if (!list)
        return false;
    count = 0;
    for (uint32_t i = 0; i < timeline->command_count; i++) {
        const tsmith_command *command = &timeline->commands[i];
        if (command->work == TSMITH_WORK_COMMUNICATION)
            list[count++] =
                (struct participant){command->name, timeline->rows[command->row].device, i, command->start};
    }
    qsort(list, count, sizeof *list, order_participants);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && list[to].name == list[from].name;)
            to++;
        add_name(builder, list + from, to - from);
    }
    free(list);
    return true;
}

// ---- all of it

static bool add_device(struct graph_builder *builder, const tsmith_row *device, bool *is_default) {
    const tsmith_timeline *timeline = builder->timeline;
    struct by_start list;
    bool any_default = false, done = by_start_make(&list, timeline, device);
    for (uint32_t i = device->first_row; i < device->first_row + device->row_count; i++)
        any_default |= is_default[i] = is_default_stream(builder->dictionary, &timeline->rows[i]);
    if (done && any_default)
        done = add_default_stream(builder, &list, is_default);
    if (done && !add_resource(builder, &list, is_default, 0)) {
        add_resource(builder, &list, is_default, TSMITH_DIRECTION_HOST_TO_DEVICE);
        add_resource(builder, &list, is_default, TSMITH_DIRECTION_DEVICE_TO_HOST);
    }
    free(list.commands);
    return done;
}

void graph_add_devices(struct graph_builder *builder) {
    const tsmith_timeline *timeline = builder->timeline;
    bool *is_default = calloc(timeline->row_count + 1, sizeof *is_default);
    builder->failed |= !is_default || !add_collectives(builder);
    for (size_t i = 0; i < timeline->device_count && !builder->failed; i++)
        if (timeline->devices[i].row_count > 1)
            builder->failed |= !add_device(builder, &timeline->devices[i], is_default);
    free(is_default);
}
