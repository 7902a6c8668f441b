// SPDX-License-Identifier: Apache-2.0
// Rules: agent.h. What the shapes are: shapes.h.
#include "shapes.h"

#include <stdarg.h>

struct shapes shapes;

// The fields that are not in the schema are named as Nsight Systems names them in its exports.
static struct {
    uint16_t registers, static_shared, dynamic_shared, executed_shared, local, local_total, launch_type,
        graph, graph_node, cluster, source_kind, destination_kind, peer, value, event, pc, pool, utilized,
        external;
} fields;

#define OPTIONAL(encoding) (uint8_t)((encoding) | RECORD_ZERO_IS_NONE)

static void add(struct record_shape *shape, uint16_t field, uint8_t encoding) {
    shape->fields[shape->field_count++] = (struct record_field){.field = field, .encoding = encoding};
}

static void add_own(struct record_shape *shape, uint16_t field) {
    if (field)
        add(shape, field, OPTIONAL(RECORD_DYNAMIC));
}

static struct record_shape begin(tsmith_kind kind, bool lasts) {
    struct record_shape shape = {
        .kind = (uint8_t)kind, .role = RECORD_EVENT, .subject = RECORD_SUBJECT_TRACK};
    add(&shape, TSMITH_FIELD_START, RECORD_VALUE);
    if (lasts)
        add(&shape, TSMITH_FIELD_DURATION, RECORD_VALUE);
    return shape;
}

// CORRELATION NAME HOST_TRACK STACK
static void add_launched(struct record_shape *shape) {
    add(shape, TSMITH_FIELD_CORRELATION, OPTIONAL(RECORD_VALUE));
    add(shape, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING));
    add(shape, TSMITH_FIELD_HOST_TRACK, OPTIONAL(RECORD_TRACK));
    add(shape, TSMITH_FIELD_STACK, OPTIONAL(RECORD_STACK));
}

static void add_graph(struct record_shape *shape) {
    add_own(shape, fields.graph);
    add_own(shape, fields.graph_node);
}

static void register_fields(struct channel *channel) {
    fields.registers = channel_field(channel, "registersPerThread", TSMITH_TYPE_U64, "");
    fields.static_shared = channel_field(channel, "staticSharedMemory", TSMITH_TYPE_U64, "bytes");
    fields.dynamic_shared = channel_field(channel, "dynamicSharedMemory", TSMITH_TYPE_U64, "bytes");
    fields.executed_shared = channel_field(channel, "sharedMemoryExecuted", TSMITH_TYPE_U64, "bytes");
    fields.local = channel_field(channel, "localMemoryPerThread", TSMITH_TYPE_U64, "bytes");
    fields.local_total = channel_field(channel, "localMemoryTotal", TSMITH_TYPE_U64, "bytes");
    fields.launch_type = channel_field(channel, "launchType", TSMITH_TYPE_STRING, "");
    fields.graph = channel_field(channel, "graphId", TSMITH_TYPE_U64, "");
    fields.graph_node = channel_field(channel, "graphNodeId", TSMITH_TYPE_U64, "");
    fields.cluster = channel_field(channel, "clusterBlocks", TSMITH_TYPE_U64, "blocks");
    fields.source_kind = channel_field(channel, "srcKind", TSMITH_TYPE_STRING, "");
    fields.destination_kind = channel_field(channel, "dstKind", TSMITH_TYPE_STRING, "");
    fields.peer = channel_field(channel, "dstDeviceTrack", TSMITH_TYPE_TRACK, "");
    fields.value = channel_field(channel, "value", TSMITH_TYPE_U64, "");
    fields.event = channel_field(channel, "eventId", TSMITH_TYPE_U64, "");
    fields.pc = channel_field(channel, "PC", TSMITH_TYPE_U64, "");
    fields.pool = channel_field(channel, "localMemoryPoolAddress", TSMITH_TYPE_U64, "");
    fields.utilized = channel_field(channel, "localMemoryPoolUtilizedSize", TSMITH_TYPE_U64, "bytes");
    fields.external = channel_field(channel, "externalId", TSMITH_TYPE_U64, "");
}

static uint16_t kernel_shape(struct channel *channel, uint32_t words) {
    struct record_shape shape = begin(TSMITH_KIND_KERNEL, true);
    add(&shape, TSMITH_FIELD_CORRELATION, OPTIONAL(RECORD_VALUE));
    add(&shape, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING));
    add(&shape, TSMITH_FIELD_GLOBAL_X, RECORD_VALUE);
    add(&shape, TSMITH_FIELD_LOCAL_X, RECORD_VALUE);
    add_own(&shape, fields.registers);
    if (words & KERNEL_HOST)
        add(&shape, TSMITH_FIELD_HOST_TRACK, RECORD_TRACK);
    if (words & KERNEL_STACK)
        add(&shape, TSMITH_FIELD_STACK, RECORD_STACK);
    if (words & KERNEL_3D) {
        add(&shape, TSMITH_FIELD_GLOBAL_Y, RECORD_VALUE);
        add(&shape, TSMITH_FIELD_GLOBAL_Z, RECORD_VALUE);
        add(&shape, TSMITH_FIELD_LOCAL_Y, RECORD_VALUE);
        add(&shape, TSMITH_FIELD_LOCAL_Z, RECORD_VALUE);
    }
    if (words & KERNEL_SHARED) {
        add_own(&shape, fields.static_shared);
        add_own(&shape, fields.dynamic_shared);
        add_own(&shape, fields.executed_shared);
    }
    if (words & KERNEL_MORE) {
        add_graph(&shape);
        add_own(&shape, fields.cluster);
    }
    if (words & KERNEL_LOCAL) {
        add_own(&shape, fields.local);
        add_own(&shape, fields.local_total);
        add_own(&shape, fields.launch_type);
    }
    if (shapes.latency) {
        add(&shape, TSMITH_FIELD_QUEUED, OPTIONAL(RECORD_VALUE));
        add(&shape, TSMITH_FIELD_SUBMITTED, OPTIONAL(RECORD_VALUE));
    }
    return channel_shape(channel, &shape);
}

static void register_transfers(struct channel *channel) {
    struct record_shape shape = begin(TSMITH_KIND_MEMCPY, true);
    add_launched(&shape);
    add(&shape, TSMITH_FIELD_OPERATION, OPTIONAL(RECORD_VALUE));
    add(&shape, TSMITH_FIELD_DIRECTION, OPTIONAL(RECORD_VALUE));
    add(&shape, TSMITH_FIELD_BYTES, RECORD_VALUE);
    add(&shape, TSMITH_FIELD_FLAGS, OPTIONAL(RECORD_VALUE));
    add_own(&shape, fields.source_kind);
    add_own(&shape, fields.destination_kind);
    add_own(&shape, fields.peer);
    add_graph(&shape);
    shapes.copy = channel_shape(channel, &shape);

    shape = begin(TSMITH_KIND_MEMSET, true);
    add_launched(&shape);
    add(&shape, TSMITH_FIELD_OPERATION, OPTIONAL(RECORD_VALUE));
    add(&shape, TSMITH_FIELD_BYTES, RECORD_VALUE);
    add(&shape, fields.value, RECORD_DYNAMIC);
    add_own(&shape, fields.destination_kind);
    add_graph(&shape);
    shapes.fill = channel_shape(channel, &shape);
}

static void register_calls(struct channel *channel) {
    struct record_shape shape = begin(TSMITH_KIND_API, true);
    add(&shape, TSMITH_FIELD_CORRELATION, OPTIONAL(RECORD_VALUE));
    add(&shape, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING));
    add(&shape, TSMITH_FIELD_RESULT, RECORD_VALUE);
    shapes.call = channel_shape(channel, &shape);
    add(&shape, TSMITH_FIELD_STACK, RECORD_STACK);
    shapes.call_stack = channel_shape(channel, &shape);

    shape = begin(TSMITH_KIND_SYNC, true);
    add(&shape, TSMITH_FIELD_CORRELATION, OPTIONAL(RECORD_VALUE));
    add(&shape, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING));
    add(&shape, TSMITH_FIELD_OPERATION, OPTIONAL(RECORD_VALUE));
    add(&shape, TSMITH_FIELD_QUEUE_TRACK, OPTIONAL(RECORD_TRACK));
    add(&shape, TSMITH_FIELD_HOST_TRACK, OPTIONAL(RECORD_TRACK));
    add_own(&shape, fields.event);
    add(&shape, TSMITH_FIELD_RESULT, OPTIONAL(RECORD_VALUE));
    shapes.sync = channel_shape(channel, &shape);
}

static void register_memory(struct channel *channel) {
    static const uint8_t kinds[] = {TSMITH_KIND_ALLOC, TSMITH_KIND_FREE};
    for (size_t i = 0; i < 2; i++) {
        struct record_shape shape = begin((tsmith_kind)kinds[i], false);
        add_launched(&shape);
        add(&shape, TSMITH_FIELD_OPERATION, OPTIONAL(RECORD_VALUE));
        add(&shape, TSMITH_FIELD_OBJECT, OPTIONAL(RECORD_VALUE));
        add(&shape, TSMITH_FIELD_BYTES, RECORD_VALUE);
        add(&shape, TSMITH_FIELD_QUEUE_TRACK, OPTIONAL(RECORD_TRACK));
        add_own(&shape, fields.pc);
        add_own(&shape, fields.pool);
        shapes.memory[i] = channel_shape(channel, &shape);
    }
    struct record_shape shape = begin(TSMITH_KIND_OBJECT, false);
    add_launched(&shape);
    add(&shape, TSMITH_FIELD_OBJECT, OPTIONAL(RECORD_VALUE));
    add(&shape, TSMITH_FIELD_BYTES, RECORD_VALUE);
    add_own(&shape, fields.utilized);
    shapes.pool = channel_shape(channel, &shape);

    shape = begin(TSMITH_KIND_OBJECT, false);
    add(&shape, TSMITH_FIELD_OPERATION, RECORD_VALUE);
    add(&shape, TSMITH_FIELD_OBJECT, OPTIONAL(RECORD_VALUE));
    add(&shape, TSMITH_FIELD_PARENT, OPTIONAL(RECORD_VALUE));
    add(&shape, TSMITH_FIELD_BYTES, OPTIONAL(RECORD_VALUE));
    shapes.object = channel_shape(channel, &shape);
}

static void register_others(struct channel *channel) {
    struct record_shape shape = begin(TSMITH_KIND_GRAPH_LAUNCH, true);
    add_launched(&shape);
    add_own(&shape, fields.graph);
    shapes.graph = channel_shape(channel, &shape);

    shape = begin(TSMITH_KIND_EVENT_RECORD, false);
    add_launched(&shape);
    add(&shape, TSMITH_FIELD_OBJECT, OPTIONAL(RECORD_VALUE));
    shapes.event = channel_shape(channel, &shape);

    shape = begin(TSMITH_KIND_OVERHEAD, true);
    add(&shape, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING));
    add(&shape, TSMITH_FIELD_CORRELATION, OPTIONAL(RECORD_VALUE));
    shapes.overhead = channel_shape(channel, &shape);

    shape = begin(TSMITH_KIND_COMPILE, true);
    add(&shape, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING));
    add(&shape, TSMITH_FIELD_OPERATION, OPTIONAL(RECORD_VALUE));
    add(&shape, TSMITH_FIELD_CORRELATION, OPTIONAL(RECORD_VALUE));
    add(&shape, TSMITH_FIELD_TEXT, OPTIONAL(RECORD_STRING));
    add(&shape, TSMITH_FIELD_BYTES, OPTIONAL(RECORD_VALUE));
    shapes.compile = channel_shape(channel, &shape);

    shape = begin(TSMITH_KIND_COUNTER, false);
    add(&shape, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING));
    add(&shape, TSMITH_FIELD_VALUE, RECORD_VALUE);
    add(&shape, TSMITH_FIELD_OBJECT, OPTIONAL(RECORD_VALUE));
    shapes.counter = channel_shape(channel, &shape);

    shape = begin(TSMITH_KIND_MARKER, false);
    add(&shape, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING));
    add(&shape, TSMITH_FIELD_CORRELATION, OPTIONAL(RECORD_VALUE));
    add_own(&shape, fields.external);
    add(&shape, TSMITH_FIELD_INFERRED, RECORD_VALUE);
    shapes.external = channel_shape(channel, &shape);

    shape = begin(TSMITH_KIND_KERNEL, false);
    add(&shape, TSMITH_FIELD_INFERRED, RECORD_VALUE);
    add_launched(&shape);
    shapes.untimed = channel_shape(channel, &shape);
}

void shapes_register(struct channel *channel) {
    register_fields(channel);
    shapes.latency = agent_option("latency") != NULL;
    for (uint32_t words = 0; words < KERNEL_SHAPES; words++)
        shapes.kernel[words] = kernel_shape(channel, words);
    register_transfers(channel);
    register_calls(channel);
    register_memory(channel);
    register_others(channel);
}
