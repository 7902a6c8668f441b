# SPDX-License-Identifier: Apache-2.0
"""The questions of docs/query.md on real traces: kernels, copies by direction, waits by operation and launches as a reader of the
original file (tests/reference/trace.py, json, sqlite3) has them, and rows with a value in every column wherever the source has the data."""
import collections
import gzip
import json
import os
import re
import sqlite3
import sys
import tempfile

root = os.environ["TRACESMITH_SOURCE_DIR"]
sys.path[:0] = [os.path.join(root, "tests", "cli"), os.path.join(root, "tests", "reference")]
from support import EVERY, check, run  # noqa: E402
from trace import read_trace  # noqa: E402

DIRECTIONS = {"HtoD": "h2d", "DtoH": "d2h", "DtoD": "d2d", "HtoH": "h2h", "PtoP": "p2p", "HostToDevice": "h2d",
              "DeviceToHost": "d2h", "DeviceToDevice": "d2d"}
# Records of waits: what Kineto calls them, and CUPTI's CUpti_ActivitySynchronizationType.
WAITS = {"Event Sync": "wait", "Stream Wait Event": "stream_wait", "Stream Sync": "finish", "Context Sync": "device_sync",
         1: "wait", 2: "stream_wait", 3: "finish", 4: "device_sync"}


def ask(path, sql):
    return json.loads(run("query", path, sql, "--json").stdout)["results"][0]["rows"]


def find(questions, words):
    (question,) = [question for question in questions if words in question]
    return question


def direction_of(name):
    found = re.search("|".join(DIRECTIONS), name)
    return DIRECTIONS[found.group()] if found else None


def kernels_agree(path, questions, kernels):
    totals = collections.defaultdict(lambda: [0, 0])
    for command in kernels:
        totals[command.name][0] += 1
        totals[command.name][1] += command.end - command.start
    wanted = sorted((total for _, total in totals.values()), reverse=True)[:20]
    for words, count, total in (("max(duration) AS longest", "launches", "total"), ("FROM aggregates", "count", "total")):
        rows = ask(path, find(questions, words))
        check([row[total] for row in rows] == wanted, "%s: the largest times of kernels, by '%s'" % (path, words))
        for row in rows:
            check(totals[row["name"]] == [row[count], row[total]], "%s: %s in '%s'" % (path, row, words))


def copies_agree(path, questions, copies, by_name):
    rows = {row["direction"]: row for row in ask(path, find(questions, "AS gb_per_s"))}
    check(sum(row["copies"] for row in rows.values()) == len(copies), "%s: %d copies, %s" % (path, len(copies), rows))
    if by_name:  # nsys has numbers for them, which tests/import compares
        wanted = collections.Counter(direction_of(command.name) for command in copies)
        check({key: row["copies"] for key, row in rows.items()} == wanted, "%s: directions %s, not %s" % (path, rows, wanted))
    else:
        check(None not in rows, "%s: every copy has a direction: %s" % (path, rows))


def recorded_waits(original):
    """(operation, ns) of every record of a wait in a file."""
    if original.endswith(".sqlite"):
        base = sqlite3.connect("file:%s?immutable=1" % original, uri=True)
        for what, start, end in base.execute("SELECT syncType, start, end FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"):
            yield WAITS[what], end - start
        return
    with gzip.open(original) as file:
        whole = json.load(file)
    for event in whole if isinstance(whole, list) else whole.get("traceEvents", ()):
        if event.get("cat") == "cuda_sync":
            yield WAITS[event["name"]], round(event["dur"] * 1000)


def waits_agree(original, path):
    wanted = collections.defaultdict(lambda: [0, 0])
    for operation, time in recorded_waits(original):
        wanted[operation][0] += 1
        wanted[operation][1] += time
    rows = ask(path, "SELECT operation, count(*) AS n, sum(duration) AS time FROM sync GROUP BY operation")
    check({row["operation"]: [row["n"], row["time"]] for row in rows} == wanted, "%s: waits %s, not %s" % (original, rows, dict(wanted)))
    return len(wanted)


def source_streams(original):
    """Numbers of the streams of an nsys database or a Kineto trace, None for others."""
    if original.endswith(".sqlite"):
        base = sqlite3.connect("file:%s?immutable=1" % original, uri=True)
        return {stream for (stream,) in base.execute("SELECT DISTINCT streamId FROM CUPTI_ACTIVITY_KIND_KERNEL")}
    with gzip.open(original) as file:
        whole = json.load(file)
    events = whole if isinstance(whole, list) else whole.get("traceEvents")
    if events is None:
        return None
    return {event["args"]["stream"] for event in events if event.get("cat", "").lower() == "kernel"}


def streams_agree(original, path):
    """A stream has one name, the same in tables, events, answers and JSON; of Kineto and nsys it is "stream" and the source's number."""
    tracks = ask(path, "SELECT id, name, process, device, queue FROM tracks WHERE kind = 'queue'")
    names = collections.defaultdict(set)
    for track in tracks:
        names[track["process"], track["device"], track["queue"]].add(track["name"])
    check(tracks and all(len(one) == 1 for one in names.values()), "%s: names of streams: %s" % (original, dict(names)))
    used = {row["track_name"]: row["queue"] for row in ask(path, "SELECT DISTINCT track_name, queue FROM kernel JOIN tracks ON tracks.id = kernel.track")}
    check(set(used) <= {track["name"] for track in tracks}, "%s: names in events: %s" % (original, used))
    streams = source_streams(original)
    if streams is not None:
        check(used == {"stream %d" % stream: stream for stream in streams}, "%s: streams %s, not %s" % (original, used, streams))
    shown = {track["name"] for track in json.loads(run("view", "-t", "kernel", path, "-f", "json").stdout)["tracks"] if track["kind"] == "queue"}
    check(set(used) <= shown <= {track["name"] for track in tracks}, "%s: names in JSON: %s" % (original, shown))
    (report,) = json.loads(run("analyze", path, "--only", "streams", "--json").stdout)["traces"][0]["reports"]
    told = {row["queue"].split(" (")[0] for row in report["tables"]["queues"]}
    check(set(used) <= told <= {track["name"] for track in tracks}, "%s: names in answers: %s" % (original, told))


def gaps(kernels):
    """Whether a queue has a gap between two kernels."""
    ends = {}
    for command in sorted(kernels, key=lambda one: one.start):
        end = ends.get((command.device, command.queue), command.start)
        if command.start > end:
            return True
        ends[command.device, command.queue] = max(end, command.end)
    return False


def check_trace(original, path, questions):
    trace = read_trace(original)
    launched = trace.launched()
    kernels = [command for command in trace.commands if command.work != "copy"]
    copies = [command for command in trace.commands if re.match(r"(?i)memcpy|copy", command.name) and command.work == "copy"]
    paired = [command for command, call in launched if call and command.work != "copy"]
    kernels_agree(path, questions, kernels)
    nsys = original.endswith(".sqlite")
    if copies and not nsys:
        copies_agree(path, questions, copies, True)
    has = {"start - enqueued": bool(paired), "FROM states": bool(kernels), "AS gap_start": gaps(kernels),
           "AS gb_per_s": bool(copies), "FROM lives GROUP BY block": bool(kernels), "AS tenth": bool(kernels)}
    for words, there in has.items():
        rows = ask(path, find(questions, words))
        check(bool(rows) or not there, "%s: an answer to '%s'" % (original, words))
        if words == "start - enqueued" and there:
            check(all(row["call"] and row["delay"] is not None for row in rows), "%s: calls of launches" % original)
    if paired and trace.ranges and not nsys:
        rows = ask(path, find(questions, "CROSS JOIN api"))
        around = any(r.start <= call.start < r.end and r.thread == call.thread for _, call in launched[:200] if call
                     for r in trace.ranges)
        check(bool(rows) or not around, "%s: ranges with kernels" % original)


def main():
    with open(os.path.join(root, "docs", "query.md"), encoding="utf-8") as file:
        questions = re.findall(r"```sql\n(.*?)```", file.read().split("## Tables\n")[0], re.S)
    corpus = os.environ["TRACESMITH_CORPUS"]
    names = sorted(name for name in os.listdir(corpus) if name.endswith((".json.gz", ".sqlite")))
    names = names[::EVERY]
    check(names, "there are traces")
    operations = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.sbt")
        for name in names:
            if os.path.exists(path):
                os.unlink(path)
            run("import", os.path.join(corpus, name), "-o", path)
            check_trace(os.path.join(corpus, name), path, questions)
            operations += waits_agree(os.path.join(corpus, name), path)
            streams_agree(os.path.join(corpus, name), path)
            print(name, flush=True)
    check(operations >= 8 // EVERY, "there are waits of every operation: %d" % operations)


main()
