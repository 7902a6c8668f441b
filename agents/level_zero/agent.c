// SPDX-License-Identifier: Apache-2.0
// The way in: a tracer of the loader's tracing layer, with the callbacks of handlers.c. Rules: agent.h.
//
// The library is preloaded into every program. It does nothing until the program calls zeInit (or zeInitDrivers) through the
// dynamic linker, which finds the functions here first: they call the loader's, and if it succeeds the agent attaches.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "agentkit/stacks.h"
#include "commands.h"
#include "times.h"

struct loader zero;

#define LOADER "libze_loader.so.1"

// ---- starting

static void attached(void) {
    call_records_register(NULL);
    command_records_register(NULL, NULL);
    handlers_begin();
    times_begin();
    commands_begin();
    (void)stacks_start(agent.channel);
}

bool loader_find(void *loader) {
    bool all = true;
#define FIND(name, parameters)                                                                               \
    *(void **)&zero.name = dlsym(loader, #name);                                                             \
    all = all && zero.name;
    LEVEL_ZERO_USED(FIND)
#undef FIND
    return all;
}

static void register_call(void *loader, void *tracer, const struct call_row *row) {
    zero_tracer_register *with = NULL;
    char name[128];
    snprintf(name, sizeof name, "zelTracer%sRegisterCallback", row->name + strlen("ze"));
    *(void **)&with = dlsym(loader, name);
    if (!with) // newer than this loader: the program cannot call it either
        return;
    if (with(tracer, ZERO_PROLOGUE, row->enter) != ZERO_SUCCESS ||
        (row->leave && with(tracer, ZERO_EPILOGUE, row->leave) != ZERO_SUCCESS))
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
    void *tracer = loader_find(loader) ? make_tracer(loader) : NULL;
    static const struct call_row inside = {"zeDriverGet", commands_inside, NULL};
    *(void **)&set_enabled = dlsym(loader, "zelTracerSetEnabled");
    if (tracer && set_enabled) {
        for (int i = 0; i < CALL_LIMIT; i++)
            register_call(loader, tracer, &call_rows[i]);
        register_call(loader, tracer, &inside);
        if (set_enabled(tracer, 1) == ZERO_SUCCESS)
            return;
    }
    agent_untraced("Level Zero calls were not recorded: the tracing layer of the loader is not loaded. It is "
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

typedef int zeInit_function(uint32_t flags);
typedef int zeInitDrivers_function(uint32_t *count, void **drivers, void *desc);

// Calls the loader's function, and looks whether it succeeded.
#define INIT(name, ...)                                                                                      \
    name##_function *next = NULL;                                                                            \
    *(void **)&next = next_function(#name);                                                                  \
    const int result = next ? next(__VA_ARGS__) : ZERO_UNINITIALIZED;                                        \
    if (result == ZERO_SUCCESS)                                                                              \
        initialized(*(void **)&next);                                                                        \
    return result;

AGENT_EXPORT zeInit_function zeInit;
AGENT_EXPORT int zeInit(uint32_t flags){INIT(zeInit, flags)}

AGENT_EXPORT zeInitDrivers_function zeInitDrivers;
AGENT_EXPORT int zeInitDrivers(uint32_t *count, void **drivers, void *desc) {
    INIT(zeInitDrivers, count, drivers, desc)
}
