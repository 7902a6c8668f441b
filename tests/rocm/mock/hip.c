// SPDX-License-Identifier: Apache-2.0
// A mock of libamdhip64.so, with roctx and one call of RCCL, for the programs of the tests: commands take simulated time on their
// stream and do nothing. Every call and command is given to the mock SDK, if that is there.
//
//     MOCK_KERNEL_NS=N   how long a kernel runs (2000)
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hip.h"
#include "rocm_mock.h"

enum { KERNELS_MAX = 64, STREAMS_MAX = 64, EVENTS_MAX = 64, EVENT_FIRST = 0x1000, EVENT_BYTES = 16 };

static struct mock_table table;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t kernel_ns = 2000;
static uint64_t free_at[STREAMS_MAX];    // when the stream has nothing to do
static uint64_t recorded_at[EVENTS_MAX]; // when the device reaches the last record of an event
static _Atomic uint32_t streams = 1, events, ranges;
static uint32_t kernels;
static __thread uint64_t range_depth;

static void begin(void) {
    const char *ns = getenv("MOCK_KERNEL_NS");
    kernel_ns = ns ? strtoull(ns, NULL, 10) : kernel_ns;
    mock_register("hip", &table);
}

struct call {
    uint64_t correlation, start;
    int32_t kind, operation;
};

static struct call enter(int32_t kind, int32_t operation) {
    struct call call = {.kind = kind, .operation = operation};
    pthread_once(&once, begin);
    if (!table.now)
        return call;
    call.start = table.now();
    call.correlation = table.enter(kind, operation);
    return call;
}

static int leave(const struct call *call) {
    if (table.now)
        table.leave(call->kind, call->operation, call->correlation, call->start);
    return 0;
}

// The same of a call on a stream.
static struct call enter_on(uintptr_t stream, int32_t operation) {
    pthread_once(&once, begin);
    if (table.now)
        table.stream(true, stream);
    return enter(MOCK_HIP, operation);
}

static int leave_on(uintptr_t stream, const struct call *call) {
    leave(call);
    if (table.now)
        table.stream(false, stream);
    return 0;
}

static uint32_t index_of(uintptr_t stream) {
    return stream >= MOCK_STREAM_FIRST        ? (uint32_t)(stream - MOCK_STREAM_FIRST) % (STREAMS_MAX - 1)
           : stream == MOCK_STREAM_PER_THREAD ? STREAMS_MAX - 1
                                              : 0;
}

// The time that a command of so many ns takes on a stream, from `earliest` on.
static void schedule_from(uint64_t earliest, uint32_t stream, uint64_t ns, uint64_t *start, uint64_t *end) {
    pthread_mutex_lock(&lock);
    const uint64_t now = table.now();
    *start = free_at[stream] > now ? free_at[stream] : now;
    *start = *start > earliest ? *start : earliest;
    *end = *start + ns;
    free_at[stream] = *end;
    pthread_mutex_unlock(&lock);
}

static void schedule(uint32_t stream, uint64_t ns, uint64_t *start, uint64_t *end) {
    schedule_from(0, stream, ns, start, end);
}

int hipInit(unsigned flags) {
    (void)flags;
    const struct call call = enter(MOCK_HIP, MOCK_hipInit);
    return leave(&call);
}

static void memory(const struct call *call, int32_t operation, void *address, uint64_t bytes) {
    uint8_t record[MOCK_RECORD_MOST] = {0};
    if (!table.now)
        return;
    sdk_set_head_kind(record, MOCK_ALLOCATION);
    sdk_set_head_operation(record, operation);
    sdk_set_allocation_correlation(record, call->correlation);
    sdk_set_allocation_thread(record, (uint64_t)syscall(SYS_gettid));
    sdk_set_allocation_start(record, call->start);
    sdk_set_allocation_end(record, table.now());
    sdk_set_allocation_agent(record, operation == 1 ? MOCK_AGENT_GPU : 0);
    sdk_set_allocation_address(record, (uintptr_t)address);
    sdk_set_allocation_bytes(record, bytes);
    table.record(record, SDK_END_allocation_bytes, 0);
}

int hipMalloc(void **out, size_t bytes) {
    const struct call call = enter(MOCK_HIP, MOCK_hipMalloc);
    *out = malloc(bytes);
    memory(&call, 1, *out, bytes);
    return leave(&call);
}

int hipFree(void *address) {
    const struct call call = enter(MOCK_HIP, MOCK_hipFree);
    memory(&call, 3, address, 0);
    free(address);
    return leave(&call);
}

int hipMemcpyWithStream(void *to, const void *from, size_t bytes, int kind, uintptr_t stream) {
    static const uint64_t agents[5][2] = {{MOCK_AGENT_HOST, MOCK_AGENT_HOST},
                                          {MOCK_AGENT_HOST, MOCK_AGENT_GPU},
                                          {MOCK_AGENT_GPU, MOCK_AGENT_HOST},
                                          {MOCK_AGENT_GPU, MOCK_AGENT_GPU},
                                          {MOCK_AGENT_GPU, MOCK_AGENT_GPU_2}};
    static const int32_t operations[5] = {1, 2, 3, 4, 4};
    uint8_t record[MOCK_RECORD_MOST] = {0};
    uint64_t start, end;
    const struct call call = enter_on(stream, MOCK_hipMemcpyWithStream);
    if (!table.now)
        return 0;
    table.copy();
    schedule(index_of(stream), 1000, &start, &end);
    memcpy(to, from, bytes);
    sdk_set_head_kind(record, MOCK_COPY);
    sdk_set_head_operation(record, operations[kind]);
    sdk_set_copy_correlation(record, call.correlation);
    sdk_set_copy_thread(record, (uint64_t)syscall(SYS_gettid));
    sdk_set_copy_start(record, start);
    sdk_set_copy_end(record, end);
    sdk_set_copy_source_agent(record, agents[kind][0]);
    sdk_set_copy_destination_agent(record, agents[kind][1]);
    sdk_set_copy_bytes(record, bytes);
    sdk_set_copy_destination(record, (uintptr_t)to);
    sdk_set_copy_source(record, (uintptr_t)from);
    table.record(record, SDK_END_copy_source, end);
    return leave_on(stream, &call);
}

int hipStreamCreate(uintptr_t *out) {
    const struct call call = enter(MOCK_HIP, MOCK_hipStreamCreate);
    *out = MOCK_STREAM_FIRST + atomic_fetch_add(&streams, 1);
    leave(&call);
    if (table.now)
        table.stream_made(*out);
    return 0;
}

int hipStreamDestroy(uintptr_t stream) {
    const struct call call = enter(MOCK_HIP, MOCK_hipStreamDestroy);
    leave(&call);
    if (table.now)
        table.stream_ended(stream);
    return 0;
}

uintptr_t mockKernel(const char *name) {
    pthread_once(&once, begin);
    pthread_mutex_lock(&lock);
    const uint32_t kernel = kernels < KERNELS_MAX ? ++kernels : 0;
    pthread_mutex_unlock(&lock);
    if (table.now)
        table.kernel(kernel, name);
    return kernel;
}

static void run_kernel(const struct call *call, uintptr_t kernel, const uint32_t grid[3],
                       const uint32_t block[3], uint32_t shared, uintptr_t stream) {
    uint8_t record[MOCK_RECORD_MOST] = {0};
    uint64_t start, end;
    sdk_set_head_kind(record, MOCK_DISPATCH);
    sdk_set_head_operation(record, 2);
    sdk_set_dispatch_correlation(record, call->correlation);
    sdk_set_dispatch_thread(record, (uint64_t)syscall(SYS_gettid));
    sdk_set_dispatch_agent(record, MOCK_AGENT_GPU);
    sdk_set_dispatch_queue(record, MOCK_QUEUE + index_of(stream) % 4);
    sdk_set_dispatch_kernel(record, kernel);
    sdk_set_dispatch_private_segment(record, 16);
    sdk_set_dispatch_group_segment(record, shared);
    sdk_set_dispatch_workgroup_x(record, block[0]);
    sdk_set_dispatch_workgroup_y(record, block[1]);
    sdk_set_dispatch_workgroup_z(record, block[2]);
    sdk_set_dispatch_grid_x(record, grid[0] * block[0]);
    sdk_set_dispatch_grid_y(record, grid[1] * block[1]);
    sdk_set_dispatch_grid_z(record, grid[2] * block[2]);
    table.launch(record);
    schedule(index_of(stream), kernel_ns, &start, &end);
    sdk_set_dispatch_start(record, start);
    sdk_set_dispatch_end(record, end);
    table.dispatch(record);
}

int hipModuleLaunchKernel(uintptr_t kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared, uintptr_t stream) {
    const uint32_t grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
    const struct call call = enter_on(stream, MOCK_hipModuleLaunchKernel);
    if (!table.now)
        return 0;
    run_kernel(&call, kernel, grid, block, shared, stream);
    return leave_on(stream, &call);
}

int hipDeviceSynchronize(void) {
    const struct call call = enter(MOCK_HIP, MOCK_hipDeviceSynchronize);
    if (table.now)
        table.wait();
    return leave(&call);
}

static int event_call(int32_t call_operation, int32_t operation, uintptr_t event, uintptr_t stream) {
    uint8_t record[MOCK_RECORD_MOST] = {0};
    uint64_t start, end;
    const struct call call = enter_on(stream, call_operation);
    if (!table.now)
        return 0;
    uint64_t *recorded = &recorded_at[(event - EVENT_FIRST) / EVENT_BYTES % EVENTS_MAX];
    schedule_from(operation == 2 ? *recorded : 0, index_of(stream), 100, &start, &end);
    *recorded = operation == 1 ? end : *recorded;
    sdk_set_head_kind(record, MOCK_EVENT);
    sdk_set_head_operation(record, operation);
    sdk_set_event_correlation(record, call.correlation);
    sdk_set_event_thread(record, (uint64_t)syscall(SYS_gettid));
    sdk_set_event_start(record, start);
    sdk_set_event_end(record, end);
    sdk_set_event_agent(record, MOCK_AGENT_GPU);
    sdk_set_event_queue(record, MOCK_QUEUE + index_of(stream) % 4);
    sdk_set_event_event(record, event);
    table.record(record, SDK_END_event_source_queue, end);
    return leave_on(stream, &call);
}

uintptr_t mockEvent(void) {
    return EVENT_FIRST + EVENT_BYTES * (uintptr_t)atomic_fetch_add(&events, 1);
}

int hipEventRecord(uintptr_t event, uintptr_t stream) {
    return event_call(MOCK_hipEventRecord, 1, event, stream);
}

int hipStreamWaitEvent(uintptr_t stream, uintptr_t event, unsigned flags) {
    (void)flags;
    return event_call(MOCK_hipStreamWaitEvent, 2, event, stream);
}

int mockGraphLaunch(uintptr_t kernel, unsigned count, uintptr_t stream) {
    static const uint32_t grid[3] = {1, 1, 1}, block[3] = {32, 1, 1};
    uint8_t record[MOCK_RECORD_MOST] = {0};
    const struct call call = enter_on(stream, MOCK_hipGraphLaunch);
    if (!table.now)
        return 0;
    for (unsigned i = 0; i < count; i++)
        run_kernel(&call, kernel, grid, block, 0, stream);
    sdk_set_head_kind(record, MOCK_GRAPH);
    sdk_set_head_operation(record, 3);
    sdk_set_graph_correlation(record, call.correlation);
    sdk_set_graph_thread(record, (uint64_t)syscall(SYS_gettid));
    sdk_set_graph_start(record, call.start);
    sdk_set_graph_end(record, table.now());
    sdk_set_graph_agent(record, MOCK_AGENT_GPU);
    sdk_set_graph_graph(record, 5);
    sdk_set_graph_kernels(record, count);
    table.record(record, SDK_END_graph_kernels, 0);
    return leave_on(stream, &call);
}

// What no call of a program does by itself: scratch memory, a migration of pages, events that the driver dropped.
void mockByItself(void) {
    uint8_t record[MOCK_RECORD_MOST] = {0};
    pthread_once(&once, begin);
    if (!table.now)
        return;
    const uint64_t now = table.now();
    sdk_set_head_kind(record, MOCK_SCRATCH);
    for (int32_t operation = 1; operation <= 3; operation++) {
        sdk_set_head_operation(record, operation);
        sdk_set_scratch_agent(record, MOCK_AGENT_GPU);
        sdk_set_scratch_queue(record, MOCK_QUEUE);
        sdk_set_scratch_thread(record, (uint64_t)syscall(SYS_gettid));
        sdk_set_scratch_start(record, now);
        sdk_set_scratch_end(record, now + 50);
        sdk_set_scratch_bytes(record, 4096);
        table.record(record, SDK_END_scratch_bytes, 0);
    }
    memset(record, 0, sizeof record);
    sdk_set_head_kind(record, MOCK_MIGRATION);
    sdk_set_head_operation(record, 1);
    sdk_set_migration_start(record, now);
    sdk_set_migration_end(record, now + 500);
    sdk_set_migration_process(record, (uint32_t)getpid());
    sdk_set_migration_from(record, 0x100000);
    sdk_set_migration_to(record, 0x102000);
    sdk_set_migration_source_agent(record, MOCK_AGENT_HOST);
    sdk_set_migration_destination_agent(record, MOCK_AGENT_GPU);
    table.record(record, SDK_END_migration_destination_agent + 24, 0);
    memset(record, 0, sizeof record);
    sdk_set_head_kind(record, MOCK_KFD_DROPPED);
    sdk_set_dropped_time(record, now);
    sdk_set_dropped_count(record, 11);
    table.record(record, SDK_END_dropped_count, 0);
}

// ---- roctx, RCCL

static void marker(int32_t operation, uint64_t argument, uint64_t result) {
    pthread_once(&once, begin);
    if (table.now)
        table.marker(operation, argument, result);
}

void roctxMarkA(const char *message) {
    marker(0, (uintptr_t)message, 0);
}

int roctxRangePushA(const char *message) {
    marker(1, (uintptr_t)message, 0);
    return (int)range_depth++;
}

int roctxRangePop(void) {
    marker(2, 0, 0);
    return (int)--range_depth;
}

uint64_t roctxRangeStartA(const char *message) {
    const uint64_t number = 1 + atomic_fetch_add(&ranges, 1);
    marker(3, (uintptr_t)message, number);
    return number;
}

void roctxRangeStop(uint64_t number) {
    marker(4, number, 0);
}

int ncclAllReduce(size_t count) {
    (void)count;
    const struct call call = enter(MOCK_RCCL, 0);
    return leave(&call);
}
