# SPDX-License-Identifier: Apache-2.0
"""Kernels: count, total, share and nearest-rank quantiles by name."""
import collections
import decimal
import math


def check(trace, reports, expect):
    durations = collections.defaultdict(list)
    for command in trace.commands:
        if command.work != "copy":
            durations[command.name].append(command.end - command.start)
    rows = {row["kernel"]: row for row in reports["kernels"]["tables"]["kernels"]}
    expect("names of kernels", len(rows), len(durations))
    total = sum(sum(values) for values in durations.values())
    for name, values in durations.items():
        values.sort()
        row = rows.get(name)
        if row is None:
            expect("kernel " + name, None, len(values))
            continue
        rank = lambda share: values[max(math.ceil(decimal.Decimal(share) * len(values)), 1) - 1]
        wanted = {"count": len(values), "total_ns": sum(values), "min_ns": values[0], "median_ns": rank("0.5"),
                  "p99_ns": rank("0.99"), "max_ns": values[-1], "share": sum(values) / total if total else None}
        for column, value in wanted.items():
            expect(f"kernel {name}: {column}", row[column], value)
