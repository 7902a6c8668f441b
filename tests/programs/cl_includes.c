// SPDX-License-Identifier: Apache-2.0
//
// A program whose source includes files, which include others: by -I, next to each other, in the current folder. With
// --compile it is compiled and linked in two steps.
//
//   cl_includes FOLDER [--compile]      FOLDER has value.h

#include "program.h"

static const char source[] =
    "#include <value.h>\n"
    "__kernel void fill(__global uint *out) { out[get_global_id(0)] = VALUE * get_global_id(0); }\n";

static cl_program build(cl_context context, const char *folder, bool compile) {
    char options[4200];
    const char *text = source;
    cl_int status;
    snprintf(options, sizeof options, "-I %s", folder);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    MUST(status);
    if (!compile) {
        MUST(clBuildProgram(program, 0, NULL, options, NULL, NULL));
        return program;
    }
    MUST(clCompileProgram(program, 0, NULL, options, 0, NULL, NULL, NULL, NULL));
    cl_program linked = clLinkProgram(context, 0, NULL, "", 1, &program, NULL, NULL, &status);
    MUST(status);
    MUST(clReleaseProgram(program));
    return linked;
}

int main(int argc, char **argv) {
    enum { COUNT = 1000 };
    static cl_uint out[COUNT];
    const size_t count = COUNT;
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    if (argc < 2)
        return 2;
    program_devices(&platform, &device, 1);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    MUST(status);
    cl_command_queue queue = program_queue(context, device, 0);
    cl_program program = build(context, argv[1], argc > 2 && strcmp(argv[2], "--compile") == 0);
    cl_kernel kernel = program_kernel(program, "fill");
    cl_mem buffer = program_buffer(context, sizeof out);
    MUST(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
    printf("{\"value\":%u}\n", out[1]);
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseProgram(program));
    MUST(clReleaseCommandQueue(queue));
    MUST(clReleaseContext(context));
    return 0;
}
