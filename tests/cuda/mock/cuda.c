// SPDX-License-Identifier: Apache-2.0
// A mock of libcuda.so.1: the part of the driver API that the tests' programs use. Commands take simulated time on
// their stream and do nothing, except that copies copy and sets set: device memory is host memory.
//
//     MOCK_DEVICES=N        devices (1)
//     MOCK_DRIVER=N         the newest CUDA that it supports (13000)
//     MOCK_KERNEL_NS=N      how long a kernel runs (2000)
//     MOCK_CUDA_FAIL=N      cuInit returns this error
#include "cuda_mock.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// A kernel with so much shared memory runs for a day.
enum { ENDLESS_SHARED = 7777 };
static const uint64_t ENDLESS_NS = 86400000000000u;

struct module {
    uint32_t id;
    uint64_t bytes;
};
struct function {
    struct module *module;
    char name[64];
};
struct graph {
    uint32_t id, kernels;
};

static const struct hooks *_Atomic hooks;
static _Atomic uint32_t correlations, contexts, streams = 6, modules, graphs;
static atomic_int initialized, ready;
static __thread struct context *current;
static struct context *_Atomic first_context;
static __thread bool capturing; // what is launched becomes a node of a graph
static __thread uint32_t outer; // the correlation id of the call of the runtime that this thread is in

void mock_hook(const struct hooks *theirs) {
    atomic_store(&hooks, theirs);
}
bool mock_is_ready(void) {
    return atomic_load(&ready);
}
uint32_t mock_context_id(void *context) {
    return context ? ((struct context *)context)->id : 0;
}
uint32_t mock_context_device(void *context) {
    return context ? ((struct context *)context)->device : 0;
}
uint32_t mock_context_parent(void *context) {
    return context ? ((struct context *)context)->parent : 0;
}
uint32_t mock_context_processors(void *context) {
    return context ? ((struct context *)context)->processors : 0;
}
struct context *mock_current(void) {
    return current;
}
void mock_set_current(struct context *context) {
    current = context;
}
uint32_t mock_stream_id(void *context, void *stream) {
    return stream ? ((struct stream *)stream)->id : context ? ((struct context *)context)->null.id : 0;
}

static pthread_mutex_t big = PTHREAD_MUTEX_INITIALIZER;

void mock_lock(void) {
    pthread_mutex_lock(&big);
}
void mock_unlock(void) {
    pthread_mutex_unlock(&big);
}

__attribute__((constructor)) static void prepare_for_forks(void) {
    pthread_atfork(mock_lock, mock_unlock, mock_unlock);
}

static long setting(const char *name, long otherwise) {
    const char *value = getenv(name);
    return value && *value ? atol(value) : otherwise;
}

// ---- calls

// MOCK_NESTED: ids of calls of the driver within one of the runtime. Not set: those of the runtime's call.
//     outer   their own, and what they launch has the runtime's
//     inner   their own, and what they launch has it too
static bool nested(const char *how) {
    const char *value = getenv("MOCK_NESTED");
    return value && (!how || strcmp(value, how) == 0);
}

struct call mock_begin(int domain, uint32_t id, const char *name) {
    struct call call = {.domain = domain, .id = id, .name = name, .hooks = atomic_load(&hooks)};
    call.correlation = outer && !nested(NULL) ? outer : atomic_fetch_add(&correlations, 1) + 1;
    if (call.hooks)
        call.hooks->call(0, domain, id, name, call.correlation, NULL, current);
    call.start = mock_time();
    return call;
}

int mock_end(struct call *call, int result) {
    const uint64_t at = mock_time();
    if (call->hooks) {
        mock_note(call->domain == 1 ? "call" : "runtime", call->correlation, call->start, at);
        call->hooks->called(call->domain, call->id, mock_time_of_cupti(call->start), mock_time_of_cupti(at),
                            call->correlation, result);
        call->hooks->call(1, call->domain, call->id, call->name, call->correlation, &result, current);
    }
    return result;
}

// For the mock of the runtime.
void mock_runtime_begin(uint32_t id, const char *name, struct call *call) {
    *call = mock_begin(2, id, name);
    outer = call->correlation;
}
int mock_runtime_end(struct call *call, int result) {
    outer = 0;
    return mock_end(call, result);
}

// ---- the device

static struct stream *stream_of(void *stream) {
    return stream ? stream : current ? &current->null : NULL;
}

static void report_operation(const struct hooks *told, const struct operation *operation) {
    static const char *const names[] = {"kernel", "copy", "set", "peer", "graph"};
    struct operation said = *operation;
    said.start = mock_time_of_cupti(operation->start);
    said.end = mock_time_of_cupti(operation->end);
    said.done = operation->end;
    mock_note(names[operation->kind], operation->correlation, operation->start, operation->end);
    told->operated(&said);
}

static void run(struct stream *stream, struct operation *operation, uint64_t nanoseconds) {
    const struct hooks *told = atomic_load(&hooks);
    const uint64_t earliest = mock_time() + 1000;
    uint64_t busy = atomic_load(&stream->busy_until), start;
    do {
        start = busy > earliest ? busy : earliest;
    } while (!atomic_compare_exchange_weak(&stream->busy_until, &busy, start + nanoseconds));
    if (outer && nested("outer"))
        operation->correlation = outer;
    operation->device = stream->context->device;
    operation->context = stream->context->id;
    operation->stream = stream->id;
    operation->start = start;
    operation->end = start + nanoseconds;
    if (told)
        report_operation(told, operation);
}

static void drain(const struct stream *stream) {
    while (mock_time() < atomic_load(&stream->busy_until)) {
        const struct timespec moment = {.tv_nsec = 1000};
        nanosleep(&moment, NULL);
    }
}

int mock_wait(struct call *call, uint32_t type, const struct stream *stream, uint64_t until, uint32_t event) {
    const uint64_t from = mock_time();
    const struct timespec moment = {.tv_nsec = 1000};
    while (mock_time() < until)
        nanosleep(&moment, NULL);
    const uint64_t to = mock_time();
    if (call->hooks) {
        mock_note("wait", call->correlation, from, to);
        call->hooks->waited(type, mock_time_of_cupti(from), mock_time_of_cupti(to), call->correlation,
                            stream->context->id, stream->id, event);
    }
    return OK;
}

static int wait_for(struct call *call, uint32_t type, const struct stream *stream) {
    return mock_wait(call, type, stream, atomic_load(&stream->busy_until), CUPTI_NONE);
}

// ---- the API

// MOCK_EXIT: the driver's own exit handler, which it registers within cuInit.
static atomic_bool down;
static void shut_down(void) {
    atomic_store(&down, true);
}
bool mock_is_down(void) {
    return atomic_load(&down);
}

int cuInit(unsigned flags);
int cuInit(unsigned flags) {
    const int fails = (int)setting("MOCK_CUDA_FAIL", 0);
    if (flags)
        return INVALID;
    if (fails)
        return fails;
    if (atomic_exchange(&initialized, 1))
        return OK;
    const char *path = getenv(MOCK_INJECTION);
    void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*initialize)(void) = NULL;
    if (library)
        *(void **)&initialize = dlsym(library, "InitializeInjection");
    if (initialize)
        initialize();
    atomic_store(&ready, 1);
    BEGIN(cuInit);
    mock_clock_changes("init");
    if (getenv("MOCK_EXIT"))
        atexit(shut_down);
    return mock_end(&call, OK);
}

int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version) {
    *version = (int)setting("MOCK_DRIVER", 13000);
    return OK;
}

int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count) {
    *count = (int)setting("MOCK_DEVICES", 1);
    return atomic_load(&initialized) ? OK : NOT_INITIALIZED;
}

int cuDeviceGet(int *device, int ordinal);
int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return ordinal >= 0 && ordinal < setting("MOCK_DEVICES", 1) ? OK : NO_DEVICE;
}

void mock_context_made(const struct call *call, struct context *context, uint32_t device) {
    struct context *none = NULL;
    context->id = atomic_fetch_add(&contexts, 1) + 1;
    context->device = device;
    context->null.id = atomic_fetch_add(&streams, 1) + 1;
    context->null.context = context;
    atomic_compare_exchange_strong(&first_context, &none, context);
    mock_clock_changes("context");
    if (call->hooks)
        call->hooks->resource(CUPTI_RESOURCE_CONTEXT_CREATED, context, NULL, NULL);
    mock_clock_changes("late");
}

int cuCtxCreate_v2(struct context **out, unsigned flags, int device);
int cuCtxCreate_v2(struct context **out, unsigned flags, int device) {
    (void)flags;
    BEGIN(cuCtxCreate_v2);
    struct context *context = calloc(1, sizeof *context);
    if (!context || device < 0 || device >= setting("MOCK_DEVICES", 1)) {
        free(context);
        return mock_end(&call, NO_DEVICE);
    }
    current = *out = context;
    mock_context_made(&call, context, (uint32_t)device);
    return mock_end(&call, OK);
}

int cuCtxGetCurrent(struct context **out);
int cuCtxGetCurrent(struct context **out) {
    BEGIN(cuCtxGetCurrent);
    *out = current;
    return mock_end(&call, atomic_load(&initialized) ? OK : NOT_INITIALIZED);
}

int cuProfilerStart(void);
int cuProfilerStart(void) {
    BEGIN(cuProfilerStart);
    return mock_end(&call, OK);
}

int cuProfilerStop(void);
int cuProfilerStop(void) {
    BEGIN(cuProfilerStop);
    return mock_end(&call, OK);
}

int cuCtxSetCurrent(struct context *context);
int cuCtxSetCurrent(struct context *context) {
    current = context;
    return OK;
}

int cuCtxDestroy_v2(struct context *context);
int cuCtxDestroy_v2(struct context *context) {
    BEGIN(cuCtxDestroy_v2);
    if (call.hooks)
        call.hooks->resource(CUPTI_RESOURCE_CONTEXT_DESTROY, context, NULL, NULL);
    drain(&context->null);
    current = NULL;
    return mock_end(&call, OK); // kept: records refer to it
}

int cuCtxSynchronize(void);
int cuCtxSynchronize(void) {
    BEGIN(cuCtxSynchronize);
    return mock_end(&call, current ? wait_for(&call, 4, &current->null) : NOT_INITIALIZED);
}

int cuStreamCreate(struct stream **out, unsigned flags);
int cuStreamCreate(struct stream **out, unsigned flags) {
    (void)flags;
    BEGIN(cuStreamCreate);
    struct stream *stream = current ? mock_new_stream(current, atomic_fetch_add(&streams, 1) + 1) : NULL;
    if (!stream)
        return mock_end(&call, NO_MEMORY);
    *out = stream;
    if (call.hooks)
        call.hooks->resource(CUPTI_RESOURCE_STREAM_CREATED, current, stream, NULL);
    return mock_end(&call, OK);
}

int cuStreamDestroy_v2(struct stream *stream);
int cuStreamDestroy_v2(struct stream *stream) {
    BEGIN(cuStreamDestroy_v2);
    drain(stream);
    if (call.hooks)
        call.hooks->resource(CUPTI_RESOURCE_STREAM_DESTROY, stream->context, stream, NULL);
    return mock_end(&call, OK);
}

int cuStreamSynchronize(void *stream);
int cuStreamSynchronize(void *stream) {
    BEGIN(cuStreamSynchronize);
    struct stream *at = stream_of(stream);
    return mock_end(&call, at ? wait_for(&call, 3, at) : NOT_INITIALIZED);
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    BEGIN(cuMemAlloc_v2);
    size_t *memory = bytes < (size_t)1 << 40 ? malloc(bytes + 16) : NULL;
    if (!memory || !current)
        return mock_end(&call, NO_MEMORY);
    *memory = bytes;
    *address = (uint64_t)(uintptr_t)memory + 16;
    if (call.hooks)
        call.hooks->memory(1, *address, bytes, call.correlation, current->device, current->id, CUPTI_NONE, 0);
    return mock_end(&call, OK);
}

int cuMemFree_v2(uint64_t address);
int cuMemFree_v2(uint64_t address) {
    BEGIN(cuMemFree_v2);
    size_t *memory = (size_t *)(uintptr_t)(address - 16);
    if (current)
        drain(&current->null);
    if (call.hooks && current)
        call.hooks->memory(2, address, *memory, call.correlation, current->device, current->id, CUPTI_NONE,
                           0);
    free(memory);
    return mock_end(&call, OK);
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
    BEGIN(cuMemcpyHtoDAsync_v2);
    struct operation operation = {
        .kind = OPERATION_COPY, .correlation = call.correlation, .bytes = bytes, .copy_kind = 1};
    memcpy((void *)(uintptr_t)to, from, bytes);
    run(stream_of(stream), &operation, 500 + bytes / 16);
    return mock_end(&call, OK);
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
    BEGIN(cuMemcpyDtoH_v2);
    struct operation operation = {
        .kind = OPERATION_COPY, .correlation = call.correlation, .bytes = bytes, .copy_kind = 2};
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    run(&current->null, &operation, 500 + bytes / 16);
    drain(&current->null);
    return mock_end(&call, OK);
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream);
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream) {
    BEGIN(cuMemcpyDtoDAsync_v2);
    struct operation operation = {
        .kind = OPERATION_COPY, .correlation = call.correlation, .bytes = bytes, .copy_kind = 8};
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    run(stream_of(stream), &operation, 500 + bytes / 32);
    return mock_end(&call, OK);
}

int cuMemcpyPeerAsync(uint64_t to, struct context *there, uint64_t from, struct context *here, size_t bytes,
                      void *stream);
int cuMemcpyPeerAsync(uint64_t to, struct context *there, uint64_t from, struct context *here, size_t bytes,
                      void *stream) {
    (void)here;
    BEGIN(cuMemcpyPeerAsync);
    struct operation operation = {
        .kind = OPERATION_PEER, .correlation = call.correlation, .bytes = bytes, .peer = there->device};
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    run(stream_of(stream), &operation, 500 + bytes / 8);
    return mock_end(&call, OK);
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream);
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream) {
    BEGIN(cuMemsetD8Async);
    struct operation operation = {
        .kind = OPERATION_SET, .correlation = call.correlation, .bytes = bytes, .value = value};
    memset((void *)(uintptr_t)to, value, bytes);
    run(stream_of(stream), &operation, 500 + bytes / 32);
    return mock_end(&call, OK);
}

// A module is made of no code at all: any text. Every function is in it.
int cuModuleLoadData(struct module **out, const void *image);
int cuModuleLoadData(struct module **out, const void *image) {
    BEGIN(cuModuleLoadData);
    struct module *module = calloc(1, sizeof *module);
    if (!module || !image)
        return mock_end(&call, INVALID);
    module->id = atomic_fetch_add(&modules, 1) + 1;
    module->bytes = strlen(image);
    *out = module;
    if (call.hooks)
        call.hooks->resource(CUPTI_RESOURCE_MODULE_LOADED, current, NULL,
                             &(struct cupti_module_data){module->id, module->bytes, image});
    return mock_end(&call, OK);
}

int cuModuleUnload(struct module *module);
int cuModuleUnload(struct module *module) {
    BEGIN(cuModuleUnload);
    if (call.hooks)
        call.hooks->resource(CUPTI_RESOURCE_MODULE_UNLOAD, current, NULL,
                             &(struct cupti_module_data){module->id, module->bytes, NULL});
    return mock_end(&call, OK);
}

int cuModuleGetFunction(struct function **out, struct module *module, const char *name);
int cuModuleGetFunction(struct function **out, struct module *module, const char *name) {
    BEGIN(cuModuleGetFunction);
    struct function *function = calloc(1, sizeof *function);
    if (!function || strlen(name) >= sizeof function->name)
        return mock_end(&call, INVALID);
    function->module = module;
    memcpy(function->name, name, strlen(name) + 1);
    *out = function;
    return mock_end(&call, OK);
}

int cuLaunchKernel(struct function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **arguments, void **extra);
int cuLaunchKernel(struct function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **arguments, void **extra) {
    (void)arguments;
    (void)extra;
    BEGIN(cuLaunchKernel);
    struct stream *at = stream_of(stream);
    if (!at || !gx || !gy || !gz || !bx || !by || !bz || (uint64_t)bx * by * bz > 1024)
        return mock_end(&call, INVALID);
    struct operation operation = {.kind = OPERATION_KERNEL,
                                  .correlation = call.correlation,
                                  .grid = {gx, gy, gz},
                                  .block = {bx, by, bz},
                                  .shared = shared,
                                  .name = function->name};
    mock_clock_changes("kernel");
    if (!capturing)
        run(at, &operation,
            shared == ENDLESS_SHARED ? ENDLESS_NS : (uint64_t)setting("MOCK_KERNEL_NS", 2000));
    else if (call.hooks)
        call.hooks->resource(CUPTI_RESOURCE_GRAPH_NODE_CREATED, current, NULL, NULL);
    return mock_end(&call, OK);
}

void mock_capture(int on);
void mock_capture(int on) {
    capturing = on;
}

// When the device has done the work of a stream so far, as an event would show.
uint64_t mock_stream_time(void *stream);
uint64_t mock_stream_time(void *stream) {
    const struct stream *at = stream_of(stream);
    const uint64_t busy = at ? atomic_load(&at->busy_until) : 0, time = mock_time();
    return busy > time ? busy : time;
}

// A node is its id: (graph << 32 | number) of what is launched, with ORIGINAL of what it was copied from.
#define ORIGINAL (UINT64_C(1) << 31)

static void tell_node(const struct hooks *told, uint32_t id, uint64_t node, uint64_t original) {
    const struct cupti_graph_data data = {.node = (void *)(uintptr_t)node,
                                          .original_node = (void *)(uintptr_t)original};
    if (told)
        told->resource(id, current, NULL, &data);
}

// A graph of `count` kernels: its nodes are added, and then it is instantiated.
int mock_graph(struct graph **out, uint32_t kernels);
int mock_graph(struct graph **out, uint32_t kernels) {
    struct graph *graph = calloc(1, sizeof *graph);
    graph->id = atomic_fetch_add(&graphs, 1) + 1;
    graph->kernels = kernels;
    const struct hooks *told = atomic_load(&hooks);
    const uint64_t first = (uint64_t)graph->id << 32 | 1;
    for (uint32_t i = 0; i < kernels; i++)
        tell_node(told, CUPTI_RESOURCE_GRAPH_NODE_CREATED, ORIGINAL | (first + i), 0);
    for (uint32_t i = 0; i < kernels; i++)
        tell_node(told, CUPTI_RESOURCE_GRAPH_NODE_CLONED, first + i, ORIGINAL | (first + i));
    *out = graph;
    return OK;
}

// As a call of cuCtxSynchronize.
int mock_rare(void);
int mock_rare(void) {
    BEGIN(cuCtxSynchronize);
    if (call.hooks)
        call.hooks->rare(call.correlation);
    return mock_end(&call, OK);
}

uint64_t mock_keep_buffers(uint64_t buffers);
uint64_t mock_keep_buffers(uint64_t buffers) {
    const struct hooks *told = atomic_load(&hooks);
    return told ? told->hoard(buffers) : 0;
}

// Until the client has flushed so often.
void mock_await_flushes(uint64_t count);
void mock_await_flushes(uint64_t count) {
    const struct hooks *told = atomic_load(&hooks);
    const uint64_t from = told ? told->flushes() : 0;
    const struct timespec moment = {.tv_nsec = 1000000};
    for (int i = 0; told && told->flushes() < from + count && i < 60000; i++)
        nanosleep(&moment, NULL);
}

uint64_t mock_callbacks(uint64_t launches);
uint64_t mock_callbacks(uint64_t launches) {
    const struct hooks *told = atomic_load(&hooks);
    return told ? told->callbacks(launches) : 0;
}

uint64_t mock_feed(uint64_t launches);
uint64_t mock_feed(uint64_t launches) {
    const struct hooks *told = atomic_load(&hooks);
    return told ? told->feed(launches) : 0;
}

int cuGraphLaunch(struct graph *graph, void *stream);
int cuGraphLaunch(struct graph *graph, void *stream) {
    BEGIN(cuGraphLaunch);
    struct stream *at = stream_of(stream);
    struct operation whole = {.kind = OPERATION_GRAPH, .correlation = call.correlation, .graph = graph->id};
    for (uint32_t i = 0; i < graph->kernels; i++) {
        struct operation operation = {.kind = OPERATION_KERNEL,
                                      .correlation = call.correlation,
                                      .grid = {1, 1, 1},
                                      .block = {32, 1, 1},
                                      .graph = graph->id,
                                      .graph_node = (uint64_t)graph->id << 32 | (i + 1),
                                      .name = "_Z17graph_node_kernelPfi"};
        run(at, &operation, 1000);
        whole.start = whole.start ? whole.start : operation.start;
        whole.end = operation.end;
    }
    whole.device = at->context->device;
    whole.context = at->context->id;
    whole.stream = at->id;
    if (call.hooks && graph->kernels)
        report_operation(call.hooks, &whole);
    return mock_end(&call, OK);
}
