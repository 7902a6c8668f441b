# SPDX-License-Identifier: Apache-2.0
"""attach while 64 threads allocate, load and unload a library, fork, and launch: each try ends within two seconds, recorded or refused with a
reason; after it every thread of the program goes on; its results are right; and in the end it has the threads, files and mappings of
before.

    check_attach_stress.py PROGRAMS WORK TRIES [LIMIT_S]

A time above LIMIT_S is a failure; without it times are only printed (a test that runs next to others judges no times)."""
import json
import os
import signal
import subprocess
import sys
import time

from support import TRACESMITH, check

PROGRAMS, WORK = sys.argv[1:3]
TRIES = int(sys.argv[3])
LIMIT = float(sys.argv[4]) if len(sys.argv) > 4 else None


class Target:
    def __init__(self):
        self.process = subprocess.Popen([os.path.join(PROGRAMS, "cl_stress"), "--rest", os.environ.get("TRACESMITH_REST", "1000"),
                                         "--library", "libgmp.so.10" if
                                         os.path.exists("/usr/lib/x86_64-linux-gnu/libgmp.so.10") else "libm.so.6"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self.pid = self.process.pid
        self.rounds = int(self.process.stdout.readline())

    def go_on(self):
        """Every thread makes a round."""
        self.process.stdin.write(b"x")
        line = self.process.stdout.readline()
        check(line.strip().isdigit() and int(line) > self.rounds, "the program goes on: %r, %s" % (line, self.process.poll()))
        self.rounds = int(line)

    def traces(self):
        """What is of us in the program: threads, open files, blocked signals of its threads, and mappings of sessions."""
        task = "/proc/%d/task" % self.pid
        threads = {}
        for thread in os.listdir(task):
            try:
                with open("%s/%s/status" % (task, thread)) as file:
                    threads[thread] = [line for line in file if line.startswith(("Name", "SigBlk", "TracerPid"))]
            except FileNotFoundError:
                pass
        files = sorted(os.listdir("/proc/%d/fd" % self.pid))
        with open("/proc/%d/maps" % self.pid) as maps:
            sessions = [line for line in maps if "tracesmith-" in line and ".so" not in line]
        return threads, files, sessions

    def end(self):
        out, errors = self.process.communicate(timeout=120)
        check(self.process.returncode == 0 and out.endswith(b"all right\n"),
              "the program ended with %s: %s" % (self.process.returncode, errors))


def one_try(target, path):
    """Seconds until it recorded or was refused; the report, None if it was refused; what was said."""
    begun = time.monotonic()
    attached = subprocess.Popen([TRACESMITH, "attach", str(target.pid), "-o", path, "--json"], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
    line = attached.stderr.readline()
    took = time.monotonic() - begun
    records = b"recording process" in line
    if records:
        attached.send_signal(signal.SIGINT)
    rest = attached.stderr.read()
    code = attached.wait()
    check(code == (0 if records else 4), "attach gave %d: %s%s" % (code, line, rest))
    return took, json.loads(rest.splitlines()[-1]) if records else None, line


def main():
    target = Target()
    path = os.path.join(WORK, "stress.sbt")
    before = target.traces()
    times, stops, refusals = [], [], {}
    for number in range(TRIES):
        took, report, said = one_try(target, path)
        times.append(took)
        check(LIMIT is None or took <= LIMIT, "try %d took %.2f s: %s" % (number, took, said))
        if report:
            stops.append(report["stopped_ns"])
        else:
            why = said.decode().split("process")[-1].split(" ", 2)[-1].strip()
            refusals[why] = refusals.get(why, 0) + 1
        target.go_on()
        if number % 100 == 99:
            print("%d tries, %d recorded, longest %.2f s" % (number + 1, len(stops), max(times)), flush=True)
    while target.process.poll() is None and target.traces() != before:
        os.sched_yield()
    check(target.process.poll() is None, "the program lives")
    target.end()
    times.sort()
    stops.sort()
    for why, count in sorted(refusals.items()):
        print("refused %d times: %s" % (count, why))
    print("%d tries, %d recorded; until it records or is refused: %.2f s (median), %.2f s (99 %%), %.2f s (longest)" %
          (TRIES, len(stops), times[len(times) // 2], times[len(times) * 99 // 100], times[-1]))
    check(stops or LIMIT is None, "some were recorded")
    if stops:
        print("a thread stood still for %.0f us (median), %.0f us (99 %%), %.0f us (longest)" %
              (stops[len(stops) // 2] / 1e3, stops[len(stops) * 99 // 100] / 1e3, stops[-1] / 1e3))


main()
