// SPDX-License-Identifier: Apache-2.0
// Another tool's layer: counts launches and writes how many there were to $OTHER_LAYER_COUNT at the end; and for each
// queue whether it is made with profiling, as a line of $OTHER_LAYER_QUEUES.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cl_icd_dispatch layer;
static const cl_icd_dispatch *next;
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

cl_int clGetLayerInfo(cl_layer_info what, size_t size, void *value, size_t *size_ret) {
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what != CL_LAYER_API_VERSION || (value && size < sizeof version))
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, &version, sizeof version);
    if (size_ret)
        *size_ret = sizeof version;
    return CL_SUCCESS;
}

cl_int clInitLayer(cl_uint count, const cl_icd_dispatch *target, cl_uint *count_out,
                   const cl_icd_dispatch **out) {
    (void)count;
    next = target;
    layer.clEnqueueNDRangeKernel = launch;
    layer.clCreateCommandQueue = make_queue;
    *count_out = sizeof layer / sizeof(void *);
    *out = &layer;
    return CL_SUCCESS;
}

__attribute__((destructor)) static void say(void) {
    const char *path = getenv("OTHER_LAYER_COUNT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "%lu\n", launches);
    fclose(file);
}
