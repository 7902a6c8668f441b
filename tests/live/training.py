# SPDX-License-Identifier: Apache-2.0
"""A training-like program: steps of a batch from the host and kernels of OpenCL, called by ctypes. tests/live/check_started_before.py runs it.

Without a byte on stdin a step is fast. After 'h' the next step's batch comes late (the host sleeps 0.5 s); after 'd' its kernel has many times the work. Of
these it prints the byte; when the step began, when its launch was called, and when its clFinish was called and had returned, in ns of
CLOCK_MONOTONIC_RAW. After 'q' it ends, and prints the number of its steps and of the additions of the device."""
import ctypes
import select
import sys
import time

SOURCE = b"""__kernel void train_step(__global uint *count, uint rounds)
{
    volatile uint work = 0;
    for (uint i = 0; i < rounds; i++)
        work += i;
    if (get_global_id(0) == 0)
        count[0] += 1;
}
"""

P, size = ctypes.c_void_p, ctypes.c_size_t
cl = ctypes.CDLL("libOpenCL.so.1")
for name in ("clCreateContext", "clCreateCommandQueue", "clCreateBuffer", "clCreateProgramWithSource", "clCreateKernel"):
    getattr(cl, name).restype = P


def must(code):
    assert code == 0, code


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


platform, device, error = P(), P(), ctypes.c_int()
must(cl.clGetPlatformIDs(1, ctypes.byref(platform), None))
must(cl.clGetDeviceIDs(platform, ctypes.c_uint64(0xffffffff), 1, ctypes.byref(device), None))
context = P(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(error)))
queue = P(cl.clCreateCommandQueue(context, device, ctypes.c_uint64(2), ctypes.byref(error)))  # with times
program = P(cl.clCreateProgramWithSource(context, 1, ctypes.byref(ctypes.c_char_p(SOURCE)), None, ctypes.byref(error)))
must(cl.clBuildProgram(program, 0, None, None, None, None))
kernel = P(cl.clCreateKernel(program, b"train_step", ctypes.byref(error)))
buffer = P(cl.clCreateBuffer(context, ctypes.c_uint64(1), size(4), None, ctypes.byref(error)))
count = ctypes.c_uint32(0)
must(cl.clEnqueueWriteBuffer(queue, buffer, 1, size(0), size(4), ctypes.byref(count), 0, None, None))
must(cl.clSetKernelArg(kernel, 0, size(8), ctypes.byref(buffer)))


def load_batch(late):
    if late:
        time.sleep(0.5)


def step(command, rounds):
    """When the step began, launched, waited, and had ended."""
    begun = now()
    load_batch(command == "h")
    must(cl.clSetKernelArg(kernel, 1, size(4), ctypes.byref(ctypes.c_uint32(rounds))))
    launched = now()
    must(cl.clEnqueueNDRangeKernel(queue, kernel, 1, None, ctypes.byref(size(1)), ctypes.byref(size(1)), 0, None, None))
    waiting = now()
    must(cl.clFinish(queue))
    return begun, launched, waiting, now()


steps, rounds, command = 0, 1 << 20, ""
# How much work takes more than half a second, by the processor's time: another load may be there now, and gone later.
while True:
    before = time.process_time()
    step("", rounds)
    steps += 1
    if time.process_time() - before > 0.7:
        break
    rounds *= 2
print("ready", flush=True)
while command != "q":
    command = sys.stdin.buffer.raw.read(1).decode() if select.select([sys.stdin], [], [], 0.001)[0] else ""
    if command == "q":
        break
    times = step(command, rounds if command == "d" else 1000)
    steps += 1
    if command:
        print(command, *times, flush=True)
must(cl.clEnqueueReadBuffer(queue, buffer, 1, size(0), size(4), ctypes.byref(count), 0, None, None))
print(steps, count.value, flush=True)
