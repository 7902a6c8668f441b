// SPDX-License-Identifier: Apache-2.0
// Translates MSPTI's records into records of the ring. MSPTI returns buffers on several threads: they are read one at a time, each in
// the order in which it was filled; nothing is assumed of that order. Rules: agent.h.
#define RECORD_HOOKED 1 // --aggregate
#include <pthread.h>

#include "agent.h"
#include "agentkit/reader.h"
#include "agentkit/texts.h"
#include "agentkit/track_table.h"
#include "record_parts.h"
#include "wire/memory.h"

enum { CALLS = 1 << 18, RANGES = 1 << 14 };

// ---- shapes

static struct { CANN_FIELDS(OWN_FIELD_MEMBER) } fields;

CANN_RECORDS(TRACK_RECORD_SHAPE)

static struct { CANN_RECORDS(TRACK_RECORD_MEMBER) } shapes;

static void register_shapes(struct channel *channel) {
    CANN_FIELDS(OWN_FIELD_REGISTER)
    CANN_RECORDS(TRACK_RECORD_REGISTER)
}

#define WRITE(record, track, ...) TRACK_RECORD_WRITE(reader.ring, record, track, __VA_ARGS__)

// ---- the reader, of one buffer at a time

static struct reader_base reader = {.clock = &mspti_clock};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// The call of a correlation id: MSPTI's ids are counted up, and kernels have that of the call that launched them.
static struct call {
    uint64_t correlation;
    uint32_t track, stack;
} * calls;

// Ranges of mstx that are open, of the host and of a device.
static struct open_range {
    uint64_t id;
    uint32_t source, track; // track 0: the place is empty
    uint32_t name, domain;
    uint64_t start;
} * ranges;

// Where the records of the buffer begin that is read.
enum { RECORD_LEAST = 8, RECORDS = CANN_BUFFER_BYTES / RECORD_LEAST };
static struct { uint32_t count, *at; } found;

bool records_init(void) {
    calls = memory_take(CALLS * sizeof *calls);
    ranges = memory_take(RANGES * sizeof *ranges);
    found.at = memory_take(RECORDS * sizeof *found.at);
    reader_first();
    register_shapes(agent.channel);
    return calls && ranges && found.at;
}

static const struct call *call_of(uint64_t correlation) {
    static const struct call none;
    const struct call *call = &calls[correlation % CALLS];
    return correlation && call->correlation == correlation ? call : &none;
}

#define SPAN READER_SPAN(&span)
#define CAUSE(id, text)                                                                                      \
    .correlation = reader_correlation(id), .name = (text), .host_track = call_of(id)->track,                 \
    .stack = call_of(id)->stack

// ---- records

static void read_kernel(const void *record) {
    const uint64_t correlation = mspti_kernel_correlation(record);
    const uint32_t track = tracks_stream(mspti_kernel_device(record), mspti_kernel_stream(record));
    const uint32_t name = texts_id(mspti_kernel_name(record));
    struct span span;
    if (reader_span(&reader, mspti_kernel_start(record), mspti_kernel_end(record), &span)) {
        WRITE(kernel, track, SPAN, CAUSE(correlation, name), .category = texts_id(mspti_kernel_type(record)));
        return;
    }
    reader.untimed++;
    WRITE(untimed, track, .start = (uint64_t)clock_trace_now(), .certainty = TSMITH_CERTAINTY_UNTIMED,
          CAUSE(correlation, name));
}

static bool is_call(uint32_t kind) {
    return kind == MSPTI_API || kind == MSPTI_ACL_API || kind == MSPTI_NODE_API || kind == MSPTI_RUNTIME_API;
}

// Before the records of a buffer are translated: what belongs to a call may come before it. Calls within a call have its id: the thread
// is the same, and the stack is that of the one that launches.
static void note_call(const void *record) {
    const uint64_t correlation = mspti_api_correlation(record);
    const uint32_t tid = mspti_api_thread(record);
    struct span span;
    if (!correlation || !reader_span(&reader, mspti_api_start(record), mspti_api_end(record), &span))
        return;
    const uint32_t stack = stacks_here_between(tid, span.start, span.start + (int64_t)span.duration);
    calls[correlation % CALLS] =
        (struct call){correlation, track_table_thread(tid), stack ? stack : call_of(correlation)->stack};
}

static void read_call(const void *record, const char *category) {
    const uint32_t tid = mspti_api_thread(record);
    struct span span;
    if (!reader_needs_span(&reader, mspti_api_start(record), mspti_api_end(record), &span))
        return;
    WRITE(call, track_table_thread(tid), SPAN,
          .correlation = reader_correlation(mspti_api_correlation(record)),
          .name = texts_id(mspti_api_name(record)), .category = category ? texts_id(category) : 0,
          .stack = stacks_here_between(tid, span.start, span.start + (int64_t)span.duration));
}

static void read_copy(const void *record) {
    static const uint8_t directions[] = {
        [MSPTI_COPY_HTOH] = TSMITH_DIRECTION_HOST_TO_HOST,
        [MSPTI_COPY_HTOD] = TSMITH_DIRECTION_HOST_TO_DEVICE,
        [MSPTI_COPY_DTOH] = TSMITH_DIRECTION_DEVICE_TO_HOST,
        [MSPTI_COPY_DTOD] = TSMITH_DIRECTION_DEVICE_TO_DEVICE,
    };
    const uint32_t kind = mspti_copy_copy_kind(record);
    struct span span;
    if (reader_needs_span(&reader, mspti_copy_start(record), mspti_copy_end(record), &span))
        WRITE(copy, tracks_stream(mspti_copy_device(record), mspti_copy_stream(record)), SPAN,
              CAUSE(mspti_copy_correlation(record), texts_id("[CANN memcpy]")),
              .operation = TSMITH_OPERATION_COPY,
              .direction = kind < sizeof directions ? directions[kind] : TSMITH_DIRECTION_NONE,
              .bytes = mspti_copy_bytes(record));
}

static void read_set(const void *record) {
    struct span span;
    if (reader_needs_span(&reader, mspti_set_start(record), mspti_set_end(record), &span))
        WRITE(fill, tracks_stream(mspti_set_device(record), mspti_set_stream(record)), SPAN,
              CAUSE(mspti_set_correlation(record), texts_id("[CANN memset]")),
              .operation = TSMITH_OPERATION_FILL, .bytes = mspti_set_bytes(record),
              .value = mspti_set_value(record));
}

static void read_memory(const void *record) {
    static const char *const names[] = {"memory", "device memory", "host memory", "managed memory"};
    const uint32_t kind = mspti_memory_memory_kind(record);
    const uint32_t name = texts_id(names[kind < sizeof names / sizeof *names ? kind : 0]);
    const uint32_t track = tracks_of_device(mspti_memory_device(record), TRACKS_MEMORY);
    struct span span;
    if (!reader_needs_span(&reader, mspti_memory_start(record), mspti_memory_end(record), &span))
        return;
#define MEMORY                                                                                               \
    SPAN, CAUSE(mspti_memory_correlation(record), name), .address = mspti_memory_address(record),            \
                                                         .bytes = mspti_memory_bytes(record)
    if (mspti_memory_operation(record) == MSPTI_RELEASE)
        WRITE(release, track, MEMORY);
    else
        WRITE(alloc, track, MEMORY);
#undef MEMORY
}

static const char *type_name(uint32_t type) {
    static const char *const names[] = {"int8",   "int16", "int32",  "fp16",    "fp32",    "int64",
                                        "uint64", "uint8", "uint16", "uint32",  "fp64",    "bfp16",
                                        "int128", NULL,    "hif8",   "fp8e4m3", "fp8e5m2", "fp8e8m0"};
    return type < sizeof names / sizeof *names ? names[type] : NULL;
}

static void read_communication(const void *record) {
    struct span span;
    if (reader_needs_span(&reader, mspti_comm_start(record), mspti_comm_end(record), &span))
        WRITE(collective, tracks_stream(mspti_comm_device(record), mspti_comm_stream(record)), SPAN,
              CAUSE(mspti_comm_correlation(record), texts_id(mspti_comm_name(record))),
              .count = mspti_comm_count(record), .datatype = texts_id(type_name(mspti_comm_type(record))),
              .algorithm = texts_id(mspti_comm_algorithm(record)),
              .group = texts_id(mspti_comm_group(record)));
}

static void read_hccl(const void *record) {
    struct span span;
    if (reader_needs_span(&reader, mspti_hccl_start(record), mspti_hccl_end(record), &span))
        WRITE(collective, tracks_stream(mspti_hccl_device(record), mspti_hccl_stream(record)), SPAN,
              .name = texts_id(mspti_hccl_name(record)), .group = texts_id(mspti_hccl_comm(record)));
}

static void read_external(const void *record) {
    const uint64_t correlation = mspti_external_correlation(record);
    const struct call *call = call_of(correlation);
    // The record has no time of its own.
    WRITE(external, call->track ? call->track : tracks_of_device(0, TRACKS_EXTERNAL),
          .start = (uint64_t)clock_trace_now(), .name = texts_id("external id"),
          .correlation = reader_correlation(correlation), .external = mspti_external_id(record),
          .certainty = TSMITH_CERTAINTY_UNTIMED);
}

static void read_overhead(const void *record) {
    static const char *const names[] = {"MSPTI", "MSPTI resource", "MSPTI buffer request",
                                        "MSPTI buffer flush"};
    const uint32_t kind = mspti_overhead_overhead_kind(record);
    const bool of_thread = mspti_overhead_object_kind(record) == MSPTI_OBJECT_THREAD;
    struct span span;
    if (reader_needs_span(&reader, mspti_overhead_start(record), mspti_overhead_end(record), &span))
        WRITE(overhead,
              of_thread ? track_table_thread(mspti_overhead_thread(record))
                        : tracks_of_device(0, TRACKS_OVERHEAD),
              SPAN, .name = texts_id(names[kind < sizeof names / sizeof *names ? kind : 0]));
}

// ---- mstx

static struct open_range *range_of(uint64_t id, uint32_t source) {
    for (uint32_t at = (uint32_t)(id * 2 + source) % RANGES, looks = 0; looks < 64;
         looks++, at = (at + 1) % RANGES)
        if (ranges[at].track && ranges[at].id == id && ranges[at].source == source)
            return &ranges[at];
    return NULL;
}

static void open_range(const struct open_range *range) {
    for (uint32_t at = (uint32_t)(range->id * 2 + range->source) % RANGES, looks = 0; looks < 64;
         looks++, at = (at + 1) % RANGES)
        if (!ranges[at].track) {
            ranges[at] = *range;
            return;
        }
    channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
}

// The end of a range has no name, and on a device the begin neither: the host's has it.
static void close_range(const struct open_range *end) {
    struct open_range *range = range_of(end->id, end->source);
    if (!range || end->start < range->start) {
        reader.unmatched++;
        return;
    }
    WRITE(range, range->track, .start = range->start, .duration = end->start - range->start,
          .name = range->name, .category = range->domain);
    range->track = 0;
}

static void read_marker(const void *record) {
    const uint32_t flag = mspti_marker_flag(record), source = mspti_marker_source(record);
    const char *name = mspti_marker_name(record);
    struct open_range range = {.id = mspti_marker_id(record), .source = source};
    if (!reader_needs_time(&reader, mspti_marker_time(record), &range.start))
        return;
    range.track = source == MSPTI_SOURCE_DEVICE
                      ? tracks_stream(mspti_marker_device(record), mspti_marker_stream(record))
                      : track_table_thread(mspti_marker_thread(record));
    range.name = name && *name ? texts_id(name) : 0;
    range.domain = texts_id(mspti_marker_domain(record));
    const struct open_range *host = source == MSPTI_SOURCE_DEVICE ? range_of(range.id, 0) : NULL;
    if (!range.name && host)
        range.name = host->name;
    if (flag & (MSPTI_MARK_START | MSPTI_MARK_DEVICE_START))
        open_range(&range);
    else if (flag & (MSPTI_MARK_END | MSPTI_MARK_DEVICE_END))
        close_range(&range);
    else
        WRITE(mark, range.track, .start = range.start, .name = range.name, .category = range.domain);
}

void records_end(void) {
    uint64_t open = 0;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < RANGES; i++)
        open += ranges[i].track != 0;
    pthread_mutex_unlock(&lock);
    if (open)
        channel_lose(agent.channel, TSMITH_REASON_UNMATCHED, open);
}

// ---- buffers

static void translate(const void *record) {
    switch (mspti_any_kind(record)) {
    case MSPTI_KERNEL:
        return read_kernel(record);
    case MSPTI_API:
        return read_call(record, NULL);
    case MSPTI_ACL_API:
        return read_call(record, "acl");
    case MSPTI_NODE_API:
        return read_call(record, "node");
    case MSPTI_RUNTIME_API:
        return read_call(record, "runtime");
    case MSPTI_MEMCPY:
        return read_copy(record);
    case MSPTI_MEMSET:
        return read_set(record);
    case MSPTI_MEMORY:
        return read_memory(record);
    case MSPTI_COMMUNICATION:
        return read_communication(record);
    case MSPTI_HCCL:
        return read_hccl(record);
    case MSPTI_EXTERNAL_CORRELATION:
        return read_external(record);
    case MSPTI_OVERHEAD:
        return read_overhead(record);
    case MSPTI_MARKER:
        return read_marker(record);
    default:
        reader.unknown++;
    }
}

static size_t bytes_of(uint32_t kind) {
    static const uint8_t bytes[MSPTI_KIND_LIMIT] = {
#define BYTES(NAME, number, type, size) [number] = size,
        MSPTI_KINDS(BYTES)
#undef BYTES
    };
    return kind < MSPTI_KIND_LIMIT ? bytes[kind] : 0;
}

// Finds the records of a buffer, notes the calls among them, and returns whether all could be read. The iterator is MSPTI's code, which
// is asked once for each record; it may still be in a buffer before.
static bool find_records(uint8_t *buffer, size_t valid) {
    void *record = NULL;
    int result;
    found.count = 0;
    (void)mspti.ActivityGetNextRecord(buffer, 0, &record);
    record = NULL;
    while ((result = mspti.ActivityGetNextRecord(buffer, valid, &record)) == MSPTI_OK) {
        const uint8_t *at = record;
        if (at < buffer || at + sizeof(uint32_t) > buffer + valid ||
            at + bytes_of(mspti_any_kind(at)) > buffer + valid || found.count == RECORDS)
            return false;
        found.at[found.count++] = (uint32_t)(at - buffer);
        if (is_call(mspti_any_kind(at)))
            note_call(at);
    }
    // Anything but the end of the buffer is a rest that cannot be read.
    return result == MSPTI_LIMIT_REACHED;
}

void records_read(uint8_t *buffer, size_t valid) {
    if (!valid || !channel_armed(agent.channel))
        return;
    pthread_mutex_lock(&lock);
    reader_buffer_begin(&reader);
    const bool whole = find_records(buffer, valid);
    for (uint32_t i = 0; i < found.count; i++)
        translate(buffer + found.at[i]);
    if (!whole)
        channel_lose(agent.channel, TSMITH_REASON_CORRUPT, 1);
    reader_buffer_end(&reader);
    pthread_mutex_unlock(&lock);
}
