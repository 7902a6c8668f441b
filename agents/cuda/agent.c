// SPDX-License-Identifier: Apache-2.0
// Attaching, and what CUDA calls. Rules: agent.h.
#include "agent.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentkit/control.h"
#include "agentkit/injection.h"
#include "agentkit/reader.h"
#include "agentkit/stacks.h"
#include "agentkit/sums.h"
#include "buffers.h"
#include "control.h"
#include "graph_nodes.h"
#include "later_fixes.h"
#include "launches.h"
#include "library.h"
#include "metrics.h"
#include "pc_sampling.h"
#include "records.h"
#include "shapes.h"
#include "sharing.h"
#include "sharing_records.h"
#include "subscribe.h"
#include "throttling.h"
#include "tracks.h"
#include "way_in.h"
#include "windows.h"

static pthread_once_t injected = PTHREAD_ONCE_INIT;

const char *cuda_option(enum cuda_option option) {
    static const char *const keys[] = {
#define KEY(NAME, key, ...) key,
        CUDA_OPTION_TABLE(KEY)
#undef KEY
    };
    return agent_option(vendor.api, keys[option]);
}

static void begin(void) {
    enum { CORRELATIONS_LOG2 = 32, CORRELATION_BIT = 35 };
    reader_take_correlations(CORRELATIONS_LOG2, CORRELATION_BIT);
    (void)stacks_start(agent.channel);
    sums_start(agent.channel);
}

static void fork_child(void) {
    buffers_after_fork_child();
    sharing_records_after_fork_child();
}

// `again`: only of an attempt that found no CUPTI (way_in_late).
static struct agent_spec spec = {.begin = begin,
                                 .again = begin,
                                 .fork_child = fork_child,
                                 .in_flight = launches_open,
                                 .not_in_children = true,
                                 .sums = AGENT_SUMS_OWN};

// ---- CUDA's own injection

// Who was to be injected before us comes first, as the user wanted.
static void start_next_tool(void) {
    void *library = vendor.next ? injection_open_next(vendor.next, &agent) : NULL;
    int (*initialize)(void) = NULL;
    if (library)
        *(void **)&initialize = dlsym(library, "InitializeInjection");
    if (initialize)
        initialize();
}

static void describe_library(void) {
    char text[1300], refused[64];
    library_describe(text, sizeof text);
    vendor_attribute(vendor.key, text);
    snprintf(refused, sizeof refused, "%s.refused", vendor.key);
    if (*library_refused())
        vendor_attribute(refused, library_refused());
    snprintf(text, sizeof text, "%s: the driver and %s were mock libraries of the tests", vendor.api,
             vendor.interface);
    if (cupti.simulated)
        channel_attribute(agent.channel, "simulated", text);
    later_fixes_tell();
}

static void describe_sharing(void) {
    const char *mps = injection_mps();
    char text[512];
    if (!mps)
        return;
    snprintf(text, sizeof text,
             "the program shares its GPU through MPS (%s): work of its other clients is not in the trace, "
             "and counters of the GPU include all clients",
             mps);
    channel_attribute(agent.channel, "notice.cuda-mps", text);
}

static bool make_rooms(char *why, size_t size) {
    if (buffers_init() && launches_init() && records_init() && sharing_init())
        return true;
    snprintf(why, size, "%s work is not recorded: out of memory while creating buffers for %s",
             vendor.platform, vendor.interface);
    return false;
}

static bool has_cupti; // and what is made for it is made once

// False with the reason in `why`: nothing is recorded.
static bool start(char *why, size_t size) {
    int taken;
    if (!library_load(subscribe_take, &taken, why, size)) {
        channel_lose(agent.channel, TSMITH_REASON_UNTRACED, 1);
        return false;
    }
    has_cupti = true;
    describe_library();
    describe_sharing();
    stacks_refresh(); // CUPTI is on every stack
    if (!make_rooms(why, size)) {
        channel_lose(agent.channel, TSMITH_REASON_NO_MEMORY, 1);
        if (taken == CUPTI_OK)
            cupti.Unsubscribe(cupti.subscriber);
        return false;
    }
    graph_nodes_init();
    shapes_register(agent.channel);
    throttling_start();
    windows_init(channel_armed(agent.channel) && !cuda_option(CUDA_OPTION_RANGE));
    pc_sampling_init();
    if (!subscribe(taken, why, size)) {
        channel_lose(agent.channel, TSMITH_REASON_UNTRACED, 1);
        return false;
    }
    if (!subscribe_alone()) {
        sharing_start();
        metrics_start();
    }
    control_start();
    return true;
}

static void inject(void) {
    char why[1400];
    spec.api = vendor.api;
    start_next_tool();
    if (agent_attach(&spec) && !start(why, sizeof why))
        agent_notice(why);
}

void way_in(void) {
    pthread_once(&injected, inject);
}

static void nothing(void) {}

bool way_in_late(const char *session_directory, const char *options, char *why, size_t size) {
    char reason[1400];
    spec.api = vendor.api;
    if (has_cupti) {
        snprintf(
            why, size,
            "%s: attach or an agent has tried to record it in this process, and can once only. Start the "
            "program with 'tracesmith profile --armed'",
            vendor.platform);
        return false;
    }
    if (!agent_attach_late(&spec, session_directory, options)) {
        snprintf(why, size, "%s of this program is recorded already, or was loaded with an agent",
                 vendor.platform);
        return false;
    }
    pthread_once(&injected, nothing);
    if (start(reason, sizeof reason))
        return true;
    snprintf(why, size, "%s", reason);
    agent_leave();
    stacks_end();
    agent_park();
    return false;
}

// Called by the driver within the program's first cuInit. What it returns is no matter to the program.
AGENT_EXPORT int InitializeInjection(void);
AGENT_EXPORT int InitializeInjection(void) {
    way_in();
    return 1;
}
