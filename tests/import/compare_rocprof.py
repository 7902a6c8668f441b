#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_rocprof.py ORIGINAL EXPORTED: whether every kernel dispatch of a rocprofv3 JSON file is in the Chrome
trace that was made of it: times, name, ids, sizes, queue. Exit code 0: yes."""
import gzip
import json
import sys
from collections import Counter
from decimal import Decimal

ARGUMENTS = ("size", "kind", "operation", "thread_id", "kernel_id", "correlation", "correlation_id.external",
             "dispatch_info.size", "dispatch_info.dispatch_id", "dispatch_info.private_segment_size",
             "dispatch_info.group_segment_size", "stream_id.handle")


def load(path):
    opener = gzip.open if open(path, "rb").read(2) == b"\x1f\x8b" else open
    with opener(path, "rb") as file:
        return json.loads(file.read(), parse_float=Decimal)


def flat(value, path=""):
    if not isinstance(value, dict):
        return {path: value}
    result = {}
    for key, item in value.items():
        result.update(flat(item, f"{path}.{key}" if path else key))
    return result


def dispatches(tool):
    names = {symbol["kernel_id"]: symbol["formatted_kernel_name"] for symbol in tool["kernel_symbols"]}
    for record in tool["buffer_records"]["kernel_dispatch"]:
        at = flat(record)
        at["correlation"] = at["correlation_id.internal"]
        at["kernel_id"] = at["dispatch_info.kernel_id"]
        sizes = [at[f"dispatch_info.{what}.{axis}"] for what in ("grid_size", "workgroup_size") for axis in "xyz"]
        place = f"agent {at['dispatch_info.agent_id.handle']} queue {at['dispatch_info.queue_id.handle']}"
        yield (at["start_timestamp"], at["end_timestamp"] - at["start_timestamp"], names[at["kernel_id"]], place,
               *sizes, *(at[name] for name in ARGUMENTS))


def exported(trace):
    for event in trace["traceEvents"]:
        if event.get("cat") != "kernel_dispatch":
            continue
        args = event["args"]
        if "grid" in args:
            sizes = [a * b for a, b in zip(args["grid"], args["block"])] + args["block"]
        else:
            sizes = [args[f"{what}.{axis}"] for what in ("grid_size", "workgroup_size") for axis in "xyz"]
        yield (int(Decimal(event["ts"]) * 1000), int(Decimal(event["dur"]) * 1000), event["name"], event["tid"],
               *sizes, *(args[name] for name in ARGUMENTS))


def main(original_path, exported_path):
    want = Counter(dispatch for tool in load(original_path)["rocprofiler-sdk-tool"] for dispatch in dispatches(tool))
    have = Counter(exported(load(exported_path)))
    for name, left in (("missing", want - have), ("too much", have - want)):
        for dispatch in list(left)[:5]:
            print(name, dispatch)
    print(f"{sum(want.values())} dispatches compared, {sum(((want - have) + (have - want)).values())} differences")
    return want != have


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
