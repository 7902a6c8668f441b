// SPDX-License-Identifier: Apache-2.0
// Translates the SDK's records. A buffer is read once, in the order in which it was filled; nothing is assumed of that order.
// On the SDK's thread for buffers, one at a time. Rules: agent.h.
#include <pthread.h>
#include <string.h>

#include "agent.h"
#include "agentkit/map.h"
#include "record_parts.h"

// ns: how far outside the recording a record's time may be. Distinguishes clocks from each other.
static const int64_t MARGIN = 60000000000;

// ---- shapes

static struct {
#define FIELD(member, name, type, unit) uint16_t member;
    ROCM_FIELDS(FIELD)
#undef FIELD
} fields;

#define SHAPE_PART(name, LIST, kind) RECORD_PART_SHAPE(name##_words, LIST)
RECORD_PART_SHAPE(kernel_words, KERNEL_WORDS)
RECORD_PART_SHAPE(kernel_3d_words, KERNEL_3D_WORDS)
RECORD_PART_SHAPE(kernel_segments_words, KERNEL_SEGMENTS_WORDS)
RECORD_PART_SHAPE(bytes_words, BYTES_WORDS)
ROCM_RECORDS(SHAPE_PART)
#undef SHAPE_PART

static struct {
    uint16_t kernel[KERNEL_SHAPES], copy_sized;
#define SHAPE(name, LIST, kind) uint16_t name;
    ROCM_RECORDS(SHAPE)
#undef SHAPE
} shapes;

static uint16_t register_kernel(uint32_t parts) {
    struct record_shape shape = record_shape_begin(TSMITH_KIND_KERNEL, RECORD_SUBJECT_TRACK);
    kernel_words_add(&shape);
    if (parts & KERNEL_3D)
        kernel_3d_words_add(&shape);
    if (parts & KERNEL_SEGMENTS)
        kernel_segments_words_add(&shape);
    return channel_shape(agent.channel, &shape);
}

static void register_shapes(void) {
    struct channel *channel = agent.channel;
    struct record_shape shape;
#define REGISTER(member, name, type, unit)                                                                   \
    fields.member = channel_field(channel, name, TSMITH_TYPE_##type, unit);
    ROCM_FIELDS(REGISTER)
#undef REGISTER
#define REGISTER(name, LIST, kind)                                                                           \
    shape = record_shape_begin(TSMITH_KIND_##kind, RECORD_SUBJECT_TRACK);                                    \
    name##_words_add(&shape);                                                                                \
    shapes.name = channel_shape(channel, &shape);
    ROCM_RECORDS(REGISTER)
#undef REGISTER
    for (uint32_t parts = 0; parts < KERNEL_SHAPES; parts++)
        shapes.kernel[parts] = register_kernel(parts);
    shape = record_shape_begin(TSMITH_KIND_MEMCPY, RECORD_SUBJECT_TRACK);
    copy_words_add(&shape);
    bytes_words_add(&shape);
    shapes.copy_sized = channel_shape(channel, &shape);
}

// ---- the reader, of one buffer at a time

static struct {
    struct ring *ring;
    struct foreign_clock_piece piece;
    int64_t latest;
    uint64_t untimed, unknown, ended, kernel_dropped;
    // What it remembers from record to record.
    uint64_t agent, queue;
    uint32_t stream, queue_track;
    uint64_t tid;
    uint32_t thread_track;
} reader;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t kinds[SDK_KINDS_MAX];
static int64_t began;           // trace clock
static uint64_t dropped_before; // the SDK's count at the last buffer
static _Atomic uint64_t dropped_all;
static struct map events; // HIP events: the correlation of the call that recorded each last

enum { CATEGORY_HIP, CATEGORY_HSA, CATEGORY_RCCL, CATEGORIES };
static uint32_t categories[CATEGORIES];

void records_init(void) {
    static const char *const names[] = {"hip", "hsa", "rccl"};
    enum { EVENTS_LOG2 = 12 };
    register_shapes();
    (void)map_init(&events, EVENTS_LOG2);
    began = clock_trace_now();
    for (int i = 0; i < CATEGORIES; i++)
        categories[i] = channel_string_cstr(agent.channel, names[i]);
}

void records_kind(uint32_t number, enum sdk_kind kind) {
    if (number < SDK_KINDS_MAX)
        kinds[number] = (uint8_t)kind;
}

uint64_t records_dropped(void) {
    return atomic_load_explicit(&dropped_all, memory_order_relaxed);
}

// ---- times

struct span {
    uint64_t start, duration;
};

// False: there are no times, or such as cannot be.
static bool span_of(uint64_t start, uint64_t end, struct span *out) {
    const int64_t at = start && end >= start ? foreign_clock_convert(&sdk_clock, &reader.piece, start)
                                             : FOREIGN_CLOCK_UNKNOWN;
    if (at == FOREIGN_CLOCK_UNKNOWN || at < began - MARGIN || at > reader.latest ||
        end - start > (uint64_t)(reader.latest - (began - MARGIN)))
        return false;
    *out = (struct span){(uint64_t)at, end - start};
    return true;
}
#define SPAN_OF(layout, record, out)                                                                         \
    (SDK_HAS(record, layout, end) && span_of(sdk_##layout##_start(record), sdk_##layout##_end(record), out))

// The clocks of host and device are not compared often by the runtime: a record may seem to begin a little before its launch.
static bool after_launch(const struct span *span, const struct launch *launch) {
    enum { TOLERANCE = 1000000 };
    return !launch->time || (int64_t)span->start + TOLERANCE >= launch->time;
}

// ---- what records have in common

static uint32_t queue_of(uint64_t agent_id, uint64_t queue, uint32_t stream) {
    if (__builtin_expect(reader.queue_track && reader.agent == agent_id && reader.stream == stream &&
                             (stream || reader.queue == queue),
                         1))
        return reader.queue_track;
    reader.agent = agent_id;
    reader.queue = queue;
    reader.stream = stream;
    return reader.queue_track = tracks_queue(agent_id, queue, stream);
}

// A stream is of one device, that of its kernels: a copy between two devices does not say in which it ran.
enum { STREAMS_KEPT = 1024 };
static uint64_t stream_devices[STREAMS_KEPT];

static void learn_stream(uint32_t stream, uint64_t device) {
    if (stream && stream < STREAMS_KEPT)
        stream_devices[stream] = device;
}

static uint64_t device_of_copy(uint32_t stream, uint64_t from, uint64_t to) {
    const uint64_t known = stream < STREAMS_KEPT ? stream_devices[stream] : 0;
    if (known && (known == from || known == to))
        return known;
    return tracks_is_device(to) ? to : from;
}

static uint32_t thread_of(uint64_t tid) {
    if (reader.tid != tid || !reader.thread_track) {
        reader.tid = tid;
        reader.thread_track = tracks_thread(tid);
    }
    return reader.thread_track;
}

#define CAUSE(layout, record, text, launch)                                                                  \
    .correlation = rocm_correlation(SDK_OR_0(record, layout, correlation)), .name = (text),                  \
    .host_track = thread_of(SDK_OR_0(record, layout, thread)), .stack = (launch)->stack

// Writes a record of ROCM_RECORDS on a track, if there is a track, and room; the ring counts what has no room.
#define WRITE(shape, to, ...)                                                                                \
    do {                                                                                                     \
        enum { WORDS = 1 + RECORD_PART_WORDS(shape##_words) };                                               \
        const uint32_t track_ = (to);                                                                        \
        const struct shape##_words words_ = {__VA_ARGS__};                                                   \
        uint64_t *const at_ = track_ ? record_begin(reader.ring, shapes.shape, WORDS, track_) : NULL;        \
        if (at_) {                                                                                           \
            memcpy(at_, &words_, sizeof words_);                                                             \
            ring_commit(reader.ring, WORDS);                                                                 \
        }                                                                                                    \
    } while (0)

static uint32_t constant(_Atomic uint32_t *id, const char *text) {
    return channel_string_once(agent.channel, id, text);
}

// ---- kernels

static void write_kernel(const void *record, uint32_t track, const struct launch *launch,
                         const struct span *span) {
    enum {
        WORDS_MOST = 1 + RECORD_PART_WORDS(kernel_words) + RECORD_PART_WORDS(kernel_3d_words) +
                     RECORD_PART_WORDS(kernel_segments_words)
    };
    const bool has_sizes = SDK_HAS(record, dispatch, grid_z),
               has_segments = SDK_HAS(record, dispatch, group_segment);
    const bool is_3d =
        has_sizes && (sdk_dispatch_grid_y(record) > 1 || sdk_dispatch_grid_z(record) > 1 ||
                      sdk_dispatch_workgroup_y(record) > 1 || sdk_dispatch_workgroup_z(record) > 1);
    const uint32_t parts = (is_3d ? KERNEL_3D : 0u) | (has_segments ? KERNEL_SEGMENTS : 0u);
    // All that may take a lock, before the record is begun.
    const struct kernel_words words = {
        .start = span->start,
        .duration = span->duration,
        CAUSE(dispatch, record,
              SDK_HAS(record, dispatch, kernel) ? names_of_kernel(sdk_dispatch_kernel(record)) : 0, launch),
        .dispatch = SDK_OR_0(record, dispatch, dispatch),
        .global_x = has_sizes ? sdk_dispatch_grid_x(record) : 0,
        .local_x = has_sizes ? sdk_dispatch_workgroup_x(record) : 0,
    };
    uint64_t *const head = track && reader.ring ? ring_reserve(reader.ring, WORDS_MOST) : NULL;
    if (!head)
        return;
    uint64_t *at = head + 1;
    memcpy(at, &words, sizeof words);
    at += RECORD_PART_WORDS(kernel_words);
    if (is_3d)
        RECORD_PUT(at, kernel_3d_words, sdk_dispatch_grid_y(record), sdk_dispatch_grid_z(record),
                   sdk_dispatch_workgroup_y(record), sdk_dispatch_workgroup_z(record));
    if (has_segments)
        RECORD_PUT(at, kernel_segments_words, sdk_dispatch_private_segment(record),
                   sdk_dispatch_group_segment(record));
    *head = record_head(shapes.kernel[parts], (uint32_t)(at - head), track);
    ring_commit(reader.ring, (uint32_t)(at - head));
}

static void record_dispatch(const void *record) {
    struct launch launch = {.time = 0};
    struct span span;
    if (SDK_HAS(record, dispatch, dispatch))
        reader.ended += launches_end(sdk_dispatch_dispatch(record), &launch);
    const uint64_t device = SDK_OR_0(record, dispatch, agent);
    const uint32_t track = queue_of(device, SDK_OR_0(record, dispatch, queue), launch.stream);
    learn_stream(launch.stream, device);
    if (SPAN_OF(dispatch, record, &span) && after_launch(&span, &launch)) {
        write_kernel(record, track, &launch, &span);
        return;
    }
    reader.untimed++;
    WRITE(untimed, track, .start = (uint64_t)(launch.time ? launch.time : clock_trace_now()),
          .certainty = TSMITH_CERTAINTY_UNTIMED,
          CAUSE(dispatch, record,
                SDK_HAS(record, dispatch, kernel) ? names_of_kernel(sdk_dispatch_kernel(record)) : 0,
                &launch));
}

// ---- copies

// By the agents, where those are known: the SDK's operation does not distinguish copies between devices.
static tsmith_direction direction_of(const void *record) {
    static const uint8_t directions[] = {[SDK_COPY_NONE] = TSMITH_DIRECTION_NONE,
                                         [SDK_COPY_H2H] = TSMITH_DIRECTION_HOST_TO_HOST,
                                         [SDK_COPY_H2D] = TSMITH_DIRECTION_HOST_TO_DEVICE,
                                         [SDK_COPY_D2H] = TSMITH_DIRECTION_DEVICE_TO_HOST,
                                         [SDK_COPY_D2D] = TSMITH_DIRECTION_DEVICE_TO_DEVICE};
    const uint32_t operation = (uint32_t)sdk_head_operation(record);
    const tsmith_direction said =
        operation < sizeof directions ? (tsmith_direction)directions[operation] : TSMITH_DIRECTION_NONE;
    if (!SDK_HAS(record, copy, source_agent))
        return said;
    const uint64_t from = sdk_copy_source_agent(record), to = sdk_copy_destination_agent(record);
    const bool from_device = tracks_is_device(from), to_device = tracks_is_device(to);
    if (from_device && to_device)
        return from == to ? TSMITH_DIRECTION_DEVICE_TO_DEVICE : TSMITH_DIRECTION_PEER_TO_PEER;
    if (from_device || to_device)
        return from_device ? TSMITH_DIRECTION_DEVICE_TO_HOST : TSMITH_DIRECTION_HOST_TO_DEVICE;
    return said;
}

static tsmith_operation operation_of(tsmith_direction direction) {
    return direction == TSMITH_DIRECTION_HOST_TO_DEVICE   ? TSMITH_OPERATION_WRITE
           : direction == TSMITH_DIRECTION_DEVICE_TO_HOST ? TSMITH_OPERATION_READ
                                                          : TSMITH_OPERATION_COPY;
}

static uint32_t copy_name(tsmith_direction direction) {
    static const char *const names[] = {
        [TSMITH_DIRECTION_NONE] = "[HIP memcpy]",
        [TSMITH_DIRECTION_HOST_TO_DEVICE] = "[HIP memcpy HtoD]",
        [TSMITH_DIRECTION_DEVICE_TO_HOST] = "[HIP memcpy DtoH]",
        [TSMITH_DIRECTION_DEVICE_TO_DEVICE] = "[HIP memcpy DtoD]",
        [TSMITH_DIRECTION_HOST_TO_HOST] = "[HIP memcpy HtoH]",
        [TSMITH_DIRECTION_PEER_TO_PEER] = "[HIP memcpy PtoP]",
    };
    static _Atomic uint32_t ids[sizeof names / sizeof *names];
    return constant(&ids[direction], names[direction]);
}

static void write_copy(const struct copy_words *words, uint32_t track, bool has_bytes, uint64_t bytes) {
    const uint32_t count =
        1 + RECORD_PART_WORDS(copy_words) + (has_bytes ? RECORD_PART_WORDS(bytes_words) : 0);
    uint64_t *at =
        track ? record_begin(reader.ring, has_bytes ? shapes.copy_sized : shapes.copy, count, track) : NULL;
    if (!at)
        return;
    memcpy(at, words, sizeof *words);
    if (has_bytes)
        at[RECORD_PART_WORDS(copy_words)] = bytes;
    ring_commit(reader.ring, count);
}

static void record_copy(const void *record) {
    struct launch launch;
    struct span span;
    launches_of_call(SDK_OR_0(record, copy, correlation), &launch);
    const uint64_t from = SDK_OR_0(record, copy, source_agent),
                   to = SDK_OR_0(record, copy, destination_agent);
    const uint64_t device = device_of_copy(launch.stream, from, to);
    const tsmith_direction direction = direction_of(record);
    const uint32_t track =
        launch.stream ? queue_of(device, 0, launch.stream) : tracks_of_agent(device, TRACKS_COPIES);
    if (!SPAN_OF(copy, record, &span)) {
        reader.untimed++;
        WRITE(untimed_copy, track, .start = (uint64_t)(launch.time ? launch.time : clock_trace_now()),
              .certainty = TSMITH_CERTAINTY_UNTIMED, CAUSE(copy, record, copy_name(direction), &launch));
        return;
    }
    const struct copy_words words = {.start = span.start,
                                     .duration = span.duration,
                                     CAUSE(copy, record, copy_name(direction), &launch),
                                     .operation = operation_of(direction),
                                     .direction = direction,
                                     .source = SDK_OR_0(record, copy, source),
                                     .destination = SDK_OR_0(record, copy, destination)};
    write_copy(&words, track, SDK_HAS(record, copy, bytes), SDK_OR_0(record, copy, bytes));
}

static void record_migration(const void *record) {
    static _Atomic uint32_t name;
    struct span span;
    if (!SPAN_OF(migration, record, &span)) {
        reader.untimed++;
        return;
    }
    const uint64_t from = SDK_OR_0(record, migration, source_agent),
                   to = SDK_OR_0(record, migration, destination_agent);
    const uint64_t device = tracks_is_device(to) ? to : from;
    const bool has_bytes =
        SDK_HAS(record, migration, to) && sdk_migration_to(record) > sdk_migration_from(record);
    const struct copy_words words = {
        .start = span.start,
        .duration = span.duration,
        .name = constant(&name, "page migration"),
        .operation = TSMITH_OPERATION_MIGRATE,
        .direction = !SDK_HAS(record, migration, destination_agent)   ? 0
                     : tracks_is_device(to) && tracks_is_device(from) ? TSMITH_DIRECTION_PEER_TO_PEER
                     : tracks_is_device(to)                           ? TSMITH_DIRECTION_HOST_TO_DEVICE
                     : tracks_is_device(from)                         ? TSMITH_DIRECTION_DEVICE_TO_HOST
                                                                      : 0,
        .source = SDK_OR_0(record, migration, from),
    };
    write_copy(&words, tracks_of_agent(device, TRACKS_MIGRATION), has_bytes,
               has_bytes ? sdk_migration_to(record) - sdk_migration_from(record) : 0);
}

// ---- calls

// By the SDK's own query. Numbers of operations beyond the table are asked for each time.
static uint32_t call_name(int32_t kind, int32_t operation) {
    enum { OPERATIONS = 1024, KINDS = 16 };
    static uint32_t names[KINDS][OPERATIONS];
    const bool kept = kind < KINDS && operation >= 0 && operation < OPERATIONS;
    const char *name = NULL;
    uint64_t length = 0;
    if (kept && names[kind][operation])
        return names[kind][operation];
    if (sdk.query_buffer_tracing_kind_operation_name(kind, operation, &name, &length) != SDK_SUCCESS || !name)
        return 0;
    const uint32_t id = channel_string_cstr(agent.channel, name);
    if (kept)
        names[kind][operation] = id;
    return id;
}

static void record_call(const void *record, uint32_t category) {
    struct launch launch;
    struct span span;
    if (!SPAN_OF(api, record, &span)) {
        reader.untimed++;
        return;
    }
    const uint64_t correlation = sdk_api_correlation(record);
    launches_of_call(correlation, &launch);
    WRITE(call, thread_of(SDK_OR_0(record, api, thread)), .start = span.start, .duration = span.duration,
          .correlation = rocm_correlation(correlation),
          .name = call_name(sdk_head_kind(record), sdk_head_operation(record)),
          .category = categories[category], .stack = launch.stack);
}

static void record_graph(const void *record) {
    static _Atomic uint32_t name;
    struct launch launch;
    struct span span;
    if (!SPAN_OF(graph, record, &span)) {
        reader.untimed++;
        return;
    }
    launches_of_call(sdk_graph_correlation(record), &launch);
    WRITE(graph, thread_of(sdk_graph_thread(record)), .start = span.start, .duration = span.duration,
          CAUSE(graph, record, constant(&name, "graph launch"), &launch),
          .graph = SDK_OR_0(record, graph, graph), .kernels = SDK_OR_0(record, graph, kernels));
}

// ---- memory

static void record_allocation(const void *record) {
    static const char *const names[] = {"memory", "device memory", "host memory"};
    static _Atomic uint32_t ids[sizeof names / sizeof *names];
    struct launch launch;
    struct span span;
    const int32_t operation = sdk_head_operation(record);
    const bool is_free = operation == SDK_MEMORY_FREE || operation == SDK_MEMORY_VFREE;
    if (!is_free && operation != SDK_MEMORY_ALLOC && operation != SDK_MEMORY_VALLOC) {
        reader.unknown++;
        return;
    }
    if (!SPAN_OF(allocation, record, &span)) {
        reader.untimed++;
        return;
    }
    launches_of_call(sdk_allocation_correlation(record), &launch);
    const uint64_t where = SDK_OR_0(record, allocation, agent);
    const int which = is_free || !SDK_HAS(record, allocation, agent) ? 0 : tracks_is_device(where) ? 1 : 2;
#define MEMORY                                                                                               \
    .start = span.start, .duration = span.duration,                                                          \
    CAUSE(allocation, record, constant(&ids[which], names[which]), &launch),                                 \
    .address = SDK_OR_0(record, allocation, address), .bytes = SDK_OR_0(record, allocation, bytes)
    if (is_free)
        WRITE(release, tracks_of_agent(where, TRACKS_MEMORY), MEMORY);
    else
        WRITE(alloc, tracks_of_agent(where, TRACKS_MEMORY), MEMORY);
#undef MEMORY
}

static void record_scratch(const void *record) {
    static const char *const names[] = {"scratch memory", "scratch memory reclaimed"};
    static _Atomic uint32_t ids[sizeof names / sizeof *names];
    struct launch launch;
    struct span span;
    const int32_t operation = sdk_head_operation(record);
    if (operation < SDK_SCRATCH_ALLOC || operation > SDK_SCRATCH_RECLAIM) {
        reader.unknown++;
        return;
    }
    if (!SPAN_OF(scratch, record, &span)) {
        reader.untimed++;
        return;
    }
    launches_of_call(sdk_scratch_correlation(record), &launch);
    const int which = operation == SDK_SCRATCH_RECLAIM;
    const uint32_t track = tracks_of_agent(sdk_scratch_agent(record), TRACKS_MEMORY);
#define SCRATCH                                                                                              \
    .start = span.start, .duration = span.duration,                                                          \
    CAUSE(scratch, record, constant(&ids[which], names[which]), &launch),                                    \
    .bytes = SDK_OR_0(record, scratch, bytes)
    if (operation == SDK_SCRATCH_ALLOC)
        WRITE(alloc, track, SCRATCH);
    else
        WRITE(release, track, SCRATCH);
#undef SCRATCH
}

// ---- events

static void record_event(const void *record) {
    static const char *const names[] = {"hip event", "wait for hip event"};
    static _Atomic uint32_t ids[2];
    struct launch launch;
    struct span span;
    const int32_t operation = sdk_head_operation(record);
    if (operation != SDK_EVENT_RECORD && operation != SDK_EVENT_WAIT) {
        reader.unknown++;
        return;
    }
    if (!SPAN_OF(event, record, &span) || !SDK_HAS(record, event, queue)) {
        reader.untimed++;
        return;
    }
    launches_of_call(sdk_event_correlation(record), &launch);
    const uint32_t track = queue_of(sdk_event_agent(record), sdk_event_queue(record), launch.stream);
    const uint64_t event = SDK_OR_0(record, event, event);
    const void *key = (const void *)(uintptr_t)event;
#define EVENT(which)                                                                                         \
    .start = span.start, .duration = span.duration,                                                          \
    CAUSE(event, record, constant(&ids[which], names[which]), &launch), .event = event
    if (operation == SDK_EVENT_RECORD) {
        if (event > 1)
            (void)map_put(&events, key, rocm_correlation(sdk_event_correlation(record)));
        WRITE(event, track, EVENT(0));
        return;
    }
    const uint64_t waited_for = event > 1 ? map_get(&events, key) : 0;
    const struct wait_words words = {EVENT(1), .operation = TSMITH_OPERATION_BARRIER,
                                     .waits = waited_for != 0};
#undef EVENT
    const uint32_t count = 1 + RECORD_PART_WORDS(wait_words) + (waited_for != 0);
    uint64_t *at = track ? record_begin(reader.ring, shapes.wait, count, track) : NULL;
    if (!at)
        return;
    memcpy(at, &words, sizeof words);
    if (waited_for)
        at[RECORD_PART_WORDS(wait_words)] = waited_for;
    ring_commit(reader.ring, count);
}

// ---- buffers

static void translate(const void *record) {
    const int32_t number = sdk_head_kind(record);
    switch (number >= 0 && number < SDK_KINDS_MAX ? (enum sdk_kind)kinds[number] : SDK_KIND_UNKNOWN) {
    case SDK_KIND_DISPATCH:
        record_dispatch(record);
        break;
    case SDK_KIND_HIP:
        record_call(record, CATEGORY_HIP);
        break;
    case SDK_KIND_COPY:
        record_copy(record);
        break;
    case SDK_KIND_ALLOCATION:
        record_allocation(record);
        break;
    case SDK_KIND_HSA_CORE:
    case SDK_KIND_HSA_AMD:
    case SDK_KIND_HSA_IMAGE:
    case SDK_KIND_HSA_FINALIZE:
        record_call(record, CATEGORY_HSA);
        break;
    case SDK_KIND_RCCL:
        record_call(record, CATEGORY_RCCL);
        break;
    case SDK_KIND_SCRATCH:
        record_scratch(record);
        break;
    case SDK_KIND_EVENT:
        record_event(record);
        break;
    case SDK_KIND_GRAPH:
        record_graph(record);
        break;
    case SDK_KIND_MIGRATION:
        record_migration(record);
        break;
    case SDK_KIND_DROPPED: // by the operating system's driver
        channel_lose(agent.channel, TSMITH_REASON_VENDOR_DROPPED, SDK_OR_0(record, dropped, count));
        break;
    default:
        reader.unknown++;
    }
}

static void count_dropped(uint64_t dropped) {
    // The count is of all since the buffer was made; a smaller one than before is a new count.
    const uint64_t more = dropped >= dropped_before ? dropped - dropped_before : dropped;
    dropped_before = dropped;
    if (!more)
        return;
    atomic_fetch_add_explicit(&dropped_all, more, memory_order_relaxed);
    channel_lose(agent.channel, TSMITH_REASON_VENDOR_DROPPED, more);
}

static void read_all(struct sdk_record_header **headers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct sdk_record_header *header = headers[i];
        const void *record = header ? header->payload : NULL;
        if (!record || header->category != SDK_CATEGORY_TRACING || !SDK_HAS(record, head, operation)) {
            reader.unknown++;
            continue;
        }
        translate(record);
        if (reader
                .ended) { // right after its record: of a process that dies nothing is both in the trace and missing
            channel_ended(agent.channel, LAUNCHES_LIST, reader.ended);
            reader.ended = 0;
        }
    }
}

void records_buffer(struct sdk_id context, struct sdk_id buffer, struct sdk_record_header **headers,
                    size_t count, void *data, uint64_t dropped) {
    (void)context, (void)buffer, (void)data;
    if (!agent_recording())
        return;
    pthread_mutex_lock(&lock);
    foreign_clock_compare(&sdk_clock);
    reader.ring = channel_ring(agent.channel);
    reader.piece = (struct foreign_clock_piece){0};
    reader.latest = clock_trace_now() + MARGIN;
    reader.untimed = reader.unknown = 0;
    read_all(headers, count);
    count_dropped(dropped);
    if (reader.untimed)
        channel_lose(agent.channel, TSMITH_REASON_NO_TIMING, reader.untimed);
    if (reader.unknown)
        channel_lose(agent.channel, TSMITH_REASON_UNTRACED, reader.unknown);
    pthread_mutex_unlock(&lock);
}
