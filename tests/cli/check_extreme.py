# SPDX-License-Identifier: Apache-2.0
"""Durations up to 2^63-1 ns, and times near both ends of 64 bits, through every command: none overflows (a build with UBSan says
so and ends), none crashes, and a sum that does not fit is the largest that does, not a negative one."""
import json
import os
import subprocess
import sys
import tempfile

from support import Trace

MOST = 2**63 - 1
COMMANDS = [["info"], ["view"], ["view", "-f", "json"], ["view", "-f", "csv"], ["view", "--stats"], ["view", "--timeline"],
            ["analyze", "--all"], ["analyze", "--json"], ["simulate"], ["simulate", "--scale", "kernel=*:0.5"]]


def write(path, base):
    trace = Trace()
    trace.process(40, "program")
    trace.device("gpu")
    thread = trace.track("thread", "main", 1, 0)
    queues = [trace.track("queue", "queue", 1, 1), trace.track("queue", "other", 1, 1)]
    for i in range(6):
        at = base + i * 10**18
        for queue in queues:
            trace.event(queue, "kernel", at, duration=base + MOST - at, name="k", correlation=1 + i)
        trace.event(thread, "sync", at + 1, duration=base + MOST - at - 1, queue_track=queues[0])
        trace.event(thread, "alloc", at + 2, bytes=2**64 - 1)
    trace.write(path)


def run(*arguments):
    done = subprocess.run([os.environ["TRACESMITH"], *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    said = done.stderr.decode(errors="replace")
    if done.returncode < 0 or done.returncode > 64 or "runtime error" in said:
        sys.exit(f"{arguments}: {done.returncode}: {said}")
    return done.stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        for base in 0, -2**62, -2**63:
            path = os.path.join(folder, "extreme.sbt")
            write(path, base)
            for command in COMMANDS:
                run(command[0], *command[1:], path)
            stats = json.loads(run("view", "--stats", "-f", "json", path))
            device, = stats["device_busy"]
            for value in device["work_ns"], stats["waits"][0]["total_ns"]:
                if value != MOST:
                    sys.exit(f"from {base}: a sum beyond 64 bits is {value}")
            if device["busy_ns"] != MOST:
                sys.exit(f"from {base}: busy {device['busy_ns']}")
    print("no command overflowed")


if __name__ == "__main__":
    main()
