# SPDX-License-Identifier: Apache-2.0
"""attach: a program that was started without TraceSmith makes a step for each byte that it reads. The launches of a step have its
number as their size, so a file shows exactly which steps were recorded."""
import ctypes
import json
import os
import signal
import subprocess
import sys

import attach_steps
from attach_steps import LAUNCHES, Agents, Attached, Steps, check_file, own_libraries, say_stops, threads, wait_for
from support import TRACESMITH, check, run

PROGRAMS, WORK = sys.argv[1:3]
CYCLES = attach_steps.cycles(20)
# A sanitizer's own files are of no interest here, only its verdict: the exit code.
libc = ctypes.CDLL(None, use_errno=True)


def opencl():
    program = Steps(60)
    before = threads(program.pid)
    program.step(10)
    first = os.path.join(WORK, "first.sbt")
    attached = Attached(program.pid, first)
    program.step(15)
    totals = json.loads(run("top", "--once", "--json", program.pid).stdout)
    check(totals["processes"] == 1, "one process is recorded: %s" % totals["processes"])
    check(all(device["recent_busy_share"] is None or totals["now_ns"] - totals["since_ns"] > 10**9 for device in totals["devices"]),
          "how busy a device is is known after a second: %s" % totals)
    refused = run("attach", program.pid, "-o", os.path.join(WORK, "second.sbt"), code=4)
    check(b"cannot be" in refused.stderr or b"already" in refused.stderr or b"still" in refused.stderr, refused.stderr)
    program.step(5)
    result = attached.stop()
    check(result["kernels"] == 20 * LAUNCHES and result["how"] == "borrowed thread", result)
    check(0 < result["stopped_ns"] <= result["longest_stop_ns"], result)
    check("creation" in result["not_recorded"], result)
    check_file(first, 11, 30)
    program.step(10)
    wait_for(program.process, "no thread of ours is left", lambda: threads(program.pid) == before)
    # Again, and the program ends meanwhile.
    last = os.path.join(WORK, "last.sbt")
    attached = Attached(program.pid, last)
    program.step(5)
    program.finish()
    attached.wait()
    check_file(last, 41, 60)


def check_stacks(path, wanted):
    """Every launch has the path that the program's own functions make, or none has a stack."""
    answer = json.loads(run("view", "-f", "json", "--stacks", path).stdout)
    launches = [event for event in answer["events"] if event["kind"] == "kernel" or event.get("name") == "clEnqueueNDRangeKernel"]
    check(len(launches) == 2 * LAUNCHES, "a call and a kernel for each launch: %d" % len(launches))
    for launch in launches:
        frames = launch.get("frames", [])
        check(bool(frames) == wanted, "stacks: %s" % launch)
        own = [frame.get("function") for frame in frames if frame["module"].endswith("/cl_steps")]
        check(not wanted or own[:2] == ["step", "main"], "the program's functions: %s" % frames)
    reasons = {event["reason"] for event in answer["events"] if event["kind"] == "loss"}
    check(not reasons & {"no_stack", "partial_stack", "deep_stack"}, reasons)


def stacks():
    """Whether there are stacks is decided anew by each attach."""
    program = Steps(9)
    path = os.path.join(WORK, "stacks.sbt")
    for first, options in ((2, ["--stacks"]), (4, []), (6, ["--stacks"]), (8, ["--stacks"])):
        program.step()
        attached = Attached(program.pid, path, *options)
        program.step()
        attached.stop()
        check_file(path, first, first)
        check_stacks(path, bool(options))
    program.finish()


def updated():
    """The libraries that stay loaded are of an earlier build."""
    program, agents = Steps(20), Agents(os.path.join(WORK, "agents"))
    path, loaded = os.path.join(WORK, "updated.sbt"), []
    for first in (1, 3, 5, 7):
        attached = Attached(program.pid, path, environment=agents.environment)
        program.step()
        attached.stop()
        check_file(path, first, first)
        program.step()
        loaded.append(own_libraries(program.pid))
        if first == 3:
            agents.update()
    check(loaded == [2, 2, 4, 4], "the libraries of each build are loaded once: %s" % loaded)
    program.finish()


def mappings(pid):
    with open("/proc/%d/maps" % pid) as maps:
        return sum(1 for _ in maps)


def cycles():
    program = Steps(2 * CYCLES + 1)
    before = threads(program.pid)
    stops, counts = [], []
    path = os.path.join(WORK, "cycle.sbt")
    for cycle in range(CYCLES):
        attached = Attached(program.pid, path, *(["--stacks"] if cycle % 2 else []))
        program.step()
        stops.append(attached.stop()["stopped_ns"])
        check_file(path, 2 * cycle + 1, 2 * cycle + 1)
        program.step()
        wait_for(program.process, "no thread of ours is left", lambda: threads(program.pid) == before)
        counts.append(mappings(program.pid))
    program.finish()
    # A mapping may be in two pieces at one moment and in one at another; three of each session would be 3 * CYCLES.
    check(counts[-1] - counts[len(counts) // 2] < CYCLES // 2, "mappings after each cycle: %s" % counts)
    say_stops("OpenCL", stops)


def armed():
    program = Steps(20, [TRACESMITH, "profile", "--armed", "--"])
    path = os.path.join(WORK, "armed.sbt")
    program.step(5)
    attached = Attached(program.pid, path)
    program.step(5)
    attached.process.send_signal(signal.SIGINT)
    attached.wait()
    check_file(path, 6, 10)
    refused = run("attach", program.pid, "-o", path, "--stacks", code=2)
    check(b"armed" in refused.stderr, refused.stderr)
    program.finish()


def refuse(pid, *words):
    path = os.path.join(WORK, "refused.sbt")
    done = run("attach", pid, "-o", path, "--patience", "120s", code=4)
    check(any(word in done.stderr for word in words), "attach says %s" % done.stderr)
    check(not os.path.exists(path), "no file")


class Waits:
    """A program that waits for the end of its input."""

    def __init__(self, *command, **options):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
        check(self.process.stdout.readline() == b"waits\n", "%s waits" % command[0])

    def end(self):
        out, _ = self.process.communicate(timeout=60)
        check(self.process.returncode == 0 and out == b"done\n", "the program is unharmed: %s %s" % (self.process.returncode, out))


def build(name, *options):
    source = os.path.join(WORK, "waits.c")
    with open(source, "w") as file:
        file.write("#include <stdio.h>\n#include <unistd.h>\nint main(void) { char byte; puts(\"waits\"); fflush(stdout);\n"
                   "while (read(0, &byte, 1) == 1) ; puts(\"done\"); return 0; }\n")
    path = os.path.join(WORK, name)
    return path if subprocess.run(["cc", "-o", path, source, *options], stderr=subprocess.DEVNULL).returncode == 0 else None


def refusals():
    gone = subprocess.Popen(["true"])
    gone.wait()
    refuse(gone.pid, b"there is no process")
    refuse(1, b"cannot be attached", b"another user")
    for word in ("0", "-1", "x", "99999999999"):
        run("attach", word, code=2)
    run("attach", os.getpid(), "-d", "0", code=2)
    # A sanitized library cannot be loaded into a program that is not.
    plain = None if os.environ.get("TRACESMITH_SANITIZE") else build("plain")
    static = build("static", "-static")
    if plain:
        # No OpenCL: the library is loaded, finds nothing to do, and the program continues.
        program = Waits(plain)
        refuse(program.process.pid, b"has not loaded opencl")
        refuse(program.process.pid, b"has not loaded opencl")
        program.end()
        # Another tracer.
        program = Waits(plain)
        check(libc.ptrace(0x4206, program.process.pid, 0, 0) == 0, "the test traces it")  # PTRACE_SEIZE
        refuse(program.process.pid, b"traced by process %d" % os.getpid())
        check(libc.ptrace(0x4207, program.process.pid, 0, 0) == 0, "interrupt")
        os.waitpid(program.process.pid, 0x40000000)
        check(libc.ptrace(17, program.process.pid, 0, 0) == 0, "detach")
        program.end()
        # Stopped.
        program = Waits(plain)
        program.process.send_signal(signal.SIGSTOP)
        os.waitpid(program.process.pid, os.WUNTRACED)
        refuse(program.process.pid, b"is stopped")
        program.process.send_signal(signal.SIGCONT)
        program.end()
    if static:
        program = Waits(static)
        refuse(program.process.pid, b"statically linked")
        program.end()
    if plain and os.geteuid() == 0:
        os.chmod(WORK, 0o755)
        program = Waits(plain, user=65534)
        refuse(program.process.pid, b"another user's")
        program.end()


opencl()
stacks()
cycles()
if not os.environ.get("TRACESMITH_SANITIZE"):  # which allows one copy of a library in a process
    updated()
armed()
refusals()
print("attach: ok")
