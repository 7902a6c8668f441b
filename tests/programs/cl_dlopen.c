// SPDX-License-Identifier: Apache-2.0
//
// Opens the OpenCL loader late, by dlopen and dlsym, after other work; not linked with it. Then
// launches, closes the library, opens it again and launches more, as plug-in hosts do.
//
//   cl_dlopen [-n LAUNCHES] [--library PATH]
//
// Prints its counts; `opened` is the number of times the library was opened.

#include "program.h"

#include <dlfcn.h>
#include <pthread.h>

// Every function this program calls, once: its name in the library and here.
#define FUNCTIONS(X)                                                                                         \
    X(clGetPlatformIDs)                                                                                      \
    X(clGetDeviceIDs)                                                                                        \
    X(clCreateContext)                                                                                       \
    X(clCreateCommandQueue)                                                                                  \
    X(clCreateProgramWithSource)                                                                             \
    X(clBuildProgram)                                                                                        \
    X(clCreateKernel)                                                                                        \
    X(clSetKernelArg)                                                                                        \
    X(clCreateBuffer)                                                                                        \
    X(clEnqueueWriteBuffer)                                                                                  \
    X(clEnqueueReadBuffer)                                                                                   \
    X(clEnqueueNDRangeKernel)                                                                                \
    X(clFinish)                                                                                              \
    X(clReleaseMemObject)                                                                                    \
    X(clReleaseKernel)                                                                                       \
    X(clReleaseProgram)                                                                                      \
    X(clReleaseCommandQueue)                                                                                 \
    X(clReleaseContext)

#define AS_MEMBER(name) __typeof__(name) *name;
#define LOAD(name) opencl->name = (__typeof__(name) *)load(opencl->library, #name);

struct opencl {
    void *library;
    FUNCTIONS(AS_MEMBER)
};

static const char source[] = "__kernel void late(__global uint *c) { c[get_global_id(0)] += 1; }\n";

static void *load(void *library, const char *name) {
    void *function = dlsym(library, name);
    if (!function) {
        fprintf(stderr, "%s\n", dlerror());
        exit(EXIT_WRONG);
    }
    return function;
}

static void open_opencl(struct opencl *opencl, const char *path) {
    opencl->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!opencl->library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(EXIT_NO_DEVICE);
    }
    FUNCTIONS(LOAD)
}

static void launch(const struct opencl *cl, unsigned long launches) {
    cl_platform_id platform = NULL;
    cl_device_id device = NULL;
    cl_int status = CL_SUCCESS;
    const char *text = source;
    cl_uint counts[32] = {0};
    const size_t global = COUNT_OF(counts);
    if (cl->clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        exit(EXIT_NO_DEVICE);
    cl_context context = cl->clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    MUST(status);
    cl_command_queue queue = cl->clCreateCommandQueue(context, device, 0, &status);
    MUST(status);
    cl_program program = cl->clCreateProgramWithSource(context, 1, &text, NULL, &status);
    MUST(status);
    MUST(cl->clBuildProgram(program, 0, NULL, "", NULL, NULL));
    cl_kernel kernel = cl->clCreateKernel(program, "late", &status);
    MUST(status);
    cl_mem buffer = cl->clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof counts, NULL, &status);
    MUST(status);
    MUST(cl->clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    MUST(cl->clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof counts, counts, 0, NULL, NULL));
    for (unsigned long i = 0; i < launches; i++)
        MUST(cl->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    MUST(cl->clFinish(queue));
    MUST(cl->clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof counts, counts, 0, NULL, NULL));
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        EXPECT(counts[i] == launches);
    MUST(cl->clReleaseMemObject(buffer));
    MUST(cl->clReleaseKernel(kernel));
    MUST(cl->clReleaseProgram(program));
    MUST(cl->clReleaseCommandQueue(queue));
    MUST(cl->clReleaseContext(context));
}

static void *other_work(void *argument) {
    volatile unsigned *value = argument;
    for (unsigned i = 0; i < 1000000; i++)
        *value += i;
    return NULL;
}

int main(int argc, char **argv) {
    unsigned long launches = 50;
    const char *path = "libOpenCL.so.1";
    struct opencl opencl;
    unsigned value = 0;
    pthread_t thread;
    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "-n") == 0)
            launches = program_number("-n", argv[i + 1]);
        else if (strcmp(argv[i], "--library") == 0 && argv[i + 1])
            path = argv[i + 1];
        else {
            fprintf(stderr, "usage: %s [-n LAUNCHES] [--library PATH]\n", argv[0]);
            return EXIT_USAGE;
        }
    }
    EXPECT(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == NULL || getenv("LD_PRELOAD")); // not opened yet
    EXPECT(pthread_create(&thread, NULL, other_work, &value) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
    open_opencl(&opencl, path);
    launch(&opencl, launches);
    dlclose(opencl.library);
    open_opencl(&opencl, path);
    launch(&opencl, launches + 1);
    printf("{\"program\":\"cl_dlopen\",\"pid\":%ld,\"opened\":2,\"contexts\":2,\"launches\":%lu,\"kernels\":{"
           "\"late\":%lu},"
           "\"write_buffer\":2,\"read_buffer\":2,\"finishes\":2}\n",
           (long)getpid(), 2 * launches + 1, 2 * launches + 1);
    return 0;
}
