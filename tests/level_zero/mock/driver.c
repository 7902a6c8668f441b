// SPDX-License-Identifier: Apache-2.0
// A driver for the Level Zero loader with one simulated device, for tests/level_zero. A command takes a known time: a kernel
// named work_N takes N us, a copy or fill 1 ns per byte and at least 1 us. A list runs its commands one after the other;
// nothing is computed, but copies and fills are done. Everything that the device does is written to the file MOCK_LOG, in
// nanoseconds of CLOCK_MONOTONIC_RAW:
//
//     kernel NAME START END GROUPS    copy BYTES START END    fill BYTES START END    (and at the end) calls NAME COUNT
//     calls resets COUNT    (after each reset of an event by the host)
//
// The device's counter has ticks of 80 ns and 36 valid bits, of which those of kernels have 32; MOCK_WRAP_MS is how long after
// the driver was loaded the 32 bits begin again at 0.
#define _GNU_SOURCE
#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TICK = 80, KERNEL_BITS = 32, DEVICE_BITS = 36, DELAY = 2000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *log_file;
static uint64_t first_tick; // of ns 0
static unsigned long event_pools, event_creates, kernel_calls, copy_calls, execute_calls, timestamp_flags;
static _Atomic unsigned long resets;

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t tick_of(uint64_t ns) {
    return first_tick + ns / TICK;
}

__attribute__((constructor)) static void load(void) {
    const char *wrap = getenv("MOCK_WRAP_MS"), *path = getenv("MOCK_LOG");
    const uint64_t at = (now_ns() + (wrap ? (uint64_t)atol(wrap) : 3600000u) * 1000000u) / TICK;
    first_tick = ((at >> KERNEL_BITS) + 2 << KERNEL_BITS) - at;
    log_file = path ? fopen(path, "a") : NULL;
}

__attribute__((destructor)) static void unload(void) {
    if (!log_file)
        return;
    fprintf(log_file,
            "calls pools %lu\ncalls events %lu\ncalls kernels %lu\ncalls copies %lu\ncalls executes %lu\n"
            "calls timestamp_pools %lu\n",
            event_pools, event_creates, kernel_calls, copy_calls, execute_calls, timestamp_flags);
    fclose(log_file);
}

static void sleep_until(uint64_t ns, uint64_t timeout) {
    const uint64_t now = now_ns();
    if (ns <= now)
        return;
    const uint64_t rest = ns - now < timeout ? ns - now : timeout;
    const struct timespec pause = {.tv_sec = (time_t)(rest / 1000000000u),
                                   .tv_nsec = (long)(rest % 1000000000u)};
    nanosleep(&pause, NULL);
}

// ---- objects

struct event {
    int has_times, is_gone;
    uint64_t signal_at, start, end; // ns; signal_at 0: not signaled
};
struct pool {
    int has_times;
};
struct kernel {
    char name[64];
    uint32_t size[3];
};
struct work {
    int kind; // 'k', 'c', 'f', 's' signal, 'r' reset
    char name[64];
    uint64_t bytes, groups;
    struct event *signal;
    struct event *waits[8];
    uint32_t wait_count;
    void *to;
    const void *from;
    char pattern;
};
struct list {
    int immediate;
    uint64_t end;
    struct work *works;
    size_t count;
};
struct queue {
    uint64_t end;
};
struct allocation {
    char *at;
    size_t bytes;
    ze_memory_type_t type;
    int refused; // once
    struct allocation *next;
};
enum { REFUSED_BYTES = 1001 }; // the first free of such an allocation is refused
static struct allocation *allocations;
static int driver, device;

static uint64_t duration(const struct work *work) {
    if (work->kind == 'k')
        return (uint64_t)atol(work->name + strlen("work_")) * 1000u;
    return work->bytes > 1000 ? work->bytes : 1000;
}

// The device does the work, not before `from`; when it ends.
static uint64_t run(const struct work *work, uint64_t from) {
    uint64_t start = from > now_ns() + DELAY ? from : now_ns() + DELAY;
    for (uint32_t i = 0; i < work->wait_count; i++)
        if (work->waits[i]->signal_at > start)
            start = work->waits[i]->signal_at;
    if (work->kind == 'r') {
        *work->signal = (struct event){.has_times = work->signal->has_times};
        return from;
    }
    const uint64_t end = work->kind == 's' ? start : start + duration(work);
    if (work->kind == 'c')
        memmove(work->to, work->from, work->bytes);
    if (work->kind == 'f')
        memset(work->to, work->pattern, work->bytes);
    if (work->signal) {
        work->signal->start = start;
        work->signal->end = end;
        work->signal->signal_at = end;
    }
    if (log_file && work->kind != 's') {
        if (work->kind == 'k')
            fprintf(log_file, "kernel %s %lu %lu %lu\n", work->name, start, end, work->groups);
        else
            fprintf(log_file, "%s %lu %lu %lu\n", work->kind == 'c' ? "copy" : "fill", work->bytes, start,
                    end);
        fflush(log_file);
    }
    return end;
}

static ze_result_t append(ze_command_list_handle_t handle, struct work work, ze_event_handle_t signal,
                          uint32_t wait_count, ze_event_handle_t *waits) {
    struct list *list = (struct list *)handle;
    if (!list || wait_count > 8)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    work.signal = (struct event *)signal;
    for (uint32_t i = 0; i < wait_count; i++)
        work.waits[i] = (struct event *)waits[i];
    work.wait_count = wait_count;
    pthread_mutex_lock(&lock);
    kernel_calls += work.kind == 'k';
    copy_calls += work.kind == 'c' || work.kind == 'f';
    if (list->immediate) {
        list->end = run(&work, list->end);
    } else {
        list->works = realloc(list->works, (list->count + 1) * sizeof work);
        list->works[list->count++] = work;
    }
    pthread_mutex_unlock(&lock);
    return ZE_RESULT_SUCCESS;
}

// ---- functions

static ze_result_t init(ze_init_flags_t flags) {
    (void)flags;
    return getenv("MOCK_INIT_FAILS") ? ZE_RESULT_ERROR_UNINITIALIZED : ZE_RESULT_SUCCESS;
}
static ze_result_t driver_get(uint32_t *count, ze_driver_handle_t *out) {
    *count = 1;
    if (out)
        out[0] = (ze_driver_handle_t)&driver;
    return ZE_RESULT_SUCCESS;
}
static ze_result_t device_get(ze_driver_handle_t of, uint32_t *count, ze_device_handle_t *out) {
    (void)of;
    *count = 1;
    if (out)
        out[0] = (ze_device_handle_t)&device;
    return ZE_RESULT_SUCCESS;
}
static ze_result_t device_properties(ze_device_handle_t of, ze_device_properties_t *out) {
    (void)of;
    out->type = ZE_DEVICE_TYPE_GPU;
    out->vendorId = 0x8086;
    out->coreClockRate = 1600;
    out->numEUsPerSubslice = 8;
    out->numSubslicesPerSlice = 4;
    out->numSlices = 2;
    out->timerResolution = out->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 ? 1000000000u / TICK : TICK;
    out->timestampValidBits = DEVICE_BITS;
    out->kernelTimestampValidBits = KERNEL_BITS;
    memset(out->uuid.id, 0x5a, sizeof out->uuid.id);
    snprintf(out->name, sizeof out->name, "TraceSmith simulated GPU");
    return ZE_RESULT_SUCCESS;
}
static ze_result_t device_memory(ze_device_handle_t of, uint32_t *count, ze_device_memory_properties_t *out) {
    (void)of;
    *count = 1;
    if (out)
        out->totalSize = (uint64_t)1 << 34;
    return ZE_RESULT_SUCCESS;
}
static ze_result_t global_timestamps(ze_device_handle_t of, uint64_t *host, uint64_t *out) {
    (void)of;
    *host = now_ns();
    *out = tick_of(*host) & (((uint64_t)1 << DEVICE_BITS) - 1);
    return ZE_RESULT_SUCCESS;
}
#define MAKE(name, type, handle, ...)                                                                        \
    static ze_result_t name(__VA_ARGS__, handle *out) {                                                      \
        *out = (handle)calloc(1, sizeof(struct type));                                                       \
        return *out ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;                                \
    }
MAKE(context_create, pool, ze_context_handle_t, ze_driver_handle_t a, const ze_context_desc_t *b)
MAKE(queue_create, queue, ze_command_queue_handle_t, ze_context_handle_t a, ze_device_handle_t b,
     const ze_command_queue_desc_t *c)
MAKE(list_create, list, ze_command_list_handle_t, ze_context_handle_t a, ze_device_handle_t b,
     const ze_command_list_desc_t *c)
MAKE(fence_create, event, ze_fence_handle_t, ze_command_queue_handle_t a, const ze_fence_desc_t *b)
static ze_result_t immediate_create(ze_context_handle_t context, ze_device_handle_t on,
                                    const ze_command_queue_desc_t *desc, ze_command_list_handle_t *out) {
    (void)context, (void)on, (void)desc;
    *out = (ze_command_list_handle_t)calloc(1, sizeof(struct list));
    ((struct list *)*out)->immediate = 1;
    return ZE_RESULT_SUCCESS;
}
#define DROP(name, handle)                                                                                   \
    static ze_result_t name(handle object) {                                                                 \
        memset((void *)object, 0xdd, sizeof(struct pool));                                                   \
        free((void *)object);                                                                                \
        return ZE_RESULT_SUCCESS;                                                                            \
    }
DROP(context_destroy, ze_context_handle_t)
DROP(queue_destroy, ze_command_queue_handle_t)
DROP(fence_destroy, ze_fence_handle_t)
DROP(pool_destroy, ze_event_pool_handle_t)
// Its memory stays, to see that it is not used any more.
static ze_result_t event_destroy(ze_event_handle_t handle) {
    ((struct event *)handle)->is_gone = 1;
    return ZE_RESULT_SUCCESS;
}
DROP(module_destroy, ze_module_handle_t)
DROP(kernel_destroy, ze_kernel_handle_t)
static ze_result_t list_reset(ze_command_list_handle_t handle) {
    ((struct list *)handle)->count = 0;
    return ZE_RESULT_SUCCESS;
}
static ze_result_t list_destroy(ze_command_list_handle_t handle) {
    free(((struct list *)handle)->works);
    free(handle);
    return ZE_RESULT_SUCCESS;
}
static ze_result_t list_close(ze_command_list_handle_t handle) {
    (void)handle;
    return ZE_RESULT_SUCCESS;
}
static ze_result_t execute(ze_command_queue_handle_t handle, uint32_t count, ze_command_list_handle_t *lists,
                           ze_fence_handle_t fence) {
    struct queue *queue = (struct queue *)handle;
    pthread_mutex_lock(&lock);
    execute_calls++;
    for (uint32_t i = 0; i < count; i++)
        for (size_t j = 0; j < ((struct list *)lists[i])->count; j++)
            queue->end = run(&((struct list *)lists[i])->works[j], queue->end);
    if (fence)
        ((struct event *)fence)->signal_at = queue->end ? queue->end : 1;
    pthread_mutex_unlock(&lock);
    return ZE_RESULT_SUCCESS;
}
static ze_result_t queue_wait(ze_command_queue_handle_t handle, uint64_t timeout) {
    sleep_until(((struct queue *)handle)->end, timeout);
    return ((struct queue *)handle)->end <= now_ns() ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}
static ze_result_t is_signaled(const struct event *event) {
    return event->signal_at && event->signal_at <= now_ns() ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}
static ze_result_t wait_for(struct event *event, uint64_t timeout) {
    if (event->signal_at)
        sleep_until(event->signal_at, timeout);
    return is_signaled(event);
}
static ze_result_t fence_wait(ze_fence_handle_t fence, uint64_t timeout) {
    return wait_for((struct event *)fence, timeout);
}
static ze_result_t fence_reset(ze_fence_handle_t fence) {
    ((struct event *)fence)->signal_at = 0;
    return ZE_RESULT_SUCCESS;
}
static ze_result_t pool_create(ze_context_handle_t context, const ze_event_pool_desc_t *desc, uint32_t count,
                               ze_device_handle_t *devices, ze_event_pool_handle_t *out) {
    struct pool *pool = calloc(1, sizeof *pool);
    (void)context, (void)count, (void)devices;
    pool->has_times = (desc->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP) != 0;
    event_pools++;
    timestamp_flags += (unsigned long)pool->has_times;
    *out = (ze_event_pool_handle_t)pool;
    return ZE_RESULT_SUCCESS;
}
static ze_result_t event_create(ze_event_pool_handle_t pool, const ze_event_desc_t *desc,
                                ze_event_handle_t *out) {
    struct event *event = calloc(1, sizeof *event);
    (void)desc;
    event->has_times = ((struct pool *)pool)->has_times;
    event_creates++;
    *out = (ze_event_handle_t)event;
    return ZE_RESULT_SUCCESS;
}
// Without the lock, as the specification asks for.
static ze_result_t event_reset(ze_event_handle_t handle) {
    struct event *event = (struct event *)handle;
    if (event->is_gone) {
        fprintf(stderr, "mock: an event is reset that was destroyed\n");
        abort();
    }
    *event = (struct event){.has_times = event->has_times};
    if (log_file) {
        fprintf(log_file, "calls resets %lu\n", ++resets);
        fflush(log_file);
    }
    return ZE_RESULT_SUCCESS;
}
static ze_result_t event_signal(ze_event_handle_t handle) {
    ((struct event *)handle)->signal_at = 1;
    return ZE_RESULT_SUCCESS;
}
static ze_result_t event_status(ze_event_handle_t handle) {
    return is_signaled((struct event *)handle);
}
static ze_result_t event_wait(ze_event_handle_t handle, uint64_t timeout) {
    return wait_for((struct event *)handle, timeout);
}
static ze_result_t event_times(ze_event_handle_t handle, ze_kernel_timestamp_result_t *out) {
    const struct event *event = (const struct event *)handle;
    const uint64_t mask = ((uint64_t)1 << KERNEL_BITS) - 1;
    if (!event->has_times)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (is_signaled(event) != ZE_RESULT_SUCCESS)
        return ZE_RESULT_NOT_READY;
    out->global.kernelStart = out->context.kernelStart = tick_of(event->start) & mask;
    out->global.kernelEnd = out->context.kernelEnd = tick_of(event->end) & mask;
    return ZE_RESULT_SUCCESS;
}
static ze_result_t module_create(ze_context_handle_t context, ze_device_handle_t on,
                                 const ze_module_desc_t *desc, ze_module_handle_t *out,
                                 ze_module_build_log_handle_t *build_log) {
    (void)context, (void)on, (void)build_log;
    if (!desc->inputSize)
        return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    *out = calloc(1, sizeof(struct pool));
    return ZE_RESULT_SUCCESS;
}
static ze_result_t kernel_create(ze_module_handle_t module, const ze_kernel_desc_t *desc,
                                 ze_kernel_handle_t *out) {
    struct kernel *kernel = calloc(1, sizeof *kernel);
    (void)module;
    snprintf(kernel->name, sizeof kernel->name, "%s", desc->pKernelName);
    *out = (ze_kernel_handle_t)kernel;
    return ZE_RESULT_SUCCESS;
}
static ze_result_t group_size(ze_kernel_handle_t handle, uint32_t x, uint32_t y, uint32_t z) {
    const uint32_t size[3] = {x, y, z};
    memcpy(((struct kernel *)handle)->size, size, sizeof size);
    return ZE_RESULT_SUCCESS;
}
static ze_result_t launch(ze_command_list_handle_t list, ze_kernel_handle_t handle,
                          const ze_group_count_t *groups, ze_event_handle_t signal, uint32_t wait_count,
                          ze_event_handle_t *waits) {
    struct work work = {.kind = 'k', .groups = groups->groupCountX};
    memcpy(work.name, ((struct kernel *)handle)->name, sizeof work.name);
    return append(list, work, signal, wait_count, waits);
}
static ze_result_t copy(ze_command_list_handle_t list, void *to, const void *from, size_t bytes,
                        ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits) {
    return append(list, (struct work){.kind = 'c', .bytes = bytes, .to = to, .from = from}, signal,
                  wait_count, waits);
}
static ze_result_t fill(ze_command_list_handle_t list, void *to, const void *pattern, size_t pattern_bytes,
                        size_t bytes, ze_event_handle_t signal, uint32_t wait_count,
                        ze_event_handle_t *waits) {
    (void)pattern_bytes;
    return append(list,
                  (struct work){.kind = 'f', .bytes = bytes, .to = to, .pattern = *(const char *)pattern},
                  signal, wait_count, waits);
}
static ze_result_t barrier(ze_command_list_handle_t list, ze_event_handle_t signal, uint32_t wait_count,
                           ze_event_handle_t *waits) {
    return append(list, (struct work){.kind = 's'}, signal, wait_count, waits);
}
static ze_result_t signal_event(ze_command_list_handle_t list, ze_event_handle_t event) {
    return append(list, (struct work){.kind = 's'}, event, 0, NULL);
}
static ze_result_t reset_event(ze_command_list_handle_t list, ze_event_handle_t event) {
    return append(list, (struct work){.kind = 'r'}, event, 0, NULL);
}
static ze_result_t allocate(size_t bytes, ze_memory_type_t type, void **out) {
    struct allocation *allocation = malloc(sizeof *allocation);
    *allocation = (struct allocation){.at = malloc(bytes), .bytes = bytes, .type = type};
    pthread_mutex_lock(&lock);
    allocation->next = allocations;
    allocations = allocation;
    pthread_mutex_unlock(&lock);
    *out = allocation->at;
    return ZE_RESULT_SUCCESS;
}
static ze_result_t alloc_device(ze_context_handle_t context, const ze_device_mem_alloc_desc_t *desc,
                                size_t bytes, size_t alignment, ze_device_handle_t on, void **out) {
    (void)context, (void)desc, (void)alignment, (void)on;
    return allocate(bytes, ZE_MEMORY_TYPE_DEVICE, out);
}
static ze_result_t alloc_host(ze_context_handle_t context, const ze_host_mem_alloc_desc_t *desc, size_t bytes,
                              size_t alignment, void **out) {
    (void)context, (void)desc, (void)alignment;
    return allocate(bytes, ZE_MEMORY_TYPE_HOST, out);
}
static ze_result_t alloc_shared(ze_context_handle_t context, const ze_device_mem_alloc_desc_t *desc,
                                const ze_host_mem_alloc_desc_t *host, size_t bytes, size_t alignment,
                                ze_device_handle_t on, void **out) {
    (void)context, (void)desc, (void)host, (void)alignment, (void)on;
    return allocate(bytes, ZE_MEMORY_TYPE_SHARED, out);
}
static ze_result_t mem_free(ze_context_handle_t context, void *at) {
    struct allocation **place = &allocations;
    (void)context;
    pthread_mutex_lock(&lock);
    while (*place && (*place)->at != at)
        place = &(*place)->next;
    struct allocation *found = *place;
    const int refuses = found && found->bytes == REFUSED_BYTES && !found->refused++;
    if (found && !refuses)
        *place = found->next;
    pthread_mutex_unlock(&lock);
    if (!found || refuses)
        return found ? ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE : ZE_RESULT_ERROR_INVALID_ARGUMENT;
    free(found->at);
    free(found);
    return ZE_RESULT_SUCCESS;
}
static ze_result_t mem_properties(ze_context_handle_t context, const void *at,
                                  ze_memory_allocation_properties_t *out, ze_device_handle_t *on) {
    (void)context, (void)on;
    out->type = ZE_MEMORY_TYPE_UNKNOWN;
    for (struct allocation *one = allocations; one; one = one->next)
        if ((const char *)at >= one->at && (const char *)at < one->at + one->bytes)
            out->type = one->type;
    return ZE_RESULT_SUCCESS;
}

// ---- tables. Those without functions are made by test_level_zero.sh.

#define TABLE(function, type, ...)                                                                           \
    ze_result_t function(ze_api_version_t version, type *out) {                                              \
        (void)version;                                                                                       \
        *out = (type){__VA_ARGS__};                                                                          \
        return ZE_RESULT_SUCCESS;                                                                            \
    }
TABLE(zeGetGlobalProcAddrTable, ze_global_dditable_t, .pfnInit = init)
TABLE(zeGetDriverProcAddrTable, ze_driver_dditable_t, .pfnGet = driver_get)
TABLE(zeGetDeviceProcAddrTable, ze_device_dditable_t, .pfnGet = device_get,
      .pfnGetProperties = device_properties, .pfnGetMemoryProperties = device_memory,
      .pfnGetGlobalTimestamps = global_timestamps)
TABLE(zeGetContextProcAddrTable, ze_context_dditable_t, .pfnCreate = context_create,
      .pfnDestroy = context_destroy)
TABLE(zeGetCommandQueueProcAddrTable, ze_command_queue_dditable_t, .pfnCreate = queue_create,
      .pfnDestroy = queue_destroy, .pfnExecuteCommandLists = execute, .pfnSynchronize = queue_wait)
TABLE(zeGetCommandListProcAddrTable, ze_command_list_dditable_t, .pfnCreate = list_create,
      .pfnCreateImmediate = immediate_create, .pfnDestroy = list_destroy, .pfnClose = list_close,
      .pfnReset = list_reset, .pfnAppendLaunchKernel = launch, .pfnAppendMemoryCopy = copy,
      .pfnAppendMemoryFill = fill, .pfnAppendBarrier = barrier, .pfnAppendSignalEvent = signal_event,
      .pfnAppendEventReset = reset_event)
TABLE(zeGetFenceProcAddrTable, ze_fence_dditable_t, .pfnCreate = fence_create, .pfnDestroy = fence_destroy,
      .pfnHostSynchronize = fence_wait, .pfnReset = fence_reset)
TABLE(zeGetEventPoolProcAddrTable, ze_event_pool_dditable_t, .pfnCreate = pool_create,
      .pfnDestroy = pool_destroy)
TABLE(zeGetEventProcAddrTable, ze_event_dditable_t, .pfnCreate = event_create, .pfnDestroy = event_destroy,
      .pfnHostSignal = event_signal, .pfnHostSynchronize = event_wait, .pfnQueryStatus = event_status,
      .pfnHostReset = event_reset, .pfnQueryKernelTimestamp = event_times)
TABLE(zeGetModuleProcAddrTable, ze_module_dditable_t, .pfnCreate = module_create,
      .pfnDestroy = module_destroy)
TABLE(zeGetKernelProcAddrTable, ze_kernel_dditable_t, .pfnCreate = kernel_create,
      .pfnDestroy = kernel_destroy, .pfnSetGroupSize = group_size)
TABLE(zeGetMemProcAddrTable, ze_mem_dditable_t, .pfnAllocDevice = alloc_device, .pfnAllocHost = alloc_host,
      .pfnAllocShared = alloc_shared, .pfnFree = mem_free, .pfnGetAllocProperties = mem_properties)
