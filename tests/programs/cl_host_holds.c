// SPDX-License-Identifier: Apache-2.0
//
// Memory that the host can reach while the device uses it. Every program has a twin that follows the rules.
//
//   cl_host_holds list             the names
//   cl_host_holds NAME [--fixed]   runs one, prints what it read last
//
// Exit code 77 where the device lacks what the program needs.

#include "program.h"

enum { COUNT = 1024, BYTES = COUNT * 4, HALF = BYTES / 2, FRAMES = 5, EXIT_LACKS = 77 };

static const char source[] = "__kernel void twice(__global const int *from, __global int *to) {\n"
                             "    size_t i = get_global_id(0);\n"
                             "    to[i] = 2 * from[i] + 1;\n"
                             "}\n";

static struct program_setup setup;
static cl_command_queue queue;
static cl_kernel twice;
static int32_t host[COUNT], result[COUNT];

static cl_mem make(cl_mem_flags flags, void *given) {
    cl_int status;
    cl_mem buffer = clCreateBuffer(setup.context, flags, BYTES, given, &status);
    MUST(status);
    return buffer;
}

static int32_t *map(cl_mem buffer, cl_map_flags flags) {
    cl_int status;
    int32_t *at = clEnqueueMapBuffer(queue, buffer, CL_TRUE, flags, 0, BYTES, 0, NULL, NULL, &status);
    MUST(status);
    return at;
}

static void unmap(cl_mem buffer, void *at) {
    MUST(clEnqueueUnmapMemObject(queue, buffer, at, 0, NULL, NULL));
}

static void launch(cl_mem from, cl_mem to, cl_event wait) {
    const size_t count = COUNT;
    MUST(clSetKernelArg(twice, 0, sizeof from, &from));
    MUST(clSetKernelArg(twice, 1, sizeof to, &to));
    MUST(
        clEnqueueNDRangeKernel(queue, twice, 1, NULL, &count, NULL, wait ? 1 : 0, wait ? &wait : NULL, NULL));
}

static void read_back(cl_mem buffer) {
    MUST(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, BYTES, result, 0, NULL, NULL));
}

static void fill(int32_t *at, int32_t value, int count) {
    for (int i = 0; i < count; i++)
        at[i] = value + i;
}

// A staging buffer, mapped once: each frame the host fills one half of it, which is sent while the other half is filled.
static void staging(bool fixed) {
    cl_mem pinned = make(CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, NULL),
           device = make(CL_MEM_READ_WRITE, NULL), to = make(CL_MEM_READ_WRITE, NULL);
    int32_t *at = map(pinned, CL_MAP_READ | CL_MAP_WRITE);
    for (int frame = 0; frame < FRAMES; frame++) {
        int32_t *half = at + (frame % 2) * COUNT / 2;
        fill(half, 1000 * frame, COUNT / 2);
        MUST(clEnqueueWriteBuffer(queue, device, CL_FALSE, (size_t)(frame % 2) * HALF, HALF, half, 0, NULL,
                                  NULL));
        launch(device, to, NULL);
        MUST(clFinish(queue));
    }
    read_back(to);
    if (fixed)
        unmap(pinned, at);
    MUST(clFinish(queue));
    MUST(clReleaseMemObject(pinned));
    MUST(clReleaseMemObject(device));
    MUST(clReleaseMemObject(to));
}

// A kernel reads what is still mapped.
static void mapped_kernel(bool fixed) {
    cl_mem from = make(CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, NULL), to = make(CL_MEM_READ_WRITE, NULL);
    int32_t *at = map(from, CL_MAP_WRITE);
    fill(at, 7, COUNT);
    if (fixed)
        unmap(from, at);
    launch(from, to, NULL);
    read_back(to);
    if (!fixed)
        unmap(from, at);
    MUST(clFinish(queue));
    MUST(clReleaseMemObject(from));
    MUST(clReleaseMemObject(to));
}

// The program's own memory, changed between two launches without a map.
static void use_host_pointer(bool fixed) {
    static int32_t own[COUNT] __attribute__((aligned(4096)));
    fill(own, 1, COUNT);
    cl_mem from = make(CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, own), to = make(CL_MEM_READ_WRITE, NULL);
    launch(from, to, NULL);
    MUST(clFinish(queue));
    int32_t *at = fixed ? map(from, CL_MAP_WRITE) : own;
    fill(at, 5000, COUNT);
    if (fixed)
        unmap(from, at);
    launch(from, to, NULL);
    read_back(to);
    MUST(clReleaseMemObject(from));
    MUST(clReleaseMemObject(to));
}

static int32_t *shared_memory(cl_device_svm_capabilities needed) {
    cl_device_svm_capabilities there = 0;
    if (clGetDeviceInfo(setup.device, CL_DEVICE_SVM_CAPABILITIES, sizeof there, &there, NULL) != CL_SUCCESS ||
        !(there & needed)) {
        fprintf(stderr, "the device has no such shared virtual memory\n");
        exit(EXIT_LACKS);
    }
    int32_t *memory = clSVMAlloc(
        setup.context,
        CL_MEM_READ_WRITE | (needed == CL_DEVICE_SVM_FINE_GRAIN_BUFFER ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0),
        BYTES, 0);
    EXPECT(memory != NULL);
    return memory;
}

static void launch_shared(const int32_t *from, cl_mem to, cl_event wait) {
    const size_t count = COUNT;
    MUST(clSetKernelArgSVMPointer(twice, 0, from));
    MUST(clSetKernelArg(twice, 1, sizeof to, &to));
    MUST(
        clEnqueueNDRangeKernel(queue, twice, 1, NULL, &count, NULL, wait ? 1 : 0, wait ? &wait : NULL, NULL));
}

// Coarse-grained shared memory, written without a map.
static void shared_unmapped(bool fixed) {
    cl_mem to = make(CL_MEM_READ_WRITE, NULL);
    int32_t *memory = shared_memory(CL_DEVICE_SVM_COARSE_GRAIN_BUFFER);
    for (int round = 0; round < 2; round++) {
        if (fixed)
            MUST(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, memory, BYTES, 0, NULL, NULL));
        fill(memory, 100 * round, COUNT);
        if (fixed)
            MUST(clEnqueueSVMUnmap(queue, memory, 0, NULL, NULL));
        launch_shared(memory, to, NULL);
        MUST(clFinish(queue));
    }
    read_back(to);
    clSVMFree(setup.context, memory);
    MUST(clReleaseMemObject(to));
}

// Fine-grained shared memory, written while a kernel that reads it is enqueued and has not begun.
static void shared_fine(bool fixed) {
    cl_int status;
    cl_mem to = make(CL_MEM_READ_WRITE, NULL);
    int32_t *memory = shared_memory(CL_DEVICE_SVM_FINE_GRAIN_BUFFER);
    fill(memory, 1, COUNT);
    cl_event go = clCreateUserEvent(setup.context, &status);
    MUST(status);
    if (fixed)
        fill(memory, 600, COUNT);
    launch_shared(memory, to, go);
    if (!fixed)
        fill(memory, 600, COUNT);
    MUST(clSetUserEventStatus(go, CL_COMPLETE));
    MUST(clFinish(queue));
    read_back(to);
    clSVMFree(setup.context, memory);
    MUST(clReleaseMemObject(to));
    MUST(clReleaseEvent(go));
}

// The memory of a write that has not begun is changed.
static void write_on_its_way(bool fixed) {
    cl_int status;
    cl_mem from = make(CL_MEM_READ_WRITE, NULL), to = make(CL_MEM_READ_WRITE, NULL);
    cl_event go = clCreateUserEvent(setup.context, &status), written;
    MUST(status);
    fill(host, 1, COUNT);
    MUST(clEnqueueWriteBuffer(queue, from, CL_FALSE, 0, BYTES, host, 1, &go, &written));
    if (!fixed)
        fill(host, 900, COUNT);
    MUST(clSetUserEventStatus(go, CL_COMPLETE));
    MUST(clWaitForEvents(1, &written));
    if (fixed)
        fill(host, 900, COUNT);
    launch(from, to, NULL);
    read_back(to);
    MUST(clReleaseMemObject(from));
    MUST(clReleaseMemObject(to));
    MUST(clReleaseEvent(go));
    MUST(clReleaseEvent(written));
}

static const struct {
    const char *name;
    void (*run)(bool fixed);
} programs[] = {{"staging", staging},
                {"mapped-kernel", mapped_kernel},
                {"use-host-pointer", use_host_pointer},
                {"shared-unmapped", shared_unmapped},
                {"shared-fine", shared_fine},
                {"write-on-its-way", write_on_its_way}};

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < COUNT_OF(programs); i++) {
        if (strcmp(name, "list") == 0)
            printf("%s\n", programs[i].name);
        if (strcmp(name, programs[i].name) != 0)
            continue;
        setup = program_start(source);
        queue = program_queue(setup.context, setup.device, 0);
        twice = program_kernel(setup.program, "twice");
        programs[i].run(argc > 2 && strcmp(argv[2], "--fixed") == 0);
        printf("%d %d\n", result[0], result[COUNT - 1]);
        MUST(clReleaseKernel(twice));
        MUST(clReleaseCommandQueue(queue));
        program_finish(&setup);
        return 0;
    }
    return strcmp(name, "list") == 0 ? 0 : EXIT_USAGE;
}
