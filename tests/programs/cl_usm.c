// SPDX-License-Identifier: Apache-2.0
//
// Uses unified shared memory (cl_intel_unified_shared_memory): fills, copies and computes in host, device and shared
// allocations, checks every result, and frees all. Ends with 4 where the driver has no such functions.
//
//   cl_usm [migrate | freed-copy | freed-twice | freed-set | freed-argument | refused | reused]
//
// With "migrate" it migrates as well: Intel's CPU runtime 2026.2 refuses most migrations. The ways named "freed" pass an allocation to OpenCL after it was freed, once each: for a layer that only reports it
// (tests/opencl/usm_layer.c). With "refused" it frees an allocation by a call that fails, uses it, and frees it; with "reused" it is given the address
// of a freed allocation again, uses that, frees it, and passes it once more.

#include "program.h"

typedef cl_bitfield bits;
static void *(CL_API_CALL *host_alloc)(cl_context, const bits *, size_t, cl_uint, cl_int *);
static void *(CL_API_CALL *device_alloc)(cl_context, cl_device_id, const bits *, size_t, cl_uint, cl_int *);
static void *(CL_API_CALL *shared_alloc)(cl_context, cl_device_id, const bits *, size_t, cl_uint, cl_int *);
static cl_int(CL_API_CALL *mem_free)(cl_context, void *);
static cl_int(CL_API_CALL *blocking_free)(cl_context, void *);
static cl_int(CL_API_CALL *set_pointer)(cl_kernel, cl_uint, const void *);
static cl_int(CL_API_CALL *mem_copy)(cl_command_queue, cl_bool, void *, const void *, size_t, cl_uint,
                                     const cl_event *, cl_event *);
static cl_int(CL_API_CALL *mem_fill)(cl_command_queue, void *, const void *, size_t, size_t, cl_uint,
                                     const cl_event *, cl_event *);
static cl_int(CL_API_CALL *mem_migrate)(cl_command_queue, const void *, size_t, cl_mem_migration_flags,
                                        cl_uint, const cl_event *, cl_event *);

enum { COUNT = 1024, BYTES = 4096, ROUNDS = 5 };

static const char source[] = "__kernel void add(__global uint *data, uint what)\n"
                             "{\n"
                             "    data[get_global_id(0)] += what;\n"
                             "}\n";

static void fetch(cl_platform_id platform, const char *name, void *into) {
    void *function = clGetExtensionFunctionAddressForPlatform(platform, name);
    if (!function) {
        fprintf(stderr, "the driver has no %s\n", name);
        exit(EXIT_NO_DEVICE);
    }
    memcpy(into, &function, sizeof function);
}

static void fetch_all(cl_platform_id platform) {
    fetch(platform, "clHostMemAllocINTEL", &host_alloc);
    fetch(platform, "clDeviceMemAllocINTEL", &device_alloc);
    fetch(platform, "clSharedMemAllocINTEL", &shared_alloc);
    fetch(platform, "clMemFreeINTEL", &mem_free);
    fetch(platform, "clMemBlockingFreeINTEL", &blocking_free);
    fetch(platform, "clSetKernelArgMemPointerINTEL", &set_pointer);
    fetch(platform, "clEnqueueMemcpyINTEL", &mem_copy);
    fetch(platform, "clEnqueueMemFillINTEL", &mem_fill);
    fetch(platform, "clEnqueueMigrateMemINTEL", &mem_migrate);
}

static __attribute__((noinline)) void set(cl_kernel kernel, const void *data, cl_uint what) {
    MUST(set_pointer(kernel, 0, data));
    MUST(clSetKernelArg(kernel, 1, sizeof what, &what));
}

static __attribute__((noinline)) void launch(cl_command_queue queue, cl_kernel kernel) {
    const size_t size = COUNT;
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL));
}

static __attribute__((noinline)) void give_back(cl_context context, void *pointer) {
    MUST(mem_free(context, pointer));
}

// What is passed after it was freed; the driver may say so.
static void use_freed(const char *how, const struct program_setup *setup, cl_command_queue queue,
                      cl_kernel kernel) {
    static cl_uint values[COUNT];
    cl_int error = CL_SUCCESS;
    void *device = device_alloc(setup->context, setup->device, NULL, BYTES, 0, &error);
    MUST(error);
    set(kernel, device, 1);
    launch(queue, kernel);
    MUST(clFinish(queue));
    give_back(setup->context, device);
    if (strcmp(how, "freed-copy") == 0)
        EXPECT(mem_copy(queue, CL_TRUE, values, device, BYTES, 0, NULL, NULL) != CL_SUCCESS);
    else if (strcmp(how, "freed-twice") == 0)
        EXPECT(mem_free(setup->context, device) != CL_SUCCESS);
    else if (strcmp(how, "freed-set") == 0)
        set(kernel, device, 1);
    else if (strcmp(how, "freed-argument") == 0)
        launch(queue, kernel);
    MUST(clFinish(queue));
}

// It is freed by the second call only.
static void use_kept(const struct program_setup *setup, cl_command_queue queue) {
    static cl_uint values[COUNT];
    cl_int error = CL_SUCCESS;
    void *device = device_alloc(setup->context, setup->device, NULL, BYTES, 0, &error);
    MUST(error);
    EXPECT(mem_free(NULL, device) != CL_SUCCESS);
    MUST(mem_copy(queue, CL_TRUE, values, device, BYTES, 0, NULL, NULL));
    give_back(setup->context, device);
}

static void use_reused(const struct program_setup *setup, cl_command_queue queue) {
    static cl_uint values[COUNT];
    void *before = NULL;
    for (int i = 0; i < 3; i++) {
        cl_int error = CL_SUCCESS;
        void *device = device_alloc(setup->context, setup->device, NULL, BYTES, 0, &error);
        MUST(error);
        EXPECT(!before || device == before);
        before = device;
        MUST(mem_copy(queue, CL_TRUE, values, device, BYTES, 0, NULL, NULL));
        give_back(setup->context, device);
    }
    EXPECT(mem_copy(queue, CL_TRUE, values, before, BYTES, 0, NULL, NULL) != CL_SUCCESS);
}

static void use(const struct program_setup *setup, cl_command_queue queue, cl_kernel kernel, bool migrates) {
    static cl_uint values[COUNT];
    cl_int error = CL_SUCCESS;
    cl_event filled = NULL;
    cl_uint *host = host_alloc(setup->context, NULL, BYTES, 0, &error);
    MUST(error);
    void *device = device_alloc(setup->context, setup->device, NULL, 2 * BYTES, 0, NULL);
    cl_uint *shared = shared_alloc(setup->context, setup->device, NULL, 3 * BYTES, 0, &error);
    MUST(error);
    EXPECT(device != NULL);
    for (cl_uint round = 0; round < ROUNDS; round++) {
        MUST(mem_fill(queue, device, &round, sizeof round, BYTES, 0, NULL, &filled));
        MUST(mem_copy(queue, CL_FALSE, shared, device, BYTES, 1, &filled, NULL));
        if (migrates) {
            MUST(mem_migrate(queue, shared, 3 * BYTES, 0, 0, NULL, NULL));
            MUST(mem_migrate(queue, shared, 3 * BYTES, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
        }
        set(kernel, shared, 7);
        launch(queue, kernel);
        MUST(mem_copy(queue, CL_TRUE, host, shared, BYTES, 0, NULL, NULL));
        MUST(mem_copy(queue, CL_TRUE, values, host, BYTES / 2, 0, NULL, NULL));
        MUST(clReleaseEvent(filled));
        for (cl_uint i = 0; i < COUNT; i++)
            EXPECT(host[i] == round + 7 && values[i] == (i < COUNT / 2 ? round + 7 : 0));
    }
    give_back(setup->context, host);
    give_back(setup->context, device);
    MUST(blocking_free(setup->context, shared));
}

int main(int argc, char **argv) {
    struct program_setup setup = program_start(source);
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    cl_kernel kernel = program_kernel(setup.program, "add");
    fetch_all(setup.platform);
    const bool migrates = argc > 1 && strcmp(argv[1], "migrate") == 0;
    if (argc > 1 && strcmp(argv[1], "refused") == 0)
        use_kept(&setup, queue);
    else if (argc > 1 && strcmp(argv[1], "reused") == 0)
        use_reused(&setup, queue);
    else if (argc > 1 && !migrates)
        use_freed(argv[1], &setup, queue, kernel);
    else
        use(&setup, queue, kernel, migrates);
    MUST(clFinish(queue));
    // In the order of each round.
    if (argc == 1 || migrates)
        printf("{\"rounds\":%d,\"allocations\":[%d,%d,%d],\"fills\":[%d],\"migrations\":%s,\"copies\":[%d,%d,"
               "%d]}\n",
               ROUNDS, BYTES, 2 * BYTES, 3 * BYTES, BYTES, migrates ? "[12288,12288]" : "[]", BYTES, BYTES,
               BYTES / 2);
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    return 0;
}
