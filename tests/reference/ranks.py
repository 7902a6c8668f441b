#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ranks.py REPORT TRACE...: computes from the traces of the ranks of one run who is late, and compares with REPORT (the
JSON of `analyze --ranks`). A collective lasts until the last has come: a rank is later by what it lasts less for it."""
import collections
import json
import sys

from trace import read_trace


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        tables = json.load(file)["tables"]
    traces = {}
    for path in sys.argv[2:]:
        trace = read_trace(path)
        traces[int(trace.top["distributedInfo"]["rank"])] = trace
    times = collections.defaultdict(dict)
    counts, compute = collections.Counter(), collections.Counter()
    for rank, trace in traces.items():
        seen = collections.Counter()
        for command in sorted(trace.commands, key=lambda c: (c.start, c.end)):
            if command.end == command.start or command.work == "copy":
                continue
            if command.work == "compute":
                compute[rank] += command.end - command.start
                continue
            key = (command.name, command.arguments.get("Process Group Name"))
            times[key + (seen[key],)][rank] = command.end - command.start
            seen[key] += 1
            counts[rank] += 1
    waited, matched, last, delay = (collections.Counter() for _ in range(4))
    skews = collections.defaultdict(list)
    for key, of in times.items():
        if len(of) < 2:
            continue
        order = sorted(of.values())
        for rank, time in of.items():
            waited[rank] += time - order[0]
            matched[rank] += 1
        first = min(of, key=of.get)
        last[first] += order[1] > order[0]
        delay[first] += order[1] - order[0]
        skews[key[:2]].append(order[-1] - order[0])
    failures = 0
    for row in tables["ranks"]:
        rank = row["rank"]
        wanted = {"collectives": counts[rank], "matched": matched[rank], "waited_ns": waited[rank],
                  "last": last[rank], "delay_ns": delay[rank], "compute_ns": compute[rank]}
        for column, value in wanted.items():
            if row[column] != value:
                failures += 1
                print(f"rank {rank}: {column}: {row[column]}, the reference has {value}")
    for row in tables["collectives"]:
        skew = skews[row["collective"], row["group"]]
        if (row["matched"], row["skew_max_ns"]) != (len(skew), max(skew, default=None)):
            failures += 1
            print(f"{row['collective']}: {row['matched']}, {row['skew_max_ns']}; the reference has {skew}")
    if {row["rank"] for row in tables["ranks"]} != set(traces):
        failures += 1
        print("other ranks")
    return 1 if failures else 0


sys.exit(main())
