# SPDX-License-Identifier: Apache-2.0
"""Queues: how busy they are, what runs at once, and how many commands were launched and had not started."""
import collections
import math

from trace import union

FULL = 1024  # commands: CUDA's queues hold no more


def depths(spans, window):
    """How long how many of the spans lasted at once, and the most at once."""
    times, depth, now, most = collections.Counter(), 0, window[0], 0
    for time, change in sorted([(b, -1) for _, b in spans] + [(a, 1) for a, _ in spans]):
        times[depth] += time - now
        depth, now, most = depth + change, time, max(most, depth + change)
    times[depth] += window[1] - now
    return {depth: time for depth, time in times.items() if time}, most


def gaps(spans):
    """Stretches between the first start and the last end that no span covers."""
    found, end = 0, None
    for a, b in sorted(spans):
        found += end is not None and a > end
        end = b if end is None or b > end else end
    return found


def length_of(waits, window):
    """Commands, the longest queue and when first, its mean, and the time empty and full."""
    length = most = empty = full = area = 0
    longest_at, now = None, window[0]
    # At one time starts come before launches.
    for time, change in sorted([(a, 1) for a, _ in waits] + [(b, -1) for _, b in waits]):
        empty += time - now if length == 0 else 0
        full += time - now if length >= FULL else 0
        area += length * (time - now)
        length, now = length + change, time
        if length > most:
            most, longest_at = length, time - window[0]
    return len(waits), most, longest_at, area / (window[1] - window[0]), empty + window[1] - now, full


def rows_of(table, columns):
    return sorted((tuple(row[column] for column in columns) for row in table), key=str)


def check(trace, reports, expect):
    queues = sorted({command.queue for command in trace.commands}, key=str)
    window = trace.first, trace.last
    streams, lengths = reports["streams"]["tables"], reports["queue_length"]["tables"]["queues"]
    wanted, waiting = [], []
    for queue in queues:
        mine = [command for command in trace.commands if command.queue == queue]
        spans = [(c.start, c.end) for c in mine if c.end > c.start]
        wanted.append((len(mine), union(spans), depths(spans, window)[1], gaps(spans)))
        calls = [(trace.calls.get(c.correlation), c) for c in mine]
        known = [(call.start, c.start) for call, c in calls if call and call.start < c.start]
        mine = length_of(known, window)
        if not known and any(not call and c.end > c.start for call, c in calls):
            mine = *mine[:3], None, None, None  # their launch times are unknown
        waiting.append(mine)
    expect("queues", rows_of(streams["queues"], ("commands", "busy_ns", "max_concurrent", "gaps")),
           sorted(wanted, key=str))
    running = [row for device in sorted({c.device for c in trace.commands}) for row in depths(
        [(c.start, c.end) for c in trace.commands if c.device == device and c.end > c.start], window)[0].items()]
    expect("commands at once", rows_of(streams["concurrency"], ("running", "time_ns")), sorted(running, key=str))
    columns = ("commands", "longest", "longest_at_ns", "mean", "empty_ns", "full_ns")
    found = rows_of(lengths, columns)
    expect("waiting commands", len(found), len(waiting))
    for row, reference in zip(found, sorted(waiting, key=str)):
        for column, got, value in zip(columns, row, reference):
            same = column == "mean" and None not in (got, value) and math.isclose(got, value, rel_tol=1e-6)
            expect(f"waiting commands: {column}", value if same else got, value)
