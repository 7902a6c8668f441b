// SPDX-License-Identifier: Apache-2.0
// The layer's entry points, for both loaders there are, and the attachment to a session. Rules: agent.h.
//
// ocl-icd calls clGetLayerInfo and clInitLayer once, before the program's first call goes on, and nothing at
// the end. The Khronos loader prefers clInitLayerWithProperties and calls clDeinitLayer when it unloads its
// layers. A loader without layers is served by preload/preload.c, which calls clInitLayer itself.
//
// Without a session the table handed out is empty: the loader then calls the driver directly, and we cost
// nothing.
#include "agent.h"

#include <CL/cl_layer.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "capture/stacks.h"
#include "events.h"
#include "objects.h"
#include "pending.h"
#include "shapes.h"

#define LAYER_EXPORT __attribute__((visibility("default")))
#define LAYER_NAME "TraceSmith"

struct agent agent;
__thread struct agent_thread agent_thread;

static cl_icd_dispatch layer;
static atomic_bool initialised;

static uint32_t intern_once(_Atomic uint32_t *id, const char *text) {
    uint32_t known = atomic_load_explicit(id, memory_order_relaxed);
    if (!known) {
        known = channel_string_cstr(agent.channel, text);
        atomic_store_explicit(id, known, memory_order_relaxed);
    }
    return known;
}

uint32_t agent_call_name(enum call_id call) {
    static const char *const names[CALL_LIMIT] = {
#define CALL_NAME(name) [CALL_##name] = #name,
        OPENCL_CALLS(CALL_NAME)
#undef CALL_NAME
    };
    static _Atomic uint32_t ids[CALL_LIMIT];
    return intern_once(&ids[call], names[call]);
}

uint32_t agent_operation_name(tsmith_operation operation) {
    static _Atomic uint32_t ids[128];
    return (size_t)operation < sizeof ids / sizeof *ids
               ? intern_once(&ids[operation], tsmith_operation_name(operation))
               : 0;
}

const char *agent_device_type(cl_device_type type) {
    if (type & CL_DEVICE_TYPE_GPU)
        return "gpu";
    if (type & CL_DEVICE_TYPE_ACCELERATOR)
        return "accelerator";
    return type & CL_DEVICE_TYPE_CPU ? "cpu" : "";
}

static void after_fork_child(void) {
    objects_after_fork_child();
    pending_after_fork_child();
}

static bool attach(void) {
    const char *directory = secure_getenv(CHANNEL_ENVIRONMENT);
    struct channel *channel = NULL;
    if (!directory || !*directory || !events_init() || !objects_init() ||
        channel_open(directory, AGENT_API, &channel) != TSMITH_OK)
        return false;
    agent.tsc = channel_tick_is_tsc(channel);
    shapes_register(channel);
    (void)stacks_start(channel);
    agent.channel = channel;
    pthread_atfork(NULL, NULL, after_fork_child);
    return true;
}

// The wrappers of what is there to be wrapped. Entries beyond what the loader knows stay empty.
static void fill(void) {
#define CALL_FILL(name)                                                                                      \
    if (agent.next.name)                                                                                     \
        layer.name = layer_##name;
    OPENCL_CALLS(CALL_FILL)
#undef CALL_FILL
}

// The control thread calls the loader's functions: they must stay when the program closes the loader.
static void keep_loaded(const cl_icd_dispatch *target) {
    Dl_info library;
    void *const function = __extension__(void *) target->clGetPlatformIDs;
    if (function && dladdr(function, &library) && library.dli_fname)
        dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static cl_int init(cl_uint count, const cl_icd_dispatch *target, cl_uint *count_out,
                   const cl_icd_dispatch **out) {
    const size_t known = sizeof layer / sizeof(void *);
    const size_t bytes = (count < known ? count : known) * sizeof(void *);
    if (!target || !count_out || !out)
        return CL_INVALID_VALUE;
    // A loader that was closed and is opened again comes here again, with its functions in a new place.
    const bool again = atomic_exchange(&initialised, true);
    memcpy(&agent.next, target, bytes);
    if (!again && attach()) {
        keep_loaded(target);
        fill();
    }
    *count_out = (cl_uint)known;
    *out = &layer;
    return CL_SUCCESS;
}

static cl_int give(const void *from, size_t bytes, size_t size, void *value, size_t *size_ret) {
    if (value && size < bytes)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, from, bytes);
    if (size_ret)
        *size_ret = bytes;
    return CL_SUCCESS;
}

LAYER_EXPORT cl_int clGetLayerInfo(cl_layer_info what, size_t size, void *value, size_t *size_ret) {
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    const cl_uint in_use = atomic_load(&initialised);
    if (what == CL_LAYER_API_VERSION)
        return give(&version, sizeof version, size, value, size_ret);
    if (what == CL_LAYER_NAME)
        return give(LAYER_NAME, sizeof LAYER_NAME, size, value, size_ret);
    if (what == LAYER_INFO_IN_USE)
        return give(&in_use, sizeof in_use, size, value, size_ret);
    return CL_INVALID_VALUE;
}

LAYER_EXPORT cl_int clInitLayer(cl_uint count, const cl_icd_dispatch *target, cl_uint *count_out,
                                const cl_icd_dispatch **out) {
    return init(count, target, count_out, out);
}

// The Khronos loader's; `properties` is a list that ends with 0, and none is known that would concern us.
LAYER_EXPORT cl_int clInitLayerWithProperties(cl_uint count, const cl_icd_dispatch *target,
                                              cl_uint *count_out, const cl_icd_dispatch **out,
                                              const intptr_t *properties);
LAYER_EXPORT cl_int clInitLayerWithProperties(cl_uint count, const cl_icd_dispatch *target,
                                              cl_uint *count_out, const cl_icd_dispatch **out,
                                              const intptr_t *properties) {
    (void)properties;
    return init(count, target, count_out, out);
}

// The loader is about to forget its layers, at the end of the process: control.c's exit handler has been
// here.
LAYER_EXPORT cl_int clDeinitLayer(void);
LAYER_EXPORT cl_int clDeinitLayer(void) {
    return CL_SUCCESS;
}
