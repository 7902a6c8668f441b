# SPDX-License-Identifier: Apache-2.0
"""Operators: of every command, the ranges around the begin of the call that launched it on the call's thread."""
import collections

from trace import Around


def check(trace, reports, expect):
    around = Around(trace)
    self_time, total_time = collections.Counter(), collections.Counter()
    self_count, total_count = collections.Counter(), collections.Counter()
    pairs = collections.defaultdict(lambda: (0, 0))
    for command, call in trace.launched():
        ranges = around(call.thread, call.start) if call else []
        if not ranges:
            continue
        keys = [(one.name, one.category) for one in ranges]
        self_time[keys[-1]] += command.end - command.start
        self_count[keys[-1]] += 1
        count, time = pairs[keys[-1] + (command.name,)]
        pairs[keys[-1] + (command.name,)] = count + 1, time + command.end - command.start
        for key in set(keys):
            total_time[key] += command.end - command.start
            total_count[key] += 1
    calls, host = collections.Counter(), collections.Counter()
    for one in trace.ranges:
        calls[one.name, one.category] += 1
        host[one.name, one.category] += one.end - one.start
    rows = {(row["operator"], row["category"]): row for row in reports["operators"]["tables"]["operators"]}
    expect("operators", len(rows), len(total_count))
    for key, row in rows.items():
        wanted = {"calls": calls[key], "host_ns": host[key], "self_commands": self_count[key],
                  "self_ns": self_time[key], "total_commands": total_count[key], "total_ns": total_time[key]}
        for column, value in wanted.items():
            expect(f"operator {key}: {column}", row[column], value)
    launched = {(row["operator"], row["category"], row["command"]): (row["count"], row["total_ns"])
                for row in reports["operators"]["tables"]["launched"]}
    expect("what operators launched", launched, dict(pairs))
