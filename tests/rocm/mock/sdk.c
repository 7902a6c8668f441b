// SPDX-License-Identifier: Apache-2.0
// A mock of librocprofiler-sdk.so.1: finds tools, contexts, buffers and callbacks as rocprofiler-sdk 1.0 and 1.1 have them. What it
// does of the real one on purpose (files of source/lib/rocprofiler-sdk in ROCm/rocm-systems, August 2025 to July 2026):
//   - The last tool of a list that does not end with ':' is passed over (registration.cpp, find_clients).
//   - The count of dropped records is of all since the start; a buffer is delivered on a thread of its own (buffer.cpp).
//   - A smaller size of a tool's form is taken (agent.cpp).
//   - The end of a call is reported to the contexts that its begin was reported to (tracing/tracing.hpp).
//   - A stream has a number from when it is made, if a context listens to streams then. Without one, a call on it ends the program in
//     1.0, as on hipStreamPerThread and hipStreamLegacy; 1.1 numbers it then (hip/stream.cpp, get_stream_id).
//   - A flush waits for one that is under way, in a forked child too, where that never ends; and one after the end of the callback
//     threads ends the program (buffer.cpp, flush).
//   - Its threads have the signal mask of the tool's thread that asks for them (internal_threading.cpp).
//   - Memory that is freed has no agent: 0, in builds before the release of 1.0 UINT64_MAX (hsa/memory_allocation.cpp).
//   - All parts of a partitioned GPU have the board's number, and places of their own (agent.cpp, from the topology of KFD).
//
//     MOCK_ROCM=WORD,...   shuffle      records are delivered in any order
//                          longer       every record has 32 bytes more than the agent knows
//                          shorter      records lack their last members
//                          small        buffers have room for 64 records
//                          drop=N       N dispatch records are dropped, and counted
//                          quiet=N      N dispatch records never come, and are not counted
//                          unknown=N    N records of a kind of the future
//                          badtimes=N   N dispatch records have impossible times
//                          version=N    the SDK's version (10100)
//                          forkflush    a forked child is made while a flush is under way
//                          noagent      memory that is freed has the agent UINT64_MAX
//                          signals      it is said whether the callback thread may take the program's signals
//                          nokfd        the operating system's driver is too old for records of it
//                          bench=N      at the start N buffers of 4,096 records go to the first tool, and the time that it
//                                       took for each record is written to standard error: the least, the lower quartile
//                          late=N       the SDK's clock is N ns ahead
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kinds.h"
#include "rocm_mock.h"
#include "sdk.h"

enum {
    CLIENTS_MAX = 8,
    CONTEXTS_MAX = 16,
    BUFFERS_MAX = 8,
    KINDS = 128,
    PENDING_MAX = 1 << 16,
    CALLBACKS = 32,
    STREAMS_MAX = 64
};
enum { STREAM_CREATE = 1, STREAM_DESTROY };
enum {
    ERROR = 1,
    ERROR_KIND = 4,
    ERROR_LOCKED = 16,
    ERROR_KERNEL = 28,
    CONTEXT_FIRST = 1,
    BUFFER_FIRST = 500
};

#define EXPORT __attribute__((visibility("default")))

struct client {
    struct sdk_tool tool;
    sdk_configure_function *configure;
};
struct context {
    bool active, made;
    uint64_t buffers[KINDS]; // handle, or 0
    sdk_tracing_callback *callbacks[CALLBACKS];
    void *data[CALLBACKS];
};
struct half {
    uint8_t *bytes;
    struct sdk_record_header *headers, **pointers;
    size_t used, count;
};
struct buffer {
    size_t size, watermark;
    sdk_buffer_callback *callback;
    void *data;
    struct sdk_id context;
    struct half halves[2];
    int at;
    uint64_t dropped;
    atomic_bool flushed_now;
};
struct pending {
    uint64_t due;
    uint32_t size, buffers; // a bit each
    uint8_t bytes[MOCK_RECORD_MOST + 32];
};

static struct client clients[CLIENTS_MAX];
static struct context contexts[CONTEXTS_MAX];
static struct buffer buffers[BUFFERS_MAX];
static uint32_t client_count, context_count, buffer_count;
static struct pending *pending;
static uint32_t pending_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int initialized; // -1: now
static atomic_bool finalized, threads_gone;
static uint32_t sdk_version = 10100;
static _Atomic uint64_t correlations, dispatches;
static uint64_t to_drop, to_keep, to_spoil, clock_ahead;
static bool shuffle, longer, shorter, small, no_kfd, no_agent, forked;
static __thread uint64_t current;
static uint64_t streams[STREAMS_MAX]; // handles, by number; the first is the default one
static uint32_t stream_count = 1;

EXPORT int mock_rocprofiler_sdk = 1;

static uint64_t number_of(const char *word) {
    const char *all = getenv("MOCK_ROCM"), *at = all ? strstr(all, word) : NULL;
    return at && at[strlen(word)] == '=' ? strtoull(at + strlen(word) + 1, NULL, 10) : (uint64_t)(at != NULL);
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec + clock_ahead;
}

// ---- buffers

static struct buffer *buffer_of(uint64_t handle) {
    const uint64_t at = handle - BUFFER_FIRST;
    return at < buffer_count ? &buffers[at] : NULL;
}

struct delivery {
    struct buffer *buffer;
    struct half *half;
};

static void *deliver(void *argument) {
    const struct delivery *delivery = argument;
    struct buffer *buffer = delivery->buffer;
    buffer->callback(buffer->context, (struct sdk_id){BUFFER_FIRST + (uint64_t)(buffer - buffers)},
                     delivery->half->pointers, delivery->half->count, buffer->data, buffer->dropped);
    return NULL;
}

// Under the lock, which is let go meanwhile: tools call back.
static void flush_locked(struct buffer *buffer) {
    struct delivery delivery = {buffer, &buffer->halves[buffer->at]};
    pthread_t thread;
    if (!delivery.half->count)
        return;
    buffer->at ^= 1;
    pthread_create(&thread, NULL, deliver, &delivery);
    pthread_join(thread, NULL);
    delivery.half->used = delivery.half->count = 0;
}

static void put(struct buffer *buffer, const struct pending *record) {
    struct half *half = &buffer->halves[buffer->at];
    if (half->used + record->size > buffer->size || half->count == buffer->size / 16)
        flush_locked(buffer);
    half = &buffer->halves[buffer->at];
    uint8_t *at = half->bytes + half->used;
    memcpy(at, record->bytes, record->size);
    half->headers[half->count] = (struct sdk_record_header){
        .category = SDK_CATEGORY_TRACING, .kind = (uint32_t)sdk_head_kind(at), .payload = at};
    half->pointers[half->count] = &half->headers[half->count];
    half->count++;
    half->used += (record->size + 7) & ~7u;
    if (half->used >= buffer->watermark)
        flush_locked(buffer);
}

static uint32_t random_below(uint32_t limit) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state % limit);
}

// What is due goes into the buffers.
static void move_due(void) {
    const uint64_t time = now();
    uint32_t kept = 0;
    static struct pending *due;
    uint32_t count = 0;
    due = due ? due : malloc(PENDING_MAX * sizeof *due);
    for (uint32_t i = 0; i < pending_count; i++) {
        if (pending[i].due <= time)
            due[count++] = pending[i];
        else
            pending[kept++] = pending[i];
    }
    pending_count = kept;
    for (uint32_t i = count; shuffle && i > 1; i--) {
        const uint32_t other = random_below(i);
        const struct pending swap = due[i - 1];
        due[i - 1] = due[other];
        due[other] = swap;
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t b = 0; b < buffer_count; b++)
            if (due[i].buffers >> b & 1)
                put(&buffers[b], &due[i]);
}

static uint64_t last_due(void) {
    uint64_t last = 0;
    for (uint32_t i = 0; i < pending_count; i++)
        last = pending[i].due > last ? pending[i].due : last;
    return last;
}

static void wait_all(void) {
    enum { ENDLESS = 20 };
    for (;;) {
        pthread_mutex_lock(&lock);
        const uint64_t last = last_due(), time = now();
        if (last <= time || last > time + ENDLESS * UINT64_C(1000000000)) {
            move_due();
            pthread_mutex_unlock(&lock);
            return;
        }
        pthread_mutex_unlock(&lock);
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
}

// ---- for the runtimes

static struct sdk_callback_record callback_record(int32_t kind, int32_t operation, int32_t phase,
                                                  uint64_t correlation, void *payload) {
    struct sdk_callback_record record = {{0}};
    sdk_set_callback_thread(&record, (uint64_t)syscall(SYS_gettid));
    sdk_set_callback_correlation(&record, correlation);
    sdk_set_callback_kind(&record, kind);
    sdk_set_callback_operation(&record, operation);
    sdk_set_callback_phase(&record, phase);
    sdk_set_callback_payload(&record, payload);
    return record;
}

// A bit for each context that is called back now.
static uint32_t listeners(int32_t kind) {
    uint32_t who = 0;
    for (uint32_t i = 0; i < context_count && kind < CALLBACKS; i++)
        who |= (uint32_t)(contexts[i].active && contexts[i].callbacks[kind]) << i;
    return who;
}

static void call_back_to(uint32_t who, int32_t kind, int32_t operation, int32_t phase, uint64_t correlation,
                         void *payload) {
    struct sdk_callback_record record = callback_record(kind, operation, phase, correlation, payload);
    uint64_t word = 0;
    for (uint32_t i = 0; i < context_count; i++) {
        if (!(who >> i & 1))
            continue;
        sdk_set_callback_context(&record, CONTEXT_FIRST + i);
        contexts[i].callbacks[kind](record, &word, contexts[i].data[kind]);
    }
}

static void call_back(int32_t kind, int32_t operation, int32_t phase, uint64_t correlation, void *payload) {
    call_back_to(listeners(kind), kind, operation, phase, correlation, payload);
}

static __thread uint32_t told_of_call, told_of_stream;

static uint64_t call_enter(int32_t kind, int32_t operation) {
    uint64_t data[8] = {sizeof data};
    current = 1 + atomic_fetch_add(&correlations, 1);
    told_of_call = listeners(kind);
    call_back_to(told_of_call, kind, operation, SDK_PHASE_ENTER, current, data);
    return current;
}

static uint32_t size_of(const void *record, size_t size) {
    const int32_t kind = sdk_head_kind(record);
    if (longer)
        return (uint32_t)size + 32;
    if (shorter && kind == MOCK_DISPATCH)
        return SDK_AT_dispatch_workgroup_x;
    if (shorter && kind == MOCK_COPY)
        return SDK_AT_copy_bytes;
    if (shorter && kind == MOCK_ALLOCATION)
        return SDK_AT_allocation_bytes;
    return (uint32_t)size;
}

static void add_record(void *bytes, size_t size, uint64_t due) {
    struct pending record = {.due = due, .size = size_of(bytes, size)};
    const int32_t kind = sdk_head_kind(bytes);
    memset(record.bytes, 0xee, sizeof record.bytes); // what lies beyond a record
    memcpy(record.bytes, bytes, size < record.size ? size : record.size);
    sdk_set_head_size(record.bytes, record.size);
    if (no_agent && kind == MOCK_ALLOCATION && !sdk_allocation_agent(record.bytes))
        sdk_set_allocation_agent(record.bytes, SDK_AGENT_NONE);
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < context_count; i++)
        if (contexts[i].active && contexts[i].buffers[kind])
            record.buffers |= 1u << (contexts[i].buffers[kind] - BUFFER_FIRST);
    if (kind == MOCK_DISPATCH && record.buffers && to_drop) {
        to_drop--;
        for (uint32_t b = 0; b < buffer_count; b++)
            buffers[b].dropped += record.buffers >> b & 1;
        record.buffers = 0;
    }
    if (kind == MOCK_DISPATCH && record.buffers && to_keep) {
        to_keep--;
        record.buffers = 0;
    }
    if (kind == MOCK_DISPATCH && record.buffers && to_spoil) {
        sdk_set_dispatch_start(record.bytes, to_spoil % 2 ? 0 : sdk_dispatch_end(record.bytes) + 5);
        to_spoil--;
    }
    if (pending_count == PENDING_MAX) {
        pthread_mutex_unlock(&lock);
        wait_all();
        pthread_mutex_lock(&lock);
    }
    if (record.buffers)
        pending[pending_count++] = record;
    if (pending_count >= 64 && !shuffle)
        move_due();
    pthread_mutex_unlock(&lock);
}

static void call_leave(int32_t kind, int32_t operation, uint64_t correlation, uint64_t start) {
    uint64_t data[8] = {sizeof data};
    uint8_t record[MOCK_RECORD_MOST] = {0};
    call_back_to(told_of_call, kind, operation, SDK_PHASE_EXIT, correlation, data);
    sdk_set_head_kind(record, kind);
    sdk_set_head_operation(record, operation);
    sdk_set_api_correlation(record, correlation);
    sdk_set_api_start(record, start);
    sdk_set_api_end(record, now());
    sdk_set_api_thread(record, (uint64_t)syscall(SYS_gettid));
    add_record(record, SDK_END_api_thread, 0);
    current = 0;
}

static uint64_t add_stream(uint64_t stream) {
    pthread_mutex_lock(&lock);
    const uint32_t number = stream_count < STREAMS_MAX ? stream_count++ : STREAMS_MAX - 1;
    streams[number] = stream;
    pthread_mutex_unlock(&lock);
    return number;
}

static uint64_t stream_number(uint64_t stream) {
    static __thread uint64_t of_thread;
    if (sdk_version >= SDK_VERSION_STREAMS && stream == MOCK_STREAM_LEGACY)
        return 0;
    if (sdk_version >= SDK_VERSION_STREAMS && stream == MOCK_STREAM_PER_THREAD)
        return of_thread = of_thread ? of_thread : add_stream(stream);
    for (uint32_t i = 0; i < stream_count; i++)
        if (streams[i] == stream)
            return i;
    if (sdk_version >= SDK_VERSION_STREAMS)
        return add_stream(stream);
    fprintf(stderr, "mock: terminate called after throwing an instance of 'std::out_of_range'\n");
    abort();
}

static void set_stream(bool enters, uint64_t stream) {
    static __thread uint64_t number;
    told_of_stream = enters ? listeners(SDK_CALLBACK_STREAM) : told_of_stream;
    if (enters && told_of_stream)
        number = stream_number(stream);
    uint64_t data[3] = {sizeof data, number, stream};
    call_back_to(told_of_stream, SDK_CALLBACK_STREAM, SDK_STREAM_SET,
                 enters ? SDK_PHASE_ENTER : SDK_PHASE_EXIT, 0, data);
}

static void stream_made(uint64_t stream) {
    if (!listeners(SDK_CALLBACK_STREAM))
        return;
    uint64_t data[3] = {sizeof data, add_stream(stream), stream};
    call_back(SDK_CALLBACK_STREAM, STREAM_CREATE, SDK_PHASE_NONE, 0, data);
}

static void stream_ended(uint64_t stream) {
    if (!listeners(SDK_CALLBACK_STREAM))
        return;
    uint64_t data[3] = {sizeof data, stream_number(stream), stream};
    call_back(SDK_CALLBACK_STREAM, STREAM_DESTROY, SDK_PHASE_NONE, 0, data);
}

static void copy_begins(void) {
    uint64_t data[8] = {sizeof data};
    call_back(SDK_CALLBACK_COPY, SDK_COPY_H2D, SDK_PHASE_ENTER, current, data);
}

static void call_back_dispatch(const void *record, int32_t phase) {
    uint8_t launch[MOCK_RECORD_MOST] = {0};
    sdk_set_launch_size(launch, 152);
    memcpy(launch + SDK_AT_launch_info_size, (const char *)record + SDK_AT_dispatch_info_size, 72);
    call_back(SDK_CALLBACK_DISPATCH, SDK_DISPATCH_ENQUEUE, phase, current, launch);
}

static void launch(void *record) {
    sdk_set_dispatch_dispatch(record, 1 + atomic_fetch_add(&dispatches, 1));
    sdk_set_dispatch_info_size(record, 72);
    call_back_dispatch(record, SDK_PHASE_ENTER);
}

static void dispatch(void *record) {
    // 128 bytes are kept for what is known of a dispatch.
    add_record(record, SDK_AT_dispatch_info_size + 128, sdk_dispatch_end(record));
    call_back_dispatch(record, SDK_PHASE_EXIT);
}

static void kernel_loaded(uint64_t kernel, const char *name) {
    uint64_t symbol[16] = {sizeof symbol};
    char text[512];
    snprintf(text, sizeof text, "%s.kd", name);
    sdk_set_kernel_symbol_kernel(symbol, kernel);
    sdk_set_kernel_symbol_code_object(symbol, 1);
    sdk_set_kernel_symbol_name(symbol, text);
    call_back(SDK_CALLBACK_CODE_OBJECT, SDK_CODE_OBJECT_KERNEL, SDK_PHASE_ENTER, 0, symbol);
    memset(text, '?', sizeof text - 1); // the name is the SDK's
}

static void marker(int32_t operation, uint64_t argument, uint64_t result) {
    uint64_t data[8] = {sizeof data, argument};
    const uint32_t who = listeners(SDK_CALLBACK_MARKER);
    call_back_to(who, SDK_CALLBACK_MARKER, operation, SDK_PHASE_ENTER, 0, data);
    sdk_set_marker_result(data, result);
    call_back_to(who, SDK_CALLBACK_MARKER, operation, SDK_PHASE_EXIT, 0, data);
}

// ---- the life of the SDK

static void finalize(void) {
    if (atomic_load(&initialized) != 1 || atomic_exchange(&finalized, true))
        return;
    wait_all();
    for (uint32_t i = 0; i < context_count; i++)
        contexts[i].active = false;
    for (uint32_t i = 0; i < client_count; i++)
        if (clients[i].tool.finalize)
            clients[i].tool.finalize(clients[i].tool.data);
    for (uint32_t i = 0; i < buffer_count && !forked; i++) {
        if (atomic_load(&buffers[i].flushed_now)) {
            fprintf(stderr, "mock: the callback thread of a flush was destroyed\n");
            abort();
        }
    }
    atomic_store(&threads_gone, true);
}

// The child has the buffer as it was, and not the thread that flushes it.
static void forked_while_flushing(void) {
    pthread_mutex_init(&lock, NULL);
    forked = true;
    for (uint32_t i = 0; i < buffer_count; i++)
        atomic_store(&buffers[i].flushed_now, true);
}

static void add_client(sdk_configure_function *configure) {
    for (uint32_t i = 0; i < client_count; i++)
        if (clients[i].configure == configure)
            return;
    if (configure && client_count < CLIENTS_MAX)
        clients[client_count++].configure = configure;
}

static void add_library(const char *path) {
    sdk_configure_function *configure = NULL;
    void *library = dlopen(path, RTLD_LOCAL | RTLD_LAZY);
    if (!library) {
        fprintf(stderr, "mock: cannot open %s\n", path);
        abort();
    }
    *(void **)&configure = dlsym(library, "rocprofiler_configure");
    add_client(configure);
}

static void find_clients(void) {
    const char *tools = getenv("ROCP_TOOL_LIBRARIES");
    char path[4096];
    if (tools && tools[0] && !strchr(tools, ':')) {
        add_library(tools);
        return;
    }
    for (const char *end; tools && (end = strchr(tools, ':')); tools = end + 1) {
        snprintf(path, sizeof path, "%.*s", (int)(end - tools), tools);
        if (path[0])
            add_library(path);
    }
    sdk_configure_function *own = NULL;
    *(void **)&own = dlsym(RTLD_DEFAULT, "rocprofiler_configure");
    add_client(own);
}

static int compare_times(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Of four records two are calls, one is a kernel, one a copy.
static void measure(uint64_t rounds) {
    enum { RECORDS = 4096, ROUNDS_MAX = 1000 };
    static uint8_t bytes[RECORDS][MOCK_RECORD_MOST];
    static struct sdk_record_header headers[RECORDS], *pointers[RECORDS];
    static double took[ROUNDS_MAX];
    const uint64_t begun = now();
    rounds = rounds < ROUNDS_MAX ? rounds : ROUNDS_MAX;
    for (uint32_t i = 0; i < RECORDS; i++) {
        uint8_t *record = bytes[i];
        const int32_t kind = i % 4 == 1 ? MOCK_DISPATCH : i % 4 == 3 ? MOCK_COPY : MOCK_HIP;
        sdk_set_head_size(record, kind == MOCK_DISPATCH ? 184 : kind == MOCK_COPY ? 96 : 64);
        sdk_set_head_kind(record, kind);
        sdk_set_head_operation(record, kind == MOCK_HIP ? MOCK_hipModuleLaunchKernel : 2);
        sdk_set_api_correlation(record, 1000 + i / 2);
        if (kind == MOCK_HIP) {
            sdk_set_api_start(record, begun + i);
            sdk_set_api_end(record, begun + i + 500);
            sdk_set_api_thread(record, (uint64_t)getpid());
        } else {
            sdk_set_copy_thread(record, (uint64_t)getpid());
            sdk_set_copy_start(record, begun + i);
            sdk_set_copy_end(record, begun + i + 900);
        }
        if (kind == MOCK_DISPATCH) {
            sdk_set_dispatch_agent(record, MOCK_AGENT_GPU);
            sdk_set_dispatch_queue(record, MOCK_QUEUE);
            sdk_set_dispatch_kernel(record, 1);
            sdk_set_dispatch_dispatch(record, 100000 + i);
            sdk_set_dispatch_grid_x(record, 4096);
            sdk_set_dispatch_workgroup_x(record, 64);
        } else if (kind == MOCK_COPY) {
            sdk_set_copy_source_agent(record, MOCK_AGENT_HOST);
            sdk_set_copy_destination_agent(record, MOCK_AGENT_GPU);
            sdk_set_copy_bytes(record, 4096);
        }
        headers[i] = (struct sdk_record_header){SDK_CATEGORY_TRACING, (uint32_t)kind, record};
        pointers[i] = &headers[i];
    }
    for (uint64_t round = 0; round < rounds; round++) {
        const uint64_t before = now();
        buffers[0].callback(buffers[0].context, (struct sdk_id){BUFFER_FIRST}, pointers, RECORDS,
                            buffers[0].data, 0);
        took[round] = (double)(now() - before) / RECORDS;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); // the collector empties the ring
    }
    qsort(took, rounds, sizeof *took, compare_times);
    fprintf(stderr, "ns per record: least %.1f, lower quartile %.1f, median %.1f (%llu buffers)\n", took[0],
            took[rounds / 4], took[rounds / 2], (unsigned long long)rounds);
}

static void initialize(void) {
    sdk_version = number_of("version") ? (uint32_t)number_of("version") : sdk_version;
    if (number_of("forkflush"))
        pthread_atfork(NULL, NULL, forked_while_flushing);
    pending = malloc(PENDING_MAX * sizeof *pending);
    shuffle = number_of("shuffle");
    longer = number_of("longer");
    shorter = number_of("shorter");
    small = number_of("small");
    no_kfd = number_of("nokfd");
    no_agent = number_of("noagent");
    to_drop = number_of("drop");
    to_keep = number_of("quiet");
    to_spoil = number_of("badtimes");
    clock_ahead = number_of("late");
    atomic_store(&initialized, -1);
    atexit(finalize);
    find_clients();
    for (uint32_t i = 0; i < client_count; i++) {
        struct sdk_client client = {.size = sizeof client, .handle = i};
        const struct sdk_tool *tool = clients[i].configure(sdk_version, "of the mock", i, &client);
        if (tool)
            clients[i].tool = *tool;
    }
    for (uint32_t i = 0; i < client_count; i++)
        if (clients[i].tool.initialize)
            clients[i].tool.initialize(NULL, clients[i].tool.data);
    atomic_store(&initialized, 1);
    if (number_of("bench") && buffer_count)
        measure(number_of("bench"));
    const uint64_t unknown = number_of("unknown");
    for (uint64_t i = 0; i < unknown; i++) {
        uint8_t record[MOCK_RECORD_MOST] = {0};
        sdk_set_head_kind(record, MOCK_FUTURE);
        struct pending future = {.size = 64, .buffers = (1u << buffer_count) - 1};
        memcpy(future.bytes, record, sizeof record);
        sdk_set_head_size(future.bytes, 64);
        if (buffer_count)
            pending[pending_count++] = future;
    }
}

EXPORT int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance, void **tables,
                                     uint64_t count);
EXPORT int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance, void **tables,
                                     uint64_t count) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)name, (void)version, (void)instance;
    pthread_once(&once, initialize);
    for (uint64_t i = 0; i < count; i++)
        *(struct mock_table *)tables[i] = (struct mock_table){.now = now,
                                                              .enter = call_enter,
                                                              .leave = call_leave,
                                                              .stream = set_stream,
                                                              .stream_made = stream_made,
                                                              .stream_ended = stream_ended,
                                                              .copy = copy_begins,
                                                              .launch = launch,
                                                              .dispatch = dispatch,
                                                              .record = add_record,
                                                              .kernel = kernel_loaded,
                                                              .marker = marker,
                                                              .wait = wait_all};
    return 0;
}

// ---- for tools. rocprofiler_NAME has the parameters of SDK_FUNCTIONS.

#define SDK_DECLARE(name, required, parameters) EXPORT int rocprofiler_##name parameters;
SDK_FUNCTIONS(SDK_DECLARE)
#undef SDK_DECLARE

int rocprofiler_get_version(uint32_t *major, uint32_t *minor, uint32_t *patch) {
    *major = sdk_version / 10000;
    *minor = sdk_version / 100 % 100;
    *patch = sdk_version % 100;
    return 0;
}

int rocprofiler_get_timestamp(uint64_t *time) {
    *time = now();
    return 0;
}

int rocprofiler_create_context(struct sdk_id *out) {
    if (atomic_load(&initialized) != -1 || context_count == CONTEXTS_MAX)
        return ERROR_LOCKED;
    contexts[context_count].made = true;
    out->handle = CONTEXT_FIRST + context_count++;
    return 0;
}

static struct context *context_of(struct sdk_id id) {
    return id.handle >= CONTEXT_FIRST && id.handle - CONTEXT_FIRST < context_count
               ? &contexts[id.handle - CONTEXT_FIRST]
               : NULL;
}

int rocprofiler_start_context(struct sdk_id id) {
    struct context *context = context_of(id);
    if (!context || atomic_load(&finalized))
        return ERROR;
    context->active = true;
    return 0;
}

int rocprofiler_stop_context(struct sdk_id id) {
    struct context *context = context_of(id);
    if (!context)
        return ERROR;
    context->active = false;
    return 0;
}

int rocprofiler_create_buffer(struct sdk_id context, size_t size, size_t watermark, int policy,
                              sdk_buffer_callback *callback, void *data, struct sdk_id *out) {
    if (atomic_load(&initialized) != -1 || buffer_count == BUFFERS_MAX || policy != SDK_BUFFER_LOSSLESS)
        return ERROR_LOCKED;
    struct buffer *buffer = &buffers[buffer_count];
    *buffer = (struct buffer){.size = small ? 64 * 200 : size,
                              .watermark = small ? 32 * 200 : watermark,
                              .callback = callback,
                              .data = data,
                              .context = context};
    for (int i = 0; i < 2; i++) {
        buffer->halves[i].bytes = malloc(buffer->size + MOCK_RECORD_MOST);
        buffer->halves[i].headers = malloc(buffer->size / 16 * sizeof(struct sdk_record_header));
        buffer->halves[i].pointers = malloc(buffer->size / 16 * sizeof(struct sdk_record_header *));
    }
    out->handle = BUFFER_FIRST + buffer_count++;
    return 0;
}

int rocprofiler_flush_buffer(struct sdk_id id) {
    struct buffer *buffer = buffer_of(id.handle);
    if (!buffer)
        return ERROR;
    if (atomic_load(&threads_gone)) {
        fprintf(stderr, "mock: flush request received after the task group was destroyed\n");
        abort();
    }
    while (atomic_exchange(&buffer->flushed_now, true))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    pthread_mutex_lock(&lock);
    move_due();
    flush_locked(buffer);
    pthread_mutex_unlock(&lock);
    atomic_store(&buffer->flushed_now, false);
    return 0;
}

int rocprofiler_configure_buffer_tracing_service(struct sdk_id id, int kind, const int32_t *operations,
                                                 size_t count, struct sdk_id buffer) {
    struct context *context = context_of(id);
    (void)operations, (void)count;
    if (atomic_load(&initialized) != -1 || !context || kind < 1 || kind >= KINDS || !buffer_of(buffer.handle))
        return ERROR_KIND;
    if (no_kfd && kind >= 24 && kind <= 31)
        return ERROR_KERNEL;
    context->buffers[kind] = buffer.handle;
    return 0;
}

int rocprofiler_configure_callback_tracing_service(struct sdk_id id, int kind, const int32_t *operations,
                                                   size_t count, sdk_tracing_callback *callback, void *data) {
    struct context *context = context_of(id);
    (void)operations, (void)count;
    if (atomic_load(&initialized) != -1 || !context || kind < 1 || kind >= CALLBACKS)
        return ERROR_KIND;
    context->callbacks[kind] = callback;
    context->data[kind] = data;
    return 0;
}

int rocprofiler_query_buffer_tracing_kind_name(int kind, const char **name, uint64_t *length) {
    const size_t count = sizeof mock_kind_names / sizeof *mock_kind_names;
    const char *text = kind >= 0 && (size_t)kind < count ? mock_kind_names[kind]
                       : kind == MOCK_GRAPH              ? "HIP_GRAPH"
                       : kind == MOCK_EVENT              ? "HIP_EVENT"
                       : kind == MOCK_FUTURE             ? "SOMETHING_OF_THE_FUTURE"
                                                         : NULL;
    *name = text;
    *length = text ? strlen(text) : 0;
    return text ? 0 : ERROR_KIND;
}

int rocprofiler_query_buffer_tracing_kind_operation_name(int kind, int32_t operation, const char **name,
                                                         uint64_t *length) {
#define MOCK_NAME(name) #name,
    static const char *const names[] = {MOCK_HIP_CALLS(MOCK_NAME)};
#undef MOCK_NAME
    const char *text = kind == MOCK_RCCL                                                   ? "ncclAllReduce"
                       : kind == MOCK_HIP && operation >= 0 && operation < MOCK_OPERATIONS ? names[operation]
                                                                                           : NULL;
    *name = text;
    *length = text ? strlen(text) : 0;
    return text ? 0 : ERROR_KIND;
}

int rocprofiler_query_available_agents(int version, sdk_agents_callback *callback, size_t size, void *data) {
    enum { PLACE = 0x6500, BOARD = 0x1a2b3c4d };
    static uint8_t agents[3][320];
    const void *pointers[3];
    if (version != SDK_AGENT_VERSION || size > 312)
        return ERROR;
    for (int i = 0; i < 3; i++) {
        sdk_set_agent_size(agents[i], 312);
        sdk_set_agent_id(agents[i], (uint64_t)(MOCK_AGENT_HOST + i));
        sdk_set_agent_type(agents[i], i ? SDK_AGENT_GPU : SDK_AGENT_CPU);
        sdk_set_agent_compute_units(agents[i], 304);
        sdk_set_agent_target(agents[i], 90402);
        sdk_set_agent_clock_mhz(agents[i], 2100);
        sdk_set_agent_memory_bytes(agents[i], UINT64_C(192) << 30);
        sdk_set_agent_name(agents[i], i ? "gfx942" : "Mock CPU");
        sdk_set_agent_vendor(agents[i], i ? "AMD" : "CPU");
        sdk_set_agent_product(agents[i], i ? "Mock Instinct" : "Mock CPU");
        sdk_set_agent_number(agents[i], i ? i - 1 : 0);
        sdk_set_agent_location(agents[i], i ? (uint32_t)(PLACE + i - 1) : 0);
        sdk_set_agent_uuid(agents[i], i ? BOARD : 0);
        pointers[i] = agents[i];
    }
    return callback(version, pointers, 3, data);
}

int rocprofiler_create_callback_thread(struct sdk_id *out) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    if (number_of("signals"))
        fprintf(stderr, "mock: the callback thread takes signals: %s\n",
                sigismember(&mask, SIGPROF) && sigismember(&mask, SIGUSR1) ? "no" : "yes");
    out->handle = 1;
    return 0;
}

int rocprofiler_assign_callback_thread(struct sdk_id buffer, struct sdk_id thread) {
    return buffer_of(buffer.handle) && thread.handle ? 0 : ERROR;
}
