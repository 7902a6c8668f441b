// SPDX-License-Identifier: Apache-2.0
// The agent in a program that runs already (`tracesmith attach`; agents/attach/starter.c calls it). Rules: agent.h.
//
// CUPTI takes a subscriber at any time. What it cannot say are events of what was made before; and a library of ours that is loaded
// late is not found by name, so a profiler that the program starts later is served by its global offset tables alone (interpose.h).
//
// Once in a process: what is known of contexts, streams and launches is not made anew. An attempt that finds no CUPTI does not count.
#include "agent.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agentkit/control.h"
#include "agentkit/stacks.h"
#include "buffers.h"
#include "launches.h"
#include "library.h"
#include "subscribe.h"
#include "way_in.h"
#include "windows.h"
#include "wire/attach_order.h"

static const int64_t COMPLETION = 2000000000; // ns

static bool has_driver(void) {
    void *driver = vendor.driver ? dlopen(vendor.driver, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (driver)
        dlclose(driver);
    return driver != NULL;
}

static bool begin(const char *directory, const char *options, char *text, size_t size) {
    static bool used;
    if (!has_driver()) {
        snprintf(text, size, "the program has not loaded %s (%s)", vendor.platform,
                 vendor.driver ? vendor.driver : vendor.library);
        return false;
    }
    if (used) {
        snprintf(text, size,
                 "%s: attach has recorded it in this process, and can once only. Start the program with "
                 "'tracesmith profile --armed'",
                 vendor.platform);
        return false;
    }
    if (!way_in_late(directory, options, text, size))
        return false;
    used = true;
    snprintf(text, size,
             "%s: contexts, streams, modules and memory that were made before have no event of their "
             "creation; nodes of graphs that were made before may have no names",
             vendor.platform);
    return true;
}

// Until the launches in flight are complete, or two seconds have passed: what is left is counted. Only finished records are asked for.
static void wait_for_records(void) {
    const struct timespec moment = {.tv_nsec = 10000000};
    const int64_t until = clock_trace_now() + COMPLETION;
    while (launches_open() && clock_trace_now() < until && !atomic_load(&library_gone)) {
        buffers_flush(0);
        buffers_flushed();
        nanosleep(&moment, NULL);
    }
}

static void leave(void) {
    windows_switch(false);
    wait_for_records();
    (void)agent_control_stop();
    subscribe_end();
    const uint64_t left = launches_open();
    if (left)
        channel_lose(agent.channel, TSMITH_REASON_NO_COMPLETION, left);
    agent_leave();
}

static void park(void) {
    stacks_end();
    agent_park();
}

AGENT_EXPORT extern const struct agent_late tracesmith_agent_late;
const struct agent_late tracesmith_agent_late = {.begin = begin, .leave = leave, .park = park};
