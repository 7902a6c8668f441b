// SPDX-License-Identifier: Apache-2.0
// What the control thread (agentkit/control.h) does here: has CUPTI hand back its buffers every 100 ms, so that a
// program that is killed loses no more than that, and buffers with an incomplete record (buffers.h), compares the clocks, and makes the last pass at exit. Rules: agent.h.
//
// CUPTI's flush calls back into buffers.c on this thread. Its exit handler runs before those of the driver and of CUPTI:
// those were loaded before it was registered. Without a thread, buffers come back when they are full, and what is in the
// last ones is counted.
#include "control.h"

#include <stdio.h>

#include "agent.h"
#include "agentkit/control.h"
#include "agentkit/stacks.h"
#include "agentkit/sums.h"
#include "buffers.h"
#include "holder.h"
#include "launches.h"
#include "library.h"
#include "metrics.h"
#include "pc_sampling.h"
#include "records.h"
#include "sharing.h"
#include "subscribe.h"
#include "throttling.h"

enum { FLUSH_MS = 100, STACKS_MS = 20, MEASURE_MS = 50, LAST_PASS_MS = 5000, FORCED = 1 };

static void flush(void) {
    if (!atomic_load(&library_gone)) {
        foreign_clock_compare(&cupti_clock);
        cupti.ActivityFlushAll(0);
    }
    buffers_flushed();
    if (!atomic_load(&library_gone))
        pc_sampling_look();
}

static bool buffers_taken; // of the control thread

// The record of a launch is in a buffer of ours, or in a buffer of another tool that registered callbacks past sharing.c
// (by dlsym, or with a static CUPTI). The latter is certain once more launches were made than ours have room for.
static void look_for_other_buffers(void) {
    enum { LEAST_RECORD = sizeof(struct cupti_api), UNDER_WAY = 1000 };
    static uint64_t requested, made_then;
    const uint64_t now = buffers_requested(), made = launches_made();
    char who[512], text[1000];
    if (now != requested) {
        requested = now;
        made_then = made;
        buffers_taken = false;
    }
    if (!requested || buffers_taken || made - made_then <= UNDER_WAY + buffers_out_bytes() / LEAST_RECORD)
        return;
    buffers_taken = true;
    holder_find(false, who, sizeof who);
    snprintf(text, sizeof text,
             "%s gives its records to another tool in the program: %s; what the program does from then on "
             "is not "
             "recorded. A tool that finds %s by dlsym, or has it linked statically, cannot share it: run "
             "without it",
             vendor.interface, who, vendor.interface);
    agent_notice(text);
    channel_lose(agent.channel, TSMITH_REASON_UNTRACED, 1);
}

static bool periodic_pass(void) {
    static int64_t next;
    if (!channel_live(agent.channel)) {
        atomic_store(&agent.over, true);
        subscribe_end();
        return false;
    }
    stacks_refresh();
    sharing_look();
    subscribe_look();
    if (clock_trace_now() >= next || buffers_any_wait()) {
        next = clock_trace_now() + FLUSH_MS * INT64_C(900000); // a little less: waits are never shorter
        flush();
        look_for_other_buffers();
    }
    throttling_look(false);
    sums_look();
    return true;
}

// What the user should know of how it went.
static void sum_up(void) {
    char text[1400];
    const uint64_t open = launches_open(), made = launches_made();
    snprintf(text, sizeof text, "%lld", (long long)foreign_clock_error(&cupti_clock));
    vendor_attribute("clock_error_ns", text);
    look_for_other_buffers();
    if (open && open >= made / 2 && !buffers_taken) {
        snprintf(text, sizeof text,
                 "%s returned no record of %llu of %llu launches: check that %s is not older than the driver "
                 "(set %s), and that no other tool in the program takes its records",
                 vendor.interface, (unsigned long long)open, (unsigned long long)made, cupti.path,
                 vendor.variable);
        agent_notice(text);
    }
    if (buffers_refused()) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)buffers_refused());
        vendor_attribute("buffers_refused", text);
    }
}

static void last_pass(void) {
    if (!atomic_load(&library_gone)) {
        foreign_clock_compare(&cupti_clock);
        cupti.ActivityFlushAll(0);
        cupti.ActivityFlushAll(FORCED);
    }
    buffers_flushed();
    if (!atomic_load(&library_gone)) {
        metrics_end();
        pc_sampling_end();
        records_dropped(NULL, 0);
    }
    throttling_look(true);
    sums_write();
    sum_up();
}

void control_start(void) {
    static struct agent_control_work work = {
        .look = periodic_pass, .last_pass = last_pass, .period_ms = FLUSH_MS, .last_pass_ms = LAST_PASS_MS};
    work.period_ms = stacks_on ? STACKS_MS : agent_overhead.on ? MEASURE_MS : FLUSH_MS;
    if (agent_control_start(&work, agent.channel))
        buffers_may_wait();
}
