// SPDX-License-Identifier: Apache-2.0
// A tracer of Level Zero that does nothing: what the tracing layer costs by itself. bench/bench_level_zero.sh preloads it.
#define _GNU_SOURCE
#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>

#include <dlfcn.h>

static void nothing(ze_command_list_append_launch_kernel_params_t *params, ze_result_t result, void *user,
                    void **instance) {
    (void)params, (void)result, (void)user, (void)instance;
}

ze_result_t zeInit(ze_init_flags_t flags) {
    static int user;
    const zel_tracer_desc_t desc = {.stype = ZEL_STRUCTURE_TYPE_TRACER_DESC, .pUserData = &user};
    zel_tracer_handle_t tracer;
    ze_result_t (*next)(ze_init_flags_t) = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "zeInit");
    const ze_result_t result = next(flags);
    if (result == ZE_RESULT_SUCCESS && zelTracerCreate(&desc, &tracer) == ZE_RESULT_SUCCESS) {
        zelTracerCommandListAppendLaunchKernelRegisterCallback(tracer, ZEL_REGISTER_PROLOGUE, nothing);
        zelTracerCommandListAppendLaunchKernelRegisterCallback(tracer, ZEL_REGISTER_EPILOGUE, nothing);
        zelTracerSetEnabled(tracer, 1);
    }
    return result;
}
