// SPDX-License-Identifier: Apache-2.0
// Functions of extensions that enqueue commands, besides clEnqueueCommandBufferKHR: a program fetches them by name, so they
// go past the tables of both layers. The one list of them. What they write is memory of their own kind, which no command
// that is seen has, or of another API.
#include "opencl_calls/calls.h"

#include <string.h>

int entry_fetched(const char *name) {
    static const char *const names[] = {
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
    _Static_assert(sizeof names / sizeof *names < 32, "callers keep a bit for each");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return (int)i;
    return -1;
}
