// SPDX-License-Identifier: Apache-2.0
//
// A program in an intermediate language: the kernels of a SPIR-V file, `scale` (global float *, float) and `count_up`
// (global uint *, uint), are launched a number of times and what they leave is checked.
//
//   cl_il FILE [-n LAUNCHES]
//
// Prints JSON: `bytes` of the file, `launches`. Exit code 4 also where the driver takes no such program.

#include "program.h"

enum { COUNT = 512, FILE_MOST = 1 << 20 };

static unsigned char il[FILE_MOST];
static float values[COUNT], scaled[COUNT];
static uint32_t numbers[COUNT], counted[COUNT];

static size_t read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    const size_t size = file ? fread(il, 1, sizeof il, file) : 0;
    if (!size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(EXIT_USAGE);
    }
    fclose(file);
    return size;
}

static cl_program make_program(cl_context context, cl_device_id device, size_t size) {
    static char log[16384];
    cl_int status = CL_SUCCESS;
    cl_program program = clCreateProgramWithIL(context, il, size, &status);
    if (status != CL_SUCCESS) {
        fprintf(stderr, "clCreateProgramWithIL gave %d\n", status);
        exit(EXIT_NO_DEVICE);
    }
    status = clBuildProgram(program, 1, &device, "", NULL, NULL);
    if (status != CL_SUCCESS) {
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
        fprintf(stderr, "%s\n", log);
        must(status, "clBuildProgram", __FILE__, __LINE__);
    }
    return program;
}

static void launch(cl_command_queue queue, cl_kernel kernel, cl_mem buffer, const void *value) {
    static const size_t count = COUNT;
    MUST(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    MUST(clSetKernelArg(kernel, 1, 4, value));
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL));
}

int main(int argc, char **argv) {
    unsigned long launches = 3;
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    if (argc < 2 || (argc > 2 && strcmp(argv[2], "-n") != 0)) {
        fprintf(stderr, "usage: %s FILE [-n LAUNCHES]\n", argv[0]);
        return EXIT_USAGE;
    }
    if (argc > 2)
        launches = program_number("-n", argv[3]);
    const size_t size = read_file(argv[1]);
    program_devices(&platform, &device, 1);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    MUST(status);
    cl_program program = make_program(context, device, size);
    cl_kernel scale = program_kernel(program, "scale"), count_up = program_kernel(program, "count_up");
    cl_command_queue queue = program_queue(context, device, 0);
    cl_mem floats = program_buffer(context, sizeof values), words = program_buffer(context, sizeof numbers);
    for (uint32_t i = 0; i < COUNT; i++) {
        values[i] = (float)i / 7;
        numbers[i] = i * i;
    }
    MUST(clEnqueueWriteBuffer(queue, floats, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL));
    MUST(clEnqueueWriteBuffer(queue, words, CL_TRUE, 0, sizeof numbers, numbers, 0, NULL, NULL));
    for (uint32_t i = 0; i < launches; i++) {
        static const float half = 0.5F;
        launch(queue, scale, floats, &half);
        launch(queue, count_up, words, &i);
        for (uint32_t j = 0; j < COUNT; j++) {
            values[j] *= half;
            numbers[j] = numbers[j] * 5 + i + j;
        }
    }
    MUST(clEnqueueReadBuffer(queue, floats, CL_TRUE, 0, sizeof scaled, scaled, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(queue, words, CL_TRUE, 0, sizeof counted, counted, 0, NULL, NULL));
    for (uint32_t j = 0; j < COUNT; j++)
        EXPECT(scaled[j] == values[j] && counted[j] == numbers[j]);
    printf("{\"bytes\":%zu,\"launches\":%lu}\n", size, 2 * launches);
    return 0;
}
