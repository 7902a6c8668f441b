// SPDX-License-Identifier: Apache-2.0
// Records that the mock of libcupti makes up by itself, without the driver: those that are seldom, and very many.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cupti_mock.h"

static void write_rare(const void *record, size_t size) {
    if (mock_is_enabled(*(const uint32_t *)record))
        mock_write(record, size, *(const uint32_t *)record);
}

static void write_rare_of_host(uint32_t correlation) {
    const uint64_t time = mock_now();
    const uint32_t pid = (uint32_t)getpid(), tid = mock_thread();
    const struct cupti_external external = {CUPTI_KIND_EXTERNAL_CORRELATION, 3, 4711, correlation, 0};
    // Before 12.4 the thread of an overhead is pthread_self(), whatever was asked for (release notes of 12.4).
    const uint32_t self = (uint32_t)(uintptr_t)pthread_self();
    const bool named = mock_value("version", MOCK_VERSION) >= CUPTI_12_4;
    const struct cupti_overhead overhead = {.kind = CUPTI_KIND_OVERHEAD,
                                            .overhead_kind = 1 << 16,
                                            .object_kind = 2,
                                            .object.host = {pid, named ? tid : self},
                                            .start = time,
                                            .end = time + 777,
                                            .correlation = correlation};
    const struct cupti_jit jit = {.kind = CUPTI_KIND_JIT,
                                  .entry = 1,
                                  .operation = 3,
                                  .start = time,
                                  .end = time + 31000000,
                                  .correlation = correlation,
                                  .cache_bytes = 2048,
                                  .cache_path = "/tmp/cache",
                                  .process = pid,
                                  .thread = tid};
    write_rare(&external, sizeof external);
    write_rare(&overhead, sizeof overhead);
    write_rare(&jit, sizeof jit);
}

// Functions that a stream and a node of a graph have the host run.
static void write_rare_functions(uint32_t correlation) {
    const uint64_t time = mock_now();
    const uint32_t pid = (uint32_t)getpid(), tid = mock_thread();
    const struct cupti_host_launch launch = {.kind = CUPTI_KIND_HOST_LAUNCH,
                                             .stream = 7,
                                             .context = 1,
                                             .correlation = correlation,
                                             .process = pid,
                                             .thread = tid,
                                             .start = time + 10,
                                             .end = time + 4010};
    const struct cupti_graph_host_node node = {.kind = CUPTI_KIND_GRAPH_HOST_NODE,
                                               .stream = 7,
                                               .context = 1,
                                               .correlation = correlation,
                                               .graph = 3,
                                               .graph_node = 31,
                                               .process = pid,
                                               .thread = tid,
                                               .start = time + 5000,
                                               .end = time + 6001};
    write_rare(&launch, sizeof launch);
    write_rare(&node, sizeof node);
}

// What kernels, sets and waits seldom have.
static void write_rare_of_work(uint32_t correlation) {
    const uint64_t time = mock_now();
    const struct cupti_kernel spills = {.kind = CUPTI_KIND_CONCURRENT_KERNEL,
                                        .registers = 255,
                                        .start = time + 100,
                                        .end = time + 2100,
                                        .context = 1,
                                        .stream = 7,
                                        .grid = {2, 1, 1},
                                        .block = {32, 1, 1},
                                        .static_shared = 1024,
                                        .dynamic_shared = 2048,
                                        .shared_executed = 8192,
                                        .local_per_thread = 24,
                                        .local_total = 4096,
                                        .local_total_v2 = UINT64_C(1) << 33,
                                        .launch_type = 1,
                                        .correlation = correlation,
                                        .name = "spills",
                                        .priority = -5,
                                        .execution_model = 2,
                                        .source_graph = 5,
                                        .source_node = 55};
    const struct cupti_memcpy copy = {.kind = CUPTI_KIND_MEMCPY,
                                      .copy_kind = 1,
                                      .bytes = 777,
                                      .start = time + 2400,
                                      .end = time + 2500,
                                      .context = 1,
                                      .stream = 7,
                                      .correlation = correlation,
                                      .source_graph = 7,
                                      .source_node = 77};
    const struct cupti_memset set = {.kind = CUPTI_KIND_MEMSET,
                                     .value = 7,
                                     .bytes = 321,
                                     .start = time + 2200,
                                     .end = time + 2300,
                                     .context = 1,
                                     .stream = 7,
                                     .correlation = correlation,
                                     .memory_kind = 5,
                                     .source_graph = 6,
                                     .source_node = 66};
    const struct cupti_synchronization failed = {.kind = CUPTI_KIND_SYNCHRONIZATION,
                                                 .type = 3,
                                                 .start = time,
                                                 .end = time + 50,
                                                 .correlation = correlation,
                                                 .context = 1,
                                                 .stream = 7,
                                                 .event = CUPTI_NONE,
                                                 .result = 700};
    write_rare(&spills, sizeof spills);
    write_rare(&copy, sizeof copy);
    write_rare(&set, sizeof set);
    write_rare(&failed, sizeof failed);
}

void mock_write_wait(uint32_t type, uint64_t start, uint64_t end, uint32_t correlation, uint32_t context,
                     uint32_t stream, uint32_t event) {
    const struct cupti_synchronization record = {.kind = CUPTI_KIND_SYNCHRONIZATION,
                                                 .type = type,
                                                 .start = start,
                                                 .end = end,
                                                 .correlation = correlation,
                                                 .context = context,
                                                 .stream = type == 4 ? CUPTI_NONE : stream,
                                                 .event = event};
    // 13.0 has none of a context's synchronization (release notes of 13.0 update 1).
    const bool none = type == 4 && mock_value("version", MOCK_VERSION) == CUPTI_13_0;
    if (mock_is_enabled(record.kind) && !none)
        mock_write(&record, sizeof record, record.kind);
}

void mock_write_memory(uint32_t operation, uint64_t address, uint64_t bytes, uint32_t correlation,
                       uint32_t device, uint32_t context, uint32_t stream, uint32_t asynchronous) {
    const struct cupti_memory record = {.kind = CUPTI_KIND_MEMORY2,
                                        .operation = operation,
                                        .memory_kind = 3,
                                        .correlation = correlation,
                                        .address = address,
                                        .bytes = bytes,
                                        .timestamp = mock_now(),
                                        .process = (uint32_t)getpid(),
                                        .device = device,
                                        .context = context,
                                        .stream = stream,
                                        .is_async = asynchronous};
    if (mock_is_enabled(record.kind))
        mock_write(&record, sizeof record, record.kind);
}

// A node of a graph that the host runs.
struct cupti_graph_host_node mock_host_node(const struct operation *operation) {
    return (struct cupti_graph_host_node){.kind = CUPTI_KIND_GRAPH_HOST_NODE,
                                          .stream = operation->stream,
                                          .context = operation->context,
                                          .device = operation->device,
                                          .correlation = operation->correlation,
                                          .graph = operation->graph,
                                          .graph_node = operation->graph_node,
                                          .process = (uint32_t)getpid(),
                                          .thread = mock_thread(),
                                          .start = operation->start,
                                          .end = operation->end};
}

void mock_write_event(uint32_t correlation, uint32_t context, uint32_t stream, uint32_t event,
                      uint64_t time) {
    const struct cupti_cuda_event record = {.kind = CUPTI_KIND_CUDA_EVENT,
                                            .correlation = correlation,
                                            .context = context,
                                            .stream = stream,
                                            .event = event,
                                            .timestamp = time};
    write_rare(&record, sizeof record);
}

void mock_write_migration(uint32_t device, uint64_t address, uint64_t bytes) {
    const uint64_t time = mock_now();
    const struct cupti_unified_memory record = {.kind = CUPTI_KIND_UNIFIED_MEMORY,
                                                .counter = 1,
                                                .value = bytes,
                                                .start = time,
                                                .end = time + 700,
                                                .address = address,
                                                .source = CUPTI_NONE,
                                                .destination = device};
    if (mock_settings.unified_memory >> device & 1)
        write_rare(&record, sizeof record);
}

// The TPCs of a green context: two SMs each, from the one with its id on, and one far away.
static void write_green(void *context) {
    enum { WORD_BITS = 32, FAR = 67, CHANNELS = 2 };
    const uint32_t id = mock_context_id(context), processors = mock_context_processors(context);
    struct cupti_green_context record = {.kind = CUPTI_KIND_GREEN_CONTEXT,
                                         .context = id,
                                         .parent = mock_context_parent(context),
                                         .device = mock_context_device(context),
                                         .tpcs = processors / 2,
                                         .processors = (uint16_t)processors,
                                         .mask_words = 3,
                                         .queue = 70 + id,
                                         .queue_limit = 4,
                                         .channels = CHANNELS,
                                         .channel_ids = {id, 31}};
    for (uint32_t tpc = id; tpc + 1 < id + processors / 2; tpc++)
        record.mask[tpc / WORD_BITS] |= 1u << tpc % WORD_BITS;
    record.mask[FAR / WORD_BITS] |= 1u << FAR % WORD_BITS;
    write_rare(&record, sizeof record);
}

// Which board a device is: MOCK_ORDER=10 means that the second is CUDA's first, as with CUDA_VISIBLE_DEVICES=1,0.
static uint8_t mock_board(uint32_t device) {
    const char *order = getenv("MOCK_ORDER");
    return (uint8_t)(order && device < strlen(order) ? order[device] - '0' : (int)device);
}

// Those that the program does not see come too (isCudaVisible of CUPTI's device record): MOCK_HIDDEN is the number of the first of
// them, which say that they are the boards 8 and up; all: the program's own are said to be hidden.
static void write_device(uint32_t id, uint8_t board, bool visible) {
    static const char name[] = "Mock GPU", hidden[] = "Hidden GPU";
    const bool mig = getenv("MOCK_MIG") != NULL;
    struct cupti_device record = {.kind = CUPTI_KIND_DEVICE,
                                  .memory_bytes = UINT64_C(8) << 30,
                                  .clock_khz = 1500000,
                                  .multiprocessors = visible ? 40 : 20,
                                  .capability_major = mock_value("compute", 90) / 10,
                                  .capability_minor = mock_value("compute", 90) % 10,
                                  .id = id,
                                  .uuid = {0x51, 0xa7, [15] = board},
                                  .visible = visible,
                                  .mig = mig,
                                  .mig_uuid = {0x31, [15] = board},
                                  .name = visible ? name : hidden};
    // From 12.8 on the UUID is the instance's (release notes of 12.8).
    if (mig && mock_value("version", MOCK_VERSION) >= CUPTI_12_8)
        memcpy(record.uuid, record.mig_uuid, sizeof record.uuid);
    mock_write(&record, sizeof record, CUPTI_KIND_DEVICE);
}

void mock_write_devices(void) {
    enum { HIDDEN_BOARD = 8 };
    const char *const devices = getenv("MOCK_DEVICES"), *const hidden = getenv("MOCK_HIDDEN");
    const bool all = hidden && strcmp(hidden, "all") == 0;
    for (uint32_t i = 0; hidden && !all && i < 2; i++)
        write_device((uint32_t)atol(hidden) + i, (uint8_t)(HIDDEN_BOARD + i), false);
    for (uint32_t i = 0; i < (devices ? (uint32_t)atol(devices) : 1); i++)
        write_device(i, mock_board(i), !all);
}

// From 13.2 on a green context has no record of the kind for contexts (release notes of 13.2).
void mock_write_context(void *context) {
    const bool green = mock_context_processors(context) != 0;
    struct cupti_context record = {.kind = CUPTI_KIND_CONTEXT,
                                   .context = mock_context_id(context),
                                   .device = mock_context_device(context),
                                   .null_stream = (uint16_t)mock_stream_id(context, NULL),
                                   .parent = mock_context_parent(context),
                                   .green = green,
                                   .processors = (uint16_t)mock_context_processors(context),
                                   .process = (uint64_t)getpid()};
    if (green && mock_bytes_of(CUPTI_KIND_GREEN_CONTEXT))
        write_green(context);
    else
        write_rare(&record, sizeof record);
}

// The device is taken from this process's context 1 for that of another process, and given back.
static void write_switches(void) {
    const uint64_t time = mock_now();
    const struct cupti_context other = {
        .kind = CUPTI_KIND_CONTEXT, .context = 900, .null_stream = 901, .process = 4242};
    const struct cupti_context_switch switches[] = {
        {.kind = CUPTI_KIND_CONTEXT_SWITCH, .context = 1, .timestamp = time + 100, .operation = 1},
        {.kind = CUPTI_KIND_CONTEXT_SWITCH, .context = 900, .timestamp = time + 350, .operation = 2},
        {.kind = CUPTI_KIND_CONTEXT_SWITCH, .context = 777, .timestamp = time + 900, .operation = 1}};
    write_rare(&other, sizeof other);
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        if (mock_bytes_of(CUPTI_KIND_CONTEXT_SWITCH))
            write_rare(&switches[i], sizeof switches[i]);
}

static void write_device_graph(void) {
    const uint64_t time = mock_now();
    const struct cupti_device_graph launched = {.kind = CUPTI_KIND_DEVICE_GRAPH_TRACE,
                                                .start = time + 3000,
                                                .end = time + 4234,
                                                .graph = 11,
                                                .launcher_graph = 1,
                                                .context = 1,
                                                .stream = 7};
    write_rare(&launched, sizeof launched);
}

void mock_write_rare(uint32_t correlation) {
    const uint64_t time = mock_now();
    const uint32_t pid = (uint32_t)getpid();
    const struct cupti_unified_memory moved = {.kind = CUPTI_KIND_UNIFIED_MEMORY,
                                               .counter = 1,
                                               .value = 65536,
                                               .start = time,
                                               .end = time + 5000,
                                               .address = 0x1000,
                                               .source = CUPTI_NONE};
    const struct cupti_unified_memory faults = {.kind = CUPTI_KIND_UNIFIED_MEMORY,
                                                .counter = 4,
                                                .value = 12,
                                                .start = time,
                                                .end = time + 10,
                                                .address = 0x2000,
                                                .source = CUPTI_NONE};
    const struct cupti_memory_pool pool = {.kind = CUPTI_KIND_MEMORY_POOL,
                                           .operation = 1,
                                           .pool_type = 1,
                                           .correlation = correlation,
                                           .process = pid,
                                           .address = 0x3000,
                                           .size = 1 << 20,
                                           .timestamp = time,
                                           .utilized = 4096};
    const struct cupti_cuda_event event = {.kind = CUPTI_KIND_CUDA_EVENT,
                                           .correlation = correlation,
                                           .context = 1,
                                           .stream = 7,
                                           .event = 33,
                                           .timestamp = time + 99,
                                           .graph_node = 99,
                                           .graph = 9,
                                           .source_graph = 8,
                                           .source_node = 88};
    const struct cupti_decompress decompress = {.kind = CUPTI_KIND_MEM_DECOMPRESS,
                                                .context = 1,
                                                .stream = 7,
                                                .correlation = correlation,
                                                .operations = 2,
                                                .bytes = 1 << 16,
                                                .start = time,
                                                .end = time + 1234};
    write_rare_of_host(correlation);
    write_rare_of_work(correlation);
    write_rare_functions(correlation);
    write_switches();
    write_device_graph();
    write_rare(&moved, sizeof moved);
    for (uint32_t device = 1; device < 64; device++) {
        struct cupti_unified_memory there = moved;
        there.destination = device;
        there.value = 4096 * device;
        if (mock_settings.unified_memory >> device & 1)
            write_rare(&there, sizeof there);
    }
    write_rare(&faults, sizeof faults);
    write_rare(&pool, sizeof pool);
    write_rare(&event, sizeof event);
    write_rare(&decompress, sizeof decompress);
}

// A new name for every kernel, where the client is to have a lot to do.
static const char *name_of(uint64_t number) {
    static const char *const names[] = {"gemm", "relu", "norm", "copy", "add", "softmax", "gather", "scale"};
    static char many[1 << 16][16];
    static int all = -1;
    if (all < 0)
        all = getenv("MOCK_NAMES") != NULL;
    if (!all)
        return names[number % 8];
    snprintf(many[number % (1 << 16)], sizeof many[0], "kernel%u", (unsigned)(number % (1 << 16)));
    return many[number % (1 << 16)];
}

// A buffer full of launches, as a stream of short kernels makes them. Their kernels count as launched by the device, as
// no call was seen.
static size_t fill(struct buffer *buffer, uint64_t number, uint64_t until) {
    const uint32_t thread = mock_thread(), pid = (uint32_t)getpid();
    const size_t bytes = mock_bytes_of(CUPTI_KIND_CONCURRENT_KERNEL);
    static uint64_t last; // commands of a stream follow each other
    uint64_t time = mock_now() > last ? mock_now() : last;
    size_t count = 0;
    while (number + count < until &&
           buffer->used + sizeof(struct cupti_api) + sizeof(struct cupti_kernel) <= buffer->size) {
        const uint32_t correlation = (uint32_t)(number + count) | 1u << 31;
        struct cupti_api *call = (struct cupti_api *)(void *)(buffer->at + buffer->used);
        *call = (struct cupti_api){CUPTI_KIND_DRIVER, 307, time, time + 900, pid, thread, correlation, 0};
        buffer->used += sizeof *call;
        struct cupti_kernel *kernel = (struct cupti_kernel *)(void *)(buffer->at + buffer->used);
        *kernel = (struct cupti_kernel){.kind = CUPTI_KIND_CONCURRENT_KERNEL,
                                        .registers = 32,
                                        .start = time + 2000,
                                        .end = time + 3500 + count % 64,
                                        .context = 1,
                                        .stream = 7,
                                        .grid = {128, 1, 1},
                                        .block = {256, 1, 1},
                                        .correlation = correlation,
                                        .name = name_of(number + count),
                                        .device_launched = 1};
        buffer->used += bytes;
        time += 1000;
        count++;
    }
    last = time;
    return count;
}

// What a program of a framework looks like (MOCK_CUPTI=mix): a launch is a call of the runtime, one of the driver and a
// kernel, on one of four streams; every 8th comes with a copy, every 32nd with a wait, each with its call. The ids are of
// launches that were seen (mock_callbacks), so that records are joined with them.
enum { SEEN = 1 << 17, STREAMS = 4, CALL_LAUNCH = 211, CALL_COPY = 41, CALL_WAIT = 131, DRIVER_LAUNCH = 307 };

static void *add(struct buffer *buffer, size_t bytes) {
    void *at = buffer->at + buffer->used;
    buffer->used += bytes;
    return at;
}

static void add_call(struct buffer *buffer, uint32_t kind, uint32_t call, uint64_t time,
                     uint32_t correlation) {
    static __thread uint32_t thread;
    thread = thread ? thread : (uint32_t)syscall(SYS_gettid);
    *(struct cupti_api *)add(buffer, sizeof(struct cupti_api)) =
        (struct cupti_api){kind, call, time, time + 900, thread, thread, correlation, 0};
}

static void add_rest(struct buffer *buffer, uint64_t number, uint64_t time, uint32_t correlation) {
    if (number % 8 == 0) {
        add_call(buffer, CUPTI_KIND_RUNTIME, CALL_COPY, time + 910, correlation);
        *(struct cupti_memcpy *)add(buffer, mock_bytes_of(CUPTI_KIND_MEMCPY)) =
            (struct cupti_memcpy){.kind = CUPTI_KIND_MEMCPY,
                                  .copy_kind = 1 + number / 8 % 2,
                                  .source_kind = 1,
                                  .destination_kind = 3,
                                  .bytes = UINT64_C(4096) << number / 8 % 8,
                                  .start = time + 4000,
                                  .end = time + 5500,
                                  .context = 1,
                                  .stream = 7 + (uint32_t)(number % STREAMS),
                                  .correlation = correlation};
    }
    if (number % 32 == 0) {
        add_call(buffer, CUPTI_KIND_RUNTIME, CALL_WAIT, time + 1900, correlation);
        *(struct cupti_synchronization *)add(buffer, mock_bytes_of(CUPTI_KIND_SYNCHRONIZATION)) =
            (struct cupti_synchronization){.kind = CUPTI_KIND_SYNCHRONIZATION,
                                           .type = 3,
                                           .start = time + 1950,
                                           .end = time + 2700,
                                           .correlation = correlation,
                                           .context = 1,
                                           .stream = 7,
                                           .event = CUPTI_NONE};
    }
}

static size_t fill_mixed(struct buffer *buffer, uint64_t number, uint64_t until) {
    const size_t bytes = mock_bytes_of(CUPTI_KIND_CONCURRENT_KERNEL);
    const size_t most = bytes + 4 * sizeof(struct cupti_api) + sizeof(struct cupti_memcpy) +
                        sizeof(struct cupti_synchronization);
    static uint64_t last;
    uint64_t time = mock_now() > last ? mock_now() : last;
    uint64_t next = number;
    for (; next < until && buffer->used + most <= buffer->size; next++, time += 1000) {
        const uint32_t correlation = mock_made_up(next % SEEN);
        add_call(buffer, CUPTI_KIND_RUNTIME, CALL_LAUNCH, time, correlation);
        add_call(buffer, CUPTI_KIND_DRIVER, DRIVER_LAUNCH, time + 100, correlation);
        *(struct cupti_kernel *)add(buffer, bytes) =
            (struct cupti_kernel){.kind = CUPTI_KIND_CONCURRENT_KERNEL,
                                  .registers = 32,
                                  .start = time + 2000,
                                  .end = time + 3500 + next % 64,
                                  .context = 1,
                                  .stream = 7 + (uint32_t)(next % STREAMS),
                                  .grid = {128, 1, 1},
                                  .block = {256, 1, 1},
                                  .static_shared = next % 3 ? 0 : 4096,
                                  .correlation = correlation,
                                  .name = name_of(next)};
        add_rest(buffer, next, time, correlation);
    }
    last = time;
    return next - number;
}

uint64_t mock_fill_and_deliver(uint64_t launches) {
    const bool mixed = mock_has("mix");
    uint64_t taken = 0;
    for (uint64_t fed = 0; fed < launches;) {
        struct buffer buffer = mock_ask();
        struct timespec from, to;
        if (!buffer.at)
            continue;
        fed += mixed ? fill_mixed(&buffer, fed, launches) : fill(&buffer, fed, launches);
        clock_gettime(CLOCK_MONOTONIC, &from);
        mock_lock();
        mock_deliver(buffer);
        mock_unlock();
        clock_gettime(CLOCK_MONOTONIC, &to);
        taken +=
            (uint64_t)(to.tv_sec - from.tv_sec) * 1000000000u + (uint64_t)to.tv_nsec - (uint64_t)from.tv_nsec;
    }
    return taken;
}

uint64_t mock_hoard(uint64_t buffers) {
    static struct buffer kept[1024];
    uint64_t count = 0;
    for (uint64_t i = 0; i < buffers && i < 1024; i++) {
        kept[count] = mock_ask();
        count += kept[count].at != NULL;
    }
    for (uint64_t i = 0; i < count; i++) {
        fill(&kept[i], i * 10, i * 10 + 10);
        mock_deliver(kept[i]);
    }
    return count;
}
