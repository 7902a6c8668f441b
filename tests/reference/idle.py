# SPDX-License-Identifier: Apache-2.0
"""Idle: what ran and when nothing did, what the host did while nothing was enqueued, and the longest gaps. Launch
latency and what work of other queues explains are checked by their sum alone: they are states, whose reference is the
tests of the state room."""
import bisect
import collections
import re

from trace import union
from waits import role_of

GAPS = 20
EMPTY = ("host_bound", "sync", "compile")  # nothing was there to run


def gaps_of(spans):
    end = None
    for a, b in sorted(spans):
        if end is not None and a > end:
            yield end, a
        end = b if end is None or b > end else end


def compiles(name):
    return bool(re.match(r"(?:cuda|hip|cu)(?:ModuleLoad|LibraryLoad)", name))


def clip(spans, gap):
    return union([(max(a, gap[0]), min(b, gap[1])) for a, b in spans if a < gap[1] and b > gap[0]])


def without_work(trace, calls, inside):
    """What the thread that launches the next command did while there was no work: it waited, compiled, or else."""
    waits, compilations = collections.defaultdict(list), collections.defaultdict(list)
    for call in trace.all_calls:
        if role_of(call.name):
            waits[call.thread].append((call.start, call.end))
        if compiles(call.name):
            compilations[call.thread].append((call.start, call.end))
    calls = sorted(calls, key=lambda one: one[1].start)
    starts, times = [command.start for _, command in calls], dict.fromkeys(EMPTY, 0)
    for gap in gaps_of(inside):
        thread = calls[bisect.bisect_left(starts, gap[1])][0].thread
        compile_time = clip(compilations[thread], gap)
        sync = min(clip(waits[thread], gap), gap[1] - gap[0] - compile_time)
        for cause, time in zip(EMPTY, (gap[1] - gap[0] - compile_time - sync, sync, compile_time)):
            times[cause] += time
    return times


def check(trace, reports, expect):
    idle = reports["idle"]["tables"]
    devices = sorted({command.device for command in trace.commands})
    window, longest, length = (trace.first, trace.last), [], len(idle["causes"]) // max(len(devices), 1)
    for i, device in enumerate(devices):
        rows = {row["cause"]: row["time_ns"] for row in idle["causes"][i * length:(i + 1) * length]}
        mine = [command for command in trace.commands if command.device == device and command.end > command.start]
        spans = [(command.start, command.end) for command in mine]
        useful = union([(command.start, command.end) for command in mine if command.work != "copy"])
        first, last = min(a for a, _ in spans), max(b for _, b in spans)
        expect(f"causes on {device}", sum(rows.values()), window[1] - window[0])
        expect(f"running on {device}", rows["running"], useful)
        expect(f"copies on {device}", rows["copy"], union(spans) - useful)
        expect(f"before and after on {device}", (rows["before_first"], rows["after_last"]),
               (first - window[0], window[1] - last))
        longest += [(b - a, a - window[0]) for a, b in gaps_of(spans)]
        calls = [(trace.calls.get(command.correlation), command) for command in mine]
        if all(call for call, _ in calls):  # else nobody knows when something was enqueued
            waiting = [(min(call.start, c.start), c.start) for call, c in calls]
            inside = [(max(a, first), b) for a, b in spans + waiting if b > first]
            expect(f"without work on {device}", {cause: rows[cause] for cause in EMPTY},
                   without_work(trace, calls, inside))
    found = sorted(((row["length_ns"], row["at_ns"]) for row in idle["longest_gaps"]), reverse=True)
    expect("longest gaps", [length for length, _ in found], sorted((b for b, _ in longest), reverse=True)[:GAPS])
    expect("where they are", set(found) - set(longest), set())
