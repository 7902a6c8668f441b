# SPDX-License-Identifier: Apache-2.0
"""Sentences of `analyze` and `diff`: each with a trace of which it is true and one, close to it, of which it is not."""
import json
import os
import sqlite3
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "cli"))
from support import check, run  # noqa: E402

MIB = 1 << 20


def kineto(path, events):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "traceEvents": events}, file)
    return path


def event(cat, name, pid, tid, ts, dur, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def launch(name, call_at, at, dur, number, pid=1, call="cudaLaunchKernel"):
    return [event("cuda_runtime", call, pid, 1, call_at, 2, correlation=number),
            event("kernel", name, 0, 7, at, dur, correlation=number, device=0, stream=7)]


def report(path, name):
    (found,) = json.loads(run("analyze", path, "--only", name, "--json").stdout)["traces"][0]["reports"]
    return found


def told(found):
    return [found["finding"], *found["notes"]]


def expect(what, found, yes, no):
    """`yes` is in a sentence of the report, `no` is in none."""
    for words in yes:
        check(any(words in sentence for sentence in told(found)), "%s: '%s' in %s" % (what, words, told(found)))
    for words in no:
        check(not any(words in sentence for sentence in told(found)), "%s: no '%s' in %s" % (what, words, told(found)))


def memory_trace(folder, counter, unknown_free):
    """100 MiB allocated; 600 MiB more were before the trace, if a counter tells it."""
    def instant(ts, address, size, total):
        args = {"Addr": address, "Bytes": size, "Device Type": 1, "Device Id": 0}
        if counter:
            args.update({"Total Allocated": total, "Total Reserved": total})
        return {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts, "s": "t", "args": args}
    events = [instant(10, 4096, 100 * MIB, 700 * MIB)]
    events += [instant(20, 8, -50 * MIB, 650 * MIB)] if unknown_free else []
    events += [instant(30, 4096, -100 * MIB, (550 if unknown_free else 600) * MIB)]
    return kineto(os.path.join(folder, "memory%d%d.json" % (counter, unknown_free)), events)


def memory(folder):
    saw, more = "Of what the trace sees allocated, at most 100.00 MiB", "allocated before the trace: more was alive"
    expect("counter", report(memory_trace(folder, True, True), "memory"), ["At most 700.00 MiB"], [saw, more])
    expect("no counter", report(memory_trace(folder, False, True), "memory"), [saw, "1 call freed memory", more], ["At most"])
    expect("all seen", report(memory_trace(folder, False, False), "memory"), [saw], [more])
    for counter, unknown, passes in ((True, True, False), (False, True, False), (False, False, True)):
        path = memory_trace(folder, counter, unknown)
        code = run("diff", path, path, "--gate", "peak_memory<300MiB", code=None).returncode
        check(code == (0 if passes else 1), "peak_memory<300MiB with counter %s, unknown free %s: exit %d" % (counter, unknown, code))
    path = memory_trace(folder, True, True)
    check(run("diff", path, path, "--gate", "peak_memory<701MiB", code=None).returncode == 0, "the counter's peak passes")
    one = kineto(os.path.join(folder, "one.json"), [
        {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 1, "s": "t",
         "args": {"Addr": 16, "Bytes": 64, "Device Type": 1, "Device Id": 0}}])
    expect("alive", report(one, "memory"), ["1 object (64 B) not freed before the trace ends"], ["never freed"])


def advice(folder):
    """Of 10 ms the device copies a while that no kernel hides: 2% are advice, half a percent is none."""
    for share, named in ((200, True), (50, False)):
        path = kineto(os.path.join(folder, "advice.json"), [
            event("kernel", "main", 0, 7, 0, 10000 - share, device=0, stream=7),
            event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 0, 7, 10000 - share, share, bytes=64, device=0, stream=7)])
        found = report(path, "advice")
        problems = [row["problem"] for row in found["tables"]["advice"]]
        check(("copy" in problems) == named, "%d us of 10 ms: %s" % (share, problems))
        expect("left out", found, [] if named else ["could save less than 1% of the time"],
               ["could save less than 1%"] if named else [])


def causes(path):
    return {row["cause"]: row["time_ns"] for row in report(path, "idle")["tables"]["causes"]}


def capture(folder):
    """Between two kernels the host captures a graph for 300 us; the same calls that are no capture are the host's affair."""
    for begin, end, cause in (("cudaStreamBeginCapture", "cudaStreamEndCapture", "graph_capture"),
                              ("cudaStreamIsCapturing", "cudaStreamGetCaptureInfo", "host_bound")):
        path = kineto(os.path.join(folder, "capture.json"), [
            *launch("a", 0, 10, 90, 1), event("cuda_runtime", begin, 1, 1, 200, 5),
            event("cuda_runtime", end, 1, 1, 480, 20), *launch("b", 598, 600, 100, 2)])
        got = causes(path)
        # Of the 498 us without work, up to the launching call.
        check(got[cause] == (300000 if cause == "graph_capture" else 498000), "%s: %s" % (cause, got))
        check(got["graph_capture"] + got["host_bound"] == 498000, "the causes add up: %s" % got)


def ranges(folder):
    """A range whose own thread launched half of what ran: the sentence is about that half."""
    path = kineto(os.path.join(folder, "ranges.json"), [
        event("user_annotation", "step", 1, 1, 0, 1000), *launch("mine", 10, 100, 100, 1), *launch("mine", 20, 300, 100, 2),
        event("cuda_runtime", "cudaLaunchKernel", 1, 2, 30, 2, correlation=3),
        event("kernel", "autograd's", 0, 7, 200, 100, correlation=3, device=0, stream=7)])
    expect("ranges", report(path, "ranges"), ["launched in it, by its own thread, cover 66.7%"], ["busy"])


def names(folder):
    """A name that is cut has a mark, one that just fits has none."""
    for length, marked in ((60, False), (61, True)):
        name = "k" * length
        base, new = (kineto(os.path.join(folder, side), [event("kernel", name, 0, 7, 0, dur, device=0, stream=7)])
                     for side, dur in (("base.json", 10), ("new.json", 20)))
        found = json.loads(run("diff", base, new, "--json").stdout)
        finding = json.dumps(found)
        check(("k" * 60 + "~: " in finding) == marked, "%d characters in diff: %s" % (length, finding[:400]))
        finding = report(base, "kernels")["finding"]
        check(finding.endswith("k" * 60 + ("~." if marked else ".")), "%d characters in kernels: %s" % (length, finding))


def wide_table(folder):
    """A table of nsys without times is read whole, whatever the number of its columns; nothing is said to be lost."""
    for count in (39, 40, 41, 81):
        path = os.path.join(folder, "wide%d.sqlite" % count)
        database = sqlite3.connect(path)
        database.executescript("""CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
            INSERT INTO StringIds VALUES (1, 'kernel');
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
                streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
            INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 1, 7, 1, 16777216, 1, 1);
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER,
                correlationId INTEGER, nameId INTEGER);""")
        database.execute("CREATE TABLE WIDE (%s)" % ", ".join("c%d" % i for i in range(count)))
        values = [None, "}", '{"a":1}', 2.5, *range(4, count)]
        database.execute("INSERT INTO WIDE VALUES (%s)" % ", ".join("?" * count), values)
        database.commit()
        database.close()
        done = run("query", path, "SELECT value FROM attributes WHERE key = 'trace.WIDE'", "--json")
        (row,) = json.loads(done.stdout)["results"][0]["rows"]
        check(json.loads(row["value"]) == [{"c%d" % i: value for i, value in enumerate(values)}],
              "%d columns: %s" % (count, row))
        check(b"lost" not in done.stderr, "%d columns: %s" % (count, done.stderr))


def main():
    with tempfile.TemporaryDirectory() as folder:
        for test in (memory, advice, capture, ranges, names, wide_table):
            test(folder)


if __name__ == "__main__":
    main()
