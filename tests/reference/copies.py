# SPDX-License-Identifier: Apache-2.0
"""Copies: bytes by direction, and those of pageable memory with the calls that made them."""
import collections

DIRECTIONS = {"HtoD": "h2d", "DtoH": "d2h", "DtoD": "d2d", "HtoH": "h2h", "PtoP": "p2p"}


def direction_of(name):
    if name.startswith("Memset"):
        return "fill"
    return next((ours for theirs, ours in DIRECTIONS.items() if theirs in name), "unknown")


def check(trace, reports, expect):
    moved, count, pageable = collections.Counter(), collections.Counter(), {}
    for command, call in trace.launched():
        if command.work != "copy":
            continue
        direction = direction_of(command.name)
        size = int(command.arguments.get("bytes", 0))
        count[direction] += 1
        moved[direction] += size
        if "Pageable" in command.name:
            sums = pageable.setdefault(direction, [0, 0, 0, 0, 0])
            for i, value in enumerate((1, size, command.end - command.start, call is not None,
                                       call.end - call.start if call else 0)):
                sums[i] += value
    rows = {row["direction"]: (row["copies"], row["moved_bytes"])
            for row in reports["bandwidth"]["tables"]["directions"]}
    expect("copies", rows, {direction: (count[direction], moved[direction]) for direction in count})
    rows = {row["direction"]: [row["copies"], row["moved_bytes"], row["copying_ns"], row["called"], row["host_ns"]]
            for row in reports["sync"]["tables"]["pageable"]}
    expect("pageable copies", rows, pageable)
