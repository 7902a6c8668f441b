// SPDX-License-Identifier: Apache-2.0
// Where CUPTI's records have the values that decide who wants a record: windows.c and sharing_records.c read them by this table.
#ifndef CUDA_LAYOUTS_H
#define CUDA_LAYOUTS_H

#include <stddef.h>

#include "cupti.h"

enum { RECORD_TIMES = 5, LAYOUT_KNOWN = 1, LAYOUT_OF_DEVICE = 2, LAYOUT_ANY_TIME = 4 };

struct record_layout {
    uint16_t correlation, thread,
        times[RECORD_TIMES]; // offsets; 0: it has none. The first time is that of its beginning.
    // LAYOUT_OF_DEVICE: it may begin long after its launch. LAYOUT_ANY_TIME: it is wanted while recording is off too, because there
    // are few, or other records refer to it.
    uint16_t flags;
};

// LAYOUT(kind, offsets of the correlation id and of the thread, flags, offsets of its times...)
#define LAYOUT(kind, correlation, thread, flags, ...)                                                        \
    [CUPTI_KIND_##kind] = {correlation, thread, {__VA_ARGS__}, (flags) | LAYOUT_KNOWN}
#define AT(type, field) (uint16_t) offsetof(struct cupti_##type, field)
#define ID(type) AT(type, correlation)
#define SPAN(type) AT(type, start), AT(type, end)
#define D LAYOUT_OF_DEVICE
#define A LAYOUT_ANY_TIME
static const struct record_layout record_layouts[CUPTI_KIND_LIMIT] = {
    LAYOUT(CONCURRENT_KERNEL, ID(kernel), 0, D, SPAN(kernel), AT(kernel, completed), AT(kernel, queued),
           AT(kernel, submitted)),
    LAYOUT(MEMCPY, ID(memcpy), 0, D, SPAN(memcpy)),
    LAYOUT(MEMCPY2, ID(peer_copy), 0, D, SPAN(peer_copy)),
    LAYOUT(MEMSET, ID(memset), 0, D, SPAN(memset)),
    LAYOUT(GRAPH_TRACE, ID(graph_trace), 0, D, SPAN(graph_trace)),
    LAYOUT(RUNTIME, ID(api), AT(api, thread), 0, SPAN(api)),
    LAYOUT(DRIVER, ID(api), AT(api, thread), 0, SPAN(api)),
    LAYOUT(SYNCHRONIZATION, ID(synchronization), 0, 0, SPAN(synchronization)),
    LAYOUT(OVERHEAD, 0, AT(overhead, object.host.thread), A, SPAN(overhead)),
    LAYOUT(EXTERNAL_CORRELATION, ID(external), 0, A, 0),
    LAYOUT(MEMORY2, ID(memory), 0, 0, AT(memory, timestamp)),
    LAYOUT(MEMORY_POOL, 0, 0, A, AT(memory_pool, timestamp)),
    LAYOUT(JIT, 0, AT(jit, thread), A, SPAN(jit)),
    LAYOUT(UNIFIED_MEMORY, 0, 0, A, SPAN(unified_memory)),
    LAYOUT(GRAPH_HOST_NODE, ID(graph_host_node), AT(graph_host_node, thread), D, SPAN(graph_host_node)),
    LAYOUT(HOST_LAUNCH, ID(host_launch), AT(host_launch, thread), D, SPAN(host_launch)),
    LAYOUT(CUDA_EVENT, ID(cuda_event), 0, A, AT(cuda_event, timestamp)),
    LAYOUT(CONTEXT_SWITCH, 0, 0, 0, AT(context_switch, timestamp)),
};
#undef LAYOUT
#undef AT
#undef ID
#undef SPAN
#undef D
#undef A

#endif
