// SPDX-License-Identifier: Apache-2.0
// The layer's table, and the attachment to a session. Rules: agent.h.
//
// Without a session the table handed out is empty: the loader then calls the driver directly, and we cost
// nothing.
#include "agent.h"

#include <dlfcn.h>
#include <string.h>

#include "agentkit/stacks.h"
#include "agentkit/sums.h"
#include "command.h"
#include "events.h"
#include "late.h"
#include "objects.h"
#include "overhead.h"
#include "pending.h"
#include "released.h"
#include "shapes.h"
#include "times.h"

cl_icd_dispatch opencl_next;
__thread struct opencl_thread opencl_thread;

const char entry_name[] = "TraceSmith";
cl_icd_dispatch entry_table;

_Atomic uint32_t agent_call_ids[CALL_LIMIT];
const char *const agent_call_names[CALL_LIMIT] = {
#define CALL_NAME(name) [CALL_##name] = #name,
    OPENCL_CALLS(CALL_NAME) OPENCL_FETCHED_CALLS(CALL_NAME)
#undef CALL_NAME
};

uint32_t agent_operation_name(tsmith_operation operation) {
    static _Atomic uint32_t ids[128];
    return (size_t)operation < sizeof ids / sizeof *ids
               ? channel_string_once(agent.channel, &ids[operation], tsmith_operation_name(operation))
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
    late_after_fork_child();
    objects_after_fork_child();
    pending_after_fork_child();
}

static bool prepare(void) {
    return events_init() && objects_init() && launches_init();
}

static void begin(void) {
    shapes_register(agent.channel);
    sums_start(agent.channel);
    (void)stacks_start(agent.channel);
    overhead_start(agent.channel);
    released_begin(agent.channel);
    times_begin();
    pending_begin();
}

// What was known of objects, events and launches is of another time.
static void again(void) {
    objects_forget();
    events_forget();
    released_again(agent.channel);
    times_begin();
    sums_start(agent.channel);
    (void)stacks_start(agent.channel);
}

static const struct agent_spec spec = {.api = OPENCL_API,
                                       .sums = AGENT_SUMS_OWN,
                                       .again = again,
                                       .prepare = prepare,
                                       .begin = begin,
                                       .fork_child = after_fork_child,
                                       .in_flight = pending_abandon};

// The wrappers of what is there to be wrapped. Entries beyond what the loader knows stay empty.
void layer_fill(void) {
#define CALL_FILL(name)                                                                                      \
    if (opencl_next.name)                                                                                    \
        entry_table.name = layer_##name;
    OPENCL_CALLS(CALL_FILL)
#undef CALL_FILL
    entry_table.clSetKernelArg = released_on && opencl_next.clSetKernelArg ? released_set_argument : NULL;
}

const struct agent_spec *layer_spec(void) {
    return &spec;
}

// The control thread calls the loader's functions: they must stay when the program closes the loader.
static void keep_loaded(const cl_icd_dispatch *target) {
    Dl_info library;
    void *const function = __extension__(void *) target->clGetPlatformIDs;
    if (function && dladdr(function, &library) && library.dli_fname)
        dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void entry_begin(const cl_icd_dispatch *target, size_t bytes, bool again) {
    memcpy(&opencl_next, target, bytes);
    if (!again && agent_attach(&spec)) {
        keep_loaded(target);
        layer_fill();
    }
}

// For the recorder, a layer below us: the number that the API event of the command this thread is enqueueing gets.
__attribute__((visibility("default"))) uint64_t tracesmith_opencl_correlation(void);
uint64_t tracesmith_opencl_correlation(void) {
    return agent.channel && agent_on() ? agent_correlation_next() : 0;
}

// Also for the recorder: whether this thread asks the driver on the agent's account, so that the program learns nothing.
__attribute__((visibility("default"))) int tracesmith_opencl_asks(void);
int tracesmith_opencl_asks(void) {
    return opencl_thread.asks;
}
