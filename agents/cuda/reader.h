// SPDX-License-Identifier: Apache-2.0
// What reading a buffer keeps to itself (records.c), for the files that translate kinds of records.
#ifndef CUDA_READER_H
#define CUDA_READER_H

#include "agentkit/reader.h"
#include "agentkit/sums.h"
#include "agentkit/texts.h"
#include "launches.h"
#include "library.h"
#include "shapes.h"

enum { READER_NAMES = 2048 };

// One per thread that reads at the same time; reused, so what it remembers stays warm.
struct reader {
    struct reader_base base;
    uint32_t device, context, stream, queue; // the queue's track found last
    uint32_t sums_device, sums;              // the track of the sums found last, and its device
    uint32_t tid, thread;                    // the thread's
    uint32_t no_tid;                         // the last that is no thread of the system
    uint64_t ended;                          // launches whose first record this was
    uint64_t thinned;                        // counted per buffer
    uint32_t generation;                     // of the names
    struct {
        const char *text;
        uint32_t id;
    } names[READER_NAMES];
};

uint32_t reader_queue_slow(struct reader *reader, uint32_t device, uint32_t context, uint32_t stream);
static inline uint32_t reader_queue(struct reader *reader, uint32_t device, uint32_t context,
                                    uint32_t stream) {
    if (__builtin_expect(reader->device == device && reader->context == context && reader->stream == stream &&
                             reader->queue,
                         1))
        return reader->queue;
    return reader_queue_slow(reader, device, context, stream);
}
// What is added to a sum in place of a record (agentkit/sums.h).
struct reader_sum {
    tsmith_kind kind;
    uint32_t device; // CUPTI_NONE: of the host
    uint32_t name, stack;
    tsmith_operation operation;
    tsmith_direction direction;
    uint64_t bytes;
    const struct span *span; // NULL: it has no times
    uint64_t queued, start;  // of CUPTI's clock; 0: not known
};
void reader_add_up(struct reader *reader, const struct reader_sum *sum);

// The track of a thread that a record names; `launched_by`, where that is known otherwise, if CUPTI cannot name threads as
// the system does.
uint32_t reader_thread(struct reader *reader, uint32_t tid, uint32_t launched_by);
// The string id of a kernel's name.
uint32_t reader_kernel_name(struct reader *reader, const char *name);

// Values of CAUSE_WORDS (agentkit/record_words.h).
#define READER_LAUNCHED(id, text, launch)                                                                    \
    .correlation = reader_correlation(id), .name = (text), .host_track = (launch)->track,                    \
    .stack = (launch)->stack

// X(kind, function that translates its records, their struct): the one list, but for calls, devices and contexts.
#define CUDA_TRANSLATED_KINDS(X)                                                                             \
    /* records_device.c */                                                                                   \
    X(CONCURRENT_KERNEL, record_kernel, cupti_kernel)                                                        \
    X(MEMCPY, record_memcpy, cupti_memcpy)                                                                   \
    X(MEMCPY2, record_peer_copy, cupti_peer_copy)                                                            \
    X(MEMSET, record_memset, cupti_memset)                                                                   \
    X(GRAPH_TRACE, record_graph, cupti_graph_trace)                                                          \
    X(DEVICE_GRAPH_TRACE, record_device_graph, cupti_device_graph)                                           \
    X(MEM_DECOMPRESS, record_decompress, cupti_decompress)                                                   \
    X(CUDA_EVENT, record_cuda_event, cupti_cuda_event)                                                       \
    X(CONTEXT_SWITCH, record_context_switch, cupti_context_switch)                                           \
    /* records_host.c */                                                                                     \
    X(SYNCHRONIZATION, record_synchronization, cupti_synchronization)                                        \
    X(OVERHEAD, record_overhead, cupti_overhead)                                                             \
    X(JIT, record_jit, cupti_jit)                                                                            \
    X(EXTERNAL_CORRELATION, record_external, cupti_external)                                                 \
    X(GRAPH_HOST_NODE, record_graph_host_node, cupti_graph_host_node)                                        \
    X(HOST_LAUNCH, record_host_launch, cupti_host_launch)                                                    \
    /* records_memory.c */                                                                                   \
    X(MEMORY2, record_memory, cupti_memory)                                                                  \
    X(MEMORY_POOL, record_pool, cupti_memory_pool)                                                           \
    X(UNIFIED_MEMORY, record_unified_memory, cupti_unified_memory)
#define READER_TRANSLATES(kind, function, type)                                                              \
    void function(struct reader *reader, const struct type *record);
CUDA_TRANSLATED_KINDS(READER_TRANSLATES)
#undef READER_TRANSLATES
void record_call(struct reader *reader, int domain, const struct cupti_api *record);

#endif
