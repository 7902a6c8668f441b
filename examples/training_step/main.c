// SPDX-License-Identifier: Apache-2.0
//
// training_step: steps of a small network on an OpenCL device, with faults that can be switched on. The tutorials in docs/tutorials
// find them:
//
//   training_step                  as it should be
//   training_step --prepare MS     the host prepares each batch for MS milliseconds while the device waits
//   training_step --work N         the kernel of the forward pass does N times the work
//   training_step --leak           the activations of each step are never released
//   training_step --no-wait        the update does not wait for the gradients, which come from another queue
//
// Each step writes a batch, runs the forward and the backward pass in one queue, and the update in a second one, which waits for the
// backward pass. Prints a checksum of the weights.

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS // clCreateCommandQueue: the program runs with every version
#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEPS = 50, WIDTH = 4096, EXIT_USAGE = 2, EXIT_NO_DEVICE = 4 };

static const char kernels[] =
    "__kernel void forward(__global const float *weights, __global const float *batch, __global float *out, "
    "int work) {\n"
    "    size_t i = get_global_id(0);\n"
    "    float sum = 0;\n"
    "    for (int k = 0; k < work * 256; k++)\n"
    "        sum += weights[(i + k) % get_global_size(0)] * batch[(i * 7 + k) % get_global_size(0)];\n"
    "    out[i] = sum / (work * 256);\n"
    "}\n"
    "__kernel void backward(__global const float *out, __global const float *batch, __global float "
    "*gradients) {\n"
    "    size_t i = get_global_id(0);\n"
    "    gradients[i] = (out[i] - batch[i]) * 0.5f;\n"
    "}\n"
    "__kernel void update(__global float *weights, __global const float *gradients) {\n"
    "    size_t i = get_global_id(0);\n"
    "    weights[i] -= 0.1f * gradients[i];\n"
    "}\n";

struct options {
    int prepare_ms, work;
    bool leak, no_wait;
};

struct device {
    cl_context context;
    cl_command_queue passes, updates;
    cl_program program;
    cl_kernel forward, backward, update;
    cl_mem weights, batch, gradients;
};

static void check(cl_int status, const char *call) {
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "training_step: %s failed with %d\n", call, status);
    exit(1);
}

static cl_mem buffer(const struct device *device, size_t bytes) {
    cl_int status;
    cl_mem made = clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    check(status, "clCreateBuffer");
    return made;
}

static cl_kernel kernel(const struct device *device, const char *name) {
    cl_int status;
    cl_kernel made = clCreateKernel(device->program, name, &status);
    check(status, name);
    return made;
}

static void open_device(struct device *device) {
    cl_platform_id platform;
    cl_device_id id;
    cl_int status;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL) != CL_SUCCESS) {
        fprintf(stderr, "training_step: there is no OpenCL device\n");
        exit(EXIT_NO_DEVICE);
    }
    device->context = clCreateContext(NULL, 1, &id, NULL, NULL, &status);
    check(status, "clCreateContext");
    device->passes = clCreateCommandQueue(device->context, id, 0, &status);
    check(status, "clCreateCommandQueue");
    device->updates = clCreateCommandQueue(device->context, id, 0, &status);
    check(status, "clCreateCommandQueue");
    const char *source = kernels;
    device->program = clCreateProgramWithSource(device->context, 1, &source, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(device->program, 1, &id, "", NULL, NULL), "clBuildProgram");
    device->forward = kernel(device, "forward");
    device->backward = kernel(device, "backward");
    device->update = kernel(device, "update");
    device->weights = buffer(device, WIDTH * sizeof(float));
    device->batch = buffer(device, WIDTH * sizeof(float));
    device->gradients = buffer(device, WIDTH * sizeof(float));
}

static void close_device(struct device *device) {
    clReleaseMemObject(device->weights);
    clReleaseMemObject(device->batch);
    clReleaseMemObject(device->gradients);
    clReleaseKernel(device->forward);
    clReleaseKernel(device->backward);
    clReleaseKernel(device->update);
    clReleaseProgram(device->program);
    clReleaseCommandQueue(device->passes);
    clReleaseCommandQueue(device->updates);
    clReleaseContext(device->context);
}

// The batch of a step: random numbers, made again and again for as many milliseconds as asked for.
static void prepare_batch(float *batch, uint32_t step, int milliseconds) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        uint32_t seed = step;
        for (size_t i = 0; i < WIDTH; i++) {
            seed = seed * 1664525 + 1013904223;
            batch[i] = (float)(seed >> 8) / (1 << 24);
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < milliseconds);
}

static void launch(cl_command_queue queue, cl_kernel kernel, const cl_event *after, cl_event *event) {
    const size_t size = WIDTH;
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, after ? 1 : 0, after, event),
          "clEnqueueNDRangeKernel");
}

static void step(struct device *device, const float *batch, const struct options *options) {
    cl_mem activations = buffer(device, WIDTH * sizeof(float));
    cl_event gradients_done, updated;
    check(clEnqueueWriteBuffer(device->passes, device->batch, CL_TRUE, 0, WIDTH * sizeof(float), batch, 0,
                               NULL, NULL),
          "clEnqueueWriteBuffer");
    clSetKernelArg(device->forward, 0, sizeof(cl_mem), &device->weights);
    clSetKernelArg(device->forward, 1, sizeof(cl_mem), &device->batch);
    clSetKernelArg(device->forward, 2, sizeof(cl_mem), &activations);
    clSetKernelArg(device->forward, 3, sizeof(int), &options->work);
    launch(device->passes, device->forward, NULL, NULL);
    clSetKernelArg(device->backward, 0, sizeof(cl_mem), &activations);
    clSetKernelArg(device->backward, 1, sizeof(cl_mem), &device->batch);
    clSetKernelArg(device->backward, 2, sizeof(cl_mem), &device->gradients);
    launch(device->passes, device->backward, NULL, &gradients_done);
    clFlush(device->passes);
    clSetKernelArg(device->update, 0, sizeof(cl_mem), &device->weights);
    clSetKernelArg(device->update, 1, sizeof(cl_mem), &device->gradients);
    launch(device->updates, device->update, options->no_wait ? NULL : &gradients_done, &updated);
    clFlush(device->updates);
    check(clWaitForEvents(1, &updated), "clWaitForEvents");
    check(clFinish(device->passes), "clFinish");
    clReleaseEvent(gradients_done);
    clReleaseEvent(updated);
    if (!options->leak)
        clReleaseMemObject(activations);
}

static struct options read_options(int argc, char **argv) {
    struct options options = {.work = 1};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--leak") == 0) {
            options.leak = true;
        } else if (strcmp(argv[i], "--no-wait") == 0) {
            options.no_wait = true;
        } else if (strcmp(argv[i], "--prepare") == 0 && value) {
            options.prepare_ms = (int)strtol(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--work") == 0 && value) {
            options.work = (int)strtol(argv[++i], NULL, 10);
        } else {
            fprintf(stderr, "usage: training_step [--prepare MS] [--work N] [--leak] [--no-wait]\n");
            exit(EXIT_USAGE);
        }
    }
    return options;
}

int main(int argc, char **argv) {
    const struct options options = read_options(argc, argv);
    static float weights[WIDTH], batch[WIDTH];
    struct device device;
    open_device(&device);
    check(clEnqueueWriteBuffer(device.passes, device.weights, CL_TRUE, 0, sizeof weights, weights, 0, NULL,
                               NULL),
          "clEnqueueWriteBuffer");
    for (int i = 0; i < STEPS; i++) {
        prepare_batch(batch, (uint32_t)i, options.prepare_ms);
        step(&device, batch, &options);
    }
    check(clEnqueueReadBuffer(device.updates, device.weights, CL_TRUE, 0, sizeof weights, weights, 0, NULL,
                              NULL),
          "clEnqueueReadBuffer");
    double sum = 0;
    for (size_t i = 0; i < WIDTH; i++)
        sum += weights[i];
    printf("%d steps, sum of the weights %.6f\n", STEPS, sum);
    close_device(&device);
    return 0;
}
