# SPDX-License-Identifier: Apache-2.0
"""Roofline by its definition: every range and kernel that states operations (`flops`) or bytes, over the device time of what the
range launched, which is added up nanosecond by interval for each device. Peaks are only what the caller states."""
import collections

from trace import Around, union


def number(value):
    return None if value is None or isinstance(value, str) or value < 0 else float(value)


def work_of(arguments):
    size = number(arguments.get("bytes"))
    return number(arguments.get("flops")), None if size is None or size != int(size) else size


def divide(a, b):
    return None if a is None or not b else a / b


class Row:
    def __init__(self):
        self.count = self.measured = self.time = 0
        self.parts = []  # (flops or None, bytes or None, ns)

    def add(self, work, time):
        self.measured += 1
        self.time += time
        self.parts.append((*work, time))

    def cells(self, peaks):
        def sums(*which):
            rows = [part for part in self.parts if all(part[i] is not None for i in which)]
            return [sum(part[i] for part in rows) if rows else None for i in which] + [sum(part[2] for part in rows)]
        flops, flops_time = sums(0)
        size, size_time = sums(1)
        flops_of_both, size_of_both, _ = sums(0, 1)
        rates = [rate and rate * 1e9 if rate is not None else None for rate in (divide(flops, flops_time), divide(size, size_time))]
        shares = [divide(rate, peak) if rate is not None and peak else None for rate, peak in zip(rates, peaks)]
        limit = None if None in shares else "compute" if shares[0] > shares[1] else "memory"
        return {"count": self.count, "measured": self.measured, "time_ns": self.time if self.measured else None,
                "flop_rate_flop_per_s": rates[0], "byte_rate_bytes_per_s": rates[1],
                "intensity": divide(flops_of_both, size_of_both), "compute_share": shares[0], "memory_share": shares[1],
                "limit": limit}


def tables(trace):
    """Two of Row: by (name, category) of a range, by name of a kernel."""
    around = Around(trace)
    stating = {id(one): work_of(one.arguments) for one in trace.ranges if any(w is not None for w in work_of(one.arguments))}
    inside = collections.defaultdict(list)
    innermost = {}
    for command, call in trace.launched():
        enclosing = [one for one in around(call.thread, call.start) if id(one) in stating] if call else []
        for one in enclosing:
            inside[id(one)].append(command)
        if enclosing:
            innermost[id(command)] = id(enclosing[-1])
    ranges, kernels = collections.defaultdict(Row), collections.defaultdict(Row)
    for command, _ in trace.launched():
        work = work_of(command.arguments)
        if command.work != "copy" and work != (None, None):
            kernels[command.name].count += 1
            kernels[command.name].add(work, command.end - command.start)
    own = set(kernels)
    for one in trace.ranges:
        if id(one) not in stating:
            continue
        row = ranges[one.name, one.category]
        row.count += 1
        commands = inside[id(one)]
        devices = {command.device for command in commands}
        time = sum(union([(c.start, c.end) for c in commands if c.device == device]) for device in devices)
        if not time:
            continue
        row.add(stating[id(one)], time)
        if len(commands) == 1 and commands[0].work != "copy" and commands[0].name not in own and innermost[id(commands[0])] == id(one):
            kernels[commands[0].name].count += 1
            kernels[commands[0].name].add(stating[id(one)], time)
    return ranges, kernels


def compare(trace, report, expect, peaks=(None, None)):
    ranges, kernels = tables(trace)
    got = {(row["range"], row["category"]): row for row in report["tables"]["ranges"]}
    expect("ranges with work", set(got), set(ranges))
    for key, row in got.items():
        for column, value in ranges[key].cells(peaks).items():
            expect(f"roofline of range {key}: {column}", row[column], value)
    got = {row["kernel"]: row for row in report["tables"]["kernels"]}
    expect("kernels with work", set(got), set(kernels))
    for key, row in got.items():
        for column, value in kernels[key].cells(peaks).items():
            expect(f"roofline of kernel {key}: {column}", row[column], value)


def check(trace, reports, expect):
    compare(trace, reports["roofline"], expect)
