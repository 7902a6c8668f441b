# SPDX-License-Identifier: Apache-2.0
"""Graphs: calls named *GraphLaunch*, and the commands with their correlation."""
import collections


def check(trace, reports, expect):
    brought = collections.defaultdict(list)
    single, seen = [], collections.Counter()
    for command in trace.commands:
        seen[id(trace.calls.get(command.correlation))] += 1
    for command, call in trace.launched():
        if call and "GraphLaunch" in call.name:
            brought[id(call)].append(command)
        elif call and command.work != "copy" and seen[id(call)] == 1:
            single.append(call.end - call.start)
    groups = collections.defaultdict(lambda: [0, 0, 0, 0])
    for call in trace.all_calls:
        if "GraphLaunch" not in call.name:
            continue
        commands = brought[id(call)]
        group = groups[call.name, len(commands)]
        group[0] += 1
        group[1] += call.end - call.start
        group[2] += sum(command.end - command.start for command in commands)
        group[3] += max((c.end for c in commands), default=0) - min((c.start for c in commands), default=0)
    tables = reports["graphs"]["tables"]
    rows = {(row["call"], row["commands"]): [row["launches"], row["call_total_ns"], row["total_ns"], row["span_ns"]]
            for row in tables["graphs"]}
    expect("graphs", rows, dict(groups))
    expect("single kernels", (tables["costs"][1]["calls"], tables["costs"][1]["call_total_ns"]),
           (len(single), sum(single)))
