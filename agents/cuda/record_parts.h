// SPDX-License-Identifier: Apache-2.0
// The words of the agent's records, each described once (src/wire/record_part.h), and the fields that are this agent's own.
// Every record is on a track; times are ns of the trace clock.
#ifndef CUDA_RECORD_PARTS_H
#define CUDA_RECORD_PARTS_H

#include "agentkit/record_words.h"

// Fields that are not in the schema have the names that Nsight Systems gives them in its exports.
// OWN(member of cuda_fields, name in the trace, type, unit)
// clang-format off
#define CUDA_FIELDS(OWN) \
    OWN(registers, "registersPerThread", U64, "") OWN(static_shared, "staticSharedMemory", U64, "bytes") \
    OWN(dynamic_shared, "dynamicSharedMemory", U64, "bytes") \
    OWN(executed_shared, "sharedMemoryExecuted", U64, "bytes") \
    OWN(local, "localMemoryPerThread", U64, "bytes") OWN(local_total, "localMemoryTotal", U64, "bytes") \
    OWN(launch_type, "launchType", STRING, "") OWN(graph, "graphId", U64, "") \
    OWN(graph_node, "graphNodeId", U64, "") OWN(source_graph, "sourceGraphId", U64, "") \
    OWN(source_node, "sourceGraphNodeId", U64, "") OWN(execution_model, "executionModel", STRING, "") \
    OWN(cluster, "clusterBlocks", U64, "blocks") OWN(source_kind, "srcKind", STRING, "") \
    OWN(destination_kind, "dstKind", STRING, "") OWN(peer, "dstDeviceTrack", TRACK, "") \
    OWN(value, "value", U64, "") OWN(event, "eventId", U64, "") OWN(pc, "PC", U64, "") \
    OWN(pool, "localMemoryPoolAddress", U64, "") OWN(utilized, "localMemoryPoolUtilizedSize", U64, "bytes") \
    OWN(external, "externalId", U64, "")
// clang-format on

struct cuda_fields {
    CUDA_FIELDS(OWN_FIELD_MEMBER)
};

// ---- what records have in common

#define GRAPH_NODE_WORDS(WORD) OWN_OR_NONE(WORD, graph) OWN_OR_NONE(WORD, graph_node)
// The node of a graph that a node was instantiated from.
#define SOURCE_WORDS(WORD) OWN_OR_NONE(WORD, source_graph) OWN_OR_NONE(WORD, source_node)

// ---- kernels: the most frequent records, so a record has only the parts with a value

// clang-format off
#define KERNEL_WORDS(WORD) \
    NAMED_SPAN_WORDS(WORD) WORD(global_x, TSMITH_FIELD_GLOBAL_X, RECORD_VALUE) \
    WORD(local_x, TSMITH_FIELD_LOCAL_X, RECORD_VALUE) OWN_OR_NONE(WORD, registers)
#define KERNEL_HOST_WORDS(WORD) WORD(host_track, TSMITH_FIELD_HOST_TRACK, RECORD_TRACK)
#define KERNEL_SHARED_WORDS(WORD) \
    OWN_OR_NONE(WORD, static_shared) OWN_OR_NONE(WORD, dynamic_shared) OWN_OR_NONE(WORD, executed_shared)
#define KERNEL_MORE_WORDS(WORD) GRAPH_NODE_WORDS(WORD) OWN_OR_NONE(WORD, cluster)
// What few kernels have.
#define KERNEL_RARE_WORDS(WORD) \
    OWN_OR_NONE(WORD, local) OWN_OR_NONE(WORD, local_total) OWN_OR_NONE(WORD, launch_type) \
    WORD(priority, TSMITH_FIELD_PRIORITY, OPTIONAL(RECORD_VALUE)) OWN_OR_NONE(WORD, execution_model)
#define KERNEL_LATENCY_WORDS(WORD) \
    WORD(queued, TSMITH_FIELD_QUEUED, OPTIONAL(RECORD_VALUE)) \
    WORD(submitted, TSMITH_FIELD_SUBMITTED, OPTIONAL(RECORD_VALUE))

// The parts that may follow KERNEL_WORDS, in the order in which they do. PART(NAME of the bit, part, its words)
#define CUDA_KERNEL_PARTS(PART)                                                                              \
    PART(HOST, kernel_host_words, KERNEL_HOST_WORDS)                                                         \
    PART(STACK, kernel_stack_words, STACK_WORD)                                                              \
    PART(3D, kernel_3d_words, KERNEL_3D_WORDS)                                                               \
    PART(SHARED, kernel_shared_words, KERNEL_SHARED_WORDS)                                                   \
    PART(MORE, kernel_more_words, KERNEL_MORE_WORDS)                                                         \
    PART(SOURCE, kernel_source_words, SOURCE_WORDS)                                                          \
    PART(RARE, kernel_rare_words, KERNEL_RARE_WORDS)                                                         \
    PART(LATENCY, kernel_latency_words, KERNEL_LATENCY_WORDS)

// ---- other work of the device

#define UNTIMED_WORDS(WORD) INSTANT_WORDS(WORD) CERTAINTY_WORD(WORD) CAUSE_WORDS(WORD)

#define COPY_WORDS(WORD) \
    CAUSED_SPAN_WORDS(WORD) OPERATION_OR_NONE(WORD) DIRECTION_OR_NONE(WORD) BYTES_WORD(WORD) \
    FLAGS_OR_NONE(WORD) OWN_OR_NONE(WORD, source_kind) OWN_OR_NONE(WORD, destination_kind) \
    OWN_OR_NONE(WORD, peer) GRAPH_NODE_WORDS(WORD)

#define COPY_NODE_WORDS(WORD) COPY_WORDS(WORD) SOURCE_WORDS(WORD)

#define FILL_WORDS(WORD) \
    CAUSED_SPAN_WORDS(WORD) OPERATION_OR_NONE(WORD) BYTES_WORD(WORD) OWN_WORD(WORD, value) \
    WORD(memory_kind, fields.destination_kind, OPTIONAL(RECORD_DYNAMIC)) GRAPH_NODE_WORDS(WORD)

#define FILL_NODE_WORDS(WORD) FILL_WORDS(WORD) SOURCE_WORDS(WORD)

#define GRAPH_WORDS(WORD) CAUSED_SPAN_WORDS(WORD) OWN_OR_NONE(WORD, graph)

#define EVENT_WORDS(WORD) \
    INSTANT_WORDS(WORD) CAUSE_WORDS(WORD) WORD(event, TSMITH_FIELD_OBJECT, OPTIONAL(RECORD_VALUE))

#define EVENT_NODE_WORDS(WORD) EVENT_WORDS(WORD) GRAPH_NODE_WORDS(WORD) SOURCE_WORDS(WORD)

// ---- the host

#define CALL_WORDS(WORD) NAMED_SPAN_WORDS(WORD) RESULT_WORD(WORD)
#define CALL_STACK_WORDS(WORD) CALL_WORDS(WORD) STACK_WORD(WORD)

#define SYNC_WORDS(WORD) \
    NAMED_SPAN_WORDS(WORD) OPERATION_OR_NONE(WORD) QUEUE_OR_NONE(WORD) HOST_TRACK_OR_NONE(WORD) \
    OWN_OR_NONE(WORD, event) RESULT_OR_NONE(WORD)

// On the thread that ran it.
#define HOST_FUNCTION_WORDS(WORD) \
    CAUSED_SPAN_WORDS(WORD) OPERATION_WORD(WORD) QUEUE_OR_NONE(WORD) GRAPH_NODE_WORDS(WORD)

#define OVERHEAD_WORDS(WORD) NAMED_SPAN_WORDS(WORD)

#define COMPILE_WORDS(WORD) \
    NAMED_SPAN_WORDS(WORD) OPERATION_OR_NONE(WORD) \
    WORD(cache_path, TSMITH_FIELD_TEXT, OPTIONAL(RECORD_STRING)) \
    WORD(cache_bytes, TSMITH_FIELD_BYTES, OPTIONAL(RECORD_VALUE))

#define CONTEXT_SWITCH_WORDS(WORD) \
    INSTANT_WORDS(WORD) NAME_OR_NONE(WORD) WORD(context, TSMITH_FIELD_OBJECT, OPTIONAL(RECORD_VALUE))

#define EXTERNAL_WORDS(WORD) \
    INSTANT_WORDS(WORD) NAME_OR_NONE(WORD) CORRELATION_OR_NONE(WORD) OWN_OR_NONE(WORD, external) \
    CERTAINTY_WORD(WORD)

// ---- memory, objects, counters, samples

#define MEMORY_WORDS(WORD) \
    INSTANT_WORDS(WORD) CAUSE_WORDS(WORD) OPERATION_OR_NONE(WORD) HANDLE_OR_NONE(WORD) BYTES_WORD(WORD) \
    QUEUE_OR_NONE(WORD) OWN_OR_NONE(WORD, pc) OWN_OR_NONE(WORD, pool)

#define POOL_WORDS(WORD) \
    INSTANT_WORDS(WORD) CAUSE_WORDS(WORD) HANDLE_OR_NONE(WORD) BYTES_WORD(WORD) OWN_OR_NONE(WORD, utilized)

#define OBJECT_WORDS(WORD) \
    INSTANT_WORDS(WORD) OPERATION_WORD(WORD) OBJECT_OR_NONE(WORD) PARENT_OR_NONE(WORD) BYTES_OR_NONE(WORD)

#define COUNTER_WORDS(WORD) \
    INSTANT_WORDS(WORD) NAME_OR_NONE(WORD) WORD(value, TSMITH_FIELD_VALUE, RECORD_VALUE) /* record_double */ \
    HANDLE_OR_NONE(WORD)

#define SAMPLE_WORDS(WORD) \
    SPAN_WORDS(WORD) NAME_OR_NONE(WORD) WORD(reason, TSMITH_FIELD_CATEGORY, OPTIONAL(RECORD_STRING)) \
    WORD(count, TSMITH_FIELD_COUNT, RECORD_VALUE) WORD(offset, TSMITH_FIELD_ADDRESS, RECORD_VALUE) \
    WORD(cubin_crc, TSMITH_FIELD_OBJECT, RECORD_VALUE) \
    WORD(file, TSMITH_FIELD_FILE, OPTIONAL(RECORD_STRING)) \
    WORD(line, TSMITH_FIELD_LINE, OPTIONAL(RECORD_VALUE))
// clang-format on

// RECORD(name of the shape, its words, kind of the event)
// clang-format off
#define CUDA_RECORDS(RECORD) \
    RECORD(untimed, UNTIMED_WORDS, KERNEL) RECORD(copy, COPY_WORDS, MEMCPY) \
    RECORD(copy_node, COPY_NODE_WORDS, MEMCPY) RECORD(fill, FILL_WORDS, MEMSET) \
    RECORD(fill_node, FILL_NODE_WORDS, MEMSET) RECORD(graph, GRAPH_WORDS, GRAPH_LAUNCH) \
    RECORD(event, EVENT_WORDS, EVENT_RECORD) RECORD(event_node, EVENT_NODE_WORDS, EVENT_RECORD) \
    RECORD(host_function, HOST_FUNCTION_WORDS, HOST_FUNCTION) RECORD(call, CALL_WORDS, API) \
    RECORD(call_stack, CALL_STACK_WORDS, API) RECORD(sync, SYNC_WORDS, SYNC) \
    RECORD(overhead, OVERHEAD_WORDS, OVERHEAD) RECORD(compile, COMPILE_WORDS, COMPILE) \
    RECORD(external, EXTERNAL_WORDS, MARKER) RECORD(context_switch, CONTEXT_SWITCH_WORDS, MARKER) \
    RECORD(alloc, MEMORY_WORDS, ALLOC) RECORD(release, MEMORY_WORDS, FREE) RECORD(pool, POOL_WORDS, OBJECT) \
    RECORD(object, OBJECT_WORDS, OBJECT) RECORD(counter, COUNTER_WORDS, COUNTER) \
    RECORD(sample, SAMPLE_WORDS, SAMPLE)
// clang-format on

#define CUDA_KERNEL_PART(bit, part, LIST) RECORD_PART(part, LIST)
RECORD_PART(kernel_words, KERNEL_WORDS)
CUDA_KERNEL_PARTS(CUDA_KERNEL_PART)
CUDA_RECORDS(TRACK_RECORD_PART)
#undef CUDA_KERNEL_PART

#endif
