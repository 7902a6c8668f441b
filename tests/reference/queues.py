# SPDX-License-Identifier: Apache-2.0
"""Queues: how long they are busy, and the most commands that were launched and had not started."""
from trace import union


def check(trace, reports, expect):
    queues = sorted({command.queue for command in trace.commands}, key=str)
    streams, lengths = reports["streams"]["tables"]["queues"], reports["queue_length"]["tables"]["queues"]
    expect("queues", len(streams), len(queues))
    busy = sorted(union([(c.start, c.end) for c in trace.commands if c.queue == queue]) for queue in queues)
    expect("busy queues", sorted(row["busy_ns"] for row in streams), busy)
    longest = []
    for queue in queues:  # at one time starts come before launches
        changes = []
        for command in trace.commands:
            call = trace.calls.get(command.correlation)
            if command.queue == queue and call is not None and call.start < command.start:
                changes += [(call.start, 1), (command.start, -1)]
        length = most = 0
        for _, change in sorted(changes):
            length += change
            most = max(most, length)
        longest.append(most)
    expect("longest queues", sorted(row["longest"] for row in lengths), sorted(longest))
