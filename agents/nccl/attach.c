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

struct agent agent;

static void *next_library;

static void attach(void) {
    const char *directory = secure_getenv(CHANNEL_ENVIRONMENT);
    struct channel *channel = NULL;
    // Where no plugin is named NCCL takes the one of the usual name, if there is one.
    const bool named = secure_getenv(INJECTION_NCCL_NEXT) != NULL;
    next_library = named ? injection_open_plugin(INJECTION_NCCL_NEXT, "libnccl-profiler-",
                                                 (const void *)(uintptr_t)attach)
                         : dlopen("libnccl-profiler.so", RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (!directory || !*directory || channel_open(directory, AGENT_API, &channel) != TSMITH_OK)
        return;
    const char *channels = secure_getenv("TRACESMITH_NCCL_CHANNELS");
    agent.channels = !channels || strcmp(channels, "0") != 0;
    const char *details = secure_getenv("TRACESMITH_NCCL_STEPS");
    agent.details = !details || strcmp(details, "0") != 0;
    agent.tsc = channel_tick_is_tsc(channel);
    agent.channel = channel;
    record_init();
}

void agent_attach(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, attach);
}

const void *agent_next(int version, bool *lacks) {
    char name[32];
    snprintf(name, sizeof name, "ncclProfiler_v%d", version);
    const void *found = next_library ? dlsym(next_library, name) : NULL;
    *lacks = next_library && !found;
    return found;
}

__attribute__((destructor)) static void at_unload(void) {
    if (!agent.channel)
        return;
    operations_over();
    channel_close(agent.channel);
}
