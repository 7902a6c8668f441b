// SPDX-License-Identifier: Apache-2.0
// The way in, and the callbacks of the tracing layer. Rules: agent.h.
//
// The library is preloaded into every program. It does nothing until the program calls zeInit (or zeInitDrivers) through the
// dynamic linker, which finds the functions here first: they call the loader's, and if it succeeds the agent attaches.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agentkit/stacks.h"
#include "commands.h"
#include "handlers.h"
#include "record.h"
#include "times.h"

struct loader zero;

#define LOADER "libze_loader.so.1"
enum { FRAMES = 4 }; // a driver may be built on another Level Zero

static __thread struct frame frames[FRAMES];

static void enter(enum call_id function, void **arguments, void **instance) {
    struct frame *frame = NULL;
    *instance = NULL;
    if (agent_thread.busy || !agent_recording())
        return;
    for (int i = 0; i < FRAMES && !frame; i++)
        frame = frames[i].taken ? NULL : &frames[i];
    if (!frame) {
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
        return;
    }
    *frame = (struct frame){.function = function, .taken = true};
    *instance = frame;
    if (agent_on()) {
        frame->stack = stacks_capture();
        frame->start = agent_tick();
    }
    if (call_rows[function].enter)
        call_rows[function].enter(frame, arguments);
}

static void leave(void **arguments, int result, void *const *instance) {
    struct frame *frame = *instance;
    if (!frame)
        return;
    frame->taken = false;
    if (!agent_recording())
        return;
    frame->end = agent_tick();
    if (call_rows[frame->function].leave)
        call_rows[frame->function].leave(frame, arguments, result);
    if (frame->start)
        record_call(frame, result);
}

#define CALLBACKS(name, signal, on_enter, on_leave)                                                          \
    static void enter_##name(void **arguments, int result, void *user, void **instance) {                    \
        (void)result, (void)user;                                                                            \
        enter(CALL_##name, arguments, instance);                                                             \
    }
LEVEL_ZERO_CALLS(CALLBACKS)
#undef CALLBACKS

static void leave_call(void **arguments, int result, void *user, void **instance) {
    (void)user;
    leave(arguments, result, instance);
}

// ---- starting

static void attached(void) {
    record_init();
    times_begin();
    commands_begin();
    (void)stacks_start(agent.channel);
}

static bool find_used(void *loader) {
    bool all = true;
#define FIND(name, parameters)                                                                               \
    *(void **)&zero.name = dlsym(loader, #name);                                                             \
    all = all && zero.name;
    LEVEL_ZERO_USED(FIND)
#undef FIND
    return all;
}

static void register_call(void *loader, void *tracer, const char *name, zero_tracer_callback *on_enter) {
    zero_tracer_register *with = NULL;
    *(void **)&with = dlsym(loader, name);
    if (!with) // newer than this loader: the program cannot call it either
        return;
    if (with(tracer, ZERO_PROLOGUE, on_enter) != ZERO_SUCCESS ||
        with(tracer, ZERO_EPILOGUE, leave_call) != ZERO_SUCCESS)
        channel_lose(agent.channel, TSMITH_REASON_UNTRACED, 1);
}

// A tracer of the layer; NULL: the layer is not there. Loaders since 1.20 can enable it now, older ones only by the environment.
static void *make_tracer(void *loader) {
    static int user;
    const struct zero_tracer_desc desc = {.stype = 1, .user = &user};
    int (*create)(const struct zero_tracer_desc *desc, void **out) = NULL;
    int (*enable)(void) = NULL;
    void *tracer = NULL;
    *(void **)&create = dlsym(loader, "zelTracerCreate");
    *(void **)&enable = dlsym(loader, "zelEnableTracingLayer");
    if (create && create(&desc, &tracer) == ZERO_SUCCESS && tracer)
        return tracer;
    return create && enable && enable() == ZERO_SUCCESS && create(&desc, &tracer) == ZERO_SUCCESS ? tracer
                                                                                                  : NULL;
}

static void trace(void *loader) {
    int (*set_enabled)(void *tracer, uint8_t on) = NULL;
    void *tracer = find_used(loader) ? make_tracer(loader) : NULL;
    *(void **)&set_enabled = dlsym(loader, "zelTracerSetEnabled");
    if (tracer && set_enabled) {
#define REGISTER(name, signal, on_enter, on_leave)                                                           \
    register_call(loader, tracer, "zelTracer" #name "RegisterCallback", enter_##name);
        LEVEL_ZERO_CALLS(REGISTER)
#undef REGISTER
        if (set_enabled(tracer, 1) == ZERO_SUCCESS)
            return;
    }
    channel_lose(agent.channel, TSMITH_REASON_UNTRACED, 1);
    agent_notice("Level Zero calls were not recorded: the tracing layer of the loader is not loaded. It is "
                 "libze_tracing_layer.so.1, installed with libze_loader.so.1, and is loaded if "
                 "ZE_ENABLE_TRACING_LAYER is 1 when zeInit is called");
}

static void *loader_of; // any address in the loader that the program uses

static void start(void) {
    static const struct agent_spec spec = {.api = "level-zero",
                                           .prepare = objects_init,
                                           .begin = attached,
                                           .in_flight = pending_abandon,
                                           .not_in_children = true,
                                           .sums = AGENT_SUMS_OF_RECORDS};
    Dl_info info;
    agent_thread.busy++;
    void *loader =
        dladdr(loader_of, &info) && info.dli_fname ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (loader && agent_attach(&spec))
        trace(loader);
    agent_thread.busy--;
}

// The loader has just succeeded: with one that is not ready its tracing layer crashes.
static void initialized(void *function) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    loader_of = function;
    pthread_once(&once, start);
}

// The function of the loader behind this library; NULL: there is no loader.
static void *next_function(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    void *loader = function ? NULL : dlopen(LOADER, RTLD_LAZY | RTLD_NOLOAD);
    return loader ? dlsym(loader, name) : function;
}

typedef int init_function(uint32_t flags);
typedef int init_drivers_function(uint32_t *count, void **drivers, void *desc);

AGENT_EXPORT init_function zeInit;
AGENT_EXPORT int zeInit(uint32_t flags) {
    init_function *next = NULL;
    *(void **)&next = next_function("zeInit");
    const int result = next ? next(flags) : ZERO_UNINITIALIZED;
    if (result == ZERO_SUCCESS)
        initialized(*(void **)&next);
    return result;
}

AGENT_EXPORT init_drivers_function zeInitDrivers;
AGENT_EXPORT int zeInitDrivers(uint32_t *count, void **drivers, void *desc) {
    init_drivers_function *next = NULL;
    *(void **)&next = next_function("zeInitDrivers");
    const int result = next ? next(count, drivers, desc) : ZERO_UNINITIALIZED;
    if (result == ZERO_SUCCESS)
        initialized(*(void **)&next);
    return result;
}
