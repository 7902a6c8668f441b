#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# profile --driver=NODE compared with a program's own record of its calls of device nodes: every ioctl with its
# number, result and time, every mmap with its address, a fault for every page it touched; and nothing of other files.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/watch/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/watch/common.sh"
program=$TRACESMITH_BUILD_DIR/tests/programs/device_calls
[ -x "$program" ] || skip "the programs are not built"
[ -f "$TRACESMITH_BUILD_DIR/lib/tracesmith/libtracesmith-bpf.so" ] || skip "built without libbpf"
code=0
"$TRACESMITH" profile --driver=/dev/null --driver=/dev/zero -o "$work/run.sbt" -- "$program" >"$work/said.json" 2>"$work/err" ||
    code=$?
[ "$code" -ne 4 ] || skip "$(cat "$work/err")"
[ "$code" -eq 0 ] || fail "recording: $(cat "$work/err")"
grep -q "this kernel does not provide.*calls" "$work/err" && skip "$(cat "$work/err")"
faults=1
grep -q "this kernel does not provide.*faults" "$work/err" && faults=0
"$TRACESMITH" view -f json "$work/run.sbt" >"$work/run.json" || fail "the trace cannot be read"
python3 - "$work/run.json" "$work/said.json" "$faults" <<'PY' || fail "the calls are not what the program says"
import collections, json, sys
trace, said, with_faults = json.load(open(sys.argv[1])), json.load(open(sys.argv[2])), sys.argv[3] == "1"
del said["end"]
tracks = {track["id"]: track for track in trace["tracks"]}
pids = {process["id"]: process["pid"] for process in trace["processes"]}
mine = collections.defaultdict(list)
lost = [e for e in trace["events"] if e["kind"] == "loss" and e["reason"] == "untraced"]
for event in trace["events"]:
    if event["kind"] == "driver":
        track = tracks[event["track"]]
        mine[pids[track["process"]], track["tid"]].append(event)
assert len(said) == 3 and set(mine) == {(role["pid"], role["tid"]) for role in said.values()}, (set(mine), said.keys())
for role in said.values():
    events = sorted(mine[role["pid"], role["tid"]], key=lambda e: e["start"])
    ioctls = [e for e in events if e["operation"] == "ioctl"]
    assert len(ioctls) == len(role["calls"]), (len(ioctls), len(role["calls"]))
    for event, (number, before, after, error) in zip(ioctls, role["calls"]):
        assert event["category"] == "null" and event["flags"] == number and event["result"] == -error, (event, number, error)
        assert event["bytes"] == number >> 16 & 0x3fff
        assert event["name"] == "ioctl 'T' 0x%02x" % (number & 0xff), event
        assert before - 2000 <= event["start"] and event["start"] + event["duration"] <= after + 2000, (event, before, after)
    maps = [e for e in events if e["operation"] == "device_mmap"]
    assert [(e["address"], e["bytes"], e["category"]) for e in maps] == [(role["address"], role["bytes"], "zero")], maps
    touched = [e["address"] // role["page"] * role["page"] for e in events if e["operation"] == "device_fault"]
    pages = list(range(role["address"], role["address"] + role["bytes"], role["page"]))
    # Memory that is there already when it is touched is no fault; each page is there after one.
    # One that comes while the process's memory is being changed is not looked up, and counted.
    if with_faults:
        assert touched == pages or (lost and set(touched) < set(pages)), (touched, pages, lost)
    assert len(events) == len(ioctls) + len(maps) + len(touched)
assert not [e for e in trace["events"] if e["kind"] == "loss" and e not in lost]
PY
# A file that is not a device node is reported, and nothing is run.
code=0
"$TRACESMITH" profile --driver=/etc/passwd -o "$work/wrong.sbt" -- touch "$work/was_run" 2>"$work/err" || code=$?
{ [ "$code" -eq 2 ] && grep -q "not a device node" "$work/err" && [ ! -e "$work/was_run" ]; } ||
    fail "--driver=/etc/passwd gave $code: $(cat "$work/err")"
