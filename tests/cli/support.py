# SPDX-License-Identifier: Apache-2.0
"""Making traces whose every event is known, and running the command on them."""
import os
import re
import subprocess
import sys

BUILD = os.environ["TRACESMITH_BUILD_DIR"]
TRACESMITH = os.environ["TRACESMITH"]
SBT_MAKE = os.path.join(BUILD, "tests", "programs", "sbt_make")


# With a sanitizer every process starts and ends in 20 ms instead of 2, and the commands are a third as fast. Loops over many files of one
# kind, whose answers the plain build judges, then take every fourth.
EVERY = 4 if os.environ.get("TRACESMITH_SANITIZE") else 1


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def check(right, what):
    if not right:
        print("not true:", what)
        sys.exit(1)


def run(*args, code=0, env=None, **options):
    """Runs tracesmith; stdout and stderr as bytes. `code` None: any."""
    environment = dict(os.environ, **(env or {}))
    done = subprocess.run([TRACESMITH, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment, timeout=240, **options)
    if code is not None and done.returncode != code:
        print("tracesmith", *args, "gave", done.returncode, "instead of", code)
        print(done.stderr.decode(errors="replace")[-2000:])
        sys.exit(1)
    return done


def tables():
    """Names to numbers, by section of docs/events.md."""
    sections = {}
    section = None
    for line in run("help", "--as", "events").stdout.decode().splitlines():
        if line.startswith("## "):
            section = sections.setdefault(line[3:], {})
        found = re.match(r"\| (\d+) \| `(\w+)` \|", line)
        if found:
            section[found.group(2)] = int(found.group(1))
    return sections


TABLES = tables()
KIND = TABLES["Kinds"]
OPERATION = TABLES["Operations"]
DIRECTION = TABLES["Directions"]
REASON = TABLES["Reasons for a loss"]
CERTAINTY = TABLES["Certainties"]
STRINGS = {"name", "category", "text"}
ENUMS = {"operation": OPERATION, "direction": DIRECTION, "reason": REASON, "certainty": CERTAINTY}
TRACK_KIND = {"thread": 1, "queue": 2, "copy_engine": 3, "counter": 4, "process": 5, "loss": 6, "custom": 7}


def word(value):
    data = value if isinstance(value, bytes) else value.encode()
    if not data:
        return "%"
    return "".join(chr(b) if chr(b).isalnum() and b < 128 else "%%%02x" % b for b in data)


class Trace:
    """Events are dictionaries as `view -f json` writes them, without the fields an event does not have."""

    def __init__(self):
        self.lines = []
        self.events = []
        self.track_count = 0

    def process(self, pid, name):
        self.lines.append("process %d %s" % (pid, word(name)))

    def device(self, name):
        self.lines.append("device %s opencl cpu" % word(name))

    def track(self, kind, name, process=0, device=0):
        self.lines.append("track %d %s %d %d" % (TRACK_KIND[kind], word(name), process, device))
        self.track_count += 1
        return self.track_count

    def event(self, track, kind, start, **fields):
        values = []
        for name, value in fields.items():
            if name in STRINGS:
                value = word(value)
            elif name in ENUMS:
                value = ENUMS[name][value]
            elif isinstance(value, bool):
                value = int(value)
            elif isinstance(value, list):
                value = ",".join(map(str, value))
            values.append("%s=%s" % (name, value))
        self.lines.append("event %d %d %d %s" % (track, KIND[kind], start, " ".join(values)))
        self.events.append(dict(fields, track=track, kind=kind, start=start))

    def attribute(self, key, value):
        self.lines.append("attribute %s %s" % (word(key), word(value)))

    def flush(self):
        self.lines.append("flush")

    def write(self, path):
        if not os.access(SBT_MAKE, os.X_OK):
            skip("the test programs are not built")
        done = subprocess.run([SBT_MAKE, path], input="\n".join(self.lines).encode() + b"\n",
                              stderr=subprocess.PIPE)
        check(done.returncode == 0, "sbt_make: " + done.stderr.decode())
        return path
