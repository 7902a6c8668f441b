// SPDX-License-Identifier: Apache-2.0
// A device that computes wrongly, made of a right one: on devices with FAULTY_DEVICE in their name, the lowest bit of the
// buffer in argument FAULTY_ARGUMENT (0) is turned after launch number FAULTY_LAUNCH of a context (from 0), and with
// FAULTY_BUILD no program builds. With FAULTY_KERNEL it is turned after every launch of the kernel of that name whose first
// global size is FAULTY_SIZE (without it: of any size). With FAULTY_NOISE its first byte becomes one more and one less instead,
// in turns. Everywhere else this layer does nothing.
#include "../opencl/layer.h"

#include <stdbool.h>
#include <stdlib.h>

enum { MOST = 256 };

static struct {
    cl_kernel kernel;
    cl_mem buffer;
} arguments[MOST];
static struct {
    cl_context context;
    long launches;
} contexts[MOST];

static bool is_faulty(cl_device_id device) {
    const char *part = getenv("FAULTY_DEVICE");
    char name[256] = "";
    next->clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    return part && strstr(name, part) != NULL;
}

static cl_context make_context(const cl_context_properties *properties, cl_uint count,
                               const cl_device_id *devices,
                               void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                               void *user, cl_int *error) {
    cl_context context = next->clCreateContext(properties, count, devices, notify, user, error);
    for (int i = 0; i < MOST && context; i++)
        if (contexts[i].context == context || !contexts[i].context) {
            contexts[i].context = context; // one may be at the address of another
            contexts[i].launches = 0;
            break;
        }
    return context;
}

static cl_int set_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
    const char *wanted = getenv("FAULTY_ARGUMENT");
    const cl_uint turned = wanted ? (cl_uint)strtoul(wanted, NULL, 10) : 0;
    for (int i = 0; i < MOST && index == turned && size == sizeof(cl_mem) && value; i++)
        if (arguments[i].kernel == kernel || !arguments[i].kernel) {
            arguments[i].kernel = kernel;
            memcpy(&arguments[i].buffer, value, sizeof(cl_mem));
            break;
        }
    return next->clSetKernelArg(kernel, index, size, value);
}

static void turn_bit(cl_command_queue queue, cl_kernel kernel) {
    unsigned char byte;
    for (int i = 0; i < MOST && arguments[i].kernel; i++)
        if (arguments[i].kernel == kernel &&
            next->clEnqueueReadBuffer(queue, arguments[i].buffer, CL_TRUE, 0, 1, &byte, 0, NULL, NULL) == 0) {
            static unsigned char turns;
            byte = getenv("FAULTY_NOISE") ? (unsigned char)(byte + (turns++ % 2 ? -1 : 1)) : byte ^ 1;
            next->clEnqueueWriteBuffer(queue, arguments[i].buffer, CL_TRUE, 0, 1, &byte, 0, NULL, NULL);
        }
}

static bool is_wrong_kernel(cl_kernel kernel, const size_t *global) {
    const char *wanted = getenv("FAULTY_KERNEL"), *size = getenv("FAULTY_SIZE");
    char name[256] = "";
    next->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name - 1, name, NULL);
    return wanted && strcmp(name, wanted) == 0 && (!size || strtoul(size, NULL, 10) == global[0]);
}

static cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                     const size_t *global, const size_t *local, cl_uint count, const cl_event *waits,
                     cl_event *event) {
    const char *wanted = getenv("FAULTY_LAUNCH");
    cl_context context = NULL;
    cl_device_id device = NULL;
    next->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(cl_context), &context, NULL);
    next->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(cl_device_id), &device, NULL);
    const cl_int status =
        next->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, waits, event);
    if (is_wrong_kernel(kernel, global) && is_faulty(device)) {
        next->clFinish(queue); // it may be out of order
        turn_bit(queue, kernel);
    }
    for (int i = 0; i < MOST && contexts[i].context; i++)
        if (contexts[i].context == context && contexts[i].launches++ == (wanted ? atol(wanted) : -1) &&
            is_faulty(device))
            turn_bit(queue, kernel);
    return status;
}

static cl_int build(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                    void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
    cl_device_id of_program[64] = {0};
    next->clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof of_program, of_program, NULL);
    if (getenv("FAULTY_BUILD") && is_faulty(of_program[0]))
        return CL_BUILD_PROGRAM_FAILURE;
    return next->clBuildProgram(program, count, devices, options, notify, user);
}

static void layer_begin(void) {
    layer.clCreateContext = make_context;
    layer.clSetKernelArg = set_argument;
    layer.clEnqueueNDRangeKernel = launch;
    layer.clBuildProgram = build;
}
