// SPDX-License-Identifier: Apache-2.0
// What the device did: kernels, copies, sets, graphs. Rules: agent.h.
#include "graph_nodes.h"
#include "library.h"
#include "reader.h"
#include "shapes.h"
#include "thinning.h"
#include "tracks.h"

// A record whose times cannot be: CUPTI gives 0 when it could not collect them, and there are versions that give the
// times of something else, before the call that launched it.
static bool plausible(struct reader *reader, const struct launch *launch, uint64_t start, uint64_t end,
                      struct span *span) {
    enum { TOLERANCE = 1000000 }; // ns: the clocks of host and device are not compared often by CUPTI
    return reader_span(reader, start, end, span) &&
           (!launch->time || span->start + TOLERANCE >= launch->time);
}

// It ran, and nothing says when: an event at its launch, as far as that is known.
static void untimed(struct reader *reader, uint32_t queue, uint32_t correlation, uint32_t name,
                    const struct launch *launch) {
    enum { WORDS = 7 };
    reader->untimed++;
    uint64_t *at = reader_reserve(reader, shapes.untimed, WORDS, queue);
    if (!at)
        return;
    at[1] = (uint64_t)(launch->time ? launch->time : clock_trace_now());
    at[2] = 1;
    reader_launched(at + 3, correlation, name, launch);
    ring_commit(reader->ring, WORDS);
}

// ---- kernels

struct graph_node {
    uint64_t graph, node;
};

// What registers were spilled to, and how it was launched where that is not as most are.
static uint64_t *write_local(uint64_t *at, const struct cupti_kernel *record) {
    static const char *const names[] = {NULL, "cooperative", "cooperative, several devices"};
    enum { TYPES = sizeof names / sizeof *names };
    static _Atomic uint32_t ids[TYPES];
    const uint8_t type = record->launch_type < TYPES ? record->launch_type : 0;
    at[0] = record->local_per_thread;
    at[1] = cupti_has(CUPTI_11_8) ? record->local_total_v2 : record->local_total;
    at[2] = type ? reader_constant(&ids[type], names[type]) : 0;
    return at + 3;
}

// When it was written into the command buffer, and when that went to the device; 0 is unknown to CUPTI too.
static void write_latency(struct reader *reader, uint64_t *at, const struct cupti_kernel *record) {
    if (!reader_time(reader, record->queued, &at[0]))
        at[0] = 0;
    if (!reader_time(reader, record->submitted, &at[1]))
        at[1] = 0;
}

static void write_kernel(struct reader *reader, const struct cupti_kernel *record, uint32_t queue,
                         const struct launch *launch, uint32_t name, const struct graph_node *graph,
                         const struct span *span) {
    const int32_t *grid = record->grid, *block = record->block;
    const uint64_t cluster =
        cupti_has(CUPTI_11_8) ? (uint64_t)record->cluster[0] * record->cluster[1] * record->cluster[2] : 0;
    const bool host = launch->track != 0, stack = launch->stack != 0;
    const bool is_3d = (grid[1] | grid[2] | block[1] | block[2]) != 1;
    const bool shared = (record->static_shared | record->dynamic_shared) != 0;
    const bool local = record->local_per_thread || record->launch_type;
    const bool more = (graph->graph | graph->node | cluster) != 0;
    const uint32_t shape = (host ? KERNEL_HOST : 0u) | (stack ? KERNEL_STACK : 0u) |
                           (is_3d ? KERNEL_3D : 0u) | (shared ? KERNEL_SHARED : 0u) |
                           (more ? KERNEL_MORE : 0u) | (local ? KERNEL_LOCAL : 0u);
    const uint32_t words = 8u + host + stack + (is_3d ? 4u : 0) + (shared ? 3u : 0) + (more ? 3u : 0) +
                           (local ? 3u : 0) + (shapes.latency ? 2u : 0);
    uint64_t *at = reader_reserve(reader, shapes.kernel[shape], words, queue);
    if (!at)
        return;
    at[1] = (uint64_t)span->start;
    at[2] = span->duration;
    at[3] = reader_correlation(record->correlation);
    at[4] = name;
    at[5] = (uint64_t)(uint32_t)grid[0] * (uint32_t)block[0];
    at[6] = (uint32_t)block[0];
    at[7] = record->registers;
    at += 8;
    if (host)
        *at++ = launch->track;
    if (stack)
        *at++ = launch->stack;
    if (is_3d) {
        *at++ = (uint64_t)(uint32_t)grid[1] * (uint32_t)block[1];
        *at++ = (uint64_t)(uint32_t)grid[2] * (uint32_t)block[2];
        *at++ = (uint32_t)block[1];
        *at++ = (uint32_t)block[2];
    }
    if (shared) {
        *at++ = (uint32_t)record->static_shared;
        *at++ = (uint32_t)record->dynamic_shared;
        *at++ = record->shared_executed;
    }
    if (more) {
        *at++ = graph->graph;
        *at++ = graph->node;
        *at++ = cluster;
    }
    if (local)
        at = write_local(at, record);
    if (shapes.latency)
        write_latency(reader, at, record);
    ring_commit(reader->ring, words);
}

// Whether a kernel comes from a launch by the host that was seen: others are launched by the device itself.
static bool from_host(const struct cupti_kernel *record) {
    return !(cupti_has(CUPTI_13_0) && record->device_launched);
}

void record_kernel(struct reader *reader, const struct cupti_kernel *record) {
    struct launch launch;
    const struct graph_node graph = {.graph = cupti_has(CUPTI_11_1) ? record->graph : 0,
                                     .node = record->graph_node};
    const uint32_t name = reader_kernel_name(reader, record->name);
    const uint32_t queue = reader_queue(reader, record->device, record->context, record->stream);
    struct span span;
    if (!launches_find(record->correlation, LAUNCH_RECORD, &launch, &reader->ended) && from_host(record) &&
        !thinning_hid_launches())
        reader->unlaunched++;
    graph_nodes_look_up(graph.node, &launch);
    // A node of a graph may be launched long after the call, but not before it either.
    if (plausible(reader, &launch, record->start, record->end, &span))
        write_kernel(reader, record, queue, &launch, name, &graph, &span);
    else
        untimed(reader, queue, record->correlation, name, &launch);
}

void record_graph(struct reader *reader, const struct cupti_graph_trace *record) {
    enum { WORDS = 8 };
    static _Atomic uint32_t name;
    struct launch launch;
    const uint32_t queue = reader_queue(reader, record->device, record->context, record->stream);
    struct span span;
    if (!launches_find(record->correlation, LAUNCH_RECORD, &launch, &reader->ended) &&
        !thinning_hid_launches())
        reader->unlaunched++;
    if (!plausible(reader, &launch, record->start, record->end, &span)) {
        untimed(reader, queue, record->correlation, reader_constant(&name, "graph"), &launch);
        return;
    }
    uint64_t *at = reader_reserve(reader, shapes.graph, WORDS, queue);
    if (!at)
        return;
    at[1] = (uint64_t)span.start;
    at[2] = span.duration;
    *reader_launched(at + 3, record->correlation, reader_constant(&name, "graph"), &launch) = record->graph;
    ring_commit(reader->ring, WORDS);
}

void record_device_graph(struct reader *reader, const struct cupti_device_graph *record) {
    enum { WORDS = 8 };
    static _Atomic uint32_t name;
    struct span span;
    if (!reader_span(reader, record->start, record->end, &span)) {
        reader->untimed++;
        return;
    }
    uint64_t *at =
        reader_reserve(reader, shapes.graph, WORDS,
                       reader_queue(reader, record->device, record->context, (uint32_t)record->stream));
    if (!at)
        return;
    at[1] = (uint64_t)span.start;
    at[2] = span.duration;
    at[3] = at[5] = at[6] = 0;
    at[4] = reader_constant(&name, "graph launched by the device");
    at[7] = record->graph;
    ring_commit(reader->ring, WORDS);
}

// ---- copies and sets

struct transfer {
    uint64_t start, end, bytes, flags;
    uint32_t queue, correlation;
    uint32_t kinds[2]; // of memory: from, to
    uint32_t peer;     // track
    tsmith_operation operation;
    tsmith_direction direction;
    struct graph_node graph;
};

static uint32_t memory_name(uint32_t kind) {
    static const char *const names[] = {NULL,    "Pageable", "Pinned",        "Device",
                                        "Array", "Managed",  "Device Static", "Managed Static"};
    static _Atomic uint32_t ids[sizeof names / sizeof *names];
    return kind && kind < sizeof names / sizeof *names ? reader_constant(&ids[kind], names[kind]) : 0;
}

static uint32_t direction_name(tsmith_direction direction) {
    static const char *const names[] = {
        [TSMITH_DIRECTION_NONE] = "[CUDA memcpy]",
        [TSMITH_DIRECTION_HOST_TO_DEVICE] = "[CUDA memcpy HtoD]",
        [TSMITH_DIRECTION_DEVICE_TO_HOST] = "[CUDA memcpy DtoH]",
        [TSMITH_DIRECTION_DEVICE_TO_DEVICE] = "[CUDA memcpy DtoD]",
        [TSMITH_DIRECTION_HOST_TO_HOST] = "[CUDA memcpy HtoH]",
        [TSMITH_DIRECTION_PEER_TO_PEER] = "[CUDA memcpy PtoP]",
    };
    static _Atomic uint32_t ids[sizeof names / sizeof *names];
    return reader_constant(&ids[direction], names[direction]);
}

static void write_transfer(struct reader *reader, const struct transfer *transfer) {
    enum { WORDS = 16 };
    struct launch launch;
    struct span span;
    const uint32_t name = direction_name(transfer->direction);
    // Only of graphs is the call of a copy a launch.
    launches_find(transfer->correlation, transfer->graph.graph ? LAUNCH_RECORD : LAUNCH_LOOK, &launch,
                  &reader->ended);
    graph_nodes_look_up(transfer->graph.node, &launch);
    if (!plausible(reader, &launch, transfer->start, transfer->end, &span)) {
        reader->untimed++;
        return;
    }
    uint64_t *at = reader_reserve(reader, shapes.copy, WORDS, transfer->queue);
    if (!at)
        return;
    at[1] = (uint64_t)span.start;
    at[2] = span.duration;
    at = reader_launched(at + 3, transfer->correlation, name, &launch);
    at[0] = transfer->operation;
    at[1] = transfer->direction;
    at[2] = transfer->bytes;
    at[3] = transfer->flags;
    at[4] = memory_name(transfer->kinds[0]);
    at[5] = memory_name(transfer->kinds[1]);
    at[6] = transfer->peer;
    at[7] = transfer->graph.graph;
    at[8] = transfer->graph.node;
    ring_commit(reader->ring, WORDS);
}

static void direction_of(uint8_t copy_kind, struct transfer *transfer) {
    // By CUpti_ActivityMemcpyKind; arrays lie on the device.
    static const uint8_t directions[] = {TSMITH_DIRECTION_NONE,
                                         TSMITH_DIRECTION_HOST_TO_DEVICE,
                                         TSMITH_DIRECTION_DEVICE_TO_HOST,
                                         TSMITH_DIRECTION_HOST_TO_DEVICE,
                                         TSMITH_DIRECTION_DEVICE_TO_HOST,
                                         TSMITH_DIRECTION_DEVICE_TO_DEVICE,
                                         TSMITH_DIRECTION_DEVICE_TO_DEVICE,
                                         TSMITH_DIRECTION_DEVICE_TO_DEVICE,
                                         TSMITH_DIRECTION_DEVICE_TO_DEVICE,
                                         TSMITH_DIRECTION_HOST_TO_HOST,
                                         TSMITH_DIRECTION_PEER_TO_PEER};
    transfer->direction =
        copy_kind < sizeof directions ? (tsmith_direction)directions[copy_kind] : TSMITH_DIRECTION_NONE;
    transfer->operation = transfer->direction == TSMITH_DIRECTION_HOST_TO_DEVICE   ? TSMITH_OPERATION_WRITE
                          : transfer->direction == TSMITH_DIRECTION_DEVICE_TO_HOST ? TSMITH_OPERATION_READ
                                                                                   : TSMITH_OPERATION_COPY;
}

void record_memcpy(struct reader *reader, const struct cupti_memcpy *record) {
    struct transfer transfer = {
        .start = record->start,
        .end = record->end,
        .bytes = record->bytes,
        .flags = record->flags,
        .queue = reader_queue(reader, record->device, record->context, record->stream),
        .correlation = record->correlation,
        .kinds = {record->source_kind, record->destination_kind},
        .graph = {.graph = cupti_has(CUPTI_11_1) ? record->graph : 0, .node = record->graph_node},
    };
    direction_of(record->copy_kind, &transfer);
    write_transfer(reader, &transfer);
}

void record_peer_copy(struct reader *reader, const struct cupti_peer_copy *record) {
    struct transfer transfer = {
        .start = record->start,
        .end = record->end,
        .bytes = record->bytes,
        .flags = record->flags,
        .queue = reader_queue(reader, record->device, record->context, record->stream),
        .correlation = record->correlation,
        .kinds = {record->source_kind, record->destination_kind},
        .peer = tracks_stream(record->destination_device, CUPTI_NONE, CUPTI_NONE, "peer memory"),
        .operation = TSMITH_OPERATION_COPY,
        .direction = TSMITH_DIRECTION_PEER_TO_PEER,
        .graph = {.graph = cupti_has(CUPTI_11_1) ? record->graph : 0, .node = record->graph_node},
    };
    write_transfer(reader, &transfer);
}

void record_memset(struct reader *reader, const struct cupti_memset *record) {
    enum { WORDS = 13 };
    static _Atomic uint32_t name;
    struct launch launch;
    const uint32_t queue = reader_queue(reader, record->device, record->context, record->stream);
    struct span span;
    const uint32_t graph = cupti_has(CUPTI_11_1) ? record->graph : 0;
    launches_find(record->correlation, graph ? LAUNCH_RECORD : LAUNCH_LOOK, &launch, &reader->ended);
    graph_nodes_look_up(record->graph_node, &launch);
    if (!plausible(reader, &launch, record->start, record->end, &span)) {
        reader->untimed++;
        return;
    }
    uint64_t *at = reader_reserve(reader, shapes.fill, WORDS, queue);
    if (!at)
        return;
    at[1] = (uint64_t)span.start;
    at[2] = span.duration;
    at = reader_launched(at + 3, record->correlation, reader_constant(&name, "[CUDA memset]"), &launch);
    at[0] = TSMITH_OPERATION_FILL;
    at[1] = record->bytes;
    at[2] = record->value;
    at[3] = memory_name(record->memory_kind);
    at[4] = graph;
    at[5] = record->graph_node;
    ring_commit(reader->ring, WORDS);
}

void record_decompress(struct reader *reader, const struct cupti_decompress *record) {
    struct transfer transfer = {
        .start = record->start,
        .end = record->end,
        .bytes = record->bytes,
        .queue = reader_queue(reader, record->device, record->context, record->stream),
        .correlation = record->correlation,
        .operation = TSMITH_OPERATION_COPY,
        .direction = TSMITH_DIRECTION_DEVICE_TO_DEVICE,
    };
    write_transfer(reader, &transfer);
}

void record_cuda_event(struct reader *reader, const struct cupti_cuda_event *record) {
    enum { WORDS = 7 };
    static _Atomic uint32_t name;
    struct launch launch;
    // Older forms have no time, and an event without a time is no event.
    uint64_t time;
    if (!cupti_has(CUPTI_12_8) || !record->timestamp)
        return;
    if (!reader_time(reader, record->timestamp, &time)) {
        reader->untimed++;
        return;
    }
    launches_find(record->correlation, LAUNCH_LOOK, &launch, &reader->ended);
    uint64_t *at = reader_reserve(reader, shapes.event, WORDS,
                                  reader_queue(reader, record->device, record->context, record->stream));
    if (!at)
        return;
    at[1] = time;
    *reader_launched(at + 2, record->correlation, reader_constant(&name, "event"), &launch) = record->event;
    ring_commit(reader->ring, WORDS);
}
