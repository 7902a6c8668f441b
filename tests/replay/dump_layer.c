// SPDX-License-Identifier: Apache-2.0
// Dumps the buffers that a kernel has as arguments, before and after every launch, as debugging layers do: into the file
// DUMP_FILE, one after the other, each after its number of bytes. Everything else is passed on.
#include "../opencl/layer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4096, ARGUMENTS = 32 };

static FILE *file;
static cl_mem buffers[MOST]; // that were made, and not released since: an argument of that value is one
static size_t sizes[MOST];
static struct {
    cl_kernel kernel;
    cl_mem arguments[ARGUMENTS];
} kernels[MOST];

static int find(cl_mem buffer) {
    for (int i = 0; i < MOST; i++)
        if (buffers[i] == buffer)
            return i;
    return -1;
}

static cl_mem make_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *error) {
    cl_mem buffer = next->clCreateBuffer(context, flags, size, host, error);
    int place = buffer ? find(buffer) : -1;
    place = place < 0 && buffer ? find(NULL) : place;
    if (place >= 0) {
        buffers[place] = buffer;
        sizes[place] = size;
    }
    return buffer;
}

static cl_int set_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
    cl_mem buffer = NULL;
    if (size == sizeof buffer && value)
        memcpy(&buffer, value, sizeof buffer);
    for (int i = 0; i < MOST && index < ARGUMENTS; i++)
        if (kernels[i].kernel == kernel || !kernels[i].kernel) {
            kernels[i].kernel = kernel;
            kernels[i].arguments[index] = buffer && find(buffer) >= 0 ? buffer : NULL;
            break;
        }
    return next->clSetKernelArg(kernel, index, size, value);
}

static void dump(cl_command_queue queue, const cl_mem *arguments) {
    next->clFinish(queue);
    for (int i = 0; i < ARGUMENTS; i++) {
        const int place = arguments[i] ? find(arguments[i]) : -1;
        const uint64_t size = place < 0 ? 0 : sizes[place];
        void *bytes = size ? malloc(size) : NULL;
        if (bytes &&
            next->clEnqueueReadBuffer(queue, arguments[i], CL_TRUE, 0, size, bytes, 0, NULL, NULL) == 0) {
            fwrite(&size, sizeof size, 1, file);
            fwrite(bytes, 1, size, file);
        }
        free(bytes);
    }
}

static cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                     const size_t *global, const size_t *local, cl_uint count, const cl_event *waits,
                     cl_event *event) {
    int i = 0;
    while (i < MOST - 1 && kernels[i].kernel && kernels[i].kernel != kernel)
        i++;
    dump(queue, kernels[i].arguments);
    const cl_int status =
        next->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, waits, event);
    dump(queue, kernels[i].arguments);
    fflush(file);
    return status;
}

static void layer_begin(void) {
    const char *path = getenv("DUMP_FILE");
    file = path ? fopen(path, "a") : NULL;
    if (file) {
        layer.clCreateBuffer = make_buffer;
        layer.clSetKernelArg = set_argument;
        layer.clEnqueueNDRangeKernel = launch;
    }
}
