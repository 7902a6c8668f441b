// SPDX-License-Identifier: Apache-2.0
// What the device did: kernels, copies, sets, graphs. Rules: agent.h.
#include "graph_nodes.h"
#include "library.h"
#include "reader.h"
#include "throttling.h"
#include "tracks.h"

// A record whose times cannot be: CUPTI gives 0 when it could not collect them, and there are versions that give the
// times of something else, before the call that launched it.
static bool take_plausible_times(struct reader *reader, const struct launch *launch, uint64_t start,
                                 uint64_t end, struct span *span) {
    enum { TOLERANCE = 1000000 }; // ns: the clocks of host and device are not compared often by CUPTI
    return reader_span(&reader->base, start, end, span) &&
           (!launch->time || span->start + TOLERANCE >= launch->time);
}

// It ran at an unknown time: an event at its launch, as far as that is known.
static void write_untimed(struct reader *reader, uint32_t queue, uint32_t correlation, uint32_t name,
                          const struct launch *launch, uint32_t device) {
    reader->base.untimed++;
    if (sums_on) {
        reader_add_up(
            reader, &(struct reader_sum){
                        .kind = TSMITH_KIND_KERNEL, .device = device, .name = name, .stack = launch->stack});
        return;
    }
    TRACK_RECORD_WRITE(reader->base.ring, untimed, queue,
                       .start = (uint64_t)(launch->time ? launch->time : clock_trace_now()),
                       .certainty = TSMITH_CERTAINTY_UNTIMED, READER_LAUNCHED(correlation, name, launch));
}

// ---- kernels

struct graph_node {
    uint64_t graph, node;
    uint64_t source_graph, source_node;
};

// How it was launched where that is not as most are.
static uint32_t launch_type_name(uint8_t type) {
    static const char *const names[] = {NULL, "cooperative", "cooperative, several devices"};
    return TEXT_AT(names, type);
}

// NULL: as nearly all kernels are, or unknown.
static uint32_t model_name(uint32_t model) {
    static const char *const names[] = {NULL, NULL, "tile", "hybrid"};
    return TEXT_AT(names, model);
}

static int32_t priority_of(const struct cupti_kernel *record) {
    return cupti_has(CUPTI_13_1) ? record->priority : 0;
}

static uint32_t model_of(const struct cupti_kernel *record) {
    return cupti_has(CUPTI_13_3) ? record->execution_model : 0;
}

// 0 is unknown to CUPTI too.
static uint64_t time_or_none(struct reader *reader, uint64_t time) {
    uint64_t at;
    return reader_time(&reader->base, time, &at) ? at : 0;
}

static void put_kernel_parts(struct reader *reader, uint64_t *at, uint32_t parts,
                             const struct cupti_kernel *record, const struct launch *launch,
                             const struct graph_node *graph, uint64_t cluster) {
    const int32_t *grid = record->grid, *block = record->block;
    if (parts & KERNEL_HOST)
        RECORD_PUT(at, kernel_host_words, launch->track);
    if (parts & KERNEL_STACK)
        RECORD_PUT(at, kernel_stack_words, launch->stack);
    if (parts & KERNEL_3D)
        RECORD_PUT(at, kernel_3d_words, .global_y = (uint64_t)(uint32_t)grid[1] * (uint32_t)block[1],
                   .global_z = (uint64_t)(uint32_t)grid[2] * (uint32_t)block[2],
                   .local_y = (uint32_t)block[1], .local_z = (uint32_t)block[2]);
    if (parts & KERNEL_SHARED)
        RECORD_PUT(at, kernel_shared_words, .static_shared = (uint32_t)record->static_shared,
                   .dynamic_shared = (uint32_t)record->dynamic_shared,
                   .executed_shared = record->shared_executed);
    if (parts & KERNEL_MORE)
        RECORD_PUT(at, kernel_more_words, .graph = graph->graph, .graph_node = graph->node,
                   .cluster = cluster);
    if (parts & KERNEL_SOURCE)
        RECORD_PUT(at, kernel_source_words, .source_graph = graph->source_graph,
                   .source_node = graph->source_node);
    if (parts & KERNEL_RARE)
        RECORD_PUT(at, kernel_rare_words, .local = record->local_per_thread,
                   .local_total = cupti_has(CUPTI_11_8) ? record->local_total_v2 : record->local_total,
                   .launch_type = launch_type_name(record->launch_type),
                   .priority = (uint64_t)(int64_t)priority_of(record),
                   .execution_model = model_name(model_of(record)));
    if (parts & KERNEL_LATENCY)
        RECORD_PUT(at, kernel_latency_words, .queued = time_or_none(reader, record->queued),
                   .submitted = time_or_none(reader, record->submitted));
}

static void add_up_kernel(struct reader *reader, const struct cupti_kernel *record,
                          const struct launch *launch, uint32_t name, const struct span *span) {
    reader_add_up(reader, &(struct reader_sum){.kind = TSMITH_KIND_KERNEL,
                                               .device = record->device,
                                               .name = name,
                                               .stack = launch->stack,
                                               .span = span,
                                               .queued = shapes.latency ? record->queued : 0,
                                               .start = record->start});
}

static void write_kernel(struct reader *reader, const struct cupti_kernel *record, uint32_t queue,
                         const struct launch *launch, uint32_t name, const struct graph_node *graph,
                         const struct span *span) {
    const int32_t *grid = record->grid, *block = record->block;
    const uint64_t cluster =
        cupti_has(CUPTI_11_8) ? (uint64_t)record->cluster[0] * record->cluster[1] * record->cluster[2] : 0;
    const bool is_3d = (grid[1] | grid[2] | block[1] | block[2]) != 1;
    const bool shared = (record->static_shared | record->dynamic_shared) != 0;
    const bool rare = record->local_per_thread || record->launch_type || priority_of(record) ||
                      model_name(model_of(record));
    const bool more = (graph->graph | graph->node | cluster) != 0;
    const uint32_t parts = (launch->track ? KERNEL_HOST : 0u) | (launch->stack ? KERNEL_STACK : 0u) |
                           (is_3d ? KERNEL_3D : 0u) | (shared ? KERNEL_SHARED : 0u) |
                           (more ? KERNEL_MORE : 0u) | (graph->source_graph ? KERNEL_SOURCE : 0u) |
                           (rare ? KERNEL_RARE : 0u) | shapes.latency;
    const uint32_t words = shapes.kernel[parts].words;
    uint64_t *at = queue ? record_begin(reader->base.ring, shapes.kernel[parts].shape, words, queue) : NULL;
    if (!at)
        return;
    RECORD_PUT(at, kernel_words, READER_SPAN(span), .correlation = reader_correlation(record->correlation),
               .name = name, .global_x = (uint64_t)(uint32_t)grid[0] * (uint32_t)block[0],
               .local_x = (uint32_t)block[0], .registers = record->registers);
    put_kernel_parts(reader, at, parts, record, launch, graph, cluster);
    ring_commit(reader->base.ring, words);
}

// Whether a kernel comes from a launch by the host that was seen: others are launched by the device itself.
static bool from_host(const struct cupti_kernel *record) {
    return !(cupti_has(CUPTI_13_0) && record->device_launched);
}

void record_kernel(struct reader *reader, const struct cupti_kernel *record) {
    struct launch launch;
    const bool source = cupti_has(CUPTI_13_4);
    const struct graph_node graph = {.graph = cupti_has(CUPTI_11_1) ? record->graph : 0,
                                     .node = record->graph_node,
                                     .source_graph = source ? record->source_graph : 0,
                                     .source_node = source ? record->source_node : 0};
    const uint32_t name = reader_kernel_name(reader, record->name);
    const uint32_t queue = reader_queue(reader, record->device, record->context, record->stream);
    struct span span;
    if (!launches_find(record->correlation, LAUNCH_RECORD, &launch, &reader->ended) && from_host(record) &&
        !throttling_hid_launches())
        reader->base.unmatched++;
    graph_nodes_look_up(graph.node, &launch);
    // A node of a graph may be launched long after the call, but not before it either.
    if (!take_plausible_times(reader, &launch, record->start, record->end, &span))
        write_untimed(reader, queue, record->correlation, name, &launch, record->device);
    else if (sums_on)
        add_up_kernel(reader, record, &launch, name, &span);
    else
        write_kernel(reader, record, queue, &launch, name, &graph, &span);
}

void record_graph(struct reader *reader, const struct cupti_graph_trace *record) {
    const uint32_t name = TEXT_ONCE("graph");
    struct launch launch;
    const uint32_t queue = reader_queue(reader, record->device, record->context, record->stream);
    struct span span;
    if (!launches_find(record->correlation, LAUNCH_RECORD, &launch, &reader->ended) &&
        !throttling_hid_launches())
        reader->base.unmatched++;
    if (!take_plausible_times(reader, &launch, record->start, record->end, &span)) {
        write_untimed(reader, queue, record->correlation, name, &launch, record->device);
        return;
    }
    if (sums_on) {
        reader_add_up(reader, &(struct reader_sum){.kind = TSMITH_KIND_GRAPH_LAUNCH,
                                                   .device = record->device,
                                                   .name = name,
                                                   .stack = launch.stack,
                                                   .span = &span});
        return;
    }
    TRACK_RECORD_WRITE(reader->base.ring, graph, queue, READER_SPAN(&span),
                       READER_LAUNCHED(record->correlation, name, &launch), .graph = record->graph);
}

void record_device_graph(struct reader *reader, const struct cupti_device_graph *record) {
    struct span span;
    if (!reader_needs_span(&reader->base, record->start, record->end, &span))
        return;
    TRACK_RECORD_WRITE(reader->base.ring, graph,
                       reader_queue(reader, record->device, record->context, (uint32_t)record->stream),
                       READER_SPAN(&span), .name = TEXT_ONCE("graph launched by the device"),
                       .graph = record->graph);
}

// ---- copies and sets

struct transfer {
    uint64_t start, end, bytes, flags;
    uint32_t queue, correlation, device;
    uint32_t kinds[2]; // of memory: from, to
    uint32_t peer;     // track
    tsmith_operation operation;
    tsmith_direction direction;
    struct graph_node graph;
};

static uint32_t memory_name(uint32_t kind) {
    static const char *const names[] = {NULL,    "Pageable", "Pinned",        "Device",
                                        "Array", "Managed",  "Device Static", "Managed Static"};
    return TEXT_AT(names, kind);
}

static uint32_t direction_name(tsmith_direction direction) {
    static _Atomic uint32_t ids[VENDOR_COPY_NAMES];
    const char *name = (size_t)direction < VENDOR_COPY_NAMES ? vendor.copies[direction] : NULL;
    return name ? channel_string_once(agent.channel, &ids[direction], name) : 0;
}

static void write_transfer(struct reader *reader, const struct transfer *transfer) {
    struct launch launch;
    struct span span;
    const uint32_t name = direction_name(transfer->direction);
    // Only of graphs is the call of a copy a launch.
    launches_find(transfer->correlation, transfer->graph.graph ? LAUNCH_RECORD : LAUNCH_LOOK, &launch,
                  &reader->ended);
    graph_nodes_look_up(transfer->graph.node, &launch);
    if (!take_plausible_times(reader, &launch, transfer->start, transfer->end, &span)) {
        reader->base.untimed++;
        return;
    }
    if (sums_on) {
        reader_add_up(reader, &(struct reader_sum){.kind = TSMITH_KIND_MEMCPY,
                                                   .device = transfer->device,
                                                   .name = name,
                                                   .stack = launch.stack,
                                                   .operation = transfer->operation,
                                                   .direction = transfer->direction,
                                                   .bytes = transfer->bytes,
                                                   .span = &span});
        return;
    }
    const uint32_t source_kind = memory_name(transfer->kinds[0]);
    const uint32_t destination_kind = memory_name(transfer->kinds[1]);
#define COPY                                                                                                 \
    READER_SPAN(&span), READER_LAUNCHED(transfer->correlation, name, &launch),                               \
        .operation = transfer->operation, .direction = transfer->direction, .bytes = transfer->bytes,        \
        .flags = transfer->flags, .source_kind = source_kind, .destination_kind = destination_kind,          \
        .peer = transfer->peer, .graph = transfer->graph.graph, .graph_node = transfer->graph.node
    if (transfer->graph.source_graph)
        TRACK_RECORD_WRITE(reader->base.ring, copy_node, transfer->queue, COPY,
                           .source_graph = transfer->graph.source_graph,
                           .source_node = transfer->graph.source_node);
    else
        TRACK_RECORD_WRITE(reader->base.ring, copy, transfer->queue, COPY);
#undef COPY
}

static void direction_of(uint8_t copy_kind, struct transfer *transfer) {
    // By CUpti_ActivityMemcpyKind; arrays are on the device.
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

// What copies of every kind have.
#define TRANSFER(reader, record)                                                                             \
    .start = record->start, .end = record->end, .bytes = record->bytes, .correlation = record->correlation,  \
    .device = record->device, .queue = reader_queue(reader, record->device, record->context, record->stream)

void record_memcpy(struct reader *reader, const struct cupti_memcpy *record) {
    struct transfer transfer = {
        TRANSFER(reader, record),
        .flags = record->flags,
        .kinds = {record->source_kind, record->destination_kind},
        .graph = {.graph = cupti_has(CUPTI_11_1) ? record->graph : 0,
                  .node = record->graph_node,
                  .source_graph = cupti_has(CUPTI_13_4) ? record->source_graph : 0,
                  .source_node = cupti_has(CUPTI_13_4) ? record->source_node : 0},
    };
    direction_of(record->copy_kind, &transfer);
    write_transfer(reader, &transfer);
}

void record_peer_copy(struct reader *reader, const struct cupti_peer_copy *record) {
    struct transfer transfer = {
        TRANSFER(reader, record),
        .flags = record->flags,
        .kinds = {record->source_kind, record->destination_kind},
        .peer = tracks_stream(record->destination_device, CUPTI_NONE, CUPTI_NONE, "peer memory"),
        .operation = TSMITH_OPERATION_COPY,
        .direction = TSMITH_DIRECTION_PEER_TO_PEER,
        .graph = {.graph = cupti_has(CUPTI_11_1) ? record->graph : 0, .node = record->graph_node},
    };
    write_transfer(reader, &transfer);
}

void record_memset(struct reader *reader, const struct cupti_memset *record) {
    struct launch launch;
    const uint32_t queue = reader_queue(reader, record->device, record->context, record->stream);
    struct span span;
    const uint32_t graph = cupti_has(CUPTI_11_1) ? record->graph : 0;
    launches_find(record->correlation, graph ? LAUNCH_RECORD : LAUNCH_LOOK, &launch, &reader->ended);
    graph_nodes_look_up(record->graph_node, &launch);
    if (!take_plausible_times(reader, &launch, record->start, record->end, &span)) {
        reader->base.untimed++;
        return;
    }
    const uint32_t text = TEXT_ONCE(vendor.set);
    if (sums_on) {
        reader_add_up(reader, &(struct reader_sum){.kind = TSMITH_KIND_MEMSET,
                                                   .device = record->device,
                                                   .name = text,
                                                   .stack = launch.stack,
                                                   .operation = TSMITH_OPERATION_FILL,
                                                   .bytes = record->bytes,
                                                   .span = &span});
        return;
    }
    const uint32_t memory_kind = memory_name(record->memory_kind);
    const uint32_t source_graph = cupti_has(CUPTI_13_4) ? record->source_graph : 0;
#define FILL                                                                                                 \
    READER_SPAN(&span), READER_LAUNCHED(record->correlation, text, &launch),                                 \
        .operation = TSMITH_OPERATION_FILL, .bytes = record->bytes, .value = record->value,                  \
        .memory_kind = memory_kind, .graph = graph, .graph_node = record->graph_node
    if (source_graph)
        TRACK_RECORD_WRITE(reader->base.ring, fill_node, queue, FILL, .source_graph = source_graph,
                           .source_node = record->source_node);
    else
        TRACK_RECORD_WRITE(reader->base.ring, fill, queue, FILL);
#undef FILL
}

void record_decompress(struct reader *reader, const struct cupti_decompress *record) {
    struct transfer transfer = {
        TRANSFER(reader, record),
        .operation = TSMITH_OPERATION_COPY,
        .direction = TSMITH_DIRECTION_DEVICE_TO_DEVICE,
    };
    write_transfer(reader, &transfer);
}

// Between contexts of this process, or with those of other processes. The device of an unknown context is unknown.
void record_context_switch(struct reader *reader, const struct cupti_context_switch *record) {
    static const char *const names[] = {"context switch", "context switch starts", "context switch ends"};
    enum { OPERATIONS = sizeof names / sizeof *names };
    uint64_t time;
    if (!reader_needs_time(&reader->base, record->timestamp, &time))
        return;
    const uint32_t track =
        tracks_stream(tracks_device_of_context(record->context), CUPTI_NONE, CUPTI_NONE, "context switches");
    TRACK_RECORD_WRITE(reader->base.ring, context_switch, track, .start = time,
                       .name = TEXT_AT(names, record->operation < OPERATIONS ? record->operation : 0),
                       .context = record->context);
}

void record_cuda_event(struct reader *reader, const struct cupti_cuda_event *record) {
    struct launch launch;
    // Older forms have no time, and an event without a time is no event.
    uint64_t time;
    if (!cupti_has(CUPTI_12_8) || !record->timestamp ||
        !reader_needs_time(&reader->base, record->timestamp, &time))
        return;
    launches_find(record->correlation, LAUNCH_LOOK, &launch, &reader->ended);
    const uint32_t queue = reader_queue(reader, record->device, record->context, record->stream);
    const uint32_t text = TEXT_ONCE("event");
#define EVENT .start = time, READER_LAUNCHED(record->correlation, text, &launch), .event = record->event
    if (cupti_has(CUPTI_13_5) && record->graph)
        TRACK_RECORD_WRITE(reader->base.ring, event_node, queue, EVENT, .graph = record->graph,
                           .graph_node = record->graph_node, .source_graph = record->source_graph,
                           .source_node = record->source_node);
    else
        TRACK_RECORD_WRITE(reader->base.ring, event, queue, EVENT);
#undef EVENT
}
