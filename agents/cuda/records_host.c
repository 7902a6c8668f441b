// SPDX-License-Identifier: Apache-2.0
// What the host did: calls, waits, compilation, what CUPTI itself cost. Rules: agent.h.
#include <string.h>

#include "graph_nodes.h"
#include "library.h"
#include "reader.h"
#include "throttling.h"
#include "tracks.h"

// ---- calls

enum { CALLS = 2048 };

// "cudaLaunchKernel_v7000" is cudaLaunchKernel to its caller; "_v2" and "_ptsz" distinguish entry points and stay.
static uint32_t intern_call(const char *name) {
    const char *version = strstr(name, "_v");
    while (version && strspn(version + 2, "0123456789") < 4)
        version = strstr(version + 1, "_v");
    return channel_string(agent.channel, name, version ? (size_t)(version - name) : strlen(name));
}

static uint32_t call_name(int domain, uint32_t id) {
    static _Atomic uint32_t names[2][CALLS];
    const char *name = NULL;
    if (id >= CALLS)
        return 0;
    uint32_t known = atomic_load_explicit(&names[domain - 1][id], memory_order_relaxed);
    if (!known && cupti.GetCallbackName(domain, id, &name) == CUPTI_OK && name) {
        known = intern_call(name);
        atomic_store_explicit(&names[domain - 1][id], known, memory_order_relaxed);
    }
    return known;
}

static bool call_is_left_out(int domain, uint32_t id) {
    const uint32_t level = agent_overhead_level();
    return level >= THROTTLING_CALLS || (level >= THROTTLING_DRIVER && domain == CUPTI_DOMAIN_DRIVER) ||
           (level >= THROTTLING_OTHER_CALLS && !launches_matter(domain, id));
}

void record_call(struct reader *reader, int domain, const struct cupti_api *record) {
    struct launch launch;
    struct span span;
    if (agent_overhead.on && call_is_left_out(domain, record->cbid)) {
        reader->thinned++;
        return;
    }
    if (!reader_needs_span(&reader->base, record->start, record->end, &span))
        return;
    launches_find(record->correlation, LAUNCH_LOOK, &launch, &reader->ended);
    const uint32_t name = call_name(domain, record->cbid);
    if (sums_on) {
        reader_add_up(reader, &(struct reader_sum){.kind = TSMITH_KIND_API,
                                                   .device = CUPTI_NONE,
                                                   .name = name,
                                                   .stack = launch.stack,
                                                   .span = &span});
        return;
    }
    const uint32_t track = reader_thread(reader, record->thread, launch.track);
#define CALL                                                                                                 \
    READER_SPAN(&span), .correlation = reader_correlation(record->correlation), .name = name,                \
                        .result = record->result
    if (launch.stack)
        TRACK_RECORD_WRITE(reader->base.ring, call_stack, track, CALL, .stack = launch.stack);
    else
        TRACK_RECORD_WRITE(reader->base.ring, call, track, CALL);
#undef CALL
}

// ---- waits

// On the thread that waited, where its call was seen; a stream that waits for an event waits on its own track.
void record_synchronization(struct reader *reader, const struct cupti_synchronization *record) {
    enum { STREAM_WAITS = 2, TYPES = 5 };
    static const char *const names[TYPES] = {"wait", "event wait", "stream waits for event", "stream wait",
                                             "context wait"};
    static const uint8_t operations[TYPES] = {TSMITH_OPERATION_WAIT, TSMITH_OPERATION_WAIT,
                                              TSMITH_OPERATION_STREAM_WAIT, TSMITH_OPERATION_FINISH,
                                              TSMITH_OPERATION_DEVICE_SYNC};
    struct launch launch;
    struct span span;
    const uint32_t type = record->type < TYPES ? record->type : 0;
    if (!reader_needs_span(&reader->base, record->start, record->end, &span))
        return;
    launches_find(record->correlation, LAUNCH_LOOK, &launch, &reader->ended);
    const uint32_t queue =
        record->stream == CUPTI_NONE ? 0 : tracks_stream_of_context(record->context, record->stream);
    // All streams of a context that waits (cuCtxWaitEvent) have no track together: the wait is on the thread that asked for it.
    uint32_t track = type == STREAM_WAITS && queue ? queue : launch.track;
    if (!track)
        track = queue ? queue : tracks_stream(0, CUPTI_NONE, CUPTI_NONE, "waits of unknown threads");
    const uint32_t name = TEXT_AT(names, type);
    if (sums_on) {
        reader_add_up(reader, &(struct reader_sum){.kind = TSMITH_KIND_SYNC,
                                                   .device = CUPTI_NONE,
                                                   .name = name,
                                                   .stack = launch.stack,
                                                   .operation = operations[type],
                                                   .span = &span});
        return;
    }
    TRACK_RECORD_WRITE(reader->base.ring, sync, track, READER_SPAN(&span),
                       .correlation = reader_correlation(record->correlation), .name = name,
                       .operation = operations[type], .queue = queue, .host_track = launch.track,
                       .event = record->event == CUPTI_NONE ? 0 : record->event,
                       .result = cupti_has(CUPTI_12_8) ? record->result : 0);
}

// ---- the rest

static uint32_t overhead_name(uint32_t kind) {
    static const char *const high[] = {"CUPTI",
                                       "CUPTI buffer flush",
                                       "CUPTI instrumentation",
                                       "CUPTI resource",
                                       "module loading of the runtime",
                                       "lazy function loading",
                                       "command buffer full",
                                       "CUPTI buffer request",
                                       "unified memory activity set-up"};
    return kind == 1 ? TEXT_ONCE("driver compiler") : TEXT_AT(high, kind >> 16);
}

struct host_function {
    uint64_t start, end;
    uint32_t queue, thread;
    uint32_t correlation, graph;
    uint64_t graph_node;
};

// On the thread that ran it, since it keeps no device busy.
static void write_host_function(struct reader *reader, const struct host_function *function,
                                const struct launch *launch) {
    struct span span;
    if (!reader_needs_span(&reader->base, function->start, function->end, &span))
        return;
    const uint32_t track = cupti.system_threads && function->thread
                               ? reader_thread(reader, function->thread, 0)
                               : tracks_stream(0, CUPTI_NONE, CUPTI_NONE, "host functions");
    TRACK_RECORD_WRITE(reader->base.ring, host_function, track, READER_SPAN(&span),
                       READER_LAUNCHED(function->correlation, TEXT_ONCE("host function"), launch),
                       .operation = TSMITH_OPERATION_NATIVE, .queue = function->queue,
                       .graph = function->graph, .graph_node = function->graph_node);
}

#define HOST_FUNCTION(reader, record)                                                                        \
    .start = record->start, .end = record->end, .thread = record->thread,                                    \
    .correlation = record->correlation,                                                                      \
    .queue = reader_queue(reader, record->device, record->context, record->stream)

void record_graph_host_node(struct reader *reader, const struct cupti_graph_host_node *record) {
    const struct host_function function = {HOST_FUNCTION(reader, record), .graph = record->graph,
                                           .graph_node = record->graph_node};
    struct launch launch;
    // A graph of nothing else has no other record: its launch is not missing.
    launches_find(record->correlation, LAUNCH_RECORD, &launch, &reader->ended);
    graph_nodes_look_up(record->graph_node, &launch);
    write_host_function(reader, &function, &launch);
}

void record_host_launch(struct reader *reader, const struct cupti_host_launch *record) {
    const struct host_function function = {HOST_FUNCTION(reader, record)};
    struct launch launch;
    launches_find(record->correlation, LAUNCH_LOOK, &launch, &reader->ended);
    write_host_function(reader, &function, &launch);
}

void record_overhead(struct reader *reader, const struct cupti_overhead *record) {
    enum { THREAD = 2, DEVICE = 3, STREAM = 5 };
    uint32_t track;
    struct span span;
    if (!reader_needs_span(&reader->base, record->start, record->end, &span))
        return;
    // Before 12.4 the thread is pthread_self() regardless of cuptiSetThreadIdType (release notes of CUDA 12.4).
    if (record->object_kind == THREAD && record->object.host.thread && cupti_has(CUPTI_12_4))
        track = reader_thread(reader, record->object.host.thread, 0);
    else if (record->object_kind == STREAM)
        track = reader_queue(reader, record->object.device.device, record->object.device.context,
                             record->object.device.stream);
    else
        track = tracks_stream(record->object_kind >= DEVICE ? record->object.device.device : 0, CUPTI_NONE,
                              CUPTI_NONE, "CUPTI overhead");
    TRACK_RECORD_WRITE(reader->base.ring, overhead, track, READER_SPAN(&span),
                       .name = overhead_name(record->overhead_kind),
                       .correlation = cupti_has(CUPTI_12_3) ? reader_correlation(record->correlation) : 0);
}

void record_jit(struct reader *reader, const struct cupti_jit *record) {
    enum { ENTRIES = 3, OPERATIONS = 4 };
    static const char *const names[ENTRIES * OPERATIONS] = {"JIT",
                                                            "JIT cache load",
                                                            "JIT cache store",
                                                            "JIT compile",
                                                            "PTX to cubin",
                                                            "PTX to cubin, cache load",
                                                            "PTX to cubin, cache store",
                                                            "PTX to cubin, compile",
                                                            "NVVM IR to PTX",
                                                            "NVVM IR to PTX, cache load",
                                                            "NVVM IR to PTX, cache store",
                                                            "NVVM IR to PTX, compile"};
    enum { COMPILES = 3 };
    const uint32_t entry = record->entry < ENTRIES ? record->entry : 0;
    struct span span;
    const uint32_t operation = record->operation < OPERATIONS ? record->operation : 0;
    if (!reader_needs_span(&reader->base, record->start, record->end, &span))
        return;
    const uint32_t track = cupti_has(CUPTI_12_4) && record->thread
                               ? reader_thread(reader, record->thread, 0)
                               : tracks_stream(record->device, CUPTI_NONE, CUPTI_NONE, "JIT compiler");
    TRACK_RECORD_WRITE(reader->base.ring, compile, track, READER_SPAN(&span),
                       .name = TEXT_AT(names, entry * OPERATIONS + operation),
                       .operation = operation == COMPILES ? TSMITH_OPERATION_COMPILE : 0,
                       .correlation = reader_correlation(record->correlation),
                       .cache_path =
                           record->cache_path ? channel_string_cstr(agent.channel, record->cache_path) : 0,
                       .cache_bytes = record->cache_bytes);
}

// What the program (or a framework in it) calls the work of a call: at the call's time, where that was seen.
void record_external(struct reader *reader, const struct cupti_external *record) {
    enum { KINDS = 6 };
    static const char *const names[KINDS] = {
        "external id",           "external id",           "OpenACC",
        "external id, custom 0", "external id, custom 1", "external id, custom 2"};
    struct launch launch;
    const uint32_t kind = record->external_kind < KINDS ? record->external_kind : 0;
    launches_find(record->correlation, LAUNCH_LOOK, &launch, &reader->ended);
    const uint32_t track =
        launch.track ? launch.track : tracks_stream(0, CUPTI_NONE, CUPTI_NONE, "external correlation");
    // The record has no time of its own.
    TRACK_RECORD_WRITE(reader->base.ring, external, track,
                       .start = (uint64_t)(launch.time ? launch.time : clock_trace_now()),
                       .name = TEXT_AT(names, kind), .correlation = reader_correlation(record->correlation),
                       .external = record->external_id, .certainty = TSMITH_CERTAINTY_UNTIMED);
}
