# SPDX-License-Identifier: Apache-2.0
"""Ranges of the program on the devices: by range and device from the first start to the last end of what was launched
in it. Kineto draws the same (gpu_user_annotation): that its spans are ours is checked, too, where it has one queue."""
import collections

from autograd import Autograd
from trace import Around, union

FRAMEWORK = ("cpu_op", "Operator", "python_function", "Trace")


def is_framework(one):
    """Of old traces of PyTorch, ranges of the program are operators with a # in the name (record_function)."""
    return one.category in FRAMEWORK and not (one.category == "Operator" and "#" in one.name)


def check(trace, reports, expect):
    around = Around(trace)
    autograd = Autograd(trace, around)
    inside, later = collections.defaultdict(list), collections.defaultdict(list)
    for command, call in trace.launched():
        own = around(call.thread, call.start) if call else []
        for one in own:
            if not is_framework(one):
                inside[id(one), command.device].append((one, command))
        for one in autograd(call)[1] if call else []:
            if not is_framework(one) and one not in own:
                later[id(one), command.device].append((one, command))
    span, busy, total, commands, projections = (collections.Counter() for _ in range(5))
    for members in inside.values():
        key = (members[0][0].name, members[0][0].category)
        intervals = [(command.start, command.end) for _, command in members]
        span[key] += max(b for _, b in intervals) - min(a for a, _ in intervals)
        busy[key] += union(intervals)
        total[key] += sum(b - a for a, b in intervals)
        commands[key] += len(members)
        projections[key] += 1
    autograd_commands, autograd_busy, autograd_total = (collections.Counter() for _ in range(3))
    for members in later.values():
        key = (members[0][0].name, members[0][0].category)
        intervals = [(command.start, command.end) for _, command in members]
        autograd_commands[key] += len(members)
        autograd_busy[key] += union(intervals)
        autograd_total[key] += sum(b - a for a, b in intervals)
    count, host = collections.Counter(), collections.Counter()
    for one in trace.ranges:
        if not is_framework(one):
            count[one.name, one.category] += 1
            host[one.name, one.category] += one.end - one.start
    rows = {(row["range"], row["category"]): row for row in reports["ranges"]["tables"]["ranges"]}
    expect("ranges", set(rows), set(count))
    for key, row in rows.items():
        wanted = {"count": count[key], "host_ns": host[key], "projections": projections[key],
                  "commands": commands[key], "span_ns": span[key], "busy_ns": busy[key], "total_ns": total[key]}
        told = autograd.operators  # nothing is known of it without numbers
        wanted.update({"autograd": autograd_commands[key] if told else None,
                       "autograd_busy_ns": autograd_busy[key] if told else None,
                       "autograd_total_ns": autograd_total[key] if told else None})
        for column, value in wanted.items():
            expect(f"range {key}: {column}", row[column], value)
