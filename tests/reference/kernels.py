# SPDX-License-Identifier: Apache-2.0
"""Kernels: count, total, share and nearest-rank quantiles by name, and totals by name and shape."""
import collections
import decimal
import math


def check_shapes(trace, reports, expect):
    times = collections.defaultdict(list)
    for command in trace.commands:
        grid, block = command.arguments.get("grid"), command.arguments.get("block")
        if command.work != "copy" and grid and block:
            times[command.name, tuple(grid), tuple(block)].append(command.end - command.start)
    if not times:
        return  # rocprofv3 stores it in another way
    sizes = lambda text: tuple(int(size) for size in text.split("x")) if text else ()
    rows = {(row["kernel"], sizes(row["grid"]), sizes(row["block"])): row
            for row in reports["kernels"]["tables"]["shapes"]}
    expect("shapes", len(rows), len(times))
    for key, values in times.items():
        row = rows.get(key, collections.Counter())
        for column, value in {"count": len(values), "total_ns": sum(values), "min_ns": min(values),
                              "max_ns": max(values)}.items():
            expect(f"shape {key}: {column}", row[column], value)
    counts = collections.Counter(name for name, _, _ in times)
    for row in reports["kernels"]["tables"]["kernels"]:
        expect(f"shapes of {row['kernel']}", row["shapes"] or 0, counts[row["kernel"]])


def check_occupancy(trace, reports, expect):
    known = collections.defaultdict(list)
    for command in trace.commands:
        value = command.arguments.get("est. achieved occupancy %")
        if command.work != "copy" and value is not None:
            known[command.name].append(float(value) / 100)
    for row in reports["kernels"]["tables"]["kernels"]:
        values = known[row["kernel"]]
        expect(f"occupancy of {row['kernel']}", row["occupancy"], sum(values) / len(values) if values else None)


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
    check_shapes(trace, reports, expect)
    check_occupancy(trace, reports, expect)
