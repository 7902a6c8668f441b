# SPDX-License-Identifier: Apache-2.0
"""check_attach_given_up.py AGENT SESSION [TIMES]: calls the agent as agents/attach/starter.c does, 1,000 times with a session that is not there, in a
process that has loaded OpenCL. With TIMES, the process then uses OpenCL."""
import ctypes
import os
import sys

FIRST, GROWN = 20, 1 << 20  # GROWN: bytes, of all attempts together; one preparation takes more

library, session = sys.argv[1:3]
TIMES = int(sys.argv[3]) if len(sys.argv) > 3 else 1000


class Late(ctypes.Structure):
    """struct agent_late (src/wire/attach_order.h)."""
    _fields_ = [("begin", ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)),
                ("look", ctypes.c_void_p), ("leave", ctypes.c_void_p), ("park", ctypes.c_void_p)]


def held():
    """Bytes of addresses and of memory."""
    page = os.sysconf("SC_PAGE_SIZE")
    with open("/proc/self/statm", encoding="ascii") as file:
        return [int(word) * page for word in file.read().split()[:2]]


def use():
    """A command, in a queue that is made now."""
    device, context, queue, buffer = (ctypes.c_void_p() for _ in range(4))
    failed = ctypes.c_int32()
    for function in ("clCreateContext", "clCreateCommandQueue", "clCreateBuffer"):
        getattr(opencl, function).restype = ctypes.c_void_p
    assert opencl.clGetDeviceIDs(platform, ctypes.c_uint64(0xffffffff), 1, ctypes.byref(device), None) == 0
    context.value = opencl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(failed))
    queue.value = opencl.clCreateCommandQueue(context, device, ctypes.c_uint64(0), ctypes.byref(failed))
    buffer.value = opencl.clCreateBuffer(context, ctypes.c_uint64(1), ctypes.c_size_t(64), None, ctypes.byref(failed))
    assert queue.value and buffer.value, failed.value
    assert opencl.clEnqueueWriteBuffer(queue, buffer, 1, ctypes.c_size_t(0), ctypes.c_size_t(64), ctypes.create_string_buffer(64), 0, None, None) == 0


opencl = ctypes.CDLL("libOpenCL.so.1")
platform = ctypes.c_void_p()
assert opencl.clGetPlatformIDs(1, ctypes.byref(platform), None) == 0 and platform.value, "no platform"
late = Late.in_dll(ctypes.CDLL(library), "tracesmith_agent_late")
text = ctypes.create_string_buffer(512)
before = None
for attempt in range(TIMES + FIRST):
    if attempt == FIRST:
        before = held()
    assert not late.begin(session.encode(), b"", text, len(text)), "a session that is not there was opened"
    assert b"recorded already" in text.value, text.value
grown = [after - first for first, after in zip(before, held())]
if len(sys.argv) > 3:
    use()  # a recorded process grows by itself
else:
    assert max(grown) < GROWN, "grown by %d and %d bytes" % tuple(grown)
print("attach_given_up: ok, %d attempts, %d and %d bytes" % (TIMES, *grown))
