# SPDX-License-Identifier: Apache-2.0
"""Events of which a Chrome trace has the time, the name and nothing else, among others that have everything, in each export."""
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "cli"))
from support import check, run  # noqa: E402

PLACE = {"stream": 7, "device": 0}
KNOWN = [
    {"ph": "X", "cat": "cpu_op", "name": "operator", "pid": 5, "tid": 5, "ts": 95, "dur": 60},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 5, "tid": 5, "ts": 100, "dur": 5, "args": {"correlation": 1}},
    {"ph": "X", "cat": "kernel", "name": "kernel", "pid": 0, "tid": 7, "ts": 110, "dur": 20,
     "args": dict(PLACE, correlation=1, grid=[2, 1, 1], block=[4, 1, 1])},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7, "ts": 170, "dur": 5,
     "args": dict(PLACE, bytes=64)},
]
UNKNOWN = [
    {"ph": "X", "cat": "cpu_op", "name": "unknown operator", "pid": 5, "tid": 5, "ts": 160},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaUnknown", "pid": 5, "tid": 5, "ts": 165},
    {"ph": "X", "cat": "kernel", "name": "unknown kernel", "pid": 0, "tid": 7, "ts": 140, "args": PLACE},
    {"ph": "X", "cat": "gpu_memcpy", "name": "unknown copy", "pid": 0, "tid": 7, "ts": 160, "args": PLACE},
]
NAMES = {event["name"] for event in UNKNOWN}
# Among the fields that some event of the trace has, those that an unknown one has too; it must not have the others.
GIVEN = {"track", "track_kind", "track_name", "pid", "tid", "device", "start", "kind", "name", "category", "args.stream",
         "args.device", "end"}


def export(path, form):
    out = "%s.%s" % (path, form)
    run("export", path, "-f", form, "-o", out)
    return out


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def unknown_rows(path, count):
    """Columns of the unknown events that have a value, by `query`."""
    rows = json.loads(run("query", "--no-cache", path, "SELECT * FROM events", "--json").stdout)["results"][0]["rows"]
    rows = [row for row in rows if row["name"] in NAMES]
    check(len(rows) == count, "%s has %d of the unknown events" % (path, len(rows)))
    for row in rows:
        for column in ("duration", "end", "bytes", "direction", "correlation", "operation", "global_x", "local_x", "queued"):
            check(row.get(column) is None, "%s: %s of %s is %r" % (path, column, row["name"], row.get(column)))


def check_csv(path):
    for row in csv.DictReader(io.StringIO(text(export(path, "csv")))):
        if row["name"] in NAMES:
            told = {field for field, value in row.items() if value} - GIVEN
            check(not told, "CSV: %s has %s" % (row["name"], told))


def check_chrome(path):
    events = {event["name"]: event for event in json.loads(text(export(path, "chrome")))["traceEvents"]}
    for event in KNOWN + UNKNOWN:
        check(events[event["name"]] == event, "Chrome: %s is not %s" % (events[event["name"]], event))


def check_texts(path):
    for form in ("folded", "flamegraph"):
        check("unknown" not in text(export(path, form)), form + ": an event without a duration has a width")
    dot = text(export(path, "dot"))
    check('label="stream 7"' in dot, "dot: the stream has its name: " + dot)
    for name in NAMES & {"unknown kernel", "unknown copy", "cudaUnknown"}:
        label = re.search(r'label="%s\\n([^"]*)"' % name, dot)
        check(label and re.fullmatch(r"\+[0-9.]+ us, duration unknown", label.group(1)),
              "dot: %s has a duration: %s" % (name, label))


def check_otf2(path):
    """An OTF2 event has an end: regions of events without one are instants by their description."""
    if not shutil.which("otf2-print"):
        print("OTF2 is not looked at: no otf2-print")
        return
    done = run("export", path, "-f", "otf2", "-o", path + ".otf2", code=None)
    if done.returncode:
        print("OTF2 is not looked at:", done.stderr.decode().strip())
        return
    printed = subprocess.run(["otf2-print", "-G", os.path.join(path + ".otf2", "traces.otf2")], check=True,
                             capture_output=True, text=True).stdout
    for name in NAMES:
        line = next(line for line in printed.splitlines() if line.startswith("REGION") and '"%s"' % name in line)
        check("(instant)" in line, "OTF2: " + line)


def check_stats(path):
    totals = json.loads(run("view", "--stats", "-f", "json", path).stdout)["totals"]
    for total in totals:
        told = {field: total.get(field) for field in ("total_ns", "mean_ns", "min_ns", "max_ns") if total.get(field) is not None}
        check(bool(told) == bool(total["timed"]), "view --stats: %s" % total)
    shown = run("view", "--stats", path).stdout.decode()
    for name in NAMES - {"unknown copy"}:
        line = next(line for line in shown.splitlines() if line.startswith(name))
        check(line.split()[-5:] == ["-"] * 5, "view --stats: " + line)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": KNOWN + UNKNOWN}, file)
        unknown_rows(path, len(UNKNOWN))
        unknown_rows(export(path, "perfetto"), len(UNKNOWN))
        check_csv(path)
        check_chrome(path)
        check_texts(path)
        check_otf2(path)
        check_stats(path)


main()
