// SPDX-License-Identifier: Apache-2.0
// The functions the recorder intercepts: the one list.
#ifndef OPENCL_RECORD_CALLS_H
#define OPENCL_RECORD_CALLS_H

#define RECORDED_CALLS(X)                                                                                    \
    X(clCreateContext)                                                                                       \
    X(clCreateContextFromType)                                                                               \
    X(clReleaseContext)                                                                                      \
    X(clGetContextInfo)                                                                                      \
    X(clCreateCommandQueue)                                                                                  \
    X(clCreateCommandQueueWithProperties)                                                                    \
    X(clRetainCommandQueue)                                                                                  \
    X(clReleaseCommandQueue)                                                                                 \
    X(clCreateSampler)                                                                                       \
    X(clCreateSamplerWithProperties)                                                                         \
    X(clCreateBuffer)                                                                                        \
    X(clCreateBufferWithProperties)                                                                          \
    X(clCreateSubBuffer)                                                                                     \
    X(clRetainMemObject)                                                                                     \
    X(clReleaseMemObject)                                                                                    \
    X(clCreateProgramWithSource)                                                                             \
    X(clCreateProgramWithBinary)                                                                             \
    X(clCreateProgramWithBuiltInKernels)                                                                     \
    X(clCreateProgramWithIL)                                                                                 \
    X(clBuildProgram)                                                                                        \
    X(clLinkProgram)                                                                                         \
    X(clCreateKernel)                                                                                        \
    X(clCreateKernelsInProgram)                                                                              \
    X(clCloneKernel)                                                                                         \
    X(clSetKernelArg)                                                                                        \
    X(clSetKernelArgSVMPointer)                                                                              \
    X(clSetKernelExecInfo)                                                                                   \
    X(clEnqueueNDRangeKernel)                                                                                \
    X(clEnqueueTask)                                                                                         \
    X(clEnqueueReadBuffer)                                                                                   \
    X(clEnqueueReadBufferRect)                                                                               \
    X(clEnqueueWriteBuffer)                                                                                  \
    X(clEnqueueWriteBufferRect)                                                                              \
    X(clEnqueueCopyBuffer)                                                                                   \
    X(clEnqueueCopyBufferRect)                                                                               \
    X(clEnqueueFillBuffer)                                                                                   \
    X(clEnqueueMapBuffer)                                                                                    \
    X(clEnqueueUnmapMemObject)                                                                               \
    X(clEnqueueMigrateMemObjects)                                                                            \
    X(clEnqueueMarker)                                                                                       \
    X(clEnqueueMarkerWithWaitList)                                                                           \
    X(clEnqueueBarrier)                                                                                      \
    X(clEnqueueBarrierWithWaitList)                                                                          \
    X(clEnqueueWaitForEvents)                                                                                \
    X(clCreateUserEvent)                                                                                     \
    X(clSetUserEventStatus)                                                                                  \
    X(clWaitForEvents)                                                                                       \
    X(clFinish)                                                                                              \
    X(clGetEventInfo)                                                                                        \
    X(clSetEventCallback)                                                                                    \
    /* not to be replayed */                                                                                 \
    X(clCreateImage)                                                                                         \
    X(clCreateImage2D)                                                                                       \
    X(clCreateImage3D)                                                                                       \
    X(clCreateImageWithProperties)                                                                           \
    X(clCreatePipe)                                                                                          \
    X(clSVMAlloc)                                                                                            \
    X(clEnqueueNativeKernel)                                                                                 \
    X(clEnqueueReadImage)                                                                                    \
    X(clEnqueueWriteImage)                                                                                   \
    X(clEnqueueCopyImage)                                                                                    \
    X(clEnqueueCopyImageToBuffer)                                                                            \
    X(clEnqueueCopyBufferToImage)                                                                            \
    X(clEnqueueFillImage)                                                                                    \
    X(clEnqueueMapImage)                                                                                     \
    X(clEnqueueSVMFree)                                                                                      \
    X(clEnqueueSVMMemcpy)                                                                                    \
    X(clEnqueueSVMMemFill)                                                                                   \
    X(clEnqueueSVMMap)                                                                                       \
    X(clEnqueueSVMUnmap)                                                                                     \
    X(clEnqueueSVMMigrateMem)                                                                                \
    X(clEnqueueAcquireGLObjects)                                                                             \
    X(clEnqueueReleaseGLObjects)

#endif
