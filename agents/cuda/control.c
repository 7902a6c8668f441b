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

static bool buffers_taken; // of the control thread

// The record of a launch is in a buffer of ours, or in a buffer of another tool that registered callbacks past sharing.c
// (by dlsym, or with a static CUPTI). The latter is certain once more launches were made than ours have room for.
static void look_for_other_buffers(void) {
    enum { LEAST_RECORD = sizeof(struct cupti_api), UNDER_WAY = 1000 };
    static uint64_t requested, made_then;
    const uint64_t now = buffers_requested(), made = launches_made();
    char who[512];
    if (now != requested) {
        requested = now;
        made_then = made;
        buffers_taken = false;
    }
    if (!requested || buffers_taken || made - made_then <= UNDER_WAY + buffers_out_bytes() / LEAST_RECORD)
        return;
    buffers_taken = true;
    holder_find(false, who, sizeof who);
    agent_untraced(
        "%s gives its records to another tool in the program: %s; what the program does from then on "
        "is not recorded. A tool that finds %s by dlsym, or has it linked statically, cannot share it: run "
        "without it",
        vendor.interface, who, vendor.interface);
}

static void flush(void) {
    if (subscribe_usable()) {
        foreign_clock_compare(&cupti_clock);
        buffers_flush(0);
    }
    buffers_flushed();
    if (subscribe_usable())
        pc_sampling_look();
    look_for_other_buffers();
}

static bool periodic_pass(void) {
    sharing_look();
    subscribe_look();
    if (buffers_any_wait())
        agent_control_flush();
    throttling_look(false);
    return true;
}

// What the user should know of how it went.
static void sum_up(void) {
    char text[1400];
    const uint64_t open = launches_open(), made = launches_made();
    foreign_clock_tell_error(&cupti_clock, vendor.api);
    subscribe_tell_reports();
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
    subscribe_look_last();
    if (!atomic_load(&library_gone)) {
        foreign_clock_compare(&cupti_clock);
        buffers_flush(0);
        buffers_flush(FORCED);
    }
    buffers_flushed();
    if (!atomic_load(&library_gone)) {
        metrics_end();
        pc_sampling_end();
        records_dropped(NULL, 0);
    }
    throttling_look(true);
    sum_up();
}

void control_start(void) {
    static struct agent_control_work work = {.look = periodic_pass,
                                             .flush = flush,
                                             .over = subscribe_end,
                                             .last_pass = last_pass,
                                             .flush_ms = FLUSH_MS,
                                             .last_pass_ms = LAST_PASS_MS};
    work.period_ms = stacks_on ? STACKS_MS : agent_overhead.on ? MEASURE_MS : FLUSH_MS;
    if (agent_control_start(&work, agent.channel))
        buffers_may_wait();
}
