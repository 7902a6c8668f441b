# SPDX-License-Identifier: Apache-2.0
"""Copies: bytes by direction and over time, and those of pageable memory with the calls that made them."""
import collections
import fractions

DIRECTIONS = {"HtoD": "h2d", "DtoH": "d2h", "DtoD": "d2d", "HtoH": "h2h", "PtoP": "p2p"}


def direction_of(name):
    if name.startswith("Memset"):
        return "fill"
    return next((ours for theirs, ours in DIRECTIONS.items() if theirs in name), "unknown")


BUCKETS = 50


def over_time(trace):
    """Bytes per second in each fiftieth of the window: a copy's bytes are spread evenly over its duration."""
    length = fractions.Fraction(trace.last - trace.first, BUCKETS)
    sums = [fractions.Fraction()] * BUCKETS
    for command in trace.commands:
        size, time = int(command.arguments.get("bytes", 0)), command.end - command.start
        if command.work != "copy" or not size or not time:
            continue
        first = (command.start - trace.first) // length
        for i in range(first, min(BUCKETS, (command.end - trace.first) // length + 1)):
            begin = max(trace.first + i * length, command.start)
            end = min(trace.first + (i + 1) * length, command.end)
            if end > begin:
                sums[i] += size * (end - begin) / time
    return [float(total / length * 10**9) for total in sums] if any(sums) else []


def check(trace, reports, expect):
    moved, count, time, rates = (collections.Counter() for _ in range(4))
    pageable = {}
    for command, call in trace.launched():
        if command.work != "copy":
            continue
        direction = direction_of(command.name)
        size = int(command.arguments.get("bytes", 0))
        count[direction] += 1
        moved[direction] += size
        if size:
            time[direction] += command.end - command.start
            rates[direction] = max(rates[direction], size / (command.end - command.start) * 1e9)
        if "Pageable" in command.name:
            sums = pageable.setdefault(direction, [0, 0, 0, 0, 0])
            for i, value in enumerate((1, size, command.end - command.start, call is not None,
                                       call.end - call.start if call else 0)):
                sums[i] += value
    sized = {direction for direction in count if moved[direction]}
    rows = {row["direction"]: (row["copies"], row["moved_bytes"])
            for row in reports["bandwidth"]["tables"]["directions"]}
    expect("copies", rows, {direction: (count[direction], moved[direction] if direction in sized else None)
                            for direction in count})
    for sums in pageable.values():  # unknown without a copy
        sums[1], sums[4] = sums[1] or None, sums[4] if sums[3] else None
    rows = {row["direction"]: [row["copies"], row["moved_bytes"], row["copying_ns"], row["called"], row["host_ns"]]
            for row in reports["sync"]["tables"]["pageable"]}
    expect("pageable copies", rows, pageable)
    for row in reports["bandwidth"]["tables"]["directions"]:
        direction = row["direction"]
        mean = moved[direction] / time[direction] * 1e9 if time[direction] else None
        expect(f"time of {direction}", row["time_ns"], time[direction] if direction in sized else None)
        expect(f"mean of {direction}", row["mean_bytes_per_s"], mean)
        expect(f"fastest of {direction}", row["fastest_bytes_per_s"], float(rates[direction]) if direction in sized else None)
    rows, rates = reports["bandwidth"]["tables"]["over_time"], over_time(trace)
    expect("stretches of time", len(rows), len(rates))
    for row, rate in zip(rows, rates):
        expect(f"bytes per second at {row['at_ns']}", row["rate_bytes_per_s"], rate)
