# SPDX-License-Identifier: Apache-2.0
"""Launches: the calls that have a command with their correlation, by name, and how many commands have none."""
import collections
import math


def check(trace, reports, expect):
    launching = {}
    for command in trace.commands:
        call = trace.calls.get(command.correlation)
        if call:
            launching[id(call)] = call
    times = collections.defaultdict(list)
    for call in launching.values():
        times[call.name].append(call.end - call.start)
    rows = {row["call"]: row for row in reports["launches"]["tables"]["calls"]}
    expect("launching calls", set(rows), set(times))
    for name, values in times.items():
        values.sort()
        wanted = {"count": len(values), "total_ns": sum(values), "min_ns": values[0], "max_ns": values[-1],
                  "median_ns": values[math.ceil(len(values) / 2) - 1]}
        for column, value in wanted.items():
            expect(f"launching call {name}: {column}", rows[name][column], value)
