// SPDX-License-Identifier: Apache-2.0
// Another tool's layer: counts launches and writes how many there were to $OTHER_LAYER_COUNT at the end; and for each
// queue whether it is made with profiling, as a line of $OTHER_LAYER_QUEUES.
#include "layer.h"

#include <stdio.h>
#include <stdlib.h>

static unsigned long launches;

static cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                     const size_t *global, const size_t *local, cl_uint count, const cl_event *waits,
                     cl_event *event) {
    __atomic_fetch_add(&launches, 1, __ATOMIC_RELAXED);
    return next->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, waits,
                                        event);
}

static cl_command_queue make_queue(cl_context context, cl_device_id device,
                                   cl_command_queue_properties properties, cl_int *error) {
    const char *path = getenv("OTHER_LAYER_QUEUES");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file) {
        fprintf(file, "%s\n", properties & CL_QUEUE_PROFILING_ENABLE ? "profiling" : "plain");
        fclose(file);
    }
    return next->clCreateCommandQueue(context, device, properties, error);
}

static void layer_begin(void) {
    layer.clEnqueueNDRangeKernel = launch;
    layer.clCreateCommandQueue = make_queue;
}

__attribute__((destructor)) static void say(void) {
    const char *path = getenv("OTHER_LAYER_COUNT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "%lu\n", launches);
    fclose(file);
}
