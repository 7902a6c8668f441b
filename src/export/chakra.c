// SPDX-License-Identifier: Apache-2.0
// Chakra execution traces (et_def.proto of MLCommons): the dependency graph for simulators such as ASTRA-sim. formats.c lists it.
//
// The file is a sequence of protobuf messages, each behind its length as a varint: GlobalMetadata, then a Node for each command and call
// of the graph, in its order. A Chakra node begins when the nodes that it depends on have ended. So edges from an end to a start are
// data_deps; what holds back the end of a call (it returns when its kernels have ended) becomes data_deps of whatever
// follows the end of that call. Of edges from a start, launches are data_deps, and calls within calls ctrl_deps. Edges that have no such form
// (an end of a node that nothing follows, the participants of a collective) are left out and counted. Times are there twice:
// in microseconds, as simulators read them, and exact, as attributes in ns.
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/array.h"
#include "base/chakra_fields.h"
#include "export/formats.h"
#include "export/output.h"
#include "export/proto_out.h"
#include "tracesmith/graph.h"
#include "tracesmith/timeline.h"

enum { // et_def.proto
    ATTR_NAME = 1,
    ATTR_INT64 = 9,
    ATTR_UINT64 = 13,
    ATTR_BOOL = 27,
    ATTR_STRING = 29,
    COMP_NODE = 4,
    COMM_SEND_NODE = 5,
    COMM_RECV_NODE = 6,
    COMM_COLL_NODE = 7
};

// X(comm_type, "part of a kernel's or collective's name, without '_'"); the longer ones first.
#define COLLECTIVES(X)                                                                                       \
    X(7, "reducescatter")                                                                                    \
    X(0, "allreduce")                                                                                        \
    X(2, "allgather")                                                                                        \
    X(6, "alltoall")                                                                                         \
    X(5, "broadcast")                                                                                        \
    X(9, "barrier")                                                                                          \
    X(3, "gather")                                                                                           \
    X(4, "scatter")                                                                                          \
    X(1, "reduce")

struct chakra {
    tsmith_timeline *timeline;
    tsmith_graph *graph;
    const tsmith_dictionary *dictionary;
    struct output output;
    struct proto_out out;
    size_t command_count;
    uint32_t *seen; // by node: 1 + the last node that has it among its dependencies
    uint32_t *stack;
    size_t stack_capacity;
    uint64_t *ctrl;
    size_t ctrl_count, ctrl_capacity;
    uint64_t *data;
    size_t data_count, data_capacity;
    bool *followed; // by node: something begins after its end
    uint64_t left_out;
};

// A message behind its length.
static void write_message(struct chakra *chakra) {
    uint8_t length[PROTO_VARINT_MAX];
    const uint8_t *end = proto_varint(length, chakra->out.used);
    output_bytes(&chakra->output, (const char *)length, (size_t)(end - length));
    output_bytes(&chakra->output, (const char *)chakra->out.bytes, chakra->out.used);
    chakra->out.used = 0;
}

// ---- attributes

static void put_number(struct chakra *chakra, uint32_t in, const char *name, uint32_t type, uint64_t value) {
    const size_t attr = proto_open(&chakra->out);
    proto_add_bytes(&chakra->out, ATTR_NAME, name, strlen(name));
    proto_add_uint(&chakra->out, type, value);
    proto_close(&chakra->out, attr, in);
}

static void put_text(struct chakra *chakra, uint32_t in, const char *name, tsmith_string text) {
    const size_t attr = proto_open(&chakra->out);
    proto_add_bytes(&chakra->out, ATTR_NAME, name, strlen(name));
    proto_add_bytes(&chakra->out, ATTR_STRING, text.bytes ? text.bytes : "", text.length);
    proto_close(&chakra->out, attr, in);
}

static void put_track(struct chakra *chakra, uint32_t track) {
    char room[TSMITH_LABEL_SIZE];
    const tsmith_track *entry = tsmith_dictionary_track(chakra->dictionary, track);
    if (!entry)
        return;
    if (entry->kind == TSMITH_TRACK_THREAD)
        put_number(chakra, NODE_ATTR, "tid", ATTR_UINT64, entry->tid);
    else if (entry->kind == TSMITH_TRACK_QUEUE && !(entry->flags & TSMITH_TRACK_UNNUMBERED))
        put_number(chakra, NODE_ATTR, "stream", ATTR_UINT64, entry->queue);
    const tsmith_device *device = tsmith_dictionary_device(chakra->dictionary, entry->device);
    if (device && device->number)
        put_number(chakra, NODE_ATTR, "device", ATTR_UINT64, device->number - 1);
    const tsmith_process *process = tsmith_dictionary_process(chakra->dictionary, entry->process);
    if (process && process->pid)
        put_number(chakra, NODE_ATTR, "pid", ATTR_UINT64, process->pid);
    put_text(chakra, NODE_ATTR, "track", tsmith_track_name(chakra->dictionary, track, room));
}

// ---- dependencies

static void add_dependency(uint64_t **list, size_t *count, size_t *capacity, uint32_t node, bool *failed) {
    uint64_t *place = ARRAY_PUSH(*list, *count, *capacity);
    if (place)
        *place = node;
    else
        *failed = true;
}

static bool has_kind(const bool ends[TSMITH_EDGE_LIMIT], uint32_t kind) {
    return kind < TSMITH_EDGE_LIMIT && ends[kind];
}

#define FROM_END(NAME, number, name, from_end, to_end, doc) [number] = (from_end) != 0,
#define TO_END(NAME, number, name, from_end, to_end, doc) [number] = (to_end) != 0,
static const bool from_end[TSMITH_EDGE_LIMIT] = {TSMITH_EDGE_TABLE(FROM_END)};
static const bool to_end[TSMITH_EDGE_LIMIT] = {TSMITH_EDGE_TABLE(TO_END)};

// The end of `first` is waited for, and with it the ends that its end waits for.
static void add_end(struct chakra *chakra, uint32_t node, uint32_t first) {
    size_t depth = 0;
    uint32_t count;
    if (!ARRAY_RESERVE(chakra->stack, chakra->stack_capacity, 1)) {
        chakra->out.failed = true;
        return;
    }
    chakra->stack[depth++] = first;
    while (depth && !chakra->out.failed) {
        const uint32_t at = chakra->stack[--depth];
        if (at == node || chakra->seen[at] == node + 1)
            continue;
        chakra->seen[at] = node + 1;
        chakra->followed[at] = true;
        add_dependency(&chakra->data, &chakra->data_count, &chakra->data_capacity, at, &chakra->out.failed);
        const tsmith_edge *edges = tsmith_graph_predecessors(chakra->graph, at, &count);
        if (!ARRAY_RESERVE(chakra->stack, chakra->stack_capacity, depth + count))
            chakra->out.failed = true;
        for (uint32_t i = 0; i < count && !chakra->out.failed; i++)
            if (has_kind(from_end, edges[i].kind) && has_kind(to_end, edges[i].kind))
                chakra->stack[depth++] = edges[i].from;
    }
}

static void find_dependencies(struct chakra *chakra, uint32_t node) {
    uint32_t count;
    const tsmith_edge *edges = tsmith_graph_predecessors(chakra->graph, node, &count);
    chakra->ctrl_count = chakra->data_count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (has_kind(from_end, edges[i].kind) && !has_kind(to_end, edges[i].kind))
            add_end(chakra, node, edges[i].from);
    for (uint32_t i = 0; i < count; i++) {
        if (has_kind(from_end, edges[i].kind) || has_kind(to_end, edges[i].kind))
            continue;
        if (edges[i].kind == TSMITH_EDGE_LAUNCH && chakra->seen[edges[i].from] != node + 1)
            add_dependency(&chakra->data, &chakra->data_count, &chakra->data_capacity, edges[i].from,
                           &chakra->out.failed);
        else if (edges[i].kind != TSMITH_EDGE_LAUNCH)
            add_dependency(&chakra->ctrl, &chakra->ctrl_count, &chakra->ctrl_capacity, edges[i].from,
                           &chakra->out.failed);
    }
}

// Edges into ends that no node has among its dependencies.
static void count_left_out(struct chakra *chakra) {
    const uint32_t nodes = tsmith_graph_node_count(chakra->graph);
    for (uint32_t node = 0; node < nodes; node++) {
        uint32_t count;
        const tsmith_edge *edges = tsmith_graph_predecessors(chakra->graph, node, &count);
        for (uint32_t i = 0; i < count; i++)
            chakra->left_out += has_kind(to_end, edges[i].kind) &&
                                (!has_kind(from_end, edges[i].kind) || !chakra->followed[node]);
    }
}

static void put_packed(struct chakra *chakra, uint32_t field, const uint64_t *values, size_t count) {
    if (!count)
        return;
    const size_t list = proto_open(&chakra->out);
    for (size_t i = 0; i < count; i++) {
        uint8_t *at = proto_begin(&chakra->out, PROTO_VARINT_MAX);
        if (at)
            proto_end(&chakra->out, proto_varint(at, values[i]));
    }
    proto_close(&chakra->out, list, field);
}

// ---- nodes

// Of the text without '_' and in lower case.
static bool find_collective(tsmith_string name, uint64_t *type) {
    static const struct {
        uint64_t type;
        const char *text;
    } rows[] = {
#define ROW(type, text) {type, text},
        COLLECTIVES(ROW)
#undef ROW
    };
    char text[256];
    size_t length = 0;
    for (size_t i = 0; i < name.length && length + 1 < sizeof text; i++)
        if (name.bytes[i] != '_')
            text[length++] =
                (char)(name.bytes[i] >= 'A' && name.bytes[i] <= 'Z' ? name.bytes[i] + 32 : name.bytes[i]);
    text[length] = '\0';
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(text, rows[i].text)) {
            *type = rows[i].type;
            return true;
        }
    return false;
}

struct node {
    uint32_t name, track;
    int64_t start, end;
    uint64_t bytes;
    uint8_t kind;
    bool is_call, is_communication, timed, end_unknown;
};

static struct node node_at(const struct chakra *chakra, uint32_t index) {
    size_t count;
    if (index < chakra->command_count) {
        const tsmith_command *command = &tsmith_timeline_commands(chakra->timeline, &count)[index];
        return (struct node){.name = command->name,
                             .track = tsmith_timeline_rows(chakra->timeline, &count)[command->row].track,
                             .start = command->start,
                             .end = command->end,
                             .bytes = tsmith_command_bytes(chakra->timeline, command),
                             .kind = command->kind,
                             .is_communication = command->work == TSMITH_WORK_COMMUNICATION,
                             .timed = !command->untimed,
                             .end_unknown = command->end_unknown};
    }
    const tsmith_call *call =
        &tsmith_timeline_calls(chakra->timeline, &count)[index - (uint32_t)chakra->command_count];
    return (struct node){.name = call->name,
                         .track = tsmith_timeline_threads(chakra->timeline, &count)[call->thread].track,
                         .start = call->start,
                         .end = call->end,
                         .kind = call->kind,
                         .is_call = true,
                         .timed = true,
                         .end_unknown = call->end_unknown};
}

static void put_times(struct chakra *chakra, const struct node *node) {
    if (!node->timed)
        return;
    if (node->start >= 0)
        proto_add_uint(&chakra->out, NODE_START, (uint64_t)node->start / 1000);
    if (!node->end_unknown)
        proto_add_uint(&chakra->out, NODE_DURATION, ((uint64_t)(node->end - node->start) + 500) / 1000);
}

static uint64_t type_of(const struct node *node, tsmith_string name, bool *has_type, uint64_t *comm_type) {
    *has_type = node->is_communication && find_collective(name, comm_type);
    if (!node->is_communication)
        return COMP_NODE;
    if (*has_type || !name.bytes)
        return COMM_COLL_NODE;
    if (strcasestr(name.bytes, "sendrecv"))
        return COMM_COLL_NODE;
    return strcasestr(name.bytes, "send")   ? COMM_SEND_NODE
           : strcasestr(name.bytes, "recv") ? COMM_RECV_NODE
                                            : COMM_COLL_NODE;
}

static void write_node(struct chakra *chakra, uint32_t index) {
    const struct node node = node_at(chakra, index);
    const tsmith_string name = tsmith_dictionary_string(chakra->dictionary, node.name);
    bool has_type;
    uint64_t comm_type = 0;
    find_dependencies(chakra, index);
    proto_add_uint(&chakra->out, NODE_ID, index);
    if (name.length)
        proto_add_bytes(&chakra->out, NODE_NAME, name.bytes, name.length);
    proto_add_uint(&chakra->out, NODE_TYPE, type_of(&node, name, &has_type, &comm_type));
    put_packed(chakra, NODE_CTRL_DEPS, chakra->ctrl, chakra->ctrl_count);
    put_packed(chakra, NODE_DATA_DEPS, chakra->data, chakra->data_count);
    put_times(chakra, &node);
    put_number(chakra, NODE_ATTR, "is_cpu_op", ATTR_BOOL, node.is_call);
    if (node.timed)
        put_number(chakra, NODE_ATTR, "start_ns", ATTR_INT64, (uint64_t)node.start);
    if (node.timed && !node.end_unknown)
        put_number(chakra, NODE_ATTR, "duration_ns", ATTR_INT64, (uint64_t)(node.end - node.start));
    if (has_type)
        put_number(chakra, NODE_ATTR, "comm_type", ATTR_INT64, comm_type);
    if (node.bytes)
        put_number(chakra, NODE_ATTR, node.is_communication ? "comm_size" : "bytes", ATTR_INT64, node.bytes);
    const char *kind = tsmith_kind_name((tsmith_kind)node.kind);
    put_text(chakra, NODE_ATTR, "kind", (tsmith_string){kind, kind ? strlen(kind) : 0});
    put_track(chakra, node.track);
    write_message(chakra);
}

static void write_metadata(struct chakra *chakra) {
    static const char VERSION[] = "0.0.4";
    proto_add_bytes(&chakra->out, METADATA_VERSION, VERSION, sizeof VERSION - 1);
    put_text(chakra, METADATA_ATTR, "schema", (tsmith_string){"tracesmith", strlen("tracesmith")});
    put_number(chakra, METADATA_ATTR, "edges_left_out", ATTR_UINT64, chakra->left_out);
    write_message(chakra);
}

// ---- the sink

static tsmith_status write_batch(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                 tsmith_error *error) {
    return tsmith_timeline_add(((struct chakra *)self)->timeline, dictionary, batch, error);
}

static tsmith_status finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    struct chakra *chakra = self;
    chakra->dictionary = dictionary;
    tsmith_status status = tsmith_timeline_finish(chakra->timeline, dictionary, error);
    if (status >= 0)
        status = tsmith_graph_create(chakra->timeline, dictionary, &chakra->graph, error);
    if (status < 0)
        return status;
    const uint32_t nodes = tsmith_graph_node_count(chakra->graph);
    (void)tsmith_timeline_commands(chakra->timeline, &chakra->command_count);
    chakra->seen = calloc((size_t)nodes + 1, sizeof *chakra->seen);
    chakra->followed = calloc((size_t)nodes + 1, sizeof *chakra->followed);
    if (!chakra->seen || !chakra->followed)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    // The number of edges that are left out stands at the beginning: the dependencies are found twice.
    for (uint32_t node = 0; node < nodes; node++)
        find_dependencies(chakra, node);
    count_left_out(chakra);
    memset(chakra->seen, 0, ((size_t)nodes + 1) * sizeof *chakra->seen);
    write_metadata(chakra);
    for (uint32_t node = 0; node < nodes && !chakra->out.failed; node++)
        write_node(chakra, node);
    if (chakra->out.failed)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    return output_finish(&chakra->output, error);
}

static void destroy(void *self) {
    struct chakra *chakra = self;
    if (!chakra)
        return;
    tsmith_graph_destroy(chakra->graph);
    tsmith_timeline_destroy(chakra->timeline);
    output_close(&chakra->output);
    free(chakra->out.bytes);
    free(chakra->seen);
    free(chakra->followed);
    free(chakra->stack);
    free(chakra->ctrl);
    free(chakra->data);
    free(chakra);
}

tsmith_status chakra_open(const struct export_place *place, const tsmith_export_options *options,
                          tsmith_sink **out, tsmith_error *error) {
    static const tsmith_sink_ops ops = {write_batch, finish, destroy};
    struct chakra *chakra = calloc(1, sizeof *chakra);
    if (!chakra || tsmith_timeline_create(NULL, &chakra->timeline) != TSMITH_OK) {
        free(chakra);
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    }
    return output_sink(&chakra->output, &ops, chakra, place, options, out, error);
}
