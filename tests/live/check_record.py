# SPDX-License-Identifier: Apache-2.0
"""record: an armed program makes a step on request; the launches of a step have its number as their size."""
import json
import os
import signal
import stat
import subprocess
import sys

from support import TRACESMITH, check, run, top_once

PROGRAMS, WORK = sys.argv[1:3]
LAUNCHES = 5


class Armed:
    def __init__(self, steps):
        command = [TRACESMITH, "profile", "--armed", "--", os.path.join(PROGRAMS, "cl_steps"), str(steps), "1000000", "0",
                   "ask"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        bufsize=0)
        self.directory = self.process.stdout.readline().decode().strip()
        check(self.directory.startswith("/"), "its session: %s" % self.directory)
        self.made = 0
        self.last = steps

    def step(self, count):
        """Makes the next steps: returns when they have ended."""
        for _ in range(count):
            self.process.stdin.write(b"x")
            self.made += 1
            if self.made == self.last:
                self.process.stdout.readline()
                continue
            while not self.process.stdout.readline().startswith(b"/"):
                pass

    def finish(self):
        self.step(self.last - self.made)
        errors = self.process.stderr.read().decode()
        check(self.process.wait(60) == 0, "the program's exit code")
        return errors


class Recording:
    def __init__(self, *options, says=b"recording the program"):
        self.process = subprocess.Popen([TRACESMITH, "record", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if says:
            line = self.process.stderr.readline()
            check(says in line, "record says %s" % line)

    def wait(self, code=0):
        errors = self.process.stderr.read().decode()
        check(self.process.wait(60) == code, "record gave %d: %s" % (self.process.returncode, errors))
        return errors

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return self.wait()


def check_file(path, first, last):
    """All launches of the steps from first to last, and of no other."""
    info = json.loads(run("info", "--json", path).stdout)
    check(info["complete"] and info["lost"]["total"] == 0, "%s is whole" % path)
    check({"key": "on_demand", "value": "yes"} in info["attributes"], "%s says how it was made: %s" % (path, info["attributes"]))
    check(stat.S_IMODE(os.stat(path).st_mode) == 0o600 and not os.path.exists(path + ".part"), "its mode and name")
    events = json.loads(run("view", "-f", "json", path).stdout)["events"]
    sizes = sorted(event["global_x"] for event in events if event["kind"] == "kernel")
    wanted = sorted(list(range(first, last + 1)) * LAUNCHES)
    check(sizes == wanted, "steps %d to %d: %s" % (first, last, sizes))
    check(all(event["duration"] >= 0 for event in events if event["kind"] == "kernel"), "its kernels have times")


def windows():
    program = Armed(80)
    program.step(10)
    shown = top_once(program.process, program.directory).stdout
    check(b"armed: it records only while 'tracesmith record' runs" in shown, shown)
    check(json.loads(top_once(program.process, "--json", program.directory).stdout)["armed"] is True, "armed, for programs")
    first = os.path.join(WORK, "first.sbt")
    recording = Recording("-o", first, "-d", "1h", "--pid", str(program.process.pid), "-p", "opencl")
    program.step(20)
    busy = run("record", "-o", os.path.join(WORK, "busy.sbt"), "--pid", program.process.pid, code=4)
    check(b"another recording is in progress" in busy.stderr, busy.stderr)
    recording.stop()
    check_file(first, 11, 30)
    # Silent again.
    program.step(10)
    second = os.path.join(WORK, "second.sbt")
    recording = Recording("-o", second, "--steps", "15", "--pid", str(program.process.pid))
    program.step(15)
    recording.wait()
    check_file(second, 41, 55)
    # By its time; nothing is done meanwhile.
    third = os.path.join(WORK, "third.sbt")
    Recording("-o", third, "-d", "100ms", "--at", "+100ms", "--pid", str(program.process.pid)).wait()
    check_file(third, 1, 0)
    refused = run("record", "-o", os.path.join(WORK, "no.sbt"), "-d", "1s", "-p", "cuda", "--pid", program.process.pid,
                  code=4)
    check(b"uses cuda" in refused.stderr and not os.path.exists(os.path.join(WORK, "no.sbt")), refused.stderr)
    # The program ends while it is recorded.
    last = os.path.join(WORK, "last.sbt")
    recording = Recording("-o", last, "-d", "1h", "--pid", str(program.process.pid))
    errors = program.finish()
    recording.wait()
    check_file(last, 56, 80)
    check("4 recordings on demand, 1 failed" in errors, errors)
    check(not os.path.exists(program.directory), "nothing is left")


def bad_files():
    """Requests that no `record` wrote are refused, and the program is unharmed."""
    program = Armed(4)
    request = os.path.join(program.directory, "record.wanted")
    for content in (b"", b"x" * 10000, b"msreacsk" + b"\xff" * 4280):
        with open(request, "wb") as file:
            file.write(content)
        path = os.path.join(WORK, "after.sbt")
        # The next one waits until it was refused, as there can be one only.
        while run("record", "-o", path, "-d", "50ms", "--pid", program.process.pid, code=None).returncode != 0:
            pass
        check_file(path, 1, 0)
    os.symlink("/etc/passwd", request)
    os.unlink(request)
    program.finish()


def refused():
    done = run("record", "--pid", os.getpid(), code=4)
    check(b"no armed program" in done.stderr, done.stderr)
    for options in (["-d", "0"], ["--steps", "0"], ["--at", "later"], ["--step", "x"], ["--pid", "x"]):
        run("record", *options, code=2)
    done = run("profile", "--armed", "-o", "x.sbt", "true", code=2)
    check(b"--armed" in done.stderr, done.stderr)


windows()
bad_files()
refused()
print("record: ok")
