// SPDX-License-Identifier: Apache-2.0
//
// Uses every device of every platform: each its own context and its own count of launches.
//
//   cl_platforms [-n LAUNCHES]
//
// The i-th device, counted over all platforms, gets LAUNCHES + i. Two platforms on a machine without a
// GPU: a folder with two .icd files, one naming PoCL's library and one Oclgrind's, in OCL_ICD_VENDORS.

#include "program.h"

enum { PLATFORMS_MAX = 8 };

static const char source[] = "__kernel void visit(__global uint *c) { c[get_global_id(0)] += 1; }\n";

static void use_device(cl_device_id device, unsigned long launches) {
    cl_int status = CL_SUCCESS;
    cl_uint counts[8] = {0};
    const size_t global = COUNT_OF(counts);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    MUST(status);
    cl_program program = program_build(context, device, source);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    MUST(status);
    cl_kernel kernel = program_kernel(program, "visit");
    cl_mem buffer = program_buffer(context, sizeof counts);
    MUST(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    MUST(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof counts, counts, 0, NULL, NULL));
    for (unsigned long i = 0; i < launches; i++)
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof counts, counts, 0, NULL, NULL));
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        EXPECT(counts[i] == launches);
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    MUST(clReleaseProgram(program));
    MUST(clReleaseContext(context));
}

int main(int argc, char **argv) {
    unsigned long launches = 20;
    unsigned long total = 0;
    unsigned used = 0;
    cl_platform_id platforms[PLATFORMS_MAX];
    cl_uint platform_count = 0;
    if (argc == 3 && strcmp(argv[1], "-n") == 0) {
        launches = program_number("-n", argv[2]);
    } else if (argc != 1) {
        fprintf(stderr, "usage: %s [-n LAUNCHES]\n", argv[0]);
        return EXIT_USAGE;
    }
    if (clGetPlatformIDs(PLATFORMS_MAX, platforms, &platform_count) != CL_SUCCESS || platform_count == 0) {
        fprintf(stderr, "no OpenCL platform\n");
        return EXIT_NO_DEVICE;
    }
    if (platform_count > PLATFORMS_MAX)
        platform_count = PLATFORMS_MAX;
    printf("{\"program\":\"cl_platforms\",\"pid\":%ld,\"platforms\":%u,\"devices\":[", (long)getpid(),
           platform_count);
    for (cl_uint i = 0; i < platform_count; i++) {
        cl_device_id devices[DEVICES_MAX];
        cl_uint device_count = 0;
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, DEVICES_MAX, devices, &device_count) !=
            CL_SUCCESS)
            continue; // a platform without a device is no error
        for (cl_uint j = 0; j < device_count && j < DEVICES_MAX; j++) {
            use_device(devices[j], launches + used);
            printf("%s{\"platform\":%u,\"device\":%u,\"launches\":%lu}", used ? "," : "", i, j,
                   launches + used);
            total += launches + used;
            used++;
        }
    }
    printf("],\"contexts\":%u,\"launches\":%lu,\"kernels\":{\"visit\":%lu}}\n", used, total, total);
    return used > 0 ? 0 : EXIT_NO_DEVICE;
}
