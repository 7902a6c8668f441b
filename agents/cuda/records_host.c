// SPDX-License-Identifier: Apache-2.0
// What the host did: calls, waits, compilation, what CUPTI itself cost. Rules: agent.h.
#include <string.h>

#include "library.h"
#include "reader.h"
#include "shapes.h"
#include "thinning.h"
#include "tracks.h"

// ---- calls

enum { CALLS = 2048 };

// "cudaLaunchKernel_v7000" is cudaLaunchKernel to its caller; "_v2" and "_ptsz" tell entry points apart and stay.
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

static bool left_out(int domain, uint32_t id) {
    const uint32_t level = agent_overhead_level();
    return level >= THINNING_CALLS || (level >= THINNING_DRIVER && domain == CUPTI_DOMAIN_DRIVER) ||
           (level >= THINNING_OTHER_CALLS && !launches_matter(domain, id));
}

void record_call(struct reader *reader, int domain, const struct cupti_api *record) {
    struct launch launch;
    struct span span;
    if (agent_overhead.on && left_out(domain, record->cbid)) {
        reader->thinned++;
        return;
    }
    if (!reader_span(reader, record->start, record->end, &span)) {
        reader->untimed++;
        return;
    }
    launches_find(record->correlation, LAUNCH_LOOK, &launch, &reader->ended);
    const uint32_t words = launch.stack ? 7 : 6;
    uint64_t *at = reader_reserve(reader, launch.stack ? shapes.call_stack : shapes.call, words,
                                  reader_thread(reader, record->thread, launch.track));
    if (!at)
        return;
    at[1] = (uint64_t)span.start;
    at[2] = span.duration;
    at[3] = reader_correlation(record->correlation);
    at[4] = call_name(domain, record->cbid);
    at[5] = record->result;
    if (launch.stack)
        at[6] = launch.stack;
    ring_commit(reader->ring, words);
}

// ---- waits

// On the thread that waited, where its call was seen; a stream that waits for an event waits on its own track.
void record_synchronization(struct reader *reader, const struct cupti_synchronization *record) {
    enum { WORDS = 10, EVENT = 1, STREAM_WAITS = 2, STREAM = 3, CONTEXT = 4, TYPES = 5 };
    static const char *const names[TYPES] = {"wait", "event wait", "stream waits for event", "stream wait",
                                             "context wait"};
    static const uint8_t operations[TYPES] = {TSMITH_OPERATION_WAIT, TSMITH_OPERATION_WAIT,
                                              TSMITH_OPERATION_WAIT, TSMITH_OPERATION_FINISH,
                                              TSMITH_OPERATION_DEVICE_SYNC};
    static _Atomic uint32_t ids[TYPES];
    struct launch launch;
    struct span span;
    const uint32_t type = record->type < TYPES ? record->type : 0;
    if (!reader_span(reader, record->start, record->end, &span)) {
        reader->untimed++;
        return;
    }
    launches_find(record->correlation, LAUNCH_LOOK, &launch, &reader->ended);
    const uint32_t queue =
        record->stream == CUPTI_NONE ? 0 : tracks_known_stream(record->context, record->stream);
    uint32_t track = type == STREAM_WAITS ? queue : launch.track;
    if (!track)
        track = queue ? queue : tracks_stream(0, CUPTI_NONE, CUPTI_NONE, "waits of unknown threads");
    uint64_t *at = reader_reserve(reader, shapes.sync, WORDS, track);
    if (!at)
        return;
    at[1] = (uint64_t)span.start;
    at[2] = span.duration;
    at[3] = reader_correlation(record->correlation);
    at[4] = reader_constant(&ids[type], names[type]);
    at[5] = operations[type];
    at[6] = queue;
    at[7] = launch.track;
    at[8] = record->event == CUPTI_NONE ? 0 : record->event;
    at[9] = cupti_has(CUPTI_12_8) ? record->result : 0;
    ring_commit(reader->ring, WORDS);
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
    static _Atomic uint32_t ids[sizeof high / sizeof *high], compiler;
    if (kind == 1)
        return reader_constant(&compiler, "driver compiler");
    kind >>= 16;
    return kind < sizeof high / sizeof *high ? reader_constant(&ids[kind], high[kind]) : 0;
}

void record_overhead(struct reader *reader, const struct cupti_overhead *record) {
    enum { WORDS = 5, PROCESS = 1, THREAD = 2, DEVICE = 3, CONTEXT = 4, STREAM = 5 };
    uint32_t track;
    struct span span;
    if (!reader_span(reader, record->start, record->end, &span)) {
        reader->untimed++;
        return;
    }
    if (record->object_kind == THREAD && record->object.host.thread)
        track = reader_thread(reader, record->object.host.thread, 0);
    else if (record->object_kind == STREAM)
        track = reader_queue(reader, record->object.device.device, record->object.device.context,
                             record->object.device.stream);
    else
        track = tracks_stream(record->object_kind >= DEVICE ? record->object.device.device : 0, CUPTI_NONE,
                              CUPTI_NONE, "CUPTI overhead");
    uint64_t *at = reader_reserve(reader, shapes.overhead, WORDS, track);
    if (!at)
        return;
    at[1] = (uint64_t)span.start;
    at[2] = span.duration;
    at[3] = overhead_name(record->overhead_kind);
    at[4] = cupti_has(CUPTI_12_3) ? reader_correlation(record->correlation) : 0;
    ring_commit(reader->ring, WORDS);
}

void record_jit(struct reader *reader, const struct cupti_jit *record) {
    enum { WORDS = 8, ENTRIES = 3, OPERATIONS = 4 };
    static const char *const names[ENTRIES][OPERATIONS] = {
        {"JIT", "JIT cache load", "JIT cache store", "JIT compile"},
        {"PTX to cubin", "PTX to cubin, cache load", "PTX to cubin, cache store", "PTX to cubin, compile"},
        {"NVVM IR to PTX", "NVVM IR to PTX, cache load", "NVVM IR to PTX, cache store",
         "NVVM IR to PTX, compile"}};
    static _Atomic uint32_t ids[ENTRIES][OPERATIONS];
    enum { COMPILES = 3 };
    const uint32_t entry = record->entry < ENTRIES ? record->entry : 0;
    struct span span;
    const uint32_t operation = record->operation < OPERATIONS ? record->operation : 0;
    if (!reader_span(reader, record->start, record->end, &span)) {
        reader->untimed++;
        return;
    }
    const uint32_t track = cupti_has(CUPTI_12_4) && record->thread
                               ? reader_thread(reader, record->thread, 0)
                               : tracks_stream(record->device, CUPTI_NONE, CUPTI_NONE, "JIT compiler");
    uint64_t *at = reader_reserve(reader, shapes.compile, WORDS, track);
    if (!at)
        return;
    at[1] = (uint64_t)span.start;
    at[2] = span.duration;
    at[3] = reader_constant(&ids[entry][operation], names[entry][operation]);
    at[4] = operation == COMPILES ? TSMITH_OPERATION_COMPILE : 0;
    at[5] = reader_correlation(record->correlation);
    at[6] = record->cache_path ? channel_string_cstr(agent.channel, record->cache_path) : 0;
    at[7] = record->cache_bytes;
    ring_commit(reader->ring, WORDS);
}

// What the program (or a framework in it) calls the work of a call: at the call's time, where that was seen.
void record_external(struct reader *reader, const struct cupti_external *record) {
    enum { WORDS = 6, KINDS = 6 };
    static const char *const names[KINDS] = {
        "external id",           "external id",           "OpenACC",
        "external id, custom 0", "external id, custom 1", "external id, custom 2"};
    static _Atomic uint32_t ids[KINDS];
    struct launch launch;
    const uint32_t kind = record->external_kind < KINDS ? record->external_kind : 0;
    launches_find(record->correlation, LAUNCH_LOOK, &launch, &reader->ended);
    const uint32_t track =
        launch.track ? launch.track : tracks_stream(0, CUPTI_NONE, CUPTI_NONE, "external correlation");
    uint64_t *at = reader_reserve(reader, shapes.external, WORDS, track);
    if (!at)
        return;
    at[1] = (uint64_t)(launch.time ? launch.time : clock_trace_now());
    at[2] = reader_constant(&ids[kind], names[kind]);
    at[3] = reader_correlation(record->correlation);
    at[4] = record->external_id;
    at[5] = 1; // the record has no time of its own
    ring_commit(reader->ring, WORDS);
}
