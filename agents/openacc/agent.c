// SPDX-License-Identifier: Apache-2.0
// The way in, and the callbacks of the runtime. Rules: agent.h.
//
// GCC's runtime loads the library in every program that is linked with it, for OpenMP too. Programs without OpenACC never initialize a
// device: they attach to no session and have no event.
#include <stdatomic.h>

#include "agent.h"
#include "agentkit/stacks.h"

static void attached(void) {
    record_init();
    (void)stacks_start(agent.channel);
}

static const struct agent_spec spec = {.api = "openacc", .begin = attached, .sums = AGENT_SUMS_OF_RECORDS};

static void on_device(const struct acc_place *place, const struct acc_operation *operation, const void *api) {
    static atomic_flag is_done = ATOMIC_FLAG_INIT;
    (void)place, (void)operation, (void)api;
    if (!atomic_flag_test_and_set(&is_done))
        (void)agent_attach(&spec);
}

static void on_event(const struct acc_place *place, const struct acc_operation *operation, const void *api) {
    const uint64_t now = agent_tick();
    const int event = place->event;
    (void)api;
    if (event % 2 == 0) {
        nesting_begin((uint32_t)event, 0, 0);
        return;
    }
    const struct nesting opened = nesting_end((uint32_t)event - 1, 0);
    if (opened.start)
        record_ended(&opened, now, (enum acc_event)(event - 1), place, operation);
}

AGENT_EXPORT void acc_register_library(acc_register *add, acc_register *remove, acc_lookup *lookup);
AGENT_EXPORT void acc_register_library(acc_register *add, acc_register *remove, acc_lookup *lookup) {
    (void)remove, (void)lookup;
    add(ACC_DEVICE_INIT, on_device, 0);
    for (int event = ACC_ENTER_DATA; event < ACC_EVENT_LIMIT; event++)
        add(event, on_event, 0);
}
