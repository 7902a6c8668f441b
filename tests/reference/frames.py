# SPDX-License-Identifier: Apache-2.0
"""Frames: the ranges that tests/analyze/test_corpus.sh names, PyTorch's steps, each with the work whose calls began in it."""
from waits import process_of


def check(trace, reports, expect):
    steps = sorted((one.start, one.end, process_of(trace, one)) for one in trace.ranges if one.name.startswith("ProfilerStep"))
    wanted = {number: [start - trace.first, end - start, 0, 0, 0, 0] for number, (start, end, _) in enumerate(steps, 1)}
    for command in trace.commands:
        call = trace.calls.get(command.correlation)
        for number, (start, end, process) in enumerate(steps, 1):
            if call and process_of(trace, call) == process and start <= call.start < end:
                place = 4 if command.work == "copy" else 2
                wanted[number][place] += 1
                wanted[number][place + 1] += command.end - command.start
    tables = reports["frames"]["tables"]
    columns = ("start_ns", "time_ns", "kernels", "kernel_time_ns", "transfers", "transfer_time_ns")
    expect("frames", {row["frame"]: [row[column] for column in columns] for row in tables.get("frames", [])}, wanted)
