// SPDX-License-Identifier: Apache-2.0
// A program that uses Level Zero in the ways that differ for a profiler: immediate lists with and without events of its own,
// a list that is executed again and again, two executions at once, copies, fills, waits. Called by test_level_zero.sh:
//
//     lists immediate N | regular N | overlap | outlive | events | lists N | refused | forever N | exits N | never N | many N
//
// It prints what it did, and checks the driver's results.
#define _GNU_SOURCE
#include <level_zero/ze_api.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        const ze_result_t check_result = (call);                                                             \
        if (check_result != ZE_RESULT_SUCCESS) {                                                             \
            printf("%s: 0x%x\n", #call, (unsigned)check_result);                                             \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static ze_driver_handle_t driver;
static ze_context_handle_t context;
static ze_device_handle_t device;
static ze_module_handle_t module;
static const ze_group_count_t groups = {6, 1, 1};

static void context_make(void) {
    const ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    CHECK(zeContextCreate(driver, &desc, &context));
}

static ze_kernel_handle_t kernel_make(const char *name) {
    const ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
    ze_kernel_handle_t kernel;
    CHECK(zeKernelCreate(module, &desc, &kernel));
    CHECK(zeKernelSetGroupSize(kernel, 32, 1, 1));
    return kernel;
}

static ze_command_list_handle_t immediate_make(void) {
    const ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_handle_t list;
    CHECK(zeCommandListCreateImmediate(context, device, &desc, &list));
    return list;
}

static ze_command_list_handle_t list_make(void) {
    const ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_command_list_handle_t list;
    CHECK(zeCommandListCreate(context, device, &desc, &list));
    return list;
}

static ze_command_queue_handle_t queue_make(void) {
    const ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_queue_handle_t queue;
    CHECK(zeCommandQueueCreate(context, device, &desc, &queue));
    return queue;
}

static ze_event_pool_handle_t pool_make(ze_event_pool_flags_t flags, uint32_t count) {
    const ze_event_pool_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = flags, .count = count};
    ze_event_pool_handle_t pool;
    CHECK(zeEventPoolCreate(context, &desc, 0, NULL, &pool));
    return pool;
}

static ze_event_handle_t event_make(ze_event_pool_handle_t pool, uint32_t index) {
    const ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = index};
    ze_event_handle_t event;
    CHECK(zeEventCreate(pool, &desc, &event));
    return event;
}

// The program waits with an event of a barrier.
static void finish(ze_command_list_handle_t list, ze_event_handle_t event) {
    CHECK(zeCommandListAppendBarrier(list, event, 0, NULL));
    CHECK(zeEventHostSynchronize(event, UINT64_MAX));
    CHECK(zeEventHostReset(event));
}

// Kernels without events, and copies around them.
static void immediate(int rounds) {
    enum { BYTES = 4096 };
    ze_kernel_handle_t kernel = kernel_make("work_20");
    ze_command_list_handle_t list = immediate_make();
    ze_event_pool_handle_t pool = pool_make(ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1);
    ze_event_handle_t done = event_make(pool, 0);
    const ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    static char data[BYTES], back[BYTES];
    void *buffer;
    CHECK(zeMemAllocDevice(context, &desc, BYTES, 64, device, &buffer));
    memset(data, 7, sizeof data);
    for (int i = 0; i < rounds; i++) {
        CHECK(zeCommandListAppendMemoryCopy(list, buffer, data, BYTES, NULL, 0, NULL));
        CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
        CHECK(zeCommandListAppendMemoryCopy(list, back, (char *)buffer + 1024, BYTES / 2, NULL, 0, NULL));
        CHECK(zeCommandListAppendMemoryFill(list, buffer, "\1", 1, BYTES, NULL, 0, NULL));
        finish(list, done);
    }
    printf("immediate %d %d %d\n", rounds, data[0], back[BYTES / 2 - 1]);
    CHECK(zeMemFree(context, buffer));
    CHECK(zeEventDestroy(done));
    CHECK(zeEventPoolDestroy(pool));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeKernelDestroy(kernel));
}

// One list of two kernels, executed `rounds` times; the program waits after each by a fence, or by the queue.
static void regular(int rounds) {
    const ze_fence_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
    ze_kernel_handle_t first = kernel_make("work_30"), second = kernel_make("work_50");
    ze_command_list_handle_t list = list_make();
    ze_command_queue_handle_t queue = queue_make();
    ze_fence_handle_t fence;
    CHECK(zeFenceCreate(queue, &desc, &fence));
    CHECK(zeCommandListAppendLaunchKernel(list, first, &groups, NULL, 0, NULL));
    CHECK(zeCommandListAppendLaunchKernel(list, second, &groups, NULL, 0, NULL));
    CHECK(zeCommandListClose(list));
    for (int i = 0; i < rounds; i++) {
        CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, i % 2 ? fence : NULL));
        if (i % 2) {
            CHECK(zeFenceHostSynchronize(fence, UINT64_MAX));
            CHECK(zeFenceReset(fence));
        } else {
            CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
        }
    }
    printf("regular %d\n", rounds);
    CHECK(zeFenceDestroy(fence));
    CHECK(zeCommandListDestroy(list));
    CHECK(zeCommandQueueDestroy(queue));
}

// The second execution is submitted while the first runs; a third follows when both are complete.
static void overlap(void) {
    ze_kernel_handle_t kernel = kernel_make("work_50000");
    ze_command_list_handle_t list = list_make();
    ze_command_queue_handle_t queue = queue_make();
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    CHECK(zeCommandListClose(list));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    printf("overlap\n");
    CHECK(zeCommandListDestroy(list));
}

// The list, of which two executions overlapped, is destroyed after its context.
static void outlive(void) {
    ze_kernel_handle_t kernel = kernel_make("work_50000");
    ze_command_list_handle_t list = list_make();
    ze_command_queue_handle_t queue = queue_make();
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    CHECK(zeCommandListClose(list));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
    CHECK(zeCommandQueueDestroy(queue));
    CHECK(zeContextDestroy(context));
    CHECK(zeCommandListDestroy(list));
    context_make();
}

// Events of the program's own: with timestamps, without, reset and used again, used again without a reset.
static void events(void) {
    ze_kernel_handle_t kernel = kernel_make("work_40");
    ze_command_list_handle_t list = immediate_make();
    ze_event_pool_handle_t timed =
        pool_make(ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, 2);
    ze_event_pool_handle_t plain = pool_make(ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1);
    ze_event_handle_t a = event_make(timed, 0), b = event_make(timed, 1), c = event_make(plain, 0);
    ze_kernel_timestamp_result_t times;
    for (int i = 0; i < 5; i++) { // 5 commands with times
        CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, a, 0, NULL));
        CHECK(zeEventHostSynchronize(a, UINT64_MAX));
        CHECK(zeEventQueryKernelTimestamp(a, &times));
        CHECK(zeEventHostReset(a));
    }
    for (int i = 0; i < 3; i++) { // the first may have times, the others have not
        CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, b, 0, NULL));
        CHECK(zeEventHostSynchronize(b, UINT64_MAX));
    }
    CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, c, 1, &b));
    CHECK(zeEventHostSynchronize(c, UINT64_MAX));
    printf("events %d\n", times.global.kernelEnd != times.global.kernelStart);
    CHECK(zeEventDestroy(a));
    CHECK(zeEventDestroy(b));
    CHECK(zeEventDestroy(c));
    CHECK(zeEventPoolDestroy(timed));
    CHECK(zeEventPoolDestroy(plain));
    CHECK(zeCommandListDestroy(list));
}

static void launch_and_finish(ze_command_list_handle_t list, ze_kernel_handle_t kernel, int launches,
                              ze_event_handle_t done) {
    for (int i = 0; i < launches; i++)
        CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    finish(list, done);
}

// `count` lists one after the other, with one launch or more than a list takes of the agent's events at once; then one that
// outlives its context, whose address the next context may have.
static void lists(int count) {
    enum { MANY = 20 };
    ze_kernel_handle_t kernel = kernel_make("work_1");
    ze_event_pool_handle_t pool = pool_make(ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1);
    ze_event_handle_t done = event_make(pool, 0);
    for (int i = 0; i < count; i++) {
        ze_command_list_handle_t list = immediate_make();
        launch_and_finish(list, kernel, i % 2 ? MANY : 1, done);
        CHECK(zeCommandListDestroy(list));
    }
    ze_command_list_handle_t old = immediate_make();
    launch_and_finish(old, kernel, 1, done);
    CHECK(zeEventDestroy(done));
    CHECK(zeEventPoolDestroy(pool));
    CHECK(zeContextDestroy(context));
    context_make();
    pool = pool_make(ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1);
    done = event_make(pool, 0);
    ze_command_list_handle_t list = immediate_make();
    launch_and_finish(list, kernel, 1, done);
    CHECK(zeCommandListDestroy(old));
    launch_and_finish(list, kernel, MANY, done);
    printf("lists %d\n", count);
    CHECK(zeEventDestroy(done));
    CHECK(zeEventPoolDestroy(pool));
    CHECK(zeCommandListDestroy(list));
}

// The driver refuses the first free of such an allocation: it is used, and freed again.
static void refused(void) {
    enum { BYTES = 1001 };
    ze_command_list_handle_t list = immediate_make();
    ze_event_pool_handle_t pool = pool_make(ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1);
    ze_event_handle_t done = event_make(pool, 0);
    const ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    static char back[BYTES];
    void *buffer;
    CHECK(zeMemAllocDevice(context, &desc, BYTES, 64, device, &buffer));
    const ze_result_t first = zeMemFree(context, buffer);
    CHECK(zeCommandListAppendMemoryFill(list, buffer, "\1", 1, BYTES, NULL, 0, NULL));
    CHECK(zeCommandListAppendMemoryCopy(list, back, buffer, BYTES, NULL, 0, NULL));
    finish(list, done);
    CHECK(zeMemFree(context, buffer));
    printf("refused %d %d\n", first != ZE_RESULT_SUCCESS, back[BYTES - 1]);
    CHECK(zeEventDestroy(done));
    CHECK(zeEventPoolDestroy(pool));
    CHECK(zeCommandListDestroy(list));
}

static double clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double now_ns(void) {
    return clock_ns(CLOCK_MONOTONIC);
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Launches only. For bench/bench_level_zero.sh it writes the lower quartile of what a call took, over blocks of 1,000 calls, to stderr.
static void many(int launches) {
    enum { BLOCK = 1000 };
    ze_kernel_handle_t kernel = kernel_make("work_0");
    ze_command_list_handle_t list = immediate_make();
    const int blocks = launches / BLOCK;
    double *took = calloc((size_t)blocks + 1, sizeof *took), begun = now_ns();
    const double processor = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < launches; i++) {
        CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
        if ((i + 1) % BLOCK == 0) {
            took[i / BLOCK] = (now_ns() - begun) / BLOCK;
            begun = now_ns();
        }
    }
    qsort(took, (size_t)blocks, sizeof *took, compare);
    if (getenv("LISTS_TIMES"))
        fprintf(stderr, "%.0f ns of the processor a call\n%.0f ns a call\n",
                (clock_ns(CLOCK_THREAD_CPUTIME_ID) - processor) / launches, took[blocks / 4]);
    free(took);
    printf("many %d\n", launches);
    CHECK(zeCommandListDestroy(list));
}

// Never waits for what it launches; prints a line and waits to be killed.
static void never(int launches) {
    ze_kernel_handle_t kernel = kernel_make("work_10");
    ze_command_list_handle_t list = immediate_make();
    for (int i = 0; i < launches; i++)
        CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    printf("never %d\n", launches);
    fflush(stdout);
    for (;;)
        pause();
}

// `launches` that end, then one that runs for a minute; prints a line and waits to be killed, or exits.
static void forever(int launches, bool exits) {
    ze_kernel_handle_t kernel = kernel_make("work_10"), endless = kernel_make("work_60000000");
    ze_command_list_handle_t list = immediate_make();
    ze_event_pool_handle_t pool = pool_make(ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1);
    ze_event_handle_t done = event_make(pool, 0);
    for (int i = 0; i < launches; i++)
        CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
    finish(list, done);
    CHECK(zeCommandListAppendLaunchKernel(list, endless, &groups, NULL, 0, NULL));
    printf("forever %d\n", launches);
    fflush(stdout);
    if (exits)
        exit(0);
    for (;;)
        pause();
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    const int number = argc > 2 ? atoi(argv[2]) : 1;
    const ze_module_desc_t module_desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                                          .inputSize = 4,
                                          .pInputModule = (const uint8_t *)"spv",
                                          .pBuildFlags = "-ze-opt-level=2"};
    uint32_t count = 1;
    const ze_result_t started = zeInit(0);
    if (started != ZE_RESULT_SUCCESS) {
        printf("zeInit: 0x%x\n", (unsigned)started);
        return 3;
    }
    CHECK(zeDriverGet(&count, &driver));
    CHECK(zeDeviceGet(driver, &count, &device));
    context_make();
    CHECK(zeModuleCreate(context, device, &module_desc, &module, NULL));
    if (strcmp(what, "immediate") == 0)
        immediate(number);
    else if (strcmp(what, "regular") == 0)
        regular(number);
    else if (strcmp(what, "overlap") == 0)
        overlap();
    else if (strcmp(what, "outlive") == 0)
        outlive();
    else if (strcmp(what, "events") == 0)
        events();
    else if (strcmp(what, "lists") == 0)
        lists(number);
    else if (strcmp(what, "refused") == 0)
        refused();
    else if (strcmp(what, "never") == 0)
        never(number);
    else if (strcmp(what, "many") == 0)
        many(number);
    else
        forever(number, strcmp(what, "exits") == 0);
    CHECK(zeModuleDestroy(module));
    CHECK(zeContextDestroy(context));
    return 0;
}
