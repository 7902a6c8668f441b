// SPDX-License-Identifier: Apache-2.0
// Translates the SDK's records. A buffer is read once, in the order in which it was filled; nothing is assumed of that order.
// On the SDK's thread for buffers, one at a time. Rules: agent.h.
#define RECORD_HOOKED 1 // --aggregate
#include <pthread.h>
#include <string.h>

#include "agent.h"
#include "agentkit/device.h"
#include "agentkit/reader.h"
#include "agentkit/texts.h"
#include "agentkit/track_table.h"
#include "record_parts.h"
#include "wire/memory.h"

// ---- shapes

static struct { ROCM_FIELDS(OWN_FIELD_MEMBER) } fields;

RECORD_PART_SHAPE(kernel_words, KERNEL_WORDS)
RECORD_PART_SHAPE(kernel_3d_words, KERNEL_3D_WORDS)
RECORD_PART_SHAPE(kernel_segments_words, KERNEL_SEGMENTS_WORDS)
ROCM_RECORDS(TRACK_RECORD_SHAPE)

static struct {
    uint16_t kernel[KERNEL_SHAPES];
    ROCM_RECORDS(TRACK_RECORD_MEMBER)
} shapes;

static void register_shapes(void) {
    struct channel *channel = agent.channel;
    ROCM_FIELDS(OWN_FIELD_REGISTER)
    ROCM_RECORDS(TRACK_RECORD_REGISTER)
    for (uint32_t parts = 0; parts < KERNEL_SHAPES; parts++)
        shapes.kernel[parts] =
            RECORD_REGISTER(channel, TSMITH_KIND_KERNEL, RECORD_SUBJECT_TRACK, kernel_words_add,
                            parts & KERNEL_3D ? kernel_3d_words_add : NULL,
                            parts & KERNEL_SEGMENTS ? kernel_segments_words_add : NULL);
}

// ---- the reader, of one buffer at a time

static struct {
    struct reader_base base;
    uint64_t ended;
    // What it remembers from record to record.
    uint64_t agent, queue, tid;
    uint32_t stream, queue_track, thread_track;
} reader = {.base = {.clock = &sdk_clock}};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t kinds[SDK_KINDS_MAX];
static bool has_events;
static uint64_t dropped_before; // the SDK's count at the last buffer
static _Atomic uint64_t dropped_all;

void records_kind(uint32_t number, enum sdk_kind kind) {
    if (number < SDK_KINDS_MAX)
        kinds[number] = (uint8_t)kind;
    has_events |= kind == SDK_KIND_EVENT;
}

uint64_t records_dropped(void) {
    return atomic_load_explicit(&dropped_all, memory_order_relaxed);
}

// What records have in common.
struct seen {
    const void *record;
    enum sdk_kind kind;
    bool timed;
    struct span span;     // if `timed`
    uint64_t correlation; // the process's own
    uint32_t thread;      // track
    struct launch_note launch;
};

// Where that is in the record; 0: it is not.
struct place {
    void (*translate)(const struct seen *seen);
    uint16_t correlation, thread, start, end;
    bool or_untimed; // it is translated without times too
};

static uint64_t word_at(const void *record, uint16_t offset) {
    uint64_t word = 0;
    if (offset && sdk_head_size(record) >= offset + sizeof word)
        memcpy(&word, (const char *)record + offset, sizeof word);
    return word;
}

static uint32_t thread_of(uint64_t tid) {
    if (reader.tid != tid || !reader.thread_track) {
        reader.tid = tid;
        reader.thread_track = track_table_thread((uint32_t)tid);
    }
    return reader.thread_track;
}

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

#define SPAN READER_SPAN(&seen->span)
#define CAUSE(text)                                                                                          \
    .correlation = seen->correlation, .name = (text), .host_track = seen->thread, .stack = seen->launch.stack
#define CAUSED(text) SPAN, CAUSE(text)

#define WRITE(shape, track, ...) TRACK_RECORD_WRITE(reader.base.ring, shape, track, __VA_ARGS__)

// It ran at an unknown time: an event at its launch, as far as that is known.
static void write_untimed(const struct seen *seen, uint32_t track, uint32_t name) {
#define UNTIMED                                                                                              \
    .start = (uint64_t)(seen->launch.time ? seen->launch.time : clock_trace_now()),                          \
    .certainty = TSMITH_CERTAINTY_UNTIMED, CAUSE(name)
    reader.base.untimed++;
    if (seen->kind == SDK_KIND_COPY)
        WRITE(untimed_copy, track, UNTIMED);
    else
        WRITE(untimed, track, UNTIMED);
#undef UNTIMED
}

// ---- kernels

// A stream is of one device, that of its kernels: a copy between two devices does not say on which it ran.
enum { STREAMS_KEPT = 1024 };
static uint64_t stream_devices[STREAMS_KEPT];

static void write_kernel(const struct seen *seen, uint32_t track, uint32_t name) {
    enum {
        WORDS_MOST = 1 + RECORD_PART_WORDS(kernel_words) + RECORD_PART_WORDS(kernel_3d_words) +
                     RECORD_PART_WORDS(kernel_segments_words)
    };
    const void *record = seen->record;
    const bool has_sizes = SDK_HAS(record, dispatch, grid_z);
    const bool has_segments = SDK_HAS(record, dispatch, group_segment);
    const bool is_3d = has_sizes && (sdk_dispatch_grid_y(record) | sdk_dispatch_grid_z(record) |
                                     sdk_dispatch_workgroup_y(record) | sdk_dispatch_workgroup_z(record)) > 1;
    const uint32_t parts = (is_3d ? KERNEL_3D : 0u) | (has_segments ? KERNEL_SEGMENTS : 0u);
    uint64_t *const head = track && reader.base.ring ? record_reserve(reader.base.ring, WORDS_MOST) : NULL;
    if (!head)
        return;
    uint64_t *at = head + 1;
    RECORD_PUT(at, kernel_words, CAUSED(name), .dispatch = SDK_OR_0(record, dispatch, dispatch),
               .global_x = has_sizes ? sdk_dispatch_grid_x(record) : 0,
               .local_x = has_sizes ? sdk_dispatch_workgroup_x(record) : 0);
    if (is_3d)
        RECORD_PUT(at, kernel_3d_words, sdk_dispatch_grid_y(record), sdk_dispatch_grid_z(record),
                   sdk_dispatch_workgroup_y(record), sdk_dispatch_workgroup_z(record));
    if (has_segments)
        RECORD_PUT(at, kernel_segments_words, sdk_dispatch_private_segment(record),
                   sdk_dispatch_group_segment(record));
    record_close(reader.base.ring, head, at, shapes.kernel[parts], track);
}

static void record_dispatch(const struct seen *common) {
    // The clocks of host and device are not compared often by the runtime: a kernel may seem to begin a little before its launch.
    enum { TOLERANCE = 1000000 };
    struct seen with_note = *common, *seen = &with_note;
    const void *record = seen->record;
    if (SDK_HAS(record, dispatch, dispatch))
        reader.ended += launches_end(sdk_dispatch_dispatch(record), &seen->launch);
    const uint64_t device = SDK_OR_0(record, dispatch, agent);
    const uint32_t stream = seen->launch.value;
    const uint32_t track = queue_of(device, SDK_OR_0(record, dispatch, queue), stream);
    const uint32_t name =
        SDK_HAS(record, dispatch, kernel) ? names_of_kernel(sdk_dispatch_kernel(record)) : 0;
    stream_devices[stream < STREAMS_KEPT ? stream : 0] = device;
    if (seen->timed && (!seen->launch.time || seen->span.start + TOLERANCE >= seen->launch.time))
        write_kernel(seen, track, name);
    else
        write_untimed(seen, track, name);
}

// ---- copies

// By the agents, where those are known: the SDK's operation does not distinguish copies between devices.
static tsmith_direction direction_of(bool known, uint64_t from, uint64_t to, int32_t operation) {
    static const uint8_t said[] = {[SDK_COPY_NONE] = TSMITH_DIRECTION_NONE,
                                   [SDK_COPY_H2H] = TSMITH_DIRECTION_HOST_TO_HOST,
                                   [SDK_COPY_H2D] = TSMITH_DIRECTION_HOST_TO_DEVICE,
                                   [SDK_COPY_D2H] = TSMITH_DIRECTION_DEVICE_TO_HOST,
                                   [SDK_COPY_D2D] = TSMITH_DIRECTION_DEVICE_TO_DEVICE};
    const bool from_device = known && tracks_is_device(from), to_device = known && tracks_is_device(to);
    if (from_device && to_device && from != to)
        return TSMITH_DIRECTION_PEER_TO_PEER;
    if (from_device || to_device)
        return device_direction(from_device, to_device);
    return operation >= 0 && (size_t)operation < sizeof said ? (tsmith_direction)said[operation]
                                                             : TSMITH_DIRECTION_NONE;
}

static const char *const copy_names[] = DEVICE_COPY_NAMES("HIP");

static void record_copy(const struct seen *seen) {
    const void *record = seen->record;
    const uint64_t from = SDK_OR_0(record, copy, source_agent),
                   to = SDK_OR_0(record, copy, destination_agent);
    const uint32_t stream = seen->launch.value;
    const uint64_t of_stream = stream < STREAMS_KEPT ? stream_devices[stream] : 0;
    const uint64_t device = stream && (of_stream == from || of_stream == to) ? of_stream
                            : tracks_is_device(to)                           ? to
                                                                             : from;
    const tsmith_direction direction =
        direction_of(SDK_HAS(record, copy, source_agent), from, to, sdk_head_operation(record));
    const uint32_t track = stream ? queue_of(device, 0, stream) : tracks_of_agent(device, TRACKS_COPIES);
    const uint32_t name = TEXT_AT(copy_names, direction);
    if (!seen->timed)
        write_untimed(seen, track, name);
    else
        WRITE(copy, track, CAUSED(name), .operation = device_copy_operation(direction),
              .direction = direction, .bytes = SDK_OR_0(record, copy, bytes),
              .source = SDK_OR_0(record, copy, source), .destination = SDK_OR_0(record, copy, destination));
}

static void record_migration(const struct seen *seen) {
    const void *record = seen->record;
    const bool known = SDK_HAS(record, migration, destination_agent);
    const uint64_t from = SDK_OR_0(record, migration, source_agent),
                   to = SDK_OR_0(record, migration, destination_agent);
    const uint64_t first = SDK_OR_0(record, migration, from), end = SDK_OR_0(record, migration, to);
    WRITE(copy, tracks_of_agent(tracks_is_device(to) ? to : from, TRACKS_MIGRATION),
          CAUSED(TEXT_ONCE("page migration")), .operation = TSMITH_OPERATION_MIGRATE,
          .direction = direction_of(known, from, to, SDK_COPY_NONE), .source = first,
          .bytes = end > first ? end - first : 0);
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

static void record_call(const struct seen *seen) {
    const uint32_t category = seen->kind == SDK_KIND_HIP    ? TEXT_ONCE("hip")
                              : seen->kind == SDK_KIND_RCCL ? TEXT_ONCE("rccl")
                                                            : TEXT_ONCE("hsa");
    WRITE(call, seen->thread, SPAN, .correlation = seen->correlation, .category = category,
          .name = call_name(sdk_head_kind(seen->record), sdk_head_operation(seen->record)),
          .stack = seen->launch.stack);
}

static void record_graph(const struct seen *seen) {
    WRITE(graph, seen->thread, CAUSED(TEXT_ONCE("graph launch")),
          .graph = SDK_OR_0(seen->record, graph, graph), .kernels = SDK_OR_0(seen->record, graph, kernels));
}

// ---- memory

static void record_allocation(const struct seen *seen) {
    const void *record = seen->record;
    const int32_t operation = sdk_head_operation(record);
    const uint64_t said = SDK_OR_0(record, allocation, agent), where = said == SDK_AGENT_NONE ? 0 : said;
    const uint32_t name = !where                    ? TEXT_ONCE("memory")
                          : tracks_is_device(where) ? TEXT_ONCE("device memory")
                                                    : TEXT_ONCE("host memory");
    const uint32_t track = tracks_of_agent(where, TRACKS_MEMORY);
#define MEMORY                                                                                               \
    CAUSED(name), .address = SDK_OR_0(record, allocation, address),                                          \
                  .bytes = SDK_OR_0(record, allocation, bytes)
    if (operation == SDK_MEMORY_FREE || operation == SDK_MEMORY_VFREE)
        WRITE(release, track, MEMORY);
    else if (operation == SDK_MEMORY_ALLOC || operation == SDK_MEMORY_VALLOC)
        WRITE(alloc, track, MEMORY);
    else
        reader.base.unknown++;
#undef MEMORY
}

static void record_scratch(const struct seen *seen) {
    const void *record = seen->record;
    const uint64_t bytes = SDK_OR_0(record, scratch, bytes);
    const uint32_t track = tracks_of_agent(sdk_scratch_agent(record), TRACKS_MEMORY);
    switch (sdk_head_operation(record)) {
    case SDK_SCRATCH_ALLOC:
        WRITE(alloc, track, CAUSED(TEXT_ONCE("scratch memory")), .bytes = bytes);
        break;
    case SDK_SCRATCH_FREE:
        WRITE(release, track, CAUSED(TEXT_ONCE("scratch memory")), .bytes = bytes);
        break;
    case SDK_SCRATCH_RECLAIM:
        WRITE(release, track, CAUSED(TEXT_ONCE("scratch memory reclaimed")), .bytes = bytes);
        break;
    default:
        reader.base.unknown++;
    }
}

// ---- events
//
// A wait is for the last record of its event that was called before it. A program may record an event anew before the queue
// has waited, so the calls of the last records are kept. The SDK counts calls up.

enum { EVENTS = 4096, RECORDS_KEPT = 16 };
static struct recorded {
    uint64_t event, next;
    uint64_t calls[RECORDS_KEPT];
} * recorded; // by hash; another event in the same place ends what is known of the first

static struct recorded *recorded_of(uint64_t event) {
    return &recorded[event * UINT64_C(0x9e3779b97f4a7c15) >> 52 & (EVENTS - 1)];
}

// Before the records of a buffer are translated, which may be in any order.
static void learn_event(const void *record) {
    const uint64_t event = SDK_OR_0(record, event, event);
    if (!event || sdk_head_operation(record) != SDK_EVENT_RECORD || !recorded)
        return;
    struct recorded *of = recorded_of(event);
    if (of->event != event)
        *of = (struct recorded){.event = event};
    of->calls[of->next++ % RECORDS_KEPT] = reader_correlation(sdk_event_correlation(record));
}

static uint64_t waited_for(uint64_t event, uint64_t call) {
    const struct recorded *of = event && recorded ? recorded_of(event) : NULL;
    uint64_t last = 0;
    for (int i = 0; of && of->event == event && i < RECORDS_KEPT; i++)
        if (of->calls[i] < call && of->calls[i] > last)
            last = of->calls[i];
    return last;
}

static void record_event(const struct seen *seen) {
    const void *record = seen->record;
    const int32_t operation = sdk_head_operation(record);
    const uint32_t track =
        queue_of(SDK_OR_0(record, event, agent), SDK_OR_0(record, event, queue), seen->launch.value);
    const uint64_t event = SDK_OR_0(record, event, event);
    if (operation == SDK_EVENT_RECORD) {
        WRITE(event, track, CAUSED(TEXT_ONCE("hip event")), .event = event);
    } else if (operation == SDK_EVENT_WAIT) {
        const uint64_t last = waited_for(event, seen->correlation);
        const uint32_t words = 1 + RECORD_PART_WORDS(wait_words) + (last != 0);
        uint64_t *at = track ? record_begin(reader.base.ring, shapes.wait, words, track) : NULL, *const head =
                                                                                                     at;
        if (!at)
            return;
        RECORD_PUT(at, wait_words, CAUSED(TEXT_ONCE("wait for hip event")), .event = event,
                   .operation = TSMITH_OPERATION_BARRIER, .waits = last != 0);
        if (last)
            *at = last;
        record_commit(reader.base.ring, head - 1, words);
    } else {
        reader.base.unknown++;
    }
}

// ---- buffers

#define PLACE(layout)                                                                                        \
    .correlation = SDK_AT_##layout##_correlation, .thread = SDK_AT_##layout##_thread,                        \
    .start = SDK_AT_##layout##_start, .end = SDK_AT_##layout##_end
static const struct place places[SDK_KIND_COUNT] = {
    [SDK_KIND_HIP] = {record_call, PLACE(api)},
    [SDK_KIND_HSA_CORE] = {record_call, PLACE(api)},
    [SDK_KIND_HSA_AMD] = {record_call, PLACE(api)},
    [SDK_KIND_HSA_IMAGE] = {record_call, PLACE(api)},
    [SDK_KIND_HSA_FINALIZE] = {record_call, PLACE(api)},
    [SDK_KIND_RCCL] = {record_call, PLACE(api)},
    [SDK_KIND_DISPATCH] = {record_dispatch, PLACE(dispatch), .or_untimed = true},
    [SDK_KIND_COPY] = {record_copy, PLACE(copy), .or_untimed = true},
    [SDK_KIND_ALLOCATION] = {record_allocation, PLACE(allocation)},
    [SDK_KIND_SCRATCH] = {record_scratch, PLACE(scratch)},
    [SDK_KIND_EVENT] = {record_event, PLACE(event)},
    [SDK_KIND_GRAPH] = {record_graph, PLACE(graph)},
    [SDK_KIND_MIGRATION] = {record_migration, .start = SDK_AT_migration_start, .end = SDK_AT_migration_end},
};

static enum sdk_kind kind_of(const void *record) {
    const int32_t number = sdk_head_kind(record);
    return number >= 0 && number < SDK_KINDS_MAX ? (enum sdk_kind)kinds[number] : SDK_KIND_UNKNOWN;
}

static void translate(const void *record, enum sdk_kind kind) {
    const struct place *place = &places[kind];
    const uint64_t correlation = word_at(record, place->correlation);
    struct seen seen = {.record = record, .kind = kind, .correlation = reader_correlation(correlation)};
    if (kind == SDK_KIND_DROPPED) { // by the operating system's driver
        channel_lose(agent.channel, TSMITH_REASON_VENDOR_DROPPED, SDK_OR_0(record, dropped, count));
        return;
    }
    if (!place->translate) {
        reader.base.unknown++;
        return;
    }
    seen.timed =
        reader_span(&reader.base, word_at(record, place->start), word_at(record, place->end), &seen.span);
    if (!seen.timed && !place->or_untimed) {
        reader.base.untimed++;
        return;
    }
    seen.thread = thread_of(word_at(record, place->thread));
    if (kind != SDK_KIND_DISPATCH) // which has a note of its own
        launches_of_call(correlation, &seen.launch);
    place->translate(&seen);
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

// NULL: it is not a record that can be read.
static const void *record_of(const struct sdk_record_header *header) {
    const void *record = header && header->category == SDK_CATEGORY_TRACING ? header->payload : NULL;
    return record && SDK_HAS(record, head, operation) ? record : NULL;
}

static void read_all(struct sdk_record_header **headers, size_t count) {
    for (size_t i = 0; has_events && i < count; i++)
        if (record_of(headers[i]) && kind_of(record_of(headers[i])) == SDK_KIND_EVENT)
            learn_event(record_of(headers[i]));
    for (size_t i = 0; i < count; i++) {
        const void *record = record_of(headers[i]);
        if (record)
            translate(record, kind_of(record));
        else
            reader.base.unknown++;
        if (reader
                .ended) { // right after its record: of a process that dies nothing is both in the trace and missing
            channel_ended(agent.channel, LAUNCH_TABLE_LIST, reader.ended);
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
    reader_buffer_begin(&reader.base);
    read_all(headers, count);
    count_dropped(dropped);
    reader_buffer_end(&reader.base);
    pthread_mutex_unlock(&lock);
}

void records_init(void) {
    register_shapes();
    recorded = memory_take(EVENTS * sizeof *recorded);
    reader_first();
}
