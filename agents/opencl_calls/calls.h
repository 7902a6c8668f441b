// SPDX-License-Identifier: Apache-2.0
// The functions that the agent intercepts, and those that the recorder (../opencl_record) intercepts as well: the one list.
// The layers' tables, the names in the trace, most wrappers, the preload library and its test come from it. A function that
// is not here is never touched.
#ifndef OPENCL_CALLS_H
#define OPENCL_CALLS_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl_icd.h>

#include <stdbool.h>
#include <stddef.h>

// The type of a pointer to a function of OpenCL. (What CL/cl_icd.h calls it differs by version.)
#define OPENCL_POINTER(name) __typeof__(((cl_icd_dispatch *)0)->name)

// By the agent and the recorder.
#define OPENCL_BOTH_CALLS(X)                                                                                 \
    /* contexts, queues */                                                                                   \
    X(clCreateContext)                                                                                       \
    X(clCreateContextFromType)                                                                               \
    X(clRetainContext)                                                                                       \
    X(clReleaseContext)                                                                                      \
    X(clGetContextInfo)                                                                                      \
    X(clCreateCommandQueue)                                                                                  \
    X(clCreateCommandQueueWithProperties)                                                                    \
    X(clRetainCommandQueue)                                                                                  \
    X(clReleaseCommandQueue)                                                                                 \
    /* memory objects */                                                                                     \
    X(clCreateBuffer)                                                                                        \
    X(clCreateBufferWithProperties)                                                                          \
    X(clCreateSubBuffer)                                                                                     \
    X(clCreateImage)                                                                                         \
    X(clCreateImage2D)                                                                                       \
    X(clCreateImage3D)                                                                                       \
    X(clCreateImageWithProperties)                                                                           \
    X(clCreatePipe)                                                                                          \
    X(clRetainMemObject)                                                                                     \
    X(clReleaseMemObject)                                                                                    \
    X(clSVMAlloc)                                                                                            \
    X(clSVMFree)                                                                                             \
    /* programs, kernels */                                                                                  \
    X(clCreateProgramWithSource)                                                                             \
    X(clCreateProgramWithBinary)                                                                             \
    X(clCreateProgramWithBuiltInKernels)                                                                     \
    X(clCreateProgramWithIL)                                                                                 \
    X(clBuildProgram)                                                                                        \
    X(clCompileProgram)                                                                                      \
    X(clLinkProgram)                                                                                         \
    X(clCreateKernel)                                                                                        \
    X(clCreateKernelsInProgram)                                                                              \
    X(clCloneKernel)                                                                                         \
    /* events, waiting */                                                                                    \
    X(clCreateUserEvent)                                                                                     \
    X(clSetUserEventStatus)                                                                                  \
    X(clGetEventInfo)                                                                                        \
    X(clWaitForEvents)                                                                                       \
    X(clFinish)                                                                                              \
    /* commands */                                                                                           \
    X(clEnqueueNDRangeKernel)                                                                                \
    X(clEnqueueTask)                                                                                         \
    X(clEnqueueNativeKernel)                                                                                 \
    X(clEnqueueReadBuffer)                                                                                   \
    X(clEnqueueReadBufferRect)                                                                               \
    X(clEnqueueWriteBuffer)                                                                                  \
    X(clEnqueueWriteBufferRect)                                                                              \
    X(clEnqueueCopyBuffer)                                                                                   \
    X(clEnqueueCopyBufferRect)                                                                               \
    X(clEnqueueFillBuffer)                                                                                   \
    X(clEnqueueReadImage)                                                                                    \
    X(clEnqueueWriteImage)                                                                                   \
    X(clEnqueueCopyImage)                                                                                    \
    X(clEnqueueCopyImageToBuffer)                                                                            \
    X(clEnqueueCopyBufferToImage)                                                                            \
    X(clEnqueueFillImage)                                                                                    \
    X(clEnqueueMapBuffer)                                                                                    \
    X(clEnqueueMapImage)                                                                                     \
    X(clEnqueueUnmapMemObject)                                                                               \
    X(clEnqueueMigrateMemObjects)                                                                            \
    X(clEnqueueSVMFree)                                                                                      \
    X(clEnqueueSVMMemcpy)                                                                                    \
    X(clEnqueueSVMMemFill)                                                                                   \
    X(clEnqueueSVMMap)                                                                                       \
    X(clEnqueueSVMUnmap)                                                                                     \
    X(clEnqueueSVMMigrateMem)                                                                                \
    X(clEnqueueMarker)                                                                                       \
    X(clEnqueueMarkerWithWaitList)                                                                           \
    X(clEnqueueBarrier)                                                                                      \
    X(clEnqueueBarrierWithWaitList)                                                                          \
    X(clEnqueueWaitForEvents)                                                                                \
    X(clEnqueueAcquireGLObjects)                                                                             \
    X(clEnqueueReleaseGLObjects)                                                                             \
    /* functions outside the table */                                                                        \
    X(clGetExtensionFunctionAddress)                                                                         \
    X(clGetExtensionFunctionAddressForPlatform)

// By the agent: what a loader exports, and all.
#define OPENCL_EXPORTED_CALLS(X)                                                                             \
    OPENCL_BOTH_CALLS(X)                                                                                     \
    X(clGetCommandQueueInfo)                                                                                 \
    X(clSetCommandQueueProperty)                                                                             \
    X(clRetainProgram)                                                                                       \
    X(clReleaseProgram)                                                                                      \
    X(clRetainKernel)                                                                                        \
    X(clReleaseKernel)                                                                                       \
    X(clRetainEvent)                                                                                         \
    X(clReleaseEvent)                                                                                        \
    X(clGetEventProfilingInfo)                                                                               \
    X(clFlush)

#define OPENCL_CALLS(X)                                                                                      \
    OPENCL_EXPORTED_CALLS(X)                                                                                 \
    X(clEnqueueAcquireEGLObjectsKHR)                                                                         \
    X(clEnqueueReleaseEGLObjectsKHR)

// By the agent, of cl_intel_unified_shared_memory: no loader has them, the program fetches them by name (../opencl/usm.c).
#define OPENCL_FETCHED_CALLS(X)                                                                              \
    X(clHostMemAllocINTEL)                                                                                   \
    X(clDeviceMemAllocINTEL)                                                                                 \
    X(clSharedMemAllocINTEL)                                                                                 \
    X(clMemFreeINTEL)                                                                                        \
    X(clMemBlockingFreeINTEL)                                                                                \
    X(clSetKernelArgMemPointerINTEL)                                                                         \
    X(clEnqueueMemcpyINTEL)                                                                                  \
    X(clEnqueueMemFillINTEL)                                                                                 \
    X(clEnqueueMemsetINTEL)                                                                                  \
    X(clEnqueueMigrateMemINTEL)

// Not in the lists above, but called by the agent itself (clSetKernelArg: for the program, released.h); and clGetPlatformIDs, with which preload.c starts the
// loader.
#define OPENCL_ASKED(X)                                                                                      \
    X(clGetPlatformIDs)                                                                                      \
    X(clGetPlatformInfo)                                                                                     \
    X(clGetDeviceIDs)                                                                                        \
    X(clGetDeviceInfo)                                                                                       \
    X(clGetMemObjectInfo)                                                                                    \
    X(clGetImageInfo)                                                                                        \
    X(clGetKernelInfo)                                                                                       \
    X(clSetKernelArg)

// ---- the functions' types

// DEFINE(name, result, (parameters), (arguments), ...) with the row of that name, below.
#define OPENCL_DEFINE(DEFINE, name, ...) OPENCL_DEFINE_ROW(DEFINE, name, OPENCL_##name, __VA_ARGS__)
#define OPENCL_DEFINE_ROW(DEFINE, name, ...) DEFINE(name, __VA_ARGS__)

// clang-format off
#define OPENCL_clCreateContext cl_context, (const cl_context_properties *properties, cl_uint count, const cl_device_id *devices, void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user_data, cl_int *error), (properties, count, devices, notify, user_data, error)
#define OPENCL_clCreateContextFromType cl_context, (const cl_context_properties *properties, cl_device_type type, void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user_data, cl_int *error), (properties, type, notify, user_data, error)
#define OPENCL_clRetainContext cl_int, (cl_context context), (context)
#define OPENCL_clReleaseContext cl_int, (cl_context context), (context)
#define OPENCL_clGetContextInfo cl_int, (cl_context context, cl_context_info what, size_t size, void *value, size_t *size_ret), (context, what, size, value, size_ret)
#define OPENCL_clCreateCommandQueue cl_command_queue, (cl_context context, cl_device_id device, cl_command_queue_properties properties, cl_int *error), (context, device, properties, error)
#define OPENCL_clCreateCommandQueueWithProperties cl_command_queue, (cl_context context, cl_device_id device, const cl_queue_properties *properties, cl_int *error), (context, device, properties, error)
#define OPENCL_clRetainCommandQueue cl_int, (cl_command_queue queue), (queue)
#define OPENCL_clReleaseCommandQueue cl_int, (cl_command_queue queue), (queue)
#define OPENCL_clGetCommandQueueInfo cl_int, (cl_command_queue queue, cl_command_queue_info what, size_t size, void *value, size_t *size_ret), (queue, what, size, value, size_ret)
#define OPENCL_clSetCommandQueueProperty cl_int, (cl_command_queue queue, cl_command_queue_properties properties, cl_bool enable, cl_command_queue_properties *old), (queue, properties, enable, old)
#define OPENCL_clCreateBuffer cl_mem, (cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *error), (context, flags, size, host, error)
#define OPENCL_clCreateBufferWithProperties cl_mem, (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags, size_t size, void *host, cl_int *error), (context, properties, flags, size, host, error)
#define OPENCL_clCreateSubBuffer cl_mem, (cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type, const void *info, cl_int *error), (buffer, flags, type, info, error)
#define OPENCL_clCreateImage cl_mem, (cl_context context, cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *description, void *host, cl_int *error), (context, flags, format, description, host, error)
#define OPENCL_clCreateImage2D cl_mem, (cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width, size_t height, size_t row, void *host, cl_int *error), (context, flags, format, width, height, row, host, error)
#define OPENCL_clCreateImage3D cl_mem, (cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width, size_t height, size_t depth, size_t row, size_t slice, void *host, cl_int *error), (context, flags, format, width, height, depth, row, slice, host, error)
#define OPENCL_clCreateImageWithProperties cl_mem, (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *description, void *host, cl_int *error), (context, properties, flags, format, description, host, error)
#define OPENCL_clCreatePipe cl_mem, (cl_context context, cl_mem_flags flags, cl_uint packet_size, cl_uint packets, const cl_pipe_properties *properties, cl_int *error), (context, flags, packet_size, packets, properties, error)
#define OPENCL_clRetainMemObject cl_int, (cl_mem memory), (memory)
#define OPENCL_clReleaseMemObject cl_int, (cl_mem memory), (memory)
#define OPENCL_clSVMAlloc void *, (cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment), (context, flags, size, alignment)
#define OPENCL_clSVMFree void, (cl_context context, void *pointer), (context, pointer)
#define OPENCL_clCreateProgramWithSource cl_program, (cl_context context, cl_uint count, const char **strings, const size_t *lengths, cl_int *error), (context, count, strings, lengths, error)
#define OPENCL_clCreateProgramWithBinary cl_program, (cl_context context, cl_uint count, const cl_device_id *devices, const size_t *lengths, const unsigned char **binaries, cl_int *statuses, cl_int *error), (context, count, devices, lengths, binaries, statuses, error)
#define OPENCL_clCreateProgramWithBuiltInKernels cl_program, (cl_context context, cl_uint count, const cl_device_id *devices, const char *names, cl_int *error), (context, count, devices, names, error)
#define OPENCL_clCreateProgramWithIL cl_program, (cl_context context, const void *il, size_t length, cl_int *error), (context, il, length, error)
#define OPENCL_clRetainProgram cl_int, (cl_program program), (program)
#define OPENCL_clReleaseProgram cl_int, (cl_program program), (program)
#define OPENCL_clBuildProgram cl_int, (cl_program program, cl_uint count, const cl_device_id *devices, const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *user_data), (program, count, devices, options, notify, user_data)
#define OPENCL_clCompileProgram cl_int, (cl_program program, cl_uint count, const cl_device_id *devices, const char *options, cl_uint header_count, const cl_program *headers, const char **names, void(CL_CALLBACK *notify)(cl_program, void *), void *user_data), (program, count, devices, options, header_count, headers, names, notify, user_data)
#define OPENCL_clLinkProgram cl_program, (cl_context context, cl_uint count, const cl_device_id *devices, const char *options, cl_uint program_count, const cl_program *programs, void(CL_CALLBACK *notify)(cl_program, void *), void *user_data, cl_int *error), (context, count, devices, options, program_count, programs, notify, user_data, error)
#define OPENCL_clCreateKernel cl_kernel, (cl_program program, const char *name, cl_int *error), (program, name, error)
#define OPENCL_clCreateKernelsInProgram cl_int, (cl_program program, cl_uint room, cl_kernel *kernels, cl_uint *count), (program, room, kernels, count)
#define OPENCL_clCloneKernel cl_kernel, (cl_kernel source, cl_int *error), (source, error)
#define OPENCL_clRetainKernel cl_int, (cl_kernel kernel), (kernel)
#define OPENCL_clReleaseKernel cl_int, (cl_kernel kernel), (kernel)
#define OPENCL_clCreateUserEvent cl_event, (cl_context context, cl_int *error), (context, error)
#define OPENCL_clSetUserEventStatus cl_int, (cl_event event, cl_int status), (event, status)
#define OPENCL_clRetainEvent cl_int, (cl_event event), (event)
#define OPENCL_clReleaseEvent cl_int, (cl_event event), (event)
#define OPENCL_clGetEventInfo cl_int, (cl_event event, cl_event_info what, size_t size, void *value, size_t *size_ret), (event, what, size, value, size_ret)
#define OPENCL_clGetEventProfilingInfo cl_int, (cl_event event, cl_profiling_info what, size_t size, void *value, size_t *size_ret), (event, what, size, value, size_ret)
#define OPENCL_clWaitForEvents cl_int, (cl_uint count, const cl_event *events), (count, events)
#define OPENCL_clFlush cl_int, (cl_command_queue queue), (queue)
#define OPENCL_clFinish cl_int, (cl_command_queue queue), (queue)
#define OPENCL_clEnqueueNDRangeKernel cl_int, (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global, const size_t *local, cl_uint count, const cl_event *waits, cl_event *event), (queue, kernel, dimensions, offset, global, local, count, waits, event)
#define OPENCL_clEnqueueTask cl_int, (cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event *waits, cl_event *event), (queue, kernel, count, waits, event)
#define OPENCL_clEnqueueNativeKernel cl_int, (cl_command_queue queue, void(CL_CALLBACK *function)(void *), void *arguments, size_t argument_bytes, cl_uint memory_count, const cl_mem *memory, const void **places, cl_uint count, const cl_event *waits, cl_event *event), (queue, function, arguments, argument_bytes, memory_count, memory, places, count, waits, event)
#define OPENCL_clEnqueueReadBuffer cl_int, (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size, void *to, cl_uint count, const cl_event *waits, cl_event *event), (queue, buffer, blocking, offset, size, to, count, waits, event)
#define OPENCL_clEnqueueReadBufferRect cl_int, (cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *buffer_origin, const size_t *host_origin, const size_t *region, size_t buffer_row, size_t buffer_slice, size_t host_row, size_t host_slice, void *to, cl_uint count, const cl_event *waits, cl_event *event), (queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice, host_row, host_slice, to, count, waits, event)
#define OPENCL_clEnqueueWriteBuffer cl_int, (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size, const void *from, cl_uint count, const cl_event *waits, cl_event *event), (queue, buffer, blocking, offset, size, from, count, waits, event)
#define OPENCL_clEnqueueWriteBufferRect cl_int, (cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *buffer_origin, const size_t *host_origin, const size_t *region, size_t buffer_row, size_t buffer_slice, size_t host_row, size_t host_slice, const void *from, cl_uint count, const cl_event *waits, cl_event *event), (queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice, host_row, host_slice, from, count, waits, event)
#define OPENCL_clEnqueueCopyBuffer cl_int, (cl_command_queue queue, cl_mem source, cl_mem destination, size_t source_offset, size_t destination_offset, size_t size, cl_uint count, const cl_event *waits, cl_event *event), (queue, source, destination, source_offset, destination_offset, size, count, waits, event)
#define OPENCL_clEnqueueCopyBufferRect cl_int, (cl_command_queue queue, cl_mem source, cl_mem destination, const size_t *source_origin, const size_t *destination_origin, const size_t *region, size_t source_row, size_t source_slice, size_t destination_row, size_t destination_slice, cl_uint count, const cl_event *waits, cl_event *event), (queue, source, destination, source_origin, destination_origin, region, source_row, source_slice, destination_row, destination_slice, count, waits, event)
#define OPENCL_clEnqueueFillBuffer cl_int, (cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size, size_t offset, size_t size, cl_uint count, const cl_event *waits, cl_event *event), (queue, buffer, pattern, pattern_size, offset, size, count, waits, event)
#define OPENCL_clEnqueueReadImage cl_int, (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t row, size_t slice, void *to, cl_uint count, const cl_event *waits, cl_event *event), (queue, image, blocking, origin, region, row, slice, to, count, waits, event)
#define OPENCL_clEnqueueWriteImage cl_int, (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t row, size_t slice, const void *from, cl_uint count, const cl_event *waits, cl_event *event), (queue, image, blocking, origin, region, row, slice, from, count, waits, event)
#define OPENCL_clEnqueueCopyImage cl_int, (cl_command_queue queue, cl_mem source, cl_mem destination, const size_t *source_origin, const size_t *destination_origin, const size_t *region, cl_uint count, const cl_event *waits, cl_event *event), (queue, source, destination, source_origin, destination_origin, region, count, waits, event)
#define OPENCL_clEnqueueCopyImageToBuffer cl_int, (cl_command_queue queue, cl_mem source, cl_mem destination, const size_t *origin, const size_t *region, size_t offset, cl_uint count, const cl_event *waits, cl_event *event), (queue, source, destination, origin, region, offset, count, waits, event)
#define OPENCL_clEnqueueCopyBufferToImage cl_int, (cl_command_queue queue, cl_mem source, cl_mem destination, size_t offset, const size_t *origin, const size_t *region, cl_uint count, const cl_event *waits, cl_event *event), (queue, source, destination, offset, origin, region, count, waits, event)
#define OPENCL_clEnqueueFillImage cl_int, (cl_command_queue queue, cl_mem image, const void *color, const size_t *origin, const size_t *region, cl_uint count, const cl_event *waits, cl_event *event), (queue, image, color, origin, region, count, waits, event)
#define OPENCL_clEnqueueMapBuffer void *, (cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset, size_t size, cl_uint count, const cl_event *waits, cl_event *event, cl_int *error), (queue, buffer, blocking, flags, offset, size, count, waits, event, error)
#define OPENCL_clEnqueueMapImage void *, (cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags, const size_t *origin, const size_t *region, size_t *row, size_t *slice, cl_uint count, const cl_event *waits, cl_event *event, cl_int *error), (queue, image, blocking, flags, origin, region, row, slice, count, waits, event, error)
#define OPENCL_clEnqueueUnmapMemObject cl_int, (cl_command_queue queue, cl_mem memory, void *mapped, cl_uint count, const cl_event *waits, cl_event *event), (queue, memory, mapped, count, waits, event)
#define OPENCL_clEnqueueMigrateMemObjects cl_int, (cl_command_queue queue, cl_uint memory_count, const cl_mem *memory, cl_mem_migration_flags flags, cl_uint count, const cl_event *waits, cl_event *event), (queue, memory_count, memory, flags, count, waits, event)
#define OPENCL_clEnqueueSVMFree cl_int, (cl_command_queue queue, cl_uint pointer_count, void **pointers, void(CL_CALLBACK *free_function)(cl_command_queue, cl_uint, void **, void *), void *user_data, cl_uint count, const cl_event *waits, cl_event *event), (queue, pointer_count, pointers, free_function, user_data, count, waits, event)
#define OPENCL_clEnqueueSVMMemcpy cl_int, (cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size, cl_uint count, const cl_event *waits, cl_event *event), (queue, blocking, to, from, size, count, waits, event)
#define OPENCL_clEnqueueSVMMemFill cl_int, (cl_command_queue queue, void *to, const void *pattern, size_t pattern_size, size_t size, cl_uint count, const cl_event *waits, cl_event *event), (queue, to, pattern, pattern_size, size, count, waits, event)
#define OPENCL_clEnqueueSVMMap cl_int, (cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *pointer, size_t size, cl_uint count, const cl_event *waits, cl_event *event), (queue, blocking, flags, pointer, size, count, waits, event)
#define OPENCL_clEnqueueSVMUnmap cl_int, (cl_command_queue queue, void *pointer, cl_uint count, const cl_event *waits, cl_event *event), (queue, pointer, count, waits, event)
#define OPENCL_clEnqueueSVMMigrateMem cl_int, (cl_command_queue queue, cl_uint pointer_count, const void **pointers, const size_t *sizes, cl_mem_migration_flags flags, cl_uint count, const cl_event *waits, cl_event *event), (queue, pointer_count, pointers, sizes, flags, count, waits, event)
#define OPENCL_clEnqueueMarker cl_int, (cl_command_queue queue, cl_event *event), (queue, event)
#define OPENCL_clEnqueueMarkerWithWaitList cl_int, (cl_command_queue queue, cl_uint count, const cl_event *waits, cl_event *event), (queue, count, waits, event)
#define OPENCL_clEnqueueBarrier cl_int, (cl_command_queue queue), (queue)
#define OPENCL_clEnqueueBarrierWithWaitList cl_int, (cl_command_queue queue, cl_uint count, const cl_event *waits, cl_event *event), (queue, count, waits, event)
#define OPENCL_clEnqueueWaitForEvents cl_int, (cl_command_queue queue, cl_uint count, const cl_event *waits), (queue, count, waits)
#define OPENCL_clEnqueueAcquireGLObjects cl_int, (cl_command_queue queue, cl_uint memory_count, const cl_mem *memory, cl_uint count, const cl_event *waits, cl_event *event), (queue, memory_count, memory, count, waits, event)
#define OPENCL_clEnqueueReleaseGLObjects cl_int, (cl_command_queue queue, cl_uint memory_count, const cl_mem *memory, cl_uint count, const cl_event *waits, cl_event *event), (queue, memory_count, memory, count, waits, event)
#define OPENCL_clEnqueueAcquireEGLObjectsKHR cl_int, (cl_command_queue queue, cl_uint memory_count, const cl_mem *memory, cl_uint count, const cl_event *waits, cl_event *event), (queue, memory_count, memory, count, waits, event)
#define OPENCL_clEnqueueReleaseEGLObjectsKHR cl_int, (cl_command_queue queue, cl_uint memory_count, const cl_mem *memory, cl_uint count, const cl_event *waits, cl_event *event), (queue, memory_count, memory, count, waits, event)
#define OPENCL_clGetExtensionFunctionAddress void *, (const char *name), (name)
#define OPENCL_clGetExtensionFunctionAddressForPlatform void *, (cl_platform_id platform, const char *name), (platform, name)
#define OPENCL_clHostMemAllocINTEL void *, (cl_context context, const cl_bitfield *properties, size_t size, cl_uint alignment, cl_int *error), (context, properties, size, alignment, error)
#define OPENCL_clDeviceMemAllocINTEL void *, (cl_context context, cl_device_id device, const cl_bitfield *properties, size_t size, cl_uint alignment, cl_int *error), (context, device, properties, size, alignment, error)
#define OPENCL_clSharedMemAllocINTEL void *, (cl_context context, cl_device_id device, const cl_bitfield *properties, size_t size, cl_uint alignment, cl_int *error), (context, device, properties, size, alignment, error)
#define OPENCL_clMemFreeINTEL cl_int, (cl_context context, void *pointer), (context, pointer)
#define OPENCL_clMemBlockingFreeINTEL cl_int, (cl_context context, void *pointer), (context, pointer)
#define OPENCL_clSetKernelArgMemPointerINTEL cl_int, (cl_kernel kernel, cl_uint index, const void *pointer), (kernel, index, pointer)
#define OPENCL_clEnqueueMemcpyINTEL cl_int, (cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size, cl_uint count, const cl_event *waits, cl_event *event), (queue, blocking, to, from, size, count, waits, event)
#define OPENCL_clEnqueueMemFillINTEL cl_int, (cl_command_queue queue, void *to, const void *pattern, size_t pattern_size, size_t size, cl_uint count, const cl_event *waits, cl_event *event), (queue, to, pattern, pattern_size, size, count, waits, event)
#define OPENCL_clEnqueueMemsetINTEL cl_int, (cl_command_queue queue, void *to, cl_int value, size_t size, cl_uint count, const cl_event *waits, cl_event *event), (queue, to, value, size, count, waits, event)
#define OPENCL_clEnqueueMigrateMemINTEL cl_int, (cl_command_queue queue, const void *pointer, size_t size, cl_mem_migration_flags flags, cl_uint count, const cl_event *waits, cl_event *event), (queue, pointer, size, flags, count, waits, event)
// clang-format on

// ---- entry/, which is in both layers

#define LAYER_INFO_IN_USE                                                                                    \
    0x5453u // clGetLayerInfo, for preload.c: a cl_uint, whether a loader has initialized the layer

// The layer has these for entry/entry.c: its name, and what the loader is given; where that is empty the loader calls the
// driver directly.
extern const char entry_name[];
extern cl_icd_dispatch entry_table;
// `target`, of this size, is the driver or the layer below. `again`: a loader that was closed and is opened again
// comes here again, with its functions in a new place.
void entry_begin(const cl_icd_dispatch *target, size_t bytes, bool again);
// entry/fetched.c: the number (below 31) of a function of an extension that enqueues; -1: it is none.
int entry_fetched(const char *name);

#endif
