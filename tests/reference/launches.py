# SPDX-License-Identifier: Apache-2.0
"""Launches: the calls that have a command with their correlation, by name, but for what they waited for a device."""
import collections
import math

import inferred
from waits_roles import role_of


def check(trace, reports, expect):
    launching = {}
    for command in trace.commands:
        call = trace.calls.get(command.correlation)
        if call:
            launching[id(call)] = call
    until = collections.defaultdict(int)  # what a call waited for had ended
    for command in trace.commands:
        call = trace.calls.get(command.correlation)
        if call and role_of(call.name) == "blocking_call" and command.end <= call.end:
            until[id(call)] = max(until[id(call)], command.end)
    for call, (end, _) in inferred.find(trace):
        until[id(call)] = max(until[id(call)], end)
    times, waiting = collections.defaultdict(list), collections.Counter()
    for call in launching.values():
        waited = max(until[id(call)] - call.start, 0) if id(call) in until else 0
        times[call.name].append(call.end - call.start - waited)
        waiting[call.name] += waited
    rows = {row["call"]: row for row in reports["launches"]["tables"]["calls"]}
    expect("launching calls", set(rows), set(times))
    for name, values in times.items():
        values.sort()
        wanted = {"count": len(values), "total_ns": sum(values), "min_ns": values[0], "max_ns": values[-1],
                  "waiting_ns": waiting[name],
                  "median_ns": values[math.ceil(len(values) / 2) - 1]}
        for column, value in wanted.items():
            expect(f"launching call {name}: {column}", rows[name][column], value)
