// SPDX-License-Identifier: Apache-2.0
// The functions the agent intercepts: the one list. The layer's table (layer.c), the names in the trace
// (agent.h) and the test of the preload library come from it. A function that is not here is never touched.
#ifndef OPENCL_CALLS_H
#define OPENCL_CALLS_H

#define OPENCL_CALLS(X)                                                                                      \
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
    X(clGetCommandQueueInfo)                                                                                 \
    X(clSetCommandQueueProperty)                                                                             \
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
    X(clRetainProgram)                                                                                       \
    X(clReleaseProgram)                                                                                      \
    X(clBuildProgram)                                                                                        \
    X(clCompileProgram)                                                                                      \
    X(clLinkProgram)                                                                                         \
    X(clCreateKernel)                                                                                        \
    X(clCreateKernelsInProgram)                                                                              \
    X(clCloneKernel)                                                                                         \
    X(clRetainKernel)                                                                                        \
    X(clReleaseKernel)                                                                                       \
    /* events, waiting */                                                                                    \
    X(clCreateUserEvent)                                                                                     \
    X(clSetUserEventStatus)                                                                                  \
    X(clRetainEvent)                                                                                         \
    X(clReleaseEvent)                                                                                        \
    X(clGetEventInfo)                                                                                        \
    X(clGetEventProfilingInfo)                                                                               \
    X(clWaitForEvents)                                                                                       \
    X(clFlush)                                                                                               \
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
    X(clEnqueueAcquireEGLObjectsKHR)                                                                         \
    X(clEnqueueReleaseEGLObjectsKHR)                                                                         \
    /* functions outside the table */                                                                        \
    X(clGetExtensionFunctionAddress)                                                                         \
    X(clGetExtensionFunctionAddressForPlatform)

// Not intercepted, but asked by the agent itself; and clGetPlatformIDs, with which preload.c starts the
// loader.
#define OPENCL_ASKED(X)                                                                                      \
    X(clGetPlatformIDs)                                                                                      \
    X(clGetPlatformInfo)                                                                                     \
    X(clGetDeviceIDs)                                                                                        \
    X(clGetDeviceInfo)                                                                                       \
    X(clGetMemObjectInfo)                                                                                    \
    X(clGetImageInfo)                                                                                        \
    X(clGetKernelInfo)

// What preload.c asks of the layer (clGetLayerInfo): a cl_uint, whether a loader has initialised it.
#define LAYER_INFO_IN_USE 0x5453u

#endif
