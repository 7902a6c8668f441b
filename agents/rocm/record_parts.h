// SPDX-License-Identifier: Apache-2.0
// The words of the agent's records, each described once (src/wire/record_part.h), and the fields that are this agent's own. They
// have the names of the columns of rocprofv3's databases. Times are ns of the trace clock, but for roctx (markers.c).
#ifndef ROCM_RECORD_PARTS_H
#define ROCM_RECORD_PARTS_H

#include "agentkit/record_words.h"

// OWN(member of `fields`, name in the trace, type, unit)
#define ROCM_FIELDS(OWN)                                                                                     \
    OWN(private_segment, "private_segment_size", U64, "bytes")                                               \
    OWN(group_segment, "group_segment_size", U64, "bytes")                                                   \
    OWN(dispatch, "dispatch_id", U64, "")                                                                    \
    OWN(event, "hipEvent", U64, "")                                                                          \
    OWN(graph, "graph_exec_id", U64, "")                                                                     \
    OWN(kernels, "kernel_dispatch_count", U64, "")

#define KERNEL_WORDS(WORD)                                                                                   \
    CAUSED_SPAN_WORDS(WORD)                                                                                  \
    WORD(dispatch, fields.dispatch, OPTIONAL(RECORD_DYNAMIC))                                                \
    WORD(global_x, TSMITH_FIELD_GLOBAL_X, OPTIONAL(RECORD_VALUE))                                            \
    WORD(local_x, TSMITH_FIELD_LOCAL_X, OPTIONAL(RECORD_VALUE))
#define KERNEL_SEGMENTS_WORDS(WORD)                                                                          \
    WORD(private_segment, fields.private_segment, RECORD_DYNAMIC)                                            \
    WORD(group_segment, fields.group_segment, RECORD_DYNAMIC)

// It ran at an unknown time: `start` is that of its launch.
#define UNTIMED_WORDS(WORD)                                                                                  \
    WORD(start, TSMITH_FIELD_START, RECORD_VALUE)                                                            \
    WORD(certainty, TSMITH_FIELD_CERTAINTY, RECORD_VALUE)                                                    \
    CAUSE_WORDS(WORD)

#define COPY_WORDS(WORD)                                                                                     \
    CAUSED_SPAN_WORDS(WORD)                                                                                  \
    WORD(operation, TSMITH_FIELD_OPERATION, OPTIONAL(RECORD_VALUE))                                          \
    WORD(direction, TSMITH_FIELD_DIRECTION, OPTIONAL(RECORD_VALUE))                                          \
    WORD(source, TSMITH_FIELD_SOURCE, OPTIONAL(RECORD_VALUE))                                                \
    WORD(destination, TSMITH_FIELD_DESTINATION, OPTIONAL(RECORD_VALUE))

#define CALL_WORDS(WORD)                                                                                     \
    NAMED_SPAN_WORDS(WORD)                                                                                   \
    WORD(category, TSMITH_FIELD_CATEGORY, RECORD_STRING)                                                     \
    WORD(stack, TSMITH_FIELD_STACK, OPTIONAL(RECORD_STACK))

#define MEMORY_WORDS(WORD)                                                                                   \
    CAUSED_SPAN_WORDS(WORD)                                                                                  \
    WORD(address, TSMITH_FIELD_OBJECT, OPTIONAL(RECORD_VALUE))                                               \
    WORD(bytes, TSMITH_FIELD_BYTES, OPTIONAL(RECORD_VALUE))

#define EVENT_WORDS(WORD)                                                                                    \
    CAUSED_SPAN_WORDS(WORD)                                                                                  \
    WORD(event, fields.event, OPTIONAL(RECORD_DYNAMIC))
// The list is one word longer than this: the correlation of what it waited for.
#define WAIT_WORDS(WORD)                                                                                     \
    EVENT_WORDS(WORD)                                                                                        \
    WORD(operation, TSMITH_FIELD_OPERATION, RECORD_VALUE)                                                    \
    WORD(waits, TSMITH_FIELD_WAITS, RECORD_LIST)

#define GRAPH_WORDS(WORD)                                                                                    \
    CAUSED_SPAN_WORDS(WORD)                                                                                  \
    WORD(graph, fields.graph, OPTIONAL(RECORD_DYNAMIC))                                                      \
    WORD(kernels, fields.kernels, OPTIONAL(RECORD_DYNAMIC))

// Kernels: which parts follow KERNEL_WORDS, a bit each.
enum { KERNEL_3D = 1, KERNEL_SEGMENTS = 2, KERNEL_SHAPES = 4 };

// RECORD(name of the shape, its parts are LIST, kind of the event)
#define ROCM_RECORDS(RECORD)                                                                                 \
    RECORD(untimed, UNTIMED_WORDS, KERNEL)                                                                   \
    RECORD(untimed_copy, UNTIMED_WORDS, MEMCPY)                                                              \
    RECORD(copy, COPY_WORDS, MEMCPY)                                                                         \
    RECORD(call, CALL_WORDS, API)                                                                            \
    RECORD(alloc, MEMORY_WORDS, ALLOC)                                                                       \
    RECORD(release, MEMORY_WORDS, FREE)                                                                      \
    RECORD(event, EVENT_WORDS, EVENT_RECORD)                                                                 \
    RECORD(wait, WAIT_WORDS, SYNC)                                                                           \
    RECORD(graph, GRAPH_WORDS, GRAPH_LAUNCH)

#define ROCM_PART(name, LIST, kind) RECORD_PART(name##_words, LIST)
RECORD_PART(kernel_words, KERNEL_WORDS)
RECORD_PART(kernel_3d_words, KERNEL_3D_WORDS)
RECORD_PART(kernel_segments_words, KERNEL_SEGMENTS_WORDS)
RECORD_PART(bytes_words, BYTES_WORDS)
ROCM_RECORDS(ROCM_PART)
#undef ROCM_PART

#endif
