// SPDX-License-Identifier: Apache-2.0
// The words of the agent's records, each described once (src/wire/record_part.h), and the fields that are this agent's own. They
// have the names of the columns of rocprofv3's databases. Times are ns of the trace clock, but for roctx (markers.c).
#ifndef ROCM_RECORD_PARTS_H
#define ROCM_RECORD_PARTS_H

#include "agentkit/record_words.h"

// OWN(member of `fields`, name in the trace, type, unit)
// clang-format off
#define ROCM_FIELDS(OWN) \
    OWN(private_segment, "private_segment_size", U64, "bytes") \
    OWN(group_segment, "group_segment_size", U64, "bytes") OWN(dispatch, "dispatch_id", U64, "") \
    OWN(event, "hipEvent", U64, "") OWN(graph, "graph_exec_id", U64, "") \
    OWN(kernels, "kernel_dispatch_count", U64, "")

#define KERNEL_WORDS(WORD) \
    CAUSED_SPAN_WORDS(WORD) OWN_OR_NONE(WORD, dispatch) \
    WORD(global_x, TSMITH_FIELD_GLOBAL_X, OPTIONAL(RECORD_VALUE)) \
    WORD(local_x, TSMITH_FIELD_LOCAL_X, OPTIONAL(RECORD_VALUE))
#define KERNEL_SEGMENTS_WORDS(WORD) OWN_WORD(WORD, private_segment) OWN_WORD(WORD, group_segment)

// It ran at an unknown time: `start` is that of its launch.
#define UNTIMED_WORDS(WORD) \
    WORD(start, TSMITH_FIELD_START, RECORD_VALUE) CERTAINTY_WORD(WORD) CAUSE_WORDS(WORD)

#define COPY_WORDS(WORD) \
    CAUSED_SPAN_WORDS(WORD) OPERATION_OR_NONE(WORD) DIRECTION_OR_NONE(WORD) BYTES_OR_NONE(WORD) \
    SOURCE_OR_NONE(WORD) DESTINATION_OR_NONE(WORD)
// clang-format on

#define CALL_WORDS(WORD) NAMED_SPAN_WORDS(WORD) CATEGORY_WORD(WORD) STACK_OR_NONE(WORD)

#define MEMORY_WORDS(WORD) CAUSED_SPAN_WORDS(WORD) HANDLE_OR_NONE(WORD) BYTES_OR_NONE(WORD)

#define EVENT_WORDS(WORD) CAUSED_SPAN_WORDS(WORD) OWN_OR_NONE(WORD, event)
// The list is one word longer than this: the correlation of what it waited for.
#define WAIT_WORDS(WORD) EVENT_WORDS(WORD) OPERATION_WORD(WORD) WORD(waits, TSMITH_FIELD_WAITS, RECORD_LIST)

#define GRAPH_WORDS(WORD) CAUSED_SPAN_WORDS(WORD) OWN_OR_NONE(WORD, graph) OWN_OR_NONE(WORD, kernels)

// Kernels: which parts follow KERNEL_WORDS, a bit each.
enum { KERNEL_3D = 1, KERNEL_SEGMENTS = 2, KERNEL_SHAPES = 4 };

// RECORD(name of the shape, its parts are LIST, kind of the event)
// clang-format off
#define ROCM_RECORDS(RECORD) \
    RECORD(untimed, UNTIMED_WORDS, KERNEL) RECORD(untimed_copy, UNTIMED_WORDS, MEMCPY) \
    RECORD(copy, COPY_WORDS, MEMCPY) RECORD(call, CALL_WORDS, API) RECORD(alloc, MEMORY_WORDS, ALLOC) \
    RECORD(release, MEMORY_WORDS, FREE) RECORD(event, EVENT_WORDS, EVENT_RECORD) \
    RECORD(wait, WAIT_WORDS, SYNC) RECORD(graph, GRAPH_WORDS, GRAPH_LAUNCH)
// clang-format on

RECORD_PART(kernel_words, KERNEL_WORDS)
RECORD_PART(kernel_3d_words, KERNEL_3D_WORDS)
RECORD_PART(kernel_segments_words, KERNEL_SEGMENTS_WORDS)
ROCM_RECORDS(TRACK_RECORD_PART)

#endif
