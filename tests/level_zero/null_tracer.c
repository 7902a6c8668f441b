// SPDX-License-Identifier: Apache-2.0
// A tracer of Level Zero that records nothing: what the tracing layer costs by itself, and with NULL_TRACER_TIMES=1 together with what
// no tracer of device times can leave out, as it gives each launch an event, asks for its times, and resets it before it is used again.
// bench/bench_level_zero.sh preloads it.
#define _GNU_SOURCE
#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>

#include <dlfcn.h>
#include <stdlib.h>

enum { EVENTS = 512 }; // launches after which the first is complete

static ze_event_handle_t events[EVENTS];
static unsigned next, failures;

static void nothing(ze_command_list_append_launch_kernel_params_t *params, ze_result_t result, void *user,
                    void **instance) {
    (void)params, (void)result, (void)user, (void)instance;
}

static void make_events(ze_context_create_params_t *params, ze_result_t result, void *user, void **instance) {
    const ze_event_pool_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
                                       .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE |
                                                ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP,
                                       .count = EVENTS};
    ze_event_pool_handle_t pool;
    (void)result, (void)user, (void)instance;
    failures += zeEventPoolCreate(**params->pphContext, &desc, 0, NULL, &pool) != ZE_RESULT_SUCCESS;
    for (uint32_t i = 0; !failures && i < EVENTS; i++) {
        const ze_event_desc_t event = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = i};
        failures += zeEventCreate(pool, &event, &events[i]) != ZE_RESULT_SUCCESS;
    }
}

static void give_event(ze_command_list_append_launch_kernel_params_t *params, ze_result_t result, void *user,
                       void **instance) {
    ze_event_handle_t event = events[next % EVENTS];
    ze_kernel_timestamp_result_t times;
    (void)result, (void)user, (void)instance;
    if (next++ >= EVENTS)
        failures += zeEventQueryKernelTimestamp(event, &times) != ZE_RESULT_SUCCESS ||
                    zeEventHostReset(event) != ZE_RESULT_SUCCESS;
    *params->phSignalEvent = event;
}

__attribute__((destructor)) static void end(void) {
    if (failures)
        abort();
}

ze_result_t zeInit(ze_init_flags_t flags) {
    static int user;
    const zel_tracer_desc_t desc = {.stype = ZEL_STRUCTURE_TYPE_TRACER_DESC, .pUserData = &user};
    const int times = getenv("NULL_TRACER_TIMES") != NULL;
    zel_tracer_handle_t tracer;
    ze_result_t (*next_init)(ze_init_flags_t) = NULL;
    *(void **)&next_init = dlsym(RTLD_NEXT, "zeInit");
    const ze_result_t result = next_init(flags);
    if (result == ZE_RESULT_SUCCESS && zelTracerCreate(&desc, &tracer) == ZE_RESULT_SUCCESS) {
        if (times)
            zelTracerContextCreateRegisterCallback(tracer, ZEL_REGISTER_EPILOGUE, make_events);
        zelTracerCommandListAppendLaunchKernelRegisterCallback(tracer, ZEL_REGISTER_PROLOGUE,
                                                               times ? give_event : nothing);
        zelTracerCommandListAppendLaunchKernelRegisterCallback(tracer, ZEL_REGISTER_EPILOGUE, nothing);
        zelTracerSetEnabled(tracer, 1);
    }
    return result;
}
