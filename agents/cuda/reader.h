// SPDX-License-Identifier: Apache-2.0
// What reading a buffer keeps to itself (records.c), for the files that translate kinds of records.
#ifndef CUDA_READER_H
#define CUDA_READER_H

#include "cupti.h"
#include "launches.h"
#include "shapes.h"
#include "timebase.h"

enum { READER_NAMES = 2048 };

// One per thread that reads at the same time; reused, so what it remembers stays warm.
struct reader {
    struct ring *ring;
    struct timebase base;
    int64_t earliest, latest;                       // trace times that a record can be of
    uint32_t device, context, stream, queue;        // the queue's track found last
    uint32_t tid, thread;                           // the thread's
    uint64_t ended;                                 // launches whose first record this was
    uint64_t untimed, unknown, unlaunched, thinned; // for the ledger, counted per buffer
    uint32_t generation;                            // of the names
    struct {
        const char *text;
        uint32_t id;
    } names[READER_NAMES];
};

// When something happened that CUPTI gives start and end of, on the trace clock.
struct span {
    int64_t start;
    uint64_t duration;
};
// False: CUPTI gave no times, or such as cannot be. CUPTI's clock may change while CUDA initialises: what began before that
// and ended after it has no duration.
bool reader_span_slow(struct reader *reader, uint64_t start, uint64_t end, struct span *out);
static inline bool reader_span(struct reader *reader, uint64_t start, uint64_t end, struct span *out) {
    if (__builtin_expect(start < reader->base.low || end >= reader->base.high || end < start, 0))
        return reader_span_slow(reader, start, end, out);
    out->start = timebase_convert(&reader->base, start);
    out->duration = end - start;
    return out->start >= reader->earliest && out->start <= reader->latest;
}
// For one time. 0 means unknown in CUPTI.
static inline bool reader_time(struct reader *reader, uint64_t time, uint64_t *out) {
    const int64_t at = time ? timebase_convert(&reader->base, time) : TIMEBASE_UNKNOWN;
    *out = (uint64_t)at;
    return at >= reader->earliest && at <= reader->latest;
}

uint32_t reader_queue_slow(struct reader *reader, uint32_t device, uint32_t context, uint32_t stream);
static inline uint32_t reader_queue(struct reader *reader, uint32_t device, uint32_t context,
                                    uint32_t stream) {
    if (__builtin_expect(reader->device == device && reader->context == context && reader->stream == stream &&
                             reader->queue,
                         1))
        return reader->queue;
    return reader_queue_slow(reader, device, context, stream);
}
// The track of a thread that a record names; `launched_by`, where that is known otherwise, if CUPTI cannot name threads as
// the system does.
uint32_t reader_thread(struct reader *reader, uint32_t tid, uint32_t launched_by);
// The string id of a kernel's name.
uint32_t reader_kernel_name(struct reader *reader, const char *name);
static inline uint64_t reader_correlation(uint32_t correlation) {
    return correlation ? cuda_correlation_base + correlation : 0;
}

// Values of SPAN_WORDS and of LAUNCHED_WORDS (record_parts.h).
#define READER_SPAN(span) .start = (uint64_t)(span)->start, .duration = (span)->duration
#define READER_LAUNCHED(id, text, launch)                                                                    \
    .correlation = reader_correlation(id), .name = (text), .host_track = (launch)->track,                    \
    .stack = (launch)->stack

// records_device.c
void record_kernel(struct reader *reader, const struct cupti_kernel *record);
void record_memcpy(struct reader *reader, const struct cupti_memcpy *record);
void record_peer_copy(struct reader *reader, const struct cupti_peer_copy *record);
void record_memset(struct reader *reader, const struct cupti_memset *record);
void record_graph(struct reader *reader, const struct cupti_graph_trace *record);
void record_device_graph(struct reader *reader, const struct cupti_device_graph *record);
void record_decompress(struct reader *reader, const struct cupti_decompress *record);
void record_cuda_event(struct reader *reader, const struct cupti_cuda_event *record);
// records_host.c
void record_call(struct reader *reader, int domain, const struct cupti_api *record);
void record_synchronization(struct reader *reader, const struct cupti_synchronization *record);
void record_overhead(struct reader *reader, const struct cupti_overhead *record);
void record_jit(struct reader *reader, const struct cupti_jit *record);
void record_external(struct reader *reader, const struct cupti_external *record);
void record_graph_host_node(struct reader *reader, const struct cupti_graph_host_node *record);
void record_host_launch(struct reader *reader, const struct cupti_host_launch *record);
// records_memory.c
void record_memory(struct reader *reader, const struct cupti_memory *record);
void record_pool(struct reader *reader, const struct cupti_memory_pool *record);
void record_unified_memory(struct reader *reader, const struct cupti_unified_memory *record);

// Strings that are always the same, interned at their first use: names[index], ids[index].
uint32_t reader_constant(_Atomic uint32_t *id, const char *text);

#endif
