# SPDX-License-Identifier: Apache-2.0
"""Descriptions of tables and columns of `analyze`: small traces for which the values by the description are known by hand, each
with one close to it for which they are others. tests/analyze/sentences.txt names the function here that has a description."""
import json
import sys
import tempfile

from check_false_sentences import Made, copy, kernel, stored, wait
from check_sentences import check, event, expect, launch, report

US = 1000


def equal(what, got, wanted):
    check(got == wanted, "%s: %s, by hand %s" % (what, json.dumps(got), json.dumps(wanted)))


def call(name, at, dur, number):
    return event("cuda_runtime", name, 1, 1, at, dur, correlation=number)


def rows(path, name, table, *columns):
    return [tuple(row[column] for column in columns) for row in report(path, name)["tables"][table]]


def queued(made, commands, devices=1):
    """Commands by (queue, (call, return), (queued, submitted, start, end, and maybe completed), kind, number of the one waited for)."""
    def fill(trace, thread, queue, _):
        queues = [queue]
        for number in range(2, 4):
            if devices == 2 and number == 2:
                trace.device("other device")
            queues.append(trace.track("queue", "queue %d" % number, 1, min(devices, number)))
        for number, (at, (begin, end), times, kind, waits) in enumerate(commands, 1):
            trace.event(thread, "api", begin * US, duration=(end - begin) * US, name="clEnqueueNDRangeKernel", correlation=number,
                        queue_track=queues[at])
            fields = dict(zip(("queued", "submitted", "start", "duration", "completed"), (time * US for time in times)))
            start = fields.pop("start")
            fields["duration"] -= start
            if waits:
                fields["waits"] = [waits]
            trace.event(queues[at], kind, start, name="k%d" % number, correlation=number, host_track=thread, **fields)
    return stored(made, fill)


def graphs(made):
    """Groups by what a launch brought; a kernel of a graph is none that was launched by itself; what is not there has no time."""
    events = [call("cudaGraphLaunch", 0, 4, 1), kernel("a", 10, 5, correlation=1), kernel("b", 20, 5, correlation=1),
              call("cudaGraphLaunch", 30, 6, 2), kernel("a", 40, 5, correlation=2)]
    path, columns = made.trace(events), ("commands", "launches", "call_total_ns", "total_ns", "span_ns")
    equal("graphs", sorted(rows(path, "graphs", "graphs", *columns)), [(1, 1, 6000, 5000, 5000), (2, 1, 4000, 10000, 15000)])
    equal("costs", rows(path, "graphs", "costs", "calls", "commands", "call_total_ns", "call_per_command_ns"),
          [(2, 3, 10000, 3333), (0, 0, 0, None)])
    expect("no single kernel", report(path, "graphs"), ["3.33 us of host time per command, against an unknown time for a kernel"], [])
    path = made.trace([*events, call("cudaLaunchKernel", 50, 7, 3), kernel("c", 60, 5, correlation=3)])
    expect("a single kernel", report(path, "graphs"), ["against 7.00 us for a kernel launched by itself"], ["an unknown time"])
    equal("costs with one", rows(path, "graphs", "costs", "calls", "commands", "call_total_ns", "call_per_command_ns"),
          [(2, 3, 10000, 3333), (1, 1, 7000, 7000)])
    path = made.trace([call("cudaGraphLaunch", 0, 4, 1), kernel("a", 10, 5, correlation=9)])
    equal("brought nothing that is seen", rows(path, "graphs", "graphs", *columns), [(0, 1, 4000, None, None)])


def causes(path, device="device"):
    return {row["cause"]: row["time_ns"] for row in report(path, "idle")["tables"]["causes"] if row["time_ns"] and row["device"] == device}


def idle(made):
    """Why a device is idle: the work of another queue that runs elsewhere, a report that comes late, or nothing that the trace tells."""
    before = [(0, (0, 1), (0, 1, 2, 4), "kernel", 0), (1, (0, 1), (0, 1, 10, 50), "kernel", 0)]
    elsewhere = causes(queued(made, [*before, (0, (2, 3), (2, 3, 52, 90), "kernel", 2)], 2))
    equal("another queue", (elsewhere.get("cross_stream_wait"), elsewhere.get("launch_latency")), (46000, 2000))
    alone = causes(queued(made, [*before, (0, (2, 3), (2, 3, 52, 90), "kernel", 0)], 2))
    check("cross_stream_wait" not in alone, "no other queue: %s" % alone)
    late = causes(queued(made, [(0, (0, 1), (0, 1, 10, 50, 65), "kernel", 0), (0, (66, 67), (66, 67, 70, 90), "kernel", 0)]))
    equal("reported late", late.get("draining"), 15000)
    soon = causes(queued(made, [(0, (0, 1), (0, 1, 10, 50, 50), "kernel", 0), (0, (66, 67), (66, 67, 70, 90), "kernel", 0)]))
    check("draining" not in soon, "reported at once: %s" % soon)
    unknown, told = "the largest cause is unknown", "the cause is not in the trace; what queued work waited for is unknown"
    expect("kernels alone", report(made.trace([kernel("a", 10, 50), kernel("b", 170, 10)]), "idle"), [unknown, told], [])
    expect("with calls", report(made.trace([*launch("a", 0, 10, 50, 1), *launch("b", 165, 170, 10, 2)]), "idle"),
           ["the largest cause is host_bound"], [unknown, told])


def steps(made):
    """From call to queued, submitted and start: of the commands whose times are known, and of no other."""
    path = queued(made, [(0, (0, 5), (2, 5, 9, 50), "kernel", 0), (0, (60, 65), (62, 65, 69, 90), "kernel", 0)])
    columns = ("launches", "to_queued_median_ns", "to_submitted_median_ns", "to_start_median_ns")
    equal("steps", rows(path, "launches", "steps", *columns), [(2, 2000, 3000, 4000)])
    path = made.trace([*launch("a", 0, 10, 50, 1), wait(20, 45)])
    equal("unknown steps", rows(path, "launches", "steps", *columns), [])
    equal("launching calls, not waits", rows(path, "launches", "calls", "call", "count", "total_ns"), [("cudaLaunchKernel", 1, 2000)])


def operators(made):
    """What a range within a range launches is not launched by the outer one itself."""
    path = made.trace([event("cpu_op", "outer", 1, 1, 0, 50), event("cpu_op", "inner", 1, 1, 5, 10), *launch("k1", 7, 60, 5, 1),
                       *launch("k2", 20, 70, 6, 2), *launch("k3", 55, 80, 7, 3)])
    equal("launched", sorted(rows(path, "operators", "launched", "operator", "command", "count", "total_ns")),
          [("inner", "k1", 1, 5000), ("outer", "k2", 1, 6000)])


def at_once(made):
    """Two queues overlap for 25 of 100 us; the share of a queue is of the window, or of the time from its first command to its last."""
    path = made.trace([kernel("a", 0, 50), kernel("b", 25, 50, stream=8), kernel("c", 90, 10)])
    equal("concurrency", rows(path, "streams", "concurrency", "running", "time_ns"), [(0, 15000), (1, 60000), (2, 25000)])
    equal("queues", rows(path, "streams", "queues", "queue", "busy_ns", "utilization", "while_active", "max_concurrent"),
          [("stream 7", 60000, 0.6, 0.6, 1), ("stream 8", 50000, 0.5, 1, 1)])
    expect("busy", report(path, "streams"), ["a device is busy 85.0% of the trace on average, and at most 2 commands run at once"], [])
    path = made.trace([kernel("a", 0, 50), kernel("b", 50, 50, stream=8)])
    equal("one after the other", rows(path, "streams", "concurrency", "running", "time_ns"), [(1, 100000)])


def pageable(made):
    """Copies of memory that is not pinned, and the time of their calls alone."""
    path = made.trace([call("cudaMemcpyAsync", 0, 20, 1), copy(10, 5, kind="Pageable", correlation=1, bytes=5),
                       call("cudaMemcpyAsync", 30, 9, 2), copy(40, 5, correlation=2, bytes=7)])
    equal("pageable", rows(path, "sync", "pageable", "direction", "copies", "moved_bytes", "copying_ns", "called", "host_ns"),
          [("h2d", 1, 5, 5000, 1, 20000)])
    path = made.trace([call("cudaMemcpyAsync", 0, 20, 1), copy(10, 5, correlation=1, bytes=5)])
    equal("pinned", rows(path, "sync", "pageable", "direction"), [])


def slack(made):
    """How much of a kernel is on the path, and how much later the tightest of its name could end: here until the wait returns."""
    path = made.trace([*launch("a", 0, 10, 50, 1), kernel("b", 12, 20, stream=8, correlation=2), call("cudaLaunchKernel", 3, 2, 2),
                       wait(20, 45)])
    equal("slack", sorted(rows(path, "critical_path", "slack", "kernel", "count", "total_ns", "on_path_ns", "least_slack_ns")),
          [("a", 1, 50000, 50000, 0), ("b", 1, 20000, 0, 33000)])
    # b waits for a on another queue by what both record: the gap is that, and no gap within a queue.
    path = queued(made, [(0, (0, 1), (0, 1, 10, 50), "kernel", 0), (1, (2, 3), (2, 3, 60, 90), "kernel", 1)])
    gaps = {row["what"]: row["time_ns"] for row in report(path, "critical_path")["tables"]["path"] if "gap" in row["what"]}
    equal("gap", gaps, {"gap after another queue": 10000})
    path = queued(made, [(0, (0, 1), (0, 1, 10, 50), "kernel", 0), (0, (2, 3), (2, 3, 60, 90), "kernel", 0)])
    gaps = {row["what"]: row["time_ns"] for row in report(path, "critical_path")["tables"]["path"] if "gap" in row["what"]}
    equal("gap", gaps, {"gap within a queue": 10000})


def inferred(made):
    """A copy call that returns only after its copy ended waited for it: inferred on the path, and not where the call returned before."""
    words, part = "which the trace does not record", "return of an inferred wait"
    def trace(dur):
        return made.trace([*launch("a", 0, 10, 90, 1), call("cudaMemcpyAsync", 5, dur, 2), copy(101, 10, kind="Pageable", correlation=2, bytes=5),
                           *launch("b", 120, 125, 10, 3), wait(126, 12)])
    for dur, waits in ((110, True), (3, False)):
        one = report(trace(dur), "critical_path")
        expect("inferred: %s" % waits, one, [words] if waits else [], [] if waits else [words])
        check((part in {row["what"] for row in one["tables"]["path"]}) == waits, "%s: %s" % (part, one["tables"]["path"]))


def contradicted(made):
    """An edge that its times deny, by a clock that is known, is left out and counted; one that they allow is not."""
    words = "the times of the trace and"
    for start, denied in ((40, True), (52, False)):
        path = queued(made, [(0, (0, 1), (0, 1, 10, 50), "kernel", 0), (1, (2, 3), (2, 3, start, 90), "kernel", 1)])
        expect("denied: %s" % denied, report(path, "critical_path"), [words] if denied else [], [] if denied else [words])


def main():
    tests = (graphs, idle, steps, operators, at_once, pageable, slack, inferred, contradicted)
    for test in tests:
        with tempfile.TemporaryDirectory() as folder:
            test(Made(folder))
    print("%d groups of descriptions" % len(tests))


if __name__ == "__main__":
    sys.exit(main())
