# SPDX-License-Identifier: Apache-2.0
"""A few commands of OpenCL by ctypes: a program that uses a GPU API and knows how often."""
import ctypes


def library():
    """The loader, or None where there is no OpenCL device."""
    try:
        cl = ctypes.CDLL("libOpenCL.so.1")
    except OSError:
        return None
    for name in ("clCreateContext", "clCreateCommandQueue", "clCreateBuffer"):
        getattr(cl, name).restype = ctypes.c_void_p
    return cl


def fill(times):
    """Enqueues so many fills of a buffer and waits for them. False where there is no device."""
    cl = library()
    platform, device, status = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    if (cl is None or cl.clGetPlatformIDs(1, ctypes.byref(platform), None) != 0 or
            cl.clGetDeviceIDs(platform, ctypes.c_ulong(0xFFFFFFFF), 1, ctypes.byref(device), None) != 0):
        return False
    context = ctypes.c_void_p(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(status)))
    queue = ctypes.c_void_p(cl.clCreateCommandQueue(context, device, ctypes.c_ulong(0), ctypes.byref(status)))
    buffer = ctypes.c_void_p(cl.clCreateBuffer(context, ctypes.c_ulong(1), ctypes.c_size_t(4096), None, ctypes.byref(status)))
    pattern = ctypes.c_int(7)
    for _ in range(times):
        failed = cl.clEnqueueFillBuffer(queue, buffer, ctypes.byref(pattern), ctypes.c_size_t(4), ctypes.c_size_t(0),
                                        ctypes.c_size_t(4096), 0, None, None)
        if failed:
            raise OSError(f"clEnqueueFillBuffer: {failed}")
    cl.clFinish(queue)
    cl.clReleaseMemObject(buffer)
    cl.clReleaseCommandQueue(queue)
    cl.clReleaseContext(context)
    return True
