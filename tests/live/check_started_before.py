# SPDX-License-Identifier: Apache-2.0
"""attach --flight: the program's own clock says when its slow steps were (tests/live/training.py); each has a file whose window has the step, the totals of
`top` grow meanwhile, and `analyze` has the time that the device waited for the host, or ran."""
import glob
import json
import os
import signal
import subprocess
import sys

from support import TRACESMITH, check, run, top_once

PROGRAMS, WORK = sys.argv[1:3]
PROGRAM = os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "live", "training.py")
MS = 1_000_000
SLACK = 5 * MS  # between the clocks of host and device


class Training:
    def __init__(self):
        self.process = subprocess.Popen(["/usr/bin/python3", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        check(self.process.stdout.readline() == b"ready\n", "the program runs")

    def slow(self, command):
        """(begun, launched, waiting, ended) of a slow step."""
        self.process.stdin.write(command)
        words = self.process.stdout.readline().decode().split()
        check(words[0] == command.decode(), words)
        return [int(word) for word in words[1:]]

    def end(self):
        out, _ = self.process.communicate(b"q", timeout=120)
        steps, additions = map(int, out.split())
        check(self.process.returncode == 0 and steps == additions, "the program's own account: %s" % out)


def kernels_of(pid):
    return json.loads(top_once(program.process, "--json", str(pid)).stdout)["kernels"]["count"]


def windows(path):
    for file in glob.glob(path.replace(".sbt", ".*.sbt")):
        number = file.split(".")[-2]
        facts = {fact["key"]: fact["value"] for fact in json.loads(run("info", "--json", file).stdout)["attributes"]}
        yield (file, facts["flight.%s.trigger" % number], int(facts["flight.%s.trigger_ns" % number]),
               int(facts["flight.%s.from_ns" % number]))


def file_of(path, trigger, step):
    """The file of a slow step: its trigger came when the step did."""
    found = [file for file, why, at, begin in windows(path)
             if why.startswith(trigger) and begin <= step[0] and step[1] - SLACK <= at <= step[3] + SLACK]
    check(found, "%s: no file of the step %s among %s" % (trigger, step, list(windows(path))))
    return found[0]


def reports(file):
    (trace,) = json.loads(run("analyze", "--json", "--all", file).stdout)["traces"]
    return {report["report"]: report for report in trace["reports"]}


def record(path):
    """The slow steps of a program that is attached to."""
    attached = subprocess.Popen([TRACESMITH, "attach", str(program.process.pid), "--stacks", "--flight=60s", "--trigger", "gap:300ms",
                                 "--trigger", "call:clFinish>300ms", "--cool-down", "0", "--max-files", "100", "-o", path, "--json",
                                 "--patience", "120s"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        line = attached.stderr.readline()
        check(b"recording" in line, "attach says %s" % line)
        before = kernels_of(program.process.pid)
        steps = program.slow(b"h"), program.slow(b"d")
        check(kernels_of(program.process.pid) > before, "top counts kernels")
        run("trigger", str(program.process.pid))
        attached.send_signal(signal.SIGINT)
        errors = attached.stderr.read().decode()
        check(attached.wait(120) == 0, errors)
    finally:
        attached.kill()
    summary = json.loads([line for line in errors.splitlines() if line.startswith("{")][-1])
    check(summary["flight"]["written"] == len(list(windows(path))) >= 3 and summary["how"] == "borrowed thread", summary)
    check(any(why == "tracesmith trigger" for _, why, _, _ in windows(path)), "the file of 'tracesmith trigger'")
    return steps


path = os.path.join(WORK, "slow.sbt")
program = Training()
try:
    late, heavy = record(path)
    program.end()
finally:
    program.process.kill()

# The host was late: so long the device waited for it, at least.
causes = {row["cause"]: row["time_ns"] for row in reports(file_of(path, "gap:300ms", late))["idle"]["tables"]["causes"]}
check(causes["host_bound"] >= late[1] - late[0] - SLACK, "the host's part of %s: %s" % (late, causes))
# The device was slow: one kernel took nearly all of what the program waited for.
(kernel,) = reports(file_of(path, "call:clFinish>300ms", heavy))["kernels"]["tables"]["kernels"]
check(kernel["kernel"] == "train_step" and 20 * kernel["median_ns"] < kernel["max_ns"] <= heavy[3] - heavy[1] + SLACK, (kernel, heavy))

for trigger in ("exit", "crash"):
    done = run("attach", str(os.getpid()), "--flight", "--trigger", trigger, code=2)
    check(b"is not known" in done.stderr, done.stderr)
print("attach --flight: ok")
