#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Recordings of several devices: each queue is replayed on a device of its own while there are as many, on the device
# it was asked for, and in turns where there are fewer. The profiler's trace of the replay shows the device.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"
POCL_DEVICES="pthread pthread"
export POCL_DEVICES
[ "$("$TRACESMITH" devices --json 2>/dev/null | grep -o '"pthread-' | wc -l)" -ge 2 ] ||
    skip "no OpenCL driver that can be two devices (PoCL)"

capture() {
    name=$1
    shift
    "$TRACESMITH" profile --capture -o "$work/$name.sbt" -- "$@" >"$work/$name.out" 2>"$work/log" ||
        fail "$name: $(cat "$work/log")"
}
# replay NAME OPTIONS...: under the profiler; the answer in NAME.json, in NAME.launches how many kernels ran on each device, the
# devices numbered as they were first used.
replay() {
    name=$1
    shift
    "$TRACESMITH" profile -o "$work/replay.sbt" -- "$TRACESMITH" replay --json --limit 60s "$@" "$work/$name.sbt" \
        >"$work/$name.json" 2>"$work/log" || fail "$name: replay $*: $(cat "$work/log" "$work/$name.json")"
    "$TRACESMITH" query --csv "$work/replay.sbt" \
        "SELECT t.device, d.name, count(*) FROM kernel k JOIN tracks t ON t.id = k.track
         JOIN devices d ON d.id = t.device GROUP BY 1, 2 ORDER BY 1" >"$work/$name.launches"
}
# holds NAME CONDITION: in Python, over the answer `a`, launches by device `n`, and the program's output, `said`.
holds() {
    python3 -c 'import csv, json, sys
base = sys.argv[1]
a = json.load(open(base + ".json")); v = a["verdicts"]; said = json.load(open(base + ".out"))
rows = list(csv.reader(open(base + ".launches")))[1:]
n = {int(r[0]): int(r[2]) for r in rows}; named = {r[1].split("-")[0]: int(r[2]) for r in rows}
own = [d["launches"] for d in said["by_device"]]
sys.exit(0 if eval(sys.argv[2]) else "not so: %s: %s %s" % (sys.argv[2], n, json.dumps(a)[:2000]))' "$work/$1" "$2" || fail "$1"
}

# A context of two devices, buffers shared, events across; device 1 launches more than device 0.
capture both "$programs/cl_devices"
replay both
holds both 'v["exact"] == len(a["results"]) >= 3 and not a["notes"]'
holds both 'own[0] != own[1] and n == {1: own[0], 2: own[1]} and [d["device"] for d in a["devices"]] == [0, 1]'
replay both --device 1,0
holds both 'v["exact"] == len(a["results"]) and sorted(n.values()) == own and [d["device"] for d in a["devices"]] == [1, 0]'
replay both --device 1
holds both 'v["exact"] == len(a["results"]) and n == {1: sum(own)} and "2 recorded devices are replayed on 1" in a["notes"]'
replay both --device pthread
holds both 'n == {1: sum(own)}'
"$TRACESMITH" replay --permute 4 "$work/both.sbt" >"$work/log" || fail "both: $(cat "$work/log")"
"$TRACESMITH" replay --hazards "$work/both.sbt" >"$work/log" || fail "both: $(cat "$work/log")"
POCL_DEVICES=pthread replay both
holds both 'v["exact"] == len(a["results"]) and n == {1: sum(own)} and [d["device"] for d in a["devices"]] == [0, 0]'
code=0
"$TRACESMITH" replay --device 0,7 "$work/both.sbt" >/dev/null 2>"$work/log" || code=$?
[ "$code" -ne 0 ] || fail "a device that is not there was replayed on"
grep -q "'7'" "$work/log" || fail "the device that is not there is not named: $(cat "$work/log")"

# Three recorded on two: the third takes the first again.
POCL_DEVICES="pthread pthread pthread" capture three "$programs/cl_devices"
replay three
holds three 'v["exact"] == len(a["results"]) and n == {1: own[0] + own[2], 2: own[1]}'
holds three 'a["notes"] == ["3 recorded devices are replayed on 2"]'

# A context for each, and devices of two kinds (PoCL lists "basic" first): those of the recorded names are taken.
POCL_DEVICES="basic pthread"
capture apart "$programs/cl_devices" --apart
replay apart
holds apart 'v["exact"] == len(a["results"]) and named == {"basic": own[0], "pthread": own[1]}'
holds apart 'all(d["recorded"] == d["name"] for d in a["devices"])'
replay apart --device 1,0
holds apart 'v["exact"] == len(a["results"]) and named == {"pthread": own[0], "basic": own[1]}'
replay apart --device basic
holds apart 'v["exact"] == len(a["results"]) and named == {"basic": sum(own)}'
POCL_DEVICES=pthread capture one "$programs/cl_devices"
replay one
holds one 'v["exact"] == len(a["results"]) and named == {"pthread": sum(own)}'

# In text another device is the first line of every answer; the recorded one is not mentioned.
for options in "" "--permute 2"; do
    # shellcheck disable=SC2086 # words
    "$TRACESMITH" replay $options --device basic "$work/one.sbt" >"$work/text" 2>"$work/log" || fail "on basic: $(cat "$work/log")"
    head -n 1 "$work/text" | grep -q '^another device: recorded on pthread.* replayed on basic' || fail "not said first: $(cat "$work/text")"
    # shellcheck disable=SC2086 # words
    "$TRACESMITH" replay $options --device pthread "$work/one.sbt" >"$work/text" 2>"$work/log" || fail "on its own: $(cat "$work/log")"
    ! grep -q '^another ' "$work/text" || fail "its own device is called another: $(cat "$work/text")"
done
