// SPDX-License-Identifier: Apache-2.0
//
// The same as cl_hazards, with images and shared virtual memory: programs that forget to order two commands, each
// with a twin that does not. Nothing reads the memory afterwards: the wrong result is its final content.
//
//   cl_hazards_memory list                 one line for each: its name, and "device"
//   cl_hazards_memory NAME [--fixed]       the one with the mistake, or its twin
//
// "halves" is not in the list: its kernels work on parts of one buffer that begin where an argument says, so that
// only the values of arguments distinguish the mistake (parts that overlap) from the twin.

#include "program.h"

enum { SIDE = 32, PIXELS = SIDE * SIDE, BYTES = PIXELS * 4, QUEUES = 2 };

static const char source[] =
    "__constant sampler_t at = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;\n"
    "__kernel void brighten(__read_only image2d_t from, __write_only image2d_t to) {\n"
    "    int2 p = (int2)(get_global_id(0), get_global_id(1));\n"
    "    write_imageui(to, p, read_imageui(from, at, p) + 3);\n"
    "}\n"
    "__kernel void change(__global int *v, int from, int k) {\n"
    "    size_t i = from + get_global_id(0);\n"
    "    v[i] = v[i] * k + 1;\n"
    "}\n"
    "__kernel void add(__global int *v, int k) { v[get_global_id(0)] += k; }\n"
    "__kernel void follow(__global ulong *links, int k) {\n"
    "    __global int *v = (__global int *)links[0];\n"
    "    v[get_global_id(0)] += k;\n"
    "}\n";

static struct program_setup setup;
static cl_command_queue queues[QUEUES];
static cl_mem images[2], buffer;
static int32_t *shared[2];
static cl_kernel brighten_kernel, add_kernel, follow_kernel, change_kernel;
static uint8_t pixels[BYTES];

static const size_t origin[3] = {0, 0, 0}, region[3] = {SIDE, SIDE, 1};

// ---- commands; `wait` may be NULL

static cl_event brighten(cl_command_queue queue, cl_mem from, cl_mem to, cl_event wait) {
    static const size_t global[2] = {SIDE, SIDE};
    cl_event event;
    MUST(clSetKernelArg(brighten_kernel, 0, sizeof from, &from));
    MUST(clSetKernelArg(brighten_kernel, 1, sizeof to, &to));
    MUST(clEnqueueNDRangeKernel(queue, brighten_kernel, 2, NULL, global, NULL, wait ? 1 : 0,
                                wait ? &wait : NULL, &event));
    MUST(clFlush(queue));
    return event;
}

static cl_event color(cl_command_queue queue, cl_mem image, uint32_t value, cl_event wait) {
    const uint32_t of_pixel[4] = {value, value, value, value};
    cl_event event;
    MUST(clEnqueueFillImage(queue, image, of_pixel, origin, region, wait ? 1 : 0, wait ? &wait : NULL,
                            &event));
    MUST(clFlush(queue));
    return event;
}

static cl_event launch(cl_command_queue queue, cl_kernel kernel, void *memory, int k, cl_event wait) {
    static const size_t count = PIXELS;
    cl_event event;
    MUST(clSetKernelArgSVMPointer(kernel, 0, memory));
    MUST(clSetKernelArg(kernel, 1, sizeof k, &k));
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, wait ? 1 : 0, wait ? &wait : NULL,
                                &event));
    MUST(clFlush(queue));
    return event;
}

static cl_event fill(cl_command_queue queue, void *memory, int32_t value, cl_event wait) {
    cl_event event;
    MUST(clEnqueueSVMMemFill(queue, memory, &value, sizeof value, BYTES, wait ? 1 : 0, wait ? &wait : NULL,
                             &event));
    MUST(clFlush(queue));
    return event;
}

// ---- the programs: `fixed` is the twin without the mistake

static void image_read_after_write(bool fixed) {
    cl_event written = color(queues[0], images[0], 7, NULL);
    brighten(queues[1], images[0], images[1], fixed ? written : NULL);
}

static void image_write_after_read(bool fixed) {
    cl_event read = brighten(queues[0], images[0], images[1], NULL);
    color(queues[1], images[0], 9, fixed ? read : NULL);
}

static void image_write_after_write(bool fixed) {
    cl_event first = color(queues[0], images[0], 1, NULL);
    color(queues[1], images[0], 2, fixed ? first : NULL);
}

static void image_from_buffer(bool fixed) {
    static const int32_t value = 0x05050505;
    cl_event filled;
    MUST(clEnqueueFillBuffer(queues[0], buffer, &value, sizeof value, 0, BYTES, 0, NULL, &filled));
    MUST(clFlush(queues[0]));
    MUST(clEnqueueCopyBufferToImage(queues[1], buffer, images[0], 0, origin, region, fixed ? 1 : 0,
                                    fixed ? &filled : NULL, NULL));
}

static void shared_read_after_write(bool fixed) {
    cl_event written = launch(queues[0], add_kernel, shared[0], 3, NULL);
    MUST(clEnqueueSVMMemcpy(queues[1], CL_FALSE, shared[1], shared[0], BYTES, fixed ? 1 : 0,
                            fixed ? &written : NULL, NULL));
}

static void shared_write_after_read(bool fixed) {
    cl_event copied;
    MUST(clEnqueueSVMMemcpy(queues[0], CL_FALSE, shared[1], shared[0], BYTES, 0, NULL, &copied));
    MUST(clFlush(queues[0]));
    launch(queues[1], add_kernel, shared[0], 3, fixed ? copied : NULL);
}

static void shared_write_after_write(bool fixed) {
    cl_event first = fill(queues[0], shared[0], 4, NULL);
    fill(queues[1], shared[0], 5, fixed ? first : NULL);
}

// The kernel reaches the memory by an address that is in other memory.
static void shared_by_pointer(bool fixed) {
    const void *used[] = {shared[0]};
    const uint64_t link = (uint64_t)(uintptr_t)shared[0];
    MUST(clEnqueueSVMMemcpy(queues[0], CL_TRUE, shared[1], &link, sizeof link, 0, NULL, NULL));
    MUST(clSetKernelExecInfo(follow_kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof used, used));
    cl_event first = fill(queues[0], shared[0], 6, NULL);
    launch(queues[1], follow_kernel, shared[1], 2, fixed ? first : NULL);
}

static void change(cl_command_queue queue, int from, int k) {
    static const size_t half = PIXELS / 2;
    MUST(clSetKernelArg(change_kernel, 0, sizeof buffer, &buffer));
    MUST(clSetKernelArg(change_kernel, 1, sizeof from, &from));
    MUST(clSetKernelArg(change_kernel, 2, sizeof k, &k));
    MUST(clEnqueueNDRangeKernel(queue, change_kernel, 1, NULL, &half, NULL, 0, NULL, NULL));
    MUST(clFlush(queue));
}

static void halves(bool fixed) {
    change(queues[0], 0, 3);
    change(queues[1], fixed ? PIXELS / 2 : PIXELS / 4, 5);
}

static const struct {
    const char *name;
    void (*run)(bool fixed);
} programs[] = {
    {"halves", halves}, // the first is not listed
    {"image-read-after-write", image_read_after_write},
    {"image-write-after-read", image_write_after_read},
    {"image-write-after-write", image_write_after_write},
    {"image-from-buffer", image_from_buffer},
    {"shared-read-after-write", shared_read_after_write},
    {"shared-write-after-read", shared_write_after_read},
    {"shared-write-after-write", shared_write_after_write},
    {"shared-by-pointer", shared_by_pointer},
};

static void run(size_t index, bool fixed) {
    static const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = SIDE, .image_height = SIDE};
    cl_int status;
    setup = program_start(source);
    for (int i = 0; i < QUEUES; i++)
        queues[i] = program_queue(setup.context, setup.device, 0);
    brighten_kernel = program_kernel(setup.program, "brighten");
    add_kernel = program_kernel(setup.program, "add");
    change_kernel = program_kernel(setup.program, "change");
    follow_kernel = program_kernel(setup.program, "follow");
    for (int i = 0; i < BYTES; i++)
        pixels[i] = (uint8_t)(i % 97);
    for (int i = 0; i < 2; i++) {
        images[i] = clCreateImage(setup.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format, &desc,
                                  pixels, &status);
        MUST(status);
        shared[i] = clSVMAlloc(setup.context, CL_MEM_READ_WRITE, BYTES, 0);
        EXPECT(shared[i]);
        MUST(clEnqueueSVMMemcpy(queues[0], CL_TRUE, shared[i], pixels, BYTES, 0, NULL, NULL));
    }
    buffer = program_buffer(setup.context, BYTES);
    programs[index].run(fixed);
    for (int i = 0; i < QUEUES; i++)
        MUST(clFinish(queues[i]));
}

int main(int argc, char **argv) {
    const bool fixed = argc > 2 && strcmp(argv[2], "--fixed") == 0;
    for (size_t i = 0; i < COUNT_OF(programs); i++) {
        if (argc > 1 && strcmp(argv[1], "list") == 0) {
            if (i > 0)
                printf("%s device\n", programs[i].name);
        } else if (argc > 1 && strcmp(argv[1], programs[i].name) == 0) {
            run(i, fixed);
            return 0;
        }
    }
    if (argc > 1 && strcmp(argv[1], "list") == 0)
        return 0;
    fprintf(stderr, "usage: %s list | NAME [--fixed]\n", argv[0]);
    return EXIT_USAGE;
}
