# SPDX-License-Identifier: Apache-2.0
"""Idle: what ran and when nothing did, what the host did while nothing was enqueued, and the longest gaps. Launch
latency and what work of other queues explains are checked by their sum alone: they are states, whose reference is the
tests of the state room."""
import bisect
import collections
import re

import inferred
from trace import union
from waits_roles import role_of

GAPS = 20
BACK = 5000  # calls before the end of a gap that may reach into it
EMPTY = ("host_bound", "sync", "compile", "graph_capture")  # nothing was there to run


def gaps_of(spans):
    end = None
    for a, b in sorted(spans):
        if end is not None and a > end:
            yield end, a
        end = b if end is None or b > end else end


def compiles(name):
    return bool(re.match(r"(?:cuda|hip|cu)(?:ModuleLoad|LibraryLoad)", name))


def captures_of(all_calls):
    """By thread: from the begin of a capture to its end, and what instantiates a graph."""
    found, begun = collections.defaultdict(list), {}
    for call in sorted(all_calls, key=lambda one: one.start):
        if "StreamBeginCapture" in call.name:
            begun.setdefault(call.thread, call.start)
        elif "StreamEndCapture" in call.name and call.thread in begun:
            found[call.thread].append((begun.pop(call.thread), call.end))
        elif "GraphInstantiate" in call.name:
            found[call.thread].append((call.start, call.end))
    return found


def clip(spans, gap):
    return union([(max(a, gap[0]), min(b, gap[1])) for a, b in spans if a < gap[1] and b > gap[0]])


def without_work(trace, calls, inside):
    """What the thread that launches the next command did while there was no work: it waited, compiled, or else."""
    waits, compilations = collections.defaultdict(list), collections.defaultdict(list)
    by_times = {id(call) for call, _ in inferred.find(trace)}
    for call in trace.all_calls:
        if role_of(call.name) or id(call) in by_times:
            waits[call.thread].append((call.start, call.end))
        if compiles(call.name):
            compilations[call.thread].append((call.start, call.end))
    calls = sorted(calls, key=lambda one: one[1].start)
    starts, times = [command.start for _, command in calls], dict.fromkeys(EMPTY, 0)
    captures = captures_of(trace.all_calls)
    for gap in gaps_of(inside):
        thread = calls[bisect.bisect_left(starts, gap[1])][0].thread
        compile_time = clip(compilations[thread], gap)
        sync = min(clip(waits[thread], gap), gap[1] - gap[0] - compile_time)
        rest = gap[1] - gap[0] - compile_time - sync
        capture = min(clip(captures[thread], gap), rest)
        for cause, time in zip(EMPTY, (rest - capture, sync, compile_time, capture)):
            times[cause] += time
    return times


def innermost(ranges):
    """Stretches of one thread, ascending: from, to, the range that began last of those around, and the one before it."""
    ranges = sorted(ranges, key=lambda one: (one.start, -one.end))
    times = sorted({time for one in ranges for time in (one.start, one.end)})
    stretches, around, next_one = [], [], 0
    for a, b in zip(times, times[1:]):
        around = [one for one in around if one.end > a]
        while next_one < len(ranges) and ranges[next_one].start <= a:
            if ranges[next_one].end > a:
                around.append(ranges[next_one])
            next_one += 1
        if around:
            stretches.append((a, b, around[-1]))
    return stretches


def program(trace, mine, span, threads, calls):
    """What the launching thread was in by own time, outside of calls, in the gaps that end within `span`."""
    sums = collections.Counter()
    mine, end = sorted(mine, key=lambda command: command.start), trace.first
    for command in mine:
        gap, end = (end, command.start), max(end, command.end)
        call = trace.calls.get(command.correlation)
        if gap[1] <= gap[0] or not call or call.thread not in threads or not span[0] < gap[1] <= span[1]:
            continue
        stretches = threads[call.thread]
        at = max(bisect.bisect_right(stretches, (gap[0],)) - 1, 0)
        last = bisect.bisect_left(calls[call.thread], (gap[1],))
        inside = [spans for spans in calls[call.thread][max(last - BACK, 0):last] if spans[1] > gap[0]]
        for a, b, one in stretches[at:]:
            if a >= gap[1]:
                break
            a, b = max(a, gap[0]), min(b, gap[1])
            if b > a:
                sums[one.name] += b - a - clip(inside, (a, b))
    return sums


def check_program(trace, idle, device, mine, expect):
    first = min(command.start for command in mine)
    threads, calls = {}, {}
    for one in {one.thread for one in trace.ranges}:
        threads[one] = innermost([r for r in trace.ranges if r.thread == one])
        calls[one] = sorted((call.start, call.end) for call in trace.all_calls if call.thread == one)
    for when, span in (("startup", (trace.first, first)), ("gaps", (first, trace.last))):
        rows = [row for row in idle["program"] if row["when"] == when]
        names = [row["range"] for row in rows]
        if len(set(names)) < len(names):
            continue  # distinguished by their categories
        sums = program(trace, mine, span, threads, calls)
        expect(f"the program's ranges, {when}, on {device}", [row["time_ns"] for row in rows],
               sorted((time for time in sums.values() if time > 0), reverse=True)[:len(rows)])
        expect(f"their names, {when}", [sums[name] for name in names], [row["time_ns"] for row in rows])


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
        if all(call for call, _ in calls):  # otherwise the enqueue times are unknown
            waiting = [(min(call.start, c.start), c.start) for call, c in calls]
            inside = [(max(a, first), b) for a, b in spans + waiting if b > first]
            expect(f"without work on {device}", {cause: rows[cause] for cause in EMPTY},
                   without_work(trace, calls, inside))
        if len(devices) == 1:
            check_program(trace, idle, device, mine, expect)
    found = sorted(((row["length_ns"], row["at_ns"]) for row in idle["longest_gaps"]), reverse=True)
    expect("longest gaps", [length for length, _ in found], sorted((b for b, _ in longest), reverse=True)[:GAPS])
    expect("where they are", set(found) - set(longest), set())
