// SPDX-License-Identifier: Apache-2.0
// The attachment to a session, and the plugin that comes after us. Rules: agent.h.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent.h"
#include "agentkit/injection.h"

struct nccl_wanted nccl_wanted;

static void *next_library;

static bool is_wanted(const char *variable) {
    const char *value = secure_getenv(variable);
    return !value || strcmp(value, "0") != 0;
}

static void begin(void) {
    nccl_wanted.channels = is_wanted("TRACESMITH_NCCL_CHANNELS");
    nccl_wanted.details = is_wanted("TRACESMITH_NCCL_STEPS");
    record_init();
}

static const struct agent_spec spec = {.api = "nccl", .begin = begin, .end = operations_over};

static void attach(void) {
    // Where no plugin is named NCCL takes the one of the usual name, if there is one.
    const bool named = secure_getenv(INJECTION_NCCL_NEXT) != NULL;
    next_library = named ? injection_open_plugin(INJECTION_NCCL_NEXT, "libnccl-profiler-",
                                                 (const void *)(uintptr_t)attach)
                         : dlopen("libnccl-profiler.so", RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    (void)agent_attach(&spec);
}

void nccl_attach(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, attach);
}

const void *nccl_next(int version, bool *lacks) {
    char name[32];
    snprintf(name, sizeof name, "ncclProfiler_v%d", version);
    const void *found = next_library ? dlsym(next_library, name) : NULL;
    *lacks = next_library && !found;
    return found;
}
