// SPDX-License-Identifier: Apache-2.0
// Functions the program fetches by name. Rules: agent.h.
//
// They go past the layer's table. Those that enqueue commands cannot be seen; that the program has one is
// counted once per function as UNTRACED, so that no answer is given as if it were whole.
#include <string.h>

#include "agent.h"

static const char *const enqueue_functions[] = {
    "clEnqueueCommandBufferKHR",
    "clEnqueueMemcpyINTEL",
    "clEnqueueMemFillINTEL",
    "clEnqueueMemsetINTEL",
    "clEnqueueMigrateMemINTEL",
    "clEnqueueSVMFreeARM",
    "clEnqueueSVMMemcpyARM",
    "clEnqueueSVMMemFillARM",
    "clEnqueueSVMMapARM",
    "clEnqueueSVMUnmapARM",
    "clEnqueueTaskINTEL",
    "clEnqueueReadHostPipeINTEL",
    "clEnqueueWriteHostPipeINTEL",
    "clEnqueueAcquireExternalMemObjectsKHR",
    "clEnqueueReleaseExternalMemObjectsKHR",
    "clEnqueueSignalSemaphoresKHR",
    "clEnqueueWaitSemaphoresKHR",
    "clEnqueueReadGlobalVariableINTEL",
    "clEnqueueWriteGlobalVariableINTEL",
};

static void note(const char *name, const void *function) {
    static atomic_bool noted[sizeof enqueue_functions / sizeof *enqueue_functions];
    for (size_t i = 0; function && name && i < sizeof noted / sizeof *noted; i++)
        if (strcmp(name, enqueue_functions[i]) == 0 && agent_on() && !atomic_exchange(&noted[i], true))
            channel_lose(agent.channel, TSMITH_REASON_UNTRACED, 1);
}

void *layer_clGetExtensionFunctionAddress(const char *name) {
    void *function = agent.next.clGetExtensionFunctionAddress(name);
    note(name, function);
    return function;
}

void *layer_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name) {
    void *function = agent.next.clGetExtensionFunctionAddressForPlatform(platform, name);
    note(name, function);
    return function;
}
