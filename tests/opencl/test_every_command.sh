#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every kind of command in every form, against the program's own journal: none missing, none too many, in the order of
# the calls, with its queue, bytes, sizes, wait list and blocking flag; and the times that the program itself read.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

record every "$programs/cl_every_command"
[ "$status" -eq 0 ] || fail "the program ended with $status"
python3 - "$work/every.json" "$work/every.out" <<'PY'
import sys
from trace import Trace, expect, load_truth

OPERATIONS = {  # the program's name of a command -> kind and operation in the trace
    "ndrange_kernel": ("kernel", "ndrange"), "task": ("kernel", "task"), "native_kernel": ("host_function", "native"),
    "read_buffer": ("memcpy", "read"), "write_buffer": ("memcpy", "write"), "copy_buffer": ("memcpy", "copy"),
    "fill_buffer": ("memset", "fill"), "read_buffer_rect": ("memcpy", "read_rect"),
    "write_buffer_rect": ("memcpy", "write_rect"), "copy_buffer_rect": ("memcpy", "copy_rect"),
    "read_image": ("memcpy", "read_image"), "write_image": ("memcpy", "write_image"),
    "copy_image": ("memcpy", "copy_image"), "fill_image": ("memset", "fill_image"),
    "copy_image_to_buffer": ("memcpy", "copy_image_to_buffer"),
    "copy_buffer_to_image": ("memcpy", "copy_buffer_to_image"), "map_buffer": ("memcpy", "map"),
    "map_image": ("memcpy", "map_image"), "unmap_mem_object": ("memcpy", "unmap"),
    "migrate_mem_objects": ("memcpy", "migrate"), "marker": ("event_record", "marker"),
    "barrier": ("sync", "barrier"), "svm_map": ("memcpy", "svm_map"), "svm_unmap": ("memcpy", "svm_unmap"),
    "svm_memcpy": ("memcpy", "svm_copy"), "svm_memfill": ("memset", "svm_fill"),
    "svm_migrate_mem": ("memcpy", "svm_migrate"),
}
DIRECTIONS = {"read": "d2h", "write": "h2d", "copy": "d2d"}

trace = Trace(sys.argv[1])
truth = load_truth(sys.argv[2])
commands = sorted(trace.commands(), key=lambda c: c["correlation"])
expect(len(commands) == truth["counts"]["commands"], f"{len(commands)} of {truth['counts']['commands']} commands")
calls = {call["correlation"]: call for call in trace.calls() if "correlation" in call}
names = {}
offsets = set()
untimed = 0
for said, seen in zip(truth["commands"], commands):
    where = f"{said} is {seen}"
    names[said["index"]] = seen["correlation"]
    call = calls[seen["correlation"]]
    expect(call["name"] == said["call"], where)
    expect((seen["kind"], seen["operation"]) == OPERATIONS[said["command"]], where)
    expect(trace.tracks[seen["track"]]["queue"] == said["queue"] + 1, where)
    expect(call.get("blocking") == said.get("blocking"), f"{said} is {call}")
    if said["command"] not in ("unmap_mem_object", "svm_unmap"):
        expect("bytes" not in said or seen["bytes"] == said["bytes"], where)
    expect(seen.get("waits", []) == [names[i] for i in said["waits"]] or
           sorted(seen.get("waits", [])) == sorted(names[i] for i in said["waits"]), where)
    for verb, direction in DIRECTIONS.items():
        if said["command"].startswith(verb + "_buffer") or said["command"] == verb + "_image":
            expect(seen["direction"] == direction, where)
    if "kernel" in said:
        expect(seen["name"] == said["kernel"], where)
    if "global" in said:
        for field in ("global", "local", "offset"):
            sizes = [seen.get(f"{field}_{axis}", 0) for axis in "xyz"]
            expected = said.get(field, [])
            expect(sizes == expected + [0] * (3 - len(expected)), f"{field}: {where}")
    if "queued" not in seen:
        untimed += 1
        expect(said["call"] in ("clEnqueueBarrier",), f"no times: {where}")
    if "times" in said and "queued" in seen:
        times = [seen["queued"], seen["submitted"], seen["start"], seen["start"] + seen["duration"]]
        offsets |= {a - b for a, b in zip(times, said["times"])}
expect(untimed == sum(c["call"] == "clEnqueueBarrier" for c in truth["commands"]), "untimed commands")
expect(trace.lost["total"] == untimed and trace.lost["by_reason"].get("no_timing", 0) == untimed, str(trace.lost))
# The program read its times on the device's clock: one offset for all of them.
expect(len(offsets) == 1, f"offsets between device and trace: {sorted(offsets)[:10]}")
queues = [trace.tracks[t] for t in sorted(trace.tracks) if trace.tracks[t]["kind"] == "queue"]
for said, seen in zip(truth["queues"], queues):
    expect(seen["out_of_order"] == said["out_of_order"], f"{said} {seen}")
    expect(seen["program_profiled"] == said["profiling"], f"{said} {seen}")
finishes = [c for c in trace.calls("clFinish")]
expect(len(finishes) == truth["finishes"], f"{len(finishes)} of {truth['finishes']} finishes")
timed = trace.check_order()
trace.check_waits()
expect(timed == len(commands) - untimed, f"{timed} with times")
print(f"{len(commands)} commands, {timed} with times")
PY
