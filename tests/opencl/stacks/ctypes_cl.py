# SPDX-License-Identifier: Apache-2.0
"""What paths.py needs of pyopencl, over ctypes: for interpreters that have no pyopencl."""
import ctypes

P, size = ctypes.c_void_p, ctypes.c_size_t
cl = ctypes.CDLL("libOpenCL.so.1")
for function in ("clCreateContext", "clCreateCommandQueue", "clCreateProgramWithSource", "clCreateKernel"):
    getattr(cl, function).restype = P


def must(code):
    assert code == 0, code


def create_some_context(interactive):
    platform, device, error = P(), P(), ctypes.c_int()
    must(cl.clGetPlatformIDs(1, ctypes.byref(platform), None))
    must(cl.clGetDeviceIDs(platform, ctypes.c_uint64(0xffffffff), 1, ctypes.byref(device), None))
    context = P(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(error)))
    must(error.value)
    return context, device


class Program:
    def __init__(self, context, source):
        text, error = ctypes.c_char_p(source.encode()), ctypes.c_int()
        self.handle = P(cl.clCreateProgramWithSource(context[0], 1, ctypes.byref(text), None, ctypes.byref(error)))
        must(error.value)

    def build(self):
        must(cl.clBuildProgram(self.handle, 0, None, None, None, None))
        return self


class Kernel:
    def __init__(self, program, name):
        error = ctypes.c_int()
        self.handle = P(cl.clCreateKernel(program.handle, name.encode(), ctypes.byref(error)))
        must(error.value)


class CommandQueue:
    def __init__(self, context):
        error = ctypes.c_int()
        self.handle = P(cl.clCreateCommandQueue(context[0], context[1], ctypes.c_uint64(0), ctypes.byref(error)))
        must(error.value)

    def finish(self):
        must(cl.clFinish(self.handle))


def enqueue_nd_range_kernel(queue, kernel, all_items, group, offset):
    one = size * 1
    must(cl.clEnqueueNDRangeKernel(queue.handle, kernel.handle, 1, one(*offset), one(*all_items), one(*group), 0, None, None))
