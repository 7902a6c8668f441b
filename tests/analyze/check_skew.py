#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_skew.py TRACESMITH TRACE FOLDER [PATH]: moves the times of the devices of an nsys export by known offsets and a drift, and
compares the waits of what comes out with those of the trace as it was; with PATH also the critical path with the one that
tests/reference/critical_path.py finds in it. (Where a launch and the command before it are ready within a few microseconds of
each other, the path may go through either.)"""
import collections
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
import critical_path  # noqa: E402
from trace import read_trace  # noqa: E402

# ns by process: more than any launch or wait of the traces takes; ns per ms.
SKEWS = ((20000, -20000, 0), (-30000, 12000, 0), (25000, 25000, 0), (20000, -20000, 0.05))
OF_DEVICE = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")


def shares(path):
    trace = read_trace(path)
    times = collections.Counter()
    for what, _, start, end in critical_path.Graph(trace).path():
        times[what] += end - start
    return {what: time / sum(times.values()) for what, time in times.items()}


def move(path, skew):
    with sqlite3.connect(path) as database:
        present = {name for name, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        processes = sorted(pid for pid, in database.execute(f"SELECT DISTINCT globalPid FROM {OF_DEVICE[0]}"))
        first, = database.execute(f"SELECT MIN(start) FROM {OF_DEVICE[0]}").fetchone()
        for table in set(OF_DEVICE) & present:
            for pid, offset in zip(processes, skew):
                for column in ("start", "end"):
                    database.execute(f"UPDATE {table} SET {column} = {column} + ? + "
                                     f"CAST(({column} - ?) / 1e6 * ? AS INTEGER) WHERE globalPid = ?",
                                     (offset, first, skew[2] * 1e3, pid))


def report(tracesmith, path):
    out = subprocess.run([tracesmith, "analyze", "--json", "critical_path", "sync", path], check=True,
                         capture_output=True)
    found, sync = json.loads(out.stdout)["traces"][0]["reports"]
    simulated = subprocess.run([tracesmith, "simulate", "--json", "--scale", "kernel=*:0", path], check=True,
                               capture_output=True)
    path = {row["what"]: row["share"] for row in found["tables"]["path"]}
    matched = [(row["call"], row["count"], row["matched"]) for row in sync["tables"]["waits"]]
    return path, matched, found["notes"], json.loads(simulated.stdout)["answers"][0]["makespan_min_ns"]


def main():
    tracesmith, trace, folder = sys.argv[1:4]
    with_path = sys.argv[4:] == ["PATH"]
    wanted = shares(trace)
    _, waits, notes, before = report(tracesmith, trace)
    assert waits and not any("disagrees" in note for note in notes), notes
    for skew in SKEWS:
        copy = os.path.join(folder, "moved.sqlite")
        shutil.copyfile(trace, copy)
        os.chmod(copy, 0o600)
        move(copy, skew)
        got, matched, notes, after = report(tracesmith, copy)
        placed = [note for note in notes if "disagrees" in note]
        assert len(placed) == 2, (skew, notes)
        drifts = ["per ms" in note for note in placed]  # with few waits, an offset may satisfy all of them
        assert drifts == [skew[2] != 0] * 2 or not (with_path or any(drifts)), (skew, placed)
        offsets = sorted(float(re.search(r"placed by ([+-][0-9.]+) us", note).group(1)) for note in placed)
        for offset, moved in zip(offsets, sorted(-moved / 1e3 for moved in skew[:2])):
            assert skew[2] or abs(offset - moved) < 12, (skew, placed)
        info = subprocess.run([tracesmith, "info", copy], check=True, capture_output=True, text=True).stdout
        assert info.count("disagrees with the host's") == 2, (skew, info)
        assert matched == waits, (skew, matched, waits)
        for what in set(wanted) | set(got) if with_path else ():
            assert abs(wanted.get(what, 0) - got.get(what, 0)) < 0.01, (skew, what, wanted, got)
        assert 0.97 < after / before < 1.03, (skew, before, after)
        os.unlink(copy)


main()
