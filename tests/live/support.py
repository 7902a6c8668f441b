# SPDX-License-Identifier: Apache-2.0
"""A program under `tracesmith profile` that stops in its middle, and what it prints."""
import json
import os
import subprocess
import sys

TRACESMITH = os.environ["TRACESMITH"]


def check(right, what):
    if not right:
        print("not true:", what)
        sys.exit(1)


def run(*args, code=0):
    done = subprocess.run([TRACESMITH, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240)
    check(code is None or done.returncode == code,
          "tracesmith %s gave %d: %s" % (args, done.returncode, done.stderr.decode(errors="replace")))
    return done


def top_once(program, *args):
    """`top --once`, again until totals are published: on a busy machine `top` may give up before. Without the process there are none."""
    while True:
        alive = program.poll() is None
        done = run("top", "--once", *args, code=None)
        if done.returncode == 0:
            return done
        check(alive and b"publishes no totals" in done.stderr,
              "top --once %s gave %d: %s" % (args, done.returncode, done.stderr.decode(errors="replace")))


class Paused:
    """cl_nvtx, which prints its session directory after half of its rounds and then waits for a byte."""

    def __init__(self, programs, options, rounds):
        command = [TRACESMITH, "profile", *options, "--", os.path.join(programs, "cl_nvtx"), str(rounds), "pause"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.directory = self.process.stdout.readline().decode().strip()
        check(self.directory.startswith("/"), "the program's session: %r" % self.directory)

    def go_on(self, code=0):
        _, errors = self.process.communicate(b"x\n", timeout=240)
        check(self.process.returncode == code, "the program gave %d: %s" % (self.process.returncode, errors))
        return errors.decode(errors="replace")


def lines_of(process):
    """The JSON lines that a process prints, as they come."""
    for line in process.stdout:
        yield json.loads(line)
