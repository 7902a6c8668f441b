# SPDX-License-Identifier: Apache-2.0
"""check_attach_given_up.py AGENT SESSION: calls the agent as agents/attach/starter.c does, 1,000 times with a session that is not there, in a
process that has loaded OpenCL."""
import ctypes
import os
import sys

TIMES, FIRST, GROWN = 1000, 20, 1 << 20  # GROWN: bytes, of all attempts together; one preparation takes more

library, session = sys.argv[1:3]


class Late(ctypes.Structure):
    """struct agent_late (src/wire/attach_order.h)."""
    _fields_ = [("begin", ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)),
                ("look", ctypes.c_void_p), ("leave", ctypes.c_void_p), ("park", ctypes.c_void_p)]


def held():
    """Bytes of addresses and of memory."""
    page = os.sysconf("SC_PAGE_SIZE")
    with open("/proc/self/statm", encoding="ascii") as file:
        return [int(word) * page for word in file.read().split()[:2]]


opencl = ctypes.CDLL("libOpenCL.so.1")
platforms = ctypes.c_uint32(0)
assert opencl.clGetPlatformIDs(0, None, ctypes.byref(platforms)) == 0 and platforms.value, "no platform"
late = Late.in_dll(ctypes.CDLL(library), "tracesmith_agent_late")
text = ctypes.create_string_buffer(512)
before = None
for attempt in range(TIMES + FIRST):
    if attempt == FIRST:
        before = held()
    assert not late.begin(session.encode(), b"", text, len(text)), "a session that is not there was opened"
    assert b"recorded already" in text.value, text.value
grown = [after - first for first, after in zip(before, held())]
assert max(grown) < GROWN, "grown by %d and %d bytes" % tuple(grown)
print("attach_given_up: ok, %d attempts, %d and %d bytes" % (TIMES, *grown))
