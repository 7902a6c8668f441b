# SPDX-License-Identifier: Apache-2.0
"""What the tests of attach share: a program that makes a step for each byte that it reads, a running attach, and what its file must have."""
import json
import os
import shutil
import signal
import struct
import subprocess
import sys

from support import TRACESMITH, check, run

PROGRAMS = sys.argv[1]
LAUNCHES = 5


def cycles(usual):
    """How often to attach and detach: many times in the long form (./dev soak)."""
    return int(os.environ.get("TRACESMITH_ATTACH_CYCLES", usual))


def say_stops(what, stops):
    stops = sorted(stops)
    print("%s, %d cycles; a thread stood still for %.0f us (median), %.0f us (99 %%), %.0f us (longest)" %
          (what, len(stops), stops[len(stops) // 2] / 1e3, stops[len(stops) * 99 // 100] / 1e3, stops[-1] / 1e3))


class Steps:
    """cl_steps, which waits for a byte before each step."""

    def __init__(self, steps, prefix=(), program=os.path.join(PROGRAMS, "cl_steps"), environment=None):
        command = [*prefix, program, str(steps), "1000000", "0", "ask"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        bufsize=0, env=environment)
        self.pid = self.process.pid
        self.process.stdout.readline()
        self.made = 0
        self.last = steps
        self.lines = []

    def step(self, count=1):
        """Makes the next steps: returns when they have ended, and the program waits again."""
        for _ in range(count):
            self.process.stdin.write(b"x")
            self.made += 1
            self.lines.append(self.process.stdout.readline())
            if self.made < self.last:
                self.process.stdout.readline()

    def finish(self):
        self.step(self.last - self.made)
        errors = self.process.stderr.read().decode()
        check(self.process.wait(60) == 0, "the program ended with %s: %s" % (self.process.returncode, errors))
        numbers = [int(line.split()[0]) for line in self.lines]
        check(numbers == list(range(1, self.last + 1)), "the program's own account: %s" % numbers)


class Agents:
    """A folder with the agents that attach needs, as a package installs them."""

    def __init__(self, folder):
        self.folder = folder
        os.mkdir(folder)
        self.environment = {**os.environ, "TRACESMITH_AGENT_DIR": folder}
        for name in ("libtracesmith-attach.so", "libtracesmith-opencl.so"):
            shutil.copy(os.path.join(os.environ["TRACESMITH_BUILD_DIR"], "lib", "tracesmith", name), folder)

    def update(self):
        """Puts others of the same function in their place, with other build ids, as an update of the package does."""
        for name in os.listdir(self.folder):
            path = os.path.join(self.folder, name)
            with open(path, "rb") as file:
                bytes_ = bytearray(file.read())
            head = struct.pack("<III4s", 4, 20, 3, b"GNU")  # of the note; the build id follows
            check(bytes_.count(head) == 1, "%s has a build id" % name)
            bytes_[bytes_.index(head) + len(head)] ^= 0xff
            with open(path + ".new", "wb") as file:
                file.write(bytes_)
            os.rename(path + ".new", path)


class Attached:
    def __init__(self, pid, path, *options, environment=None, patience="120s"):
        self.path = path
        self.process = subprocess.Popen([TRACESMITH, "attach", str(pid), "-o", path, "--json", "--patience", patience,
                                         *options],
                                        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = self.process.stderr.readline()
        check(b"recording" in line, "attach says %s" % line)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def wait(self):
        errors = self.process.stderr.read().decode()
        check(self.process.wait(120) == 0, "attach gave %d: %s" % (self.process.returncode, errors))
        lines = [line for line in errors.splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if lines else None


def check_file(path, first, last):
    """All launches of the steps from first to last, and of no other."""
    events = json.loads(run("view", "-f", "json", path).stdout)["events"]
    sizes = sorted(event["global_x"] for event in events if event["kind"] == "kernel")
    check(sizes == sorted(list(range(first, last + 1)) * LAUNCHES), "steps %d to %d: %s" % (first, last, sizes))
    calls = [event for event in events if event["kind"] == "api" and event["name"] == "clEnqueueNDRangeKernel"]
    check(len(calls) == len(sizes) and all(call["duration"] >= 0 for call in calls), "a call for each launch")
    check(all(event["name"] == "tick" for event in events if event["kind"] == "kernel"), "kernels are named")
    answer = json.loads(run("query", "--json", path, "SELECT DISTINCT device IS NULL AS unknown FROM tracks WHERE kind = 'queue'").stdout)
    check(answer["results"][0]["rows"] == [{"unknown": 0}], "the device of the queues is known: %s" % answer)


def own_libraries(pid):
    """How many files of agents the process has loaded, removed ones included."""
    with open("/proc/%d/maps" % pid) as maps:
        lines = [line.split() for line in maps if "/libtracesmith-" in line]
    return len({(line[3], line[4]) for line in lines})


def threads(pid):
    return sorted(os.listdir("/proc/%d/task" % pid))


def wait_for(program, what, condition):
    """A state of the program that is reached without a message: the test ends it, not a time."""
    while program.poll() is None and not condition():
        os.sched_yield()
    if program.poll() is not None:
        check(False, "%s: the program ended with %s: %s" % (what, program.poll(), program.stderr.read()))
