// SPDX-License-Identifier: Apache-2.0
// Functions the program fetches by name. Rules: agent.h.
//
// They go past the layer's table. For those of unified shared memory the program is given wrappers (usm.c). Others that enqueue
// commands cannot be seen; that the program has one is counted once per function as UNTRACED, so that no answer is given as if it
// were whole.
#include <string.h>

#include "agent.h"
#include "usm.h"

static void count_untraced(const char *name, const void *function) {
    enum { LIST = 31 };
    static _Atomic uint32_t noted; // a bit for each
    if (!function || !name || !agent_on())
        return;
    const int number = strcmp(name, "clEnqueueCommandBufferKHR") == 0 ? LIST : entry_fetched(name);
    if (number >= 0 && !(atomic_fetch_or(&noted, 1u << number) >> number & 1))
        channel_lose(agent.channel, TSMITH_REASON_UNTRACED, 1);
}

static void *give_function(const char *name, void *function) {
    void *wrapper = function && name ? usm_wrapper(name, function) : NULL;
    if (!wrapper)
        count_untraced(name, function);
    return wrapper ? wrapper : function;
}

void *layer_clGetExtensionFunctionAddress(const char *name) {
    return give_function(name, opencl_next.clGetExtensionFunctionAddress(name));
}

void *layer_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name) {
    return give_function(name, opencl_next.clGetExtensionFunctionAddressForPlatform(platform, name));
}
