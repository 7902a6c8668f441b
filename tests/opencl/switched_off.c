// SPDX-License-Identifier: Apache-2.0
// Makes queues before the profiler starts, while it records, after it has stopped, and after it is gone; runs a command in
// each of the first three while it records or not. Prints how many device events were handed out, with a
// call stack that goes through two functions of this program.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

#include "tracesmith/profiler.h"

static cl_context context;
static cl_device_id device;
static cl_mem memory;

static cl_command_queue make_queue(void) {
    return clCreateCommandQueue(context, device, 0, NULL);
}

static void fill(cl_command_queue queue, int times) {
    const cl_uint zero = 0;
    for (int i = 0; i < times; i++)
        clEnqueueFillBuffer(queue, memory, &zero, sizeof zero, 0, 64, 0, NULL, NULL);
    clFinish(queue);
}

// Innermost is the loader's frame, or fill()'s at once; further out main's.
static int is_ours(const tsmith_dictionary *dictionary, uint32_t id) {
    int frames = 0;
    const tsmith_stack *stack = tsmith_dictionary_stack(dictionary, id);
    for (; stack; stack = tsmith_dictionary_stack(dictionary, stack->parent)) {
        const tsmith_frame *frame = tsmith_dictionary_frame(dictionary, stack->frame);
        const tsmith_module *module = frame ? tsmith_dictionary_module(dictionary, frame->module) : NULL;
        if (module && strstr(tsmith_dictionary_string(dictionary, module->path).bytes, "/switched_off"))
            frames++;
    }
    return frames >= 2;
}

static unsigned long timed_fills(tsmith_source *events) {
    const tsmith_batch *batch;
    tsmith_error error;
    unsigned long count = 0;
    while (tsmith_source_next(events, &batch, &error) == TSMITH_OK) {
        tsmith_column kind, queued, stack;
        if (!tsmith_batch_column(batch, TSMITH_FIELD_KIND, &kind) ||
            !tsmith_batch_column(batch, TSMITH_FIELD_QUEUED, &queued) ||
            !tsmith_batch_column(batch, TSMITH_FIELD_STACK, &stack))
            continue;
        for (unsigned row = 0; row < kind.count; row++)
            count += ((const unsigned char *)kind.values)[row] == TSMITH_KIND_MEMSET &&
                     tsmith_column_has(&queued, row) &&
                     is_ours(tsmith_source_dictionary(events), ((const uint32_t *)stack.values)[row]);
    }
    return count;
}

int main(int argc, char **argv) {
    const tsmith_capture_options options = {
        .size = sizeof options, .stacks = 1, .agent_directory = argc > 1 ? argv[1] : NULL};
    tsmith_profiler *profiler;
    tsmith_error error;
    cl_platform_id platform;
    if (tsmith_profiler_create(&options, &profiler, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    memory = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, NULL);
    cl_command_queue before = make_queue();
    fill(before, 5); // not recorded
    tsmith_profiler_start(profiler, &error);
    cl_command_queue during = make_queue();
    fill(before, 3);
    fill(during, 4);
    tsmith_profiler_stop(profiler, &error);
    fill(during, 6); // not recorded
    cl_command_queue after = make_queue();
    printf("%lu\n", timed_fills(tsmith_profiler_events(profiler)));
    tsmith_profiler_destroy(profiler);
    cl_command_queue gone = make_queue();
    fill(gone, 2);
    clReleaseCommandQueue(before);
    clReleaseCommandQueue(during);
    clReleaseCommandQueue(after);
    clReleaseCommandQueue(gone);
    clReleaseMemObject(memory);
    clReleaseContext(context);
    return 0;
}
