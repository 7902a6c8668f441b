# SPDX-License-Identifier: Apache-2.0
"""attach to programs of Python. cl_python is a simulated interpreter of 3.14 (PEP 768), which runs the script of attach when it looks for
requests; the file has exactly the launches that it made meanwhile. Real interpreters run a program that calls OpenCL by ctypes."""
import json
import os
import re
import shutil
import subprocess
import sys

from attach_steps import LAUNCHES, Attached, Steps, check_file, cycles, say_stops, threads, wait_for
from support import check

PROGRAMS, WORK = sys.argv[1:3]


def simulated(mode, steps):
    return Steps(steps, program=os.path.join(PROGRAMS, "cl_python"), environment={**os.environ, "SIMULATED_PYTHON": mode})


def session_of(pid):
    with open("/proc/%d/maps" % pid) as maps:
        found = re.search(r"(/\S*)/attach\.order", maps.read())
    check(found, "the program has the order")
    return found[1]


def check_script(pid):
    """The script is only the user's, and is Python: a real interpreter runs it without a word. The order is taken, so it changes nothing."""
    path = os.path.join(session_of(pid), "attach.py")
    check(os.stat(path).st_mode & 0o777 == 0o600, "the script's mode")
    with open(path) as file:
        text = file.read()
    if "0x" in text:  # an address in the program
        compile(text, path, "exec")
        return
    own = "if os.getpid() == %d:" % pid
    check(own in text, "it is for one process: %s" % text)
    if not os.environ.get("TRACESMITH_SANITIZE"):
        done = subprocess.run([sys.executable, "-c", text.replace(own, "if True:")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        check(done.returncode == 0 and not done.stdout, done)
        check(not os.path.exists(os.path.join(session_of(pid), "attach.why")), "the script's own account")


def remote(mode=""):
    program = simulated(mode, 8)
    before = threads(program.pid)
    path = os.path.join(WORK, "remote%s.sbt" % mode)
    for first in (2, 5, 8):  # the library is loaded by the first one, and called by the others
        program.step()
        attached = Attached(program.pid, path)
        check_script(program.pid)
        program.step()
        result = attached.stop()
        check(result["how"] == "remote execution" and not result["not_remote"], result)
        check(result["stopped_ns"] == 0 and result["thread"] == 0 and result["kernels"] == LAUNCHES, result)
        check_file(path, first, first)
        if first < 8:
            program.step()
            wait_for(program.process, "no thread of ours is left", lambda: threads(program.pid) == before)
    program.finish()


def refused(mode, reason):
    program = simulated(mode, 3)
    path = os.path.join(WORK, mode + ".sbt")
    program.step()
    # Of a request that is not taken an eighth of it is waited for.
    attached = Attached(program.pid, path, patience="24s" if mode == "busy" else "120s")
    program.step()
    result = attached.stop()
    check(result["how"] == "borrowed thread" and reason in result["not_remote"], result)
    check(result["stopped_ns"] > 0, result)
    check_file(path, 2, 2)
    program.finish()


PROGRAM = r"""
import ctypes, sys
cl = ctypes.CDLL("libOpenCL.so.1")
P = ctypes.c_void_p
for name in ("clCreateContext", "clCreateCommandQueue", "clCreateBuffer"):
    getattr(cl, name).restype = P
platform, device, error = P(), P(), ctypes.c_int()
assert cl.clGetPlatformIDs(1, ctypes.byref(platform), None) == 0
assert cl.clGetDeviceIDs(platform, ctypes.c_uint64(0xffffffff), 1, ctypes.byref(device), None) == 0
context = P(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(error)))
queue = P(cl.clCreateCommandQueue(context, device, ctypes.c_uint64(0), ctypes.byref(error)))
data = ctypes.create_string_buffer(8192)
buffer = P(cl.clCreateBuffer(context, ctypes.c_uint64(1), ctypes.c_size_t(8192), None, ctypes.byref(error)))
import select
for step in range(int(sys.argv[1])):
    print(flush=True)
    while not select.select([sys.stdin], [], [], 0.001)[0]:
        pass
    assert sys.stdin.buffer.raw.read(1) == b"x"
    for write in range(2):
        assert cl.clEnqueueWriteBuffer(queue, buffer, 1, ctypes.c_size_t(0), ctypes.c_size_t(step + 1), data, 0, None, None) == 0
    print(step + 1, flush=True)
"""


def real(interpreter, is_remote, count):
    """Attaches `count` times: each file has the two writes of its step, which have its number as their size."""
    source, path, stops = os.path.join(WORK, "program.py"), os.path.join(WORK, "real.sbt"), []
    with open(source, "w") as file:
        file.write(PROGRAM)
    steps = 2 * count + 1
    program = Steps(steps, prefix=[interpreter, source, str(steps)], program="")
    before = threads(program.pid)
    for first in range(2, steps, 2):
        program.step()
        attached = Attached(program.pid, path)
        program.step()
        result = attached.stop()
        check(result["how"] == ("remote execution" if is_remote else "borrowed thread"), result)
        check(is_remote or "Python" in result["not_remote"], result)
        done = subprocess.run([os.environ["TRACESMITH"], "view", "-f", "json", path], stdout=subprocess.PIPE, check=True)
        writes = [event["bytes"] for event in json.loads(done.stdout)["events"] if event["kind"] == "memcpy"]
        check(writes == [first] * 2, "the writes of step %d: %s" % (first, writes))
        stops.append(result["stopped_ns"])
        wait_for(program.process, "no thread of ours is left", lambda: threads(program.pid) == before)
    program.finish()
    say_stops("Python", stops)
    return result["not_remote"] or result["how"]


def version_of(interpreter):
    done = subprocess.run([interpreter, "-c", "import sys, ctypes; print(*sys.version_info[:2])"], stdout=subprocess.PIPE)
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else (0, 0)


remote()
remote("forks")
refused("old", "3.13")
refused("early", "before its release")
refused("disabled", "PYTHON_DISABLE_REMOTE_DEBUG")
refused("damaged", "impossible")
refused("broken", "ImportError: no module")
refused("busy", "long call of C")
print("attach, simulated Python 3.14: ok")
if os.environ.get("TRACESMITH_SANITIZE"):
    print("real interpreters: left out, a sanitized agent cannot be loaded into them")
    sys.exit(0)
newest = shutil.which("python3.14")
if newest and version_of(newest) == (3, 14):
    print("Python 3.14:", real(newest, True, cycles(2)))
else:
    print("Python 3.14: left out, there is no python3.14")
own = version_of("/usr/bin/python3")
if (3, 0) < own < (3, 14):
    print("Python %d.%d:" % own, real("/usr/bin/python3", False, cycles(2)))
print("attach, Python: ok")
