#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A fake nsys: takes the command lines that the real one takes, runs the program, and exports a small database of the real
one's form, with its arguments in it. FAKE_NSYS says how it fails: "report", "export", "damage"."""
import json
import os
import sqlite3
import subprocess
import sys

HOW = os.environ.get("FAKE_NSYS", "")
PID = (0x0100 << 48) | (4242 << 24)


def fail(text):
    print("nsys: " + text, file=sys.stderr)
    sys.exit(77)


def options(words):
    """The options before the first word that is none; a value stands after `=` or, for these, as the next word."""
    given, at = {}, 0
    while at < len(words) and words[at].startswith("-"):
        name, _, value = words[at].partition("=")
        if name in ("-t", "--sample", "-e") and not value:
            at += 1
            value = words[at]
        given[name] = value
        at += 1
    return given, words[at:]


def profile(words):
    given, command = options(words)
    if not given.get("--output") or not command or os.stat(os.path.dirname(given["--output"])).st_mode & 0o077:
        fail("what to write, or to run, is missing, or all may read it: %s" % words)
    status = subprocess.run(command, env=dict(os.environ, RUN_BY_NSYS="1")).returncode
    if HOW != "report":
        with open(given["--output"] + ".nsys-rep", "w") as file:
            json.dump({"options": given, "command": command}, file)
    sys.exit(status)


def table(db, name, columns, rows):
    db.execute("CREATE TABLE %s (%s)" % (name, columns))
    db.executemany("INSERT INTO %s VALUES (%s)" % (name, ", ".join("?" * len(rows[0]))), rows)


def export(words):
    given, reports = options(words)
    if given.get("--type") != "sqlite" or len(reports) != 1 or HOW == "export":
        fail("nothing to export: %s" % words)
    with open(reports[0]) as file:
        report = json.loads(file.read().replace("fake report\n", ""))
    print("Processing events... 100%")  # on standard output, as the real one
    if HOW == "damage":
        with open(given["--output"], "wb") as file:
            file.write(b"SQLite format 3\0" + b"no more")
        return
    db = sqlite3.connect(given["--output"])
    texts = ["vectorAdd(float*)", "vectorAdd", "cudaLaunchKernel_v7000", " ".join(report["command"]),
             json.dumps(report["options"], sort_keys=True)]
    table(db, "StringIds", "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL", list(enumerate(texts, 1)))
    table(db, "CUPTI_ACTIVITY_KIND_KERNEL", "start INT, end INT, deviceId INT, contextId INT, streamId INT, "
          "correlationId INT, globalPid INT, demangledName INT, shortName INT, gridX INT, gridY INT, gridZ INT, "
          "blockX INT, blockY INT, blockZ INT", [(1000 + i * 100, 1050 + i * 100, 0, 1, 7, i, PID, 1, 2, 8, 1, 1, 64, 1, 1)
                                                  for i in range(1, 6)])
    table(db, "CUPTI_ACTIVITY_KIND_RUNTIME", "start INT, end INT, eventClass INT, globalTid INT, correlationId INT, "
          "nameId INT, returnValue INT", [(900 + i * 100, 950 + i * 100, 0, PID | 1, i, 3, 0) for i in range(1, 6)])
    table(db, "NVTX_EVENTS", "start INT, end INT, eventType INT, text TEXT, globalTid INT",
          [(10, 5000, 59, texts[3], PID | 1), (11, 4999, 59, texts[4], PID | 1)])
    db.commit()


if sys.argv[1:2] == ["profile"]:
    profile(sys.argv[2:])
elif sys.argv[1:2] == ["export"]:
    export(sys.argv[2:])
else:
    fail("what to do with %s?" % sys.argv[1:])
