# SPDX-License-Identifier: Apache-2.0
"""Calls that waited by their times alone (the rules stand in docs/analyses.md, "Inferred waits"): by looking at every call
and every command."""
import bisect
import collections
import math

from copies import direction_of
from waits_roles import role_of, EVENT_CALLS, COMPILES

LONG, SOON, ORDINARY, ROWS, ENOUGH = 50000, 30000, 10000, 64, 3


def no_chance(times, expected):
    if times <= expected or times < 1:
        return False
    return expected <= 0 or times - expected + times * math.log(expected / times) < math.log(1e-3)


def may_wait(call):
    return not role_of(call.name) and not EVENT_CALLS.match(call.name)


def process_of(call):
    return call.thread & ~0xffffff if isinstance(call.thread, int) else call.thread[0]


def like(call, command):
    return call.name, command.work, direction_of(command.name)


def ran(queue, since, until):
    """ns of [since, until) in which something of a queue ran."""
    total, at = 0, since
    for start, end in queue:
        if start >= until:
            break
        start, end = max(start, at), min(end, until)
        if end > start:
            total, at = total + end - start, end
    return total


def launching(trace):
    by_call = collections.defaultdict(list)
    for number, command in enumerate(trace.commands):
        call = trace.calls.get(command.correlation)
        if call and may_wait(call):
            by_call[id(call)].append((command, call, number))
    pairs = [one for members in by_call.values() for one in members]
    ordinary = sorted(call.end - call.start for command, call, _ in pairs if command.end > call.end)
    ordinary = ordinary[(len(ordinary) - 1) // 2] if ordinary else ORDINARY
    queues, counts = collections.defaultdict(list), collections.defaultdict(lambda: [0, 0])
    for command in trace.commands:
        if command.end > command.start:
            queues[command.queue].append((command.start, command.end))
    for queue in queues.values():
        queue.sort()
    for command, call, _ in pairs:
        if command.end - command.start >= 2 * ordinary:
            counts[like(call, command)][0] += 1
            counts[like(call, command)][1] += command.end <= call.end
    for members in by_call.values():
        call = members[0][1]
        if any(command.end > call.end for command, _, _ in members):
            continue
        last, _, number = max(members, key=lambda one: one[0].end)
        took, of_length = call.end - call.start, counts[like(call, last)]
        if last.end <= last.start or last.end <= call.start:
            continue
        if "pageable" in last.name.lower() and last.work == "copy":
            yield call, (last.end, number)
        elif of_length[0] >= ENOUGH and of_length[1] >= of_length[0] - of_length[0] // 20:
            yield call, (last.end, number)
        elif took >= LONG and took // 4 >= ordinary and call.end - last.end <= max(SOON, took // 4) and \
                ran(queues[last.queue], call.start, last.end) >= (last.end - call.start) // 2:
            yield call, (last.end, number)


def others(trace):
    queues, process = collections.defaultdict(list), {}
    launches = {id(trace.calls[c.correlation]) for c in trace.commands if c.correlation in trace.calls}
    for number, command in enumerate(trace.commands):
        call = trace.calls.get(command.correlation)
        queues[command.queue].append((call.start if call else command.start, command.end, number))
        if call:
            process[command.queue] = process_of(call)
    if len(queues) > ROWS:
        return
    names = collections.defaultdict(list)
    for call in trace.all_calls:
        if id(call) in launches or call.end - call.start < LONG or not may_wait(call) or COMPILES.match(call.name):
            continue
        ends = [one[1:] for queue, members in queues.items() if process.get(queue) == process_of(call)
                for one in members if one[0] < call.start and one[1] > call.start]
        if ends:
            last, took = max(ends), call.end - call.start
            limit = max(SOON, took // 10)
            names[call.name].append((call, last, 0 <= call.end - last[0] <= limit, min(1, limit / took)))
    for calls in names.values():
        hits = sum(soon for _, _, soon, _ in calls)
        if 5 * hits >= 4 * len(calls) and no_chance(hits, sum(chance for *_, chance in calls)):
            for call, last, soon, _ in calls:
                if soon:
                    yield call, last


# ---- queues and threads

TIMES, SILENCE, JOIN_CHANCE, JOIN_SOON = 3, 50000, 100, 10000000


def covered(since, until, ends):
    """What part of a gap lies at most SOON behind an end."""
    total, at = 0, since
    for end in ends:
        if since < end <= until:
            start, stop = max(end, at), min(end + SOON, until)
            total, at = total + max(stop - start, 0), max(at, stop)
    return total / (until - since)


def accept(gaps, ends, link):
    """Gaps (since, until, what) that end soon after one of ends (time, source), which ascend."""
    times, hits = [end for end, _ in ends], []
    for since, until, what in gaps:
        at = bisect.bisect_right(times, until) - 1
        if at >= 0 and times[at] > since and times[at] >= until - SOON:
            hits.append((ends[at][1], what))
    if len(hits) >= TIMES:
        expected = 0
        for since, until, _ in gaps:
            expected += covered(since, until, times[bisect.bisect_right(times, since):bisect.bisect_right(times, until)])
        if no_chance(len(hits), expected):
            for source, what in hits:
                link(source, what)


def silences(calls):
    """Gaps between calls; the end of the last one; and of every silence but the last (start, end, next call, last call)."""
    found, end, last = [], None, None
    for start, stop, number in calls:
        if end is not None and start - end > SILENCE:
            found.append((end, start, number, last))
        if end is None or stop > end:
            end, last = stop, number
    return [one[:3] for one in found], (end, last), found


def accept_joins(gaps, finals, link):
    """Benjamini and Hochberg's procedure, as a step down from the largest number that could be believed."""
    found = []
    for since, until, what in gaps:
        within = [(end, last) for end, last in finals if since < end <= until]
        if within:
            end = max(end for end, _ in within)
            found.append((until - end, until - since, next(last for time, last in within if time == end), what))
    found.sort(key=lambda one: one[0] / one[1])
    for most in range(len(found), 0, -1):
        after, length = found[most - 1][:2]
        if after / length * JOIN_CHANCE * len(found) <= most:
            break
    else:
        most = 0
    for after, _, source, what in found[:most]:
        if after <= JOIN_SOON:
            link(source, what)


def find(trace):
    """(call, (end, number) of the command it waited for)."""
    if not hasattr(trace, "inferred"):
        trace.inferred = list(launching(trace)) + list(others(trace))
    return trace.inferred
