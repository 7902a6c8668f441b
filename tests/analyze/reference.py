#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reference.py TRACE REPORTS: reads a trace of Kineto or rocprofv3 itself, computes answers by their definitions (those of
Holistic Trace Analysis where it has one), and compares them with REPORTS, one JSON object per report. Prints every
difference and exits 1 if there is one. Times are exact: microseconds are read as decimals."""
import collections
import decimal
import gzip
import json
import math
import re
import sys

COMMUNICATION = re.compile(r"nccl|rccl|mscclKernel|hccl|gloo:|oneccl|msccl")
failures = 0


def ns(value):
    result = decimal.Decimal(value) * 1000
    assert result == result.to_integral_value(), value
    return int(result)


def union(intervals):
    total, end = 0, None
    for a, b in sorted(intervals):
        if end is None or a > end:
            total, end = total + (b - a), b
        elif b > end:
            total, end = total + (b - end), b
    return total


def expect(what, got, wanted):
    global failures
    if got != wanted and not (isinstance(wanted, float) and math.isclose(got, wanted, rel_tol=1e-6)):
        failures += 1
        print(f"{sys.argv[1]}: {what}: {got}, the reference has {wanted}")


def read_rocprof(tools):
    """Only dispatches; its times are ns, and none of its traces at hand has copies or calls."""
    gpu = []
    for tool in tools:
        names = {symbol["kernel_id"]: symbol["formatted_kernel_name"] for symbol in tool["kernel_symbols"]}
        for record in tool["buffer_records"]["kernel_dispatch"]:
            dispatch = record["dispatch_info"]
            name = names[dispatch["kernel_id"]]
            gpu.append((dispatch["agent_id"]["handle"], dispatch["queue_id"]["handle"], record["start_timestamp"],
                        record["end_timestamp"], "communication" if COMMUNICATION.match(name) else "compute", name,
                        record["correlation_id"]["internal"]))
    return gpu, {}


def read_trace(path):
    with gzip.open(path, "rt", encoding="utf-8", errors="surrogateescape") as file:
        trace = json.load(file, parse_float=decimal.Decimal, strict=False)
    if "traceEvents" not in trace:
        return read_rocprof(trace["rocprofiler-sdk-tool"])
    gpu, calls = [], {}
    for event in trace["traceEvents"]:
        kind = event.get("cat", "").lower()
        if event.get("ph") != "X":
            continue
        arguments = event.get("args", {})
        start = ns(event["ts"])
        if kind in ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"):
            work = "copy" if kind != "kernel" else "communication" if COMMUNICATION.match(event["name"]) else "compute"
            gpu.append((event["pid"], event["tid"], start, start + ns(event["dur"]), work, event["name"],
                        arguments.get("correlation", 0)))
        elif kind in ("cuda_runtime", "cuda_driver", "runtime", "driver"):
            calls.setdefault(arguments.get("correlation", 0), start)
    return gpu, calls


def check_kernels(gpu, report):
    durations = collections.defaultdict(list)
    for _, _, start, end, work, name, _ in gpu:
        if work != "copy":
            durations[name].append(end - start)
    rows = {row["kernel"]: row for row in report["tables"]["kernels"]}
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


def check_devices(gpu, breakdown, overlap):
    devices = sorted({event[0] for event in gpu})
    expect("devices", len(breakdown["tables"]["devices"]), len(devices))
    for device, row, hidden in zip(devices, breakdown["tables"]["devices"], overlap["tables"]["overlap"][::2]):
        of = lambda *works: [(e[2], e[3]) for e in gpu if e[0] == device and e[4] in works and e[3] > e[2]]
        every = of("compute", "communication", "copy")
        span = max(b for _, b in every) - min(a for a, _ in every)
        compute, communication = union(of("compute")), union(of("communication"))
        both = union(of("compute", "communication"))
        expect("span", row["span_ns"], span)
        expect("compute", row["compute_ns"], compute)
        expect("communication", row["communication_ns"], both - compute)
        expect("copy", row["copy_ns"], union(every) - both)
        expect("idle", row["idle_ns"], span - union(every))
        expect("communication in all", hidden["time_ns"], communication)
        expect("overlapped communication", hidden["overlapped_ns"], compute + communication - both)


def check_queues(gpu, calls, streams, lengths):
    queues = sorted({event[:2] for event in gpu}, key=str)
    expect("queues", len(streams["tables"]["queues"]), len(queues))
    busy = sorted(union([(e[2], e[3]) for e in gpu if e[:2] == queue]) for queue in queues)
    expect("busy queues", sorted(row["busy_ns"] for row in streams["tables"]["queues"]), busy)
    longest = []
    for queue in queues:  # at one time starts come before launches
        changes = []
        for event in gpu:
            launched = calls.get(event[6])
            if event[:2] == queue and launched is not None and launched < event[2]:
                changes += [(launched, 1), (event[2], -1)]
        length = most = 0
        for _, change in sorted(changes):
            length += change
            most = max(most, length)
        longest.append(most)
    expect("longest queues", sorted(row["longest"] for row in lengths["tables"]["queues"]), sorted(longest))


def check_idle(idle):
    window = idle["window"]["to_ns"] - idle["window"]["from_ns"]
    sums = collections.Counter()
    for row in idle["tables"]["causes"]:
        sums[row["device"]] += row["time_ns"]
    for device, total in sums.items():
        expect(f"causes on {device}", total % window, 0)  # devices may share a name


def main():
    gpu, calls = read_trace(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        reports = {report["report"]: report for report in json.load(file)}
    check_kernels(gpu, reports["kernels"])
    check_devices(gpu, reports["breakdown"], reports["overlap"])
    check_queues(gpu, calls, reports["streams"], reports["queue_length"])
    check_idle(reports["idle"])
    return 1 if failures else 0


sys.exit(main())
