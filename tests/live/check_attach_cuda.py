# SPDX-License-Identifier: Apache-2.0
"""attach to a program that uses CUDA (mocks of the driver and of CUPTI): a file has exactly the launches of the rounds that were made
meanwhile, with their times and calls, and says what a late arrival cannot see; the program's threads are those of before."""
import json
import os
import signal
import subprocess
import sys

from attach_steps import cycles, say_stops
from support import TRACESMITH, check, run

PROGRAMS, WORK = sys.argv[1:3]
LAUNCHES, THREADS = 10, 2


class Rounds:
    def __init__(self, **variables):
        self.process = subprocess.Popen([os.path.join(PROGRAMS, "cu_work"), "launches=%d" % LAUNCHES, "threads=%d" % THREADS, "ask"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env={**os.environ, **variables})
        self.pid = self.process.pid
        check(self.process.stdout.readline() == b"ready\n", "the program runs")

    def make(self, count):
        for _ in range(count):
            self.process.stdin.write(b"x")
            line = self.process.stdout.readline()
            check(line.startswith(b"round "), "a round: %r" % line)

    def threads(self):
        return sorted(os.listdir("/proc/%d/task" % self.pid))

    def end(self):
        out, _ = self.process.communicate(timeout=120)
        check(self.process.returncode == 0 and out.startswith(b"launches "), "the program ends well: %s %s" %
              (self.process.returncode, out))


def attach(program, path, *options):
    attached = subprocess.Popen([TRACESMITH, "attach", str(program.pid), "-o", path, "--json", "--patience", "120s", *options],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    line = attached.stderr.readline()
    check(b"recording" in line, "attach says %s" % line)
    return attached


def stop(attached):
    attached.send_signal(signal.SIGINT)
    errors = attached.stderr.read().decode()
    check(attached.wait(120) == 0, "attach gave %d: %s" % (attached.returncode, errors))
    return json.loads([line for line in errors.splitlines() if line.startswith("{")][-1])


program = Rounds()
before = program.threads()
program.make(3)
path = os.path.join(WORK, "cuda.sbt")
attached = attach(program, path)
program.make(4)
report = stop(attached)
program.make(2)
check(report["kernels"] == 4 * LAUNCHES * THREADS, report)
check(report["lost"] == 0 and "CUDA" in report["not_recorded"] and "made before" in report["not_recorded"], report)
events = json.loads(run("view", "-f", "json", path).stdout)["events"]
kernels = [event for event in events if event["kind"] == "kernel"]
calls = [event for event in events if event["kind"] == "api" and event["name"].startswith("cuLaunchKernel")]
check(len(calls) == len(kernels), "a call for each launch: %d and %d" % (len(calls), len(kernels)))
check({kernel["name"] for kernel in kernels} == {"first", "second"}, "kernels are named")
check({kernel["correlation"] for kernel in kernels} == {call["correlation"] for call in calls}, "kernels belong to their calls")
while program.process.poll() is None and program.threads() != before:
    os.sched_yield()
refused = run("attach", program.pid, "-o", os.path.join(WORK, "again.sbt"), "--patience", "120s", code=4)
check(b"once only" in refused.stderr and b"profile" in refused.stderr, refused.stderr)
program.make(1)
program.end()

# Once in a process: a process for each time.
stops = []
for _ in range(cycles(2)):
    program = Rounds()
    program.make(1)
    attached = attach(program, path)
    program.make(2)
    report = stop(attached)
    check(report["kernels"] == 2 * LAUNCHES * THREADS and report["lost"] == 0, report)
    stops.append(report["stopped_ns"])
    program.make(1)
    program.end()
say_stops("CUDA (mock libraries)", stops)

# With the call stacks of launches: of each call and its kernel the same one, in the program's own functions.
program = Rounds()
program.make(1)
attached = attach(program, path, "--stacks")
program.make(2)
report = stop(attached)
program.end()
check(report["kernels"] == 2 * LAUNCHES * THREADS and report["lost"] == 0, report)
events = json.loads(run("view", "--stacks", "-f", "json", path).stdout)["events"]
frames = {event["correlation"]: event.get("frames") for event in events if event["kind"] == "api" and event["name"].startswith("cuLaunchKernel")}
kernels = [event for event in events if event["kind"] == "kernel"]
check(len(kernels) == report["kernels"], "%d kernels" % len(kernels))
for kernel in kernels:
    check(kernel.get("frames") and kernel["frames"] == frames[kernel["correlation"]], "%s launched by %s" % (kernel, frames[kernel["correlation"]]))
    check(any("cu_work" in str(frame) for frame in kernel["frames"]), "the program's own code: %s" % kernel["frames"])

# Attempts that find no CUPTI leave it as it was: one that does records.
library = os.path.join(WORK, "libcupti-late.so")
program = Rounds(TRACESMITH_CUPTI=library)
program.make(1)
for options in ((), ("--stacks",), ()):
    refused = run("attach", program.pid, "-o", path, "--patience", "120s", *options, code=4)
    check(b"names no library" in refused.stderr, refused.stderr)
    program.make(1)
os.symlink(os.path.join(os.environ["TRACESMITH_BUILD_DIR"], "tests/cuda/mock/libcupti.so.13"), library)
attached = attach(program, path, "--stacks")
program.make(2)
report = stop(attached)
program.make(1)
program.end()
check(report["kernels"] == 2 * LAUNCHES * THREADS and report["lost"] == 0, report)

# Its owner is killed; it goes on and ends well.
program = Rounds()
before = program.threads()
attached = attach(program, path)
program.make(1)
attached.kill()
attached.wait()
program.make(1)
while program.process.poll() is None and program.threads() != before:
    os.sched_yield()
program.make(1)
program.end()
print("attach, CUDA: ok")
