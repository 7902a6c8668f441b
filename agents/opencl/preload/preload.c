// SPDX-License-Identifier: Apache-2.0
// The layer, for loaders that know no layers: put before the loader by LD_PRELOAD, this library takes the
// program's calls and hands them to the layer's table, as a loader with layers would.
//
// Rules: ../agent.h. States: nothing is looked up before the program's first OpenCL call. That call finds the
// loader (the next library that defines the function), lets it start, and asks the layer whether the loader
// has called it by then. If so, every call goes straight to the loader; if not, the layer is initialised from
// here.
//
// Not seen: calls through pointers that the program fetches from the loader's own handle (dlopen, then
// dlsym), and extension functions. A loader with layers has neither gap.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_gl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "calls.h"

#define LAYER_LIBRARY "libtracesmith-opencl.so"

static cl_icd_dispatch loader; // the functions of the loader behind us
static cl_icd_dispatch active; // those of the layer, or of the loader where the layer has none
static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread bool looking; // the loader may call us back while it starts

static void find_loader(void) {
    void *library = RTLD_NEXT;
    if (!dlsym(RTLD_NEXT, "clGetPlatformIDs"))
        library = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return;
#define FIND(name) loader.name = (cl_api_##name)dlsym(library, #name);
    OPENCL_CALLS(FIND)
    OPENCL_ASKED(FIND)
#undef FIND
}

// The layer next to this library, or NULL.
static void *open_layer(void) {
    static const char here;
    Dl_info self;
    char path[4096];
    if (!dladdr(&here, &self) || !self.dli_fname)
        return NULL;
    const char *slash = strrchr(self.dli_fname, '/');
    const size_t directory = slash ? (size_t)(slash - self.dli_fname) + 1 : 0;
    if (directory + sizeof LAYER_LIBRARY > sizeof path)
        return NULL;
    memcpy(path, self.dli_fname, directory);
    memcpy(path + directory, LAYER_LIBRARY, sizeof LAYER_LIBRARY);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void use_layer(void *library) {
    const pfn_clGetLayerInfo ask = (pfn_clGetLayerInfo)dlsym(library, "clGetLayerInfo");
    const pfn_clInitLayer init = (pfn_clInitLayer)dlsym(library, "clInitLayer");
    const cl_icd_dispatch *layer = NULL;
    cl_uint count = 0;
    cl_uint in_use = 1;
    if (!ask || !init || ask(LAYER_INFO_IN_USE, sizeof in_use, &in_use, NULL) != CL_SUCCESS || in_use ||
        init(sizeof loader / sizeof(void *), &loader, &count, &layer) != CL_SUCCESS)
        return;
#define USE(name)                                                                                            \
    if (layer->name)                                                                                         \
        active.name = layer->name;
    OPENCL_CALLS(USE)
#undef USE
}

static void look(void) {
    cl_uint platforms = 0;
    looking = true;
    find_loader();
    active = loader;
    if (loader.clGetPlatformIDs)
        loader.clGetPlatformIDs(0, NULL, &platforms);
    void *library = open_layer();
    if (library)
        use_layer(library);
    looking = false;
}

static const cl_icd_dispatch *table(void) {
    if (looking)
        return &loader;
    pthread_once(&once, look);
    return &active;
}

// A function that the loader behind us lacks cannot have been linked by the program: it is not called.
#define FORWARD(result, name, parameters, arguments)                                                         \
    __attribute__((visibility("default"))) result CL_API_CALL name parameters {                              \
        return table()->name arguments;                                                                      \
    }
#define FORWARD_VOID(name, parameters, arguments)                                                            \
    __attribute__((visibility("default"))) void CL_API_CALL name parameters {                                \
        table()->name arguments;                                                                             \
    }

// clang-format off
FORWARD(cl_context, clCreateContext, (const cl_context_properties *properties, cl_uint count, const cl_device_id *devices, void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user_data, cl_int *error), (properties, count, devices, notify, user_data, error))
FORWARD(cl_context, clCreateContextFromType, (const cl_context_properties *properties, cl_device_type type, void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user_data, cl_int *error), (properties, type, notify, user_data, error))
FORWARD(cl_int, clRetainContext, (cl_context context), (context))
FORWARD(cl_int, clReleaseContext, (cl_context context), (context))
FORWARD(cl_int, clGetContextInfo, (cl_context context, cl_context_info what, size_t size, void *value, size_t *size_ret), (context, what, size, value, size_ret))
FORWARD(cl_command_queue, clCreateCommandQueue, (cl_context context, cl_device_id device, cl_command_queue_properties properties, cl_int *error), (context, device, properties, error))
FORWARD(cl_command_queue, clCreateCommandQueueWithProperties, (cl_context context, cl_device_id device, const cl_queue_properties *properties, cl_int *error), (context, device, properties, error))
FORWARD(cl_int, clRetainCommandQueue, (cl_command_queue queue), (queue))
FORWARD(cl_int, clReleaseCommandQueue, (cl_command_queue queue), (queue))
FORWARD(cl_int, clGetCommandQueueInfo, (cl_command_queue queue, cl_command_queue_info what, size_t size, void *value, size_t *size_ret), (queue, what, size, value, size_ret))
FORWARD(cl_int, clSetCommandQueueProperty, (cl_command_queue queue, cl_command_queue_properties properties, cl_bool enable, cl_command_queue_properties *old), (queue, properties, enable, old))
FORWARD(cl_mem, clCreateBuffer, (cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *error), (context, flags, size, host, error))
FORWARD(cl_mem, clCreateBufferWithProperties, (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags, size_t size, void *host, cl_int *error), (context, properties, flags, size, host, error))
FORWARD(cl_mem, clCreateSubBuffer, (cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type, const void *info, cl_int *error), (buffer, flags, type, info, error))
FORWARD(cl_mem, clCreateImage, (cl_context context, cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *description, void *host, cl_int *error), (context, flags, format, description, host, error))
FORWARD(cl_mem, clCreateImage2D, (cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width, size_t height, size_t row, void *host, cl_int *error), (context, flags, format, width, height, row, host, error))
FORWARD(cl_mem, clCreateImage3D, (cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width, size_t height, size_t depth, size_t row, size_t slice, void *host, cl_int *error), (context, flags, format, width, height, depth, row, slice, host, error))
FORWARD(cl_mem, clCreateImageWithProperties, (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *description, void *host, cl_int *error), (context, properties, flags, format, description, host, error))
FORWARD(cl_mem, clCreatePipe, (cl_context context, cl_mem_flags flags, cl_uint packet_size, cl_uint packets, const cl_pipe_properties *properties, cl_int *error), (context, flags, packet_size, packets, properties, error))
FORWARD(cl_int, clRetainMemObject, (cl_mem memory), (memory))
FORWARD(cl_int, clReleaseMemObject, (cl_mem memory), (memory))
FORWARD(void *, clSVMAlloc, (cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment), (context, flags, size, alignment))
FORWARD_VOID(clSVMFree, (cl_context context, void *pointer), (context, pointer))
FORWARD(cl_program, clCreateProgramWithSource, (cl_context context, cl_uint count, const char **strings, const size_t *lengths, cl_int *error), (context, count, strings, lengths, error))
FORWARD(cl_program, clCreateProgramWithBinary, (cl_context context, cl_uint count, const cl_device_id *devices, const size_t *lengths, const unsigned char **binaries, cl_int *statuses, cl_int *error), (context, count, devices, lengths, binaries, statuses, error))
FORWARD(cl_program, clCreateProgramWithBuiltInKernels, (cl_context context, cl_uint count, const cl_device_id *devices, const char *names, cl_int *error), (context, count, devices, names, error))
FORWARD(cl_program, clCreateProgramWithIL, (cl_context context, const void *il, size_t length, cl_int *error), (context, il, length, error))
FORWARD(cl_int, clRetainProgram, (cl_program program), (program))
FORWARD(cl_int, clReleaseProgram, (cl_program program), (program))
FORWARD(cl_int, clBuildProgram, (cl_program program, cl_uint count, const cl_device_id *devices, const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *user_data), (program, count, devices, options, notify, user_data))
FORWARD(cl_int, clCompileProgram, (cl_program program, cl_uint count, const cl_device_id *devices, const char *options, cl_uint header_count, const cl_program *headers, const char **names, void(CL_CALLBACK *notify)(cl_program, void *), void *user_data), (program, count, devices, options, header_count, headers, names, notify, user_data))
FORWARD(cl_program, clLinkProgram, (cl_context context, cl_uint count, const cl_device_id *devices, const char *options, cl_uint program_count, const cl_program *programs, void(CL_CALLBACK *notify)(cl_program, void *), void *user_data, cl_int *error), (context, count, devices, options, program_count, programs, notify, user_data, error))
FORWARD(cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *error), (program, name, error))
FORWARD(cl_int, clCreateKernelsInProgram, (cl_program program, cl_uint room, cl_kernel *kernels, cl_uint *count), (program, room, kernels, count))
FORWARD(cl_kernel, clCloneKernel, (cl_kernel source, cl_int *error), (source, error))
FORWARD(cl_int, clRetainKernel, (cl_kernel kernel), (kernel))
FORWARD(cl_int, clReleaseKernel, (cl_kernel kernel), (kernel))
FORWARD(cl_event, clCreateUserEvent, (cl_context context, cl_int *error), (context, error))
FORWARD(cl_int, clSetUserEventStatus, (cl_event event, cl_int status), (event, status))
FORWARD(cl_int, clRetainEvent, (cl_event event), (event))
FORWARD(cl_int, clReleaseEvent, (cl_event event), (event))
FORWARD(cl_int, clGetEventInfo, (cl_event event, cl_event_info what, size_t size, void *value, size_t *size_ret), (event, what, size, value, size_ret))
FORWARD(cl_int, clGetEventProfilingInfo, (cl_event event, cl_profiling_info what, size_t size, void *value, size_t *size_ret), (event, what, size, value, size_ret))
FORWARD(cl_int, clWaitForEvents, (cl_uint count, const cl_event *events), (count, events))
FORWARD(cl_int, clFlush, (cl_command_queue queue), (queue))
FORWARD(cl_int, clFinish, (cl_command_queue queue), (queue))
FORWARD(cl_int, clEnqueueNDRangeKernel, (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global, const size_t *local, cl_uint count, const cl_event *waits, cl_event *event), (queue, kernel, dimensions, offset, global, local, count, waits, event))
FORWARD(cl_int, clEnqueueTask, (cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event *waits, cl_event *event), (queue, kernel, count, waits, event))
FORWARD(cl_int, clEnqueueNativeKernel, (cl_command_queue queue, void(CL_CALLBACK *function)(void *), void *arguments, size_t argument_bytes, cl_uint memory_count, const cl_mem *memory, const void **places, cl_uint count, const cl_event *waits, cl_event *event), (queue, function, arguments, argument_bytes, memory_count, memory, places, count, waits, event))
FORWARD(cl_int, clEnqueueReadBuffer, (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size, void *to, cl_uint count, const cl_event *waits, cl_event *event), (queue, buffer, blocking, offset, size, to, count, waits, event))
FORWARD(cl_int, clEnqueueReadBufferRect, (cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *buffer_origin, const size_t *host_origin, const size_t *region, size_t buffer_row, size_t buffer_slice, size_t host_row, size_t host_slice, void *to, cl_uint count, const cl_event *waits, cl_event *event), (queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice, host_row, host_slice, to, count, waits, event))
FORWARD(cl_int, clEnqueueWriteBuffer, (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size, const void *from, cl_uint count, const cl_event *waits, cl_event *event), (queue, buffer, blocking, offset, size, from, count, waits, event))
FORWARD(cl_int, clEnqueueWriteBufferRect, (cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *buffer_origin, const size_t *host_origin, const size_t *region, size_t buffer_row, size_t buffer_slice, size_t host_row, size_t host_slice, const void *from, cl_uint count, const cl_event *waits, cl_event *event), (queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice, host_row, host_slice, from, count, waits, event))
FORWARD(cl_int, clEnqueueCopyBuffer, (cl_command_queue queue, cl_mem source, cl_mem destination, size_t source_offset, size_t destination_offset, size_t size, cl_uint count, const cl_event *waits, cl_event *event), (queue, source, destination, source_offset, destination_offset, size, count, waits, event))
FORWARD(cl_int, clEnqueueCopyBufferRect, (cl_command_queue queue, cl_mem source, cl_mem destination, const size_t *source_origin, const size_t *destination_origin, const size_t *region, size_t source_row, size_t source_slice, size_t destination_row, size_t destination_slice, cl_uint count, const cl_event *waits, cl_event *event), (queue, source, destination, source_origin, destination_origin, region, source_row, source_slice, destination_row, destination_slice, count, waits, event))
FORWARD(cl_int, clEnqueueFillBuffer, (cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size, size_t offset, size_t size, cl_uint count, const cl_event *waits, cl_event *event), (queue, buffer, pattern, pattern_size, offset, size, count, waits, event))
FORWARD(cl_int, clEnqueueReadImage, (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t row, size_t slice, void *to, cl_uint count, const cl_event *waits, cl_event *event), (queue, image, blocking, origin, region, row, slice, to, count, waits, event))
FORWARD(cl_int, clEnqueueWriteImage, (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t row, size_t slice, const void *from, cl_uint count, const cl_event *waits, cl_event *event), (queue, image, blocking, origin, region, row, slice, from, count, waits, event))
FORWARD(cl_int, clEnqueueCopyImage, (cl_command_queue queue, cl_mem source, cl_mem destination, const size_t *source_origin, const size_t *destination_origin, const size_t *region, cl_uint count, const cl_event *waits, cl_event *event), (queue, source, destination, source_origin, destination_origin, region, count, waits, event))
FORWARD(cl_int, clEnqueueCopyImageToBuffer, (cl_command_queue queue, cl_mem source, cl_mem destination, const size_t *origin, const size_t *region, size_t offset, cl_uint count, const cl_event *waits, cl_event *event), (queue, source, destination, origin, region, offset, count, waits, event))
FORWARD(cl_int, clEnqueueCopyBufferToImage, (cl_command_queue queue, cl_mem source, cl_mem destination, size_t offset, const size_t *origin, const size_t *region, cl_uint count, const cl_event *waits, cl_event *event), (queue, source, destination, offset, origin, region, count, waits, event))
FORWARD(cl_int, clEnqueueFillImage, (cl_command_queue queue, cl_mem image, const void *color, const size_t *origin, const size_t *region, cl_uint count, const cl_event *waits, cl_event *event), (queue, image, color, origin, region, count, waits, event))
FORWARD(void *, clEnqueueMapBuffer, (cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset, size_t size, cl_uint count, const cl_event *waits, cl_event *event, cl_int *error), (queue, buffer, blocking, flags, offset, size, count, waits, event, error))
FORWARD(void *, clEnqueueMapImage, (cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags, const size_t *origin, const size_t *region, size_t *row, size_t *slice, cl_uint count, const cl_event *waits, cl_event *event, cl_int *error), (queue, image, blocking, flags, origin, region, row, slice, count, waits, event, error))
FORWARD(cl_int, clEnqueueUnmapMemObject, (cl_command_queue queue, cl_mem memory, void *mapped, cl_uint count, const cl_event *waits, cl_event *event), (queue, memory, mapped, count, waits, event))
FORWARD(cl_int, clEnqueueMigrateMemObjects, (cl_command_queue queue, cl_uint memory_count, const cl_mem *memory, cl_mem_migration_flags flags, cl_uint count, const cl_event *waits, cl_event *event), (queue, memory_count, memory, flags, count, waits, event))
FORWARD(cl_int, clEnqueueSVMFree, (cl_command_queue queue, cl_uint pointer_count, void **pointers, void(CL_CALLBACK *free_function)(cl_command_queue, cl_uint, void **, void *), void *user_data, cl_uint count, const cl_event *waits, cl_event *event), (queue, pointer_count, pointers, free_function, user_data, count, waits, event))
FORWARD(cl_int, clEnqueueSVMMemcpy, (cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size, cl_uint count, const cl_event *waits, cl_event *event), (queue, blocking, to, from, size, count, waits, event))
FORWARD(cl_int, clEnqueueSVMMemFill, (cl_command_queue queue, void *to, const void *pattern, size_t pattern_size, size_t size, cl_uint count, const cl_event *waits, cl_event *event), (queue, to, pattern, pattern_size, size, count, waits, event))
FORWARD(cl_int, clEnqueueSVMMap, (cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *pointer, size_t size, cl_uint count, const cl_event *waits, cl_event *event), (queue, blocking, flags, pointer, size, count, waits, event))
FORWARD(cl_int, clEnqueueSVMUnmap, (cl_command_queue queue, void *pointer, cl_uint count, const cl_event *waits, cl_event *event), (queue, pointer, count, waits, event))
FORWARD(cl_int, clEnqueueSVMMigrateMem, (cl_command_queue queue, cl_uint pointer_count, const void **pointers, const size_t *sizes, cl_mem_migration_flags flags, cl_uint count, const cl_event *waits, cl_event *event), (queue, pointer_count, pointers, sizes, flags, count, waits, event))
FORWARD(cl_int, clEnqueueMarker, (cl_command_queue queue, cl_event *event), (queue, event))
FORWARD(cl_int, clEnqueueMarkerWithWaitList, (cl_command_queue queue, cl_uint count, const cl_event *waits, cl_event *event), (queue, count, waits, event))
FORWARD(cl_int, clEnqueueBarrier, (cl_command_queue queue), (queue))
FORWARD(cl_int, clEnqueueBarrierWithWaitList, (cl_command_queue queue, cl_uint count, const cl_event *waits, cl_event *event), (queue, count, waits, event))
FORWARD(cl_int, clEnqueueWaitForEvents, (cl_command_queue queue, cl_uint count, const cl_event *waits), (queue, count, waits))
FORWARD(cl_int, clEnqueueAcquireGLObjects, (cl_command_queue queue, cl_uint memory_count, const cl_mem *memory, cl_uint count, const cl_event *waits, cl_event *event), (queue, memory_count, memory, count, waits, event))
FORWARD(cl_int, clEnqueueReleaseGLObjects, (cl_command_queue queue, cl_uint memory_count, const cl_mem *memory, cl_uint count, const cl_event *waits, cl_event *event), (queue, memory_count, memory, count, waits, event))
FORWARD(void *, clGetExtensionFunctionAddress, (const char *name), (name))
FORWARD(void *, clGetExtensionFunctionAddressForPlatform, (cl_platform_id platform, const char *name), (platform, name))
// clang-format on
