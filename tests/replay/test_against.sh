#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two devices compared with each other: two that are alike agree on everything; of one that is made to go wrong at a known
# launch, that launch is named, in no more replays than halving takes.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"
layer=$work/libfaulty.so
"${CC:-cc}" -shared -fPIC -o "$layer" "$TRACESMITH_SOURCE_DIR/tests/replay/faulty_layer.c" 2>"$work/cc" ||
    skip "no compiler: $(head -1 "$work/cc")"
POCL_DEVICES="basic pthread"
export POCL_DEVICES
"$TRACESMITH" devices --json 2>/dev/null | grep -q '"basic-.*' || skip "no OpenCL driver that can be two devices (PoCL)"

capture() {
    name=$1
    shift
    "$TRACESMITH" profile --capture -o "$work/$name.sbt" -- "$@" >"$work/$name.out" 2>"$work/log" ||
        fail "$name: $(cat "$work/log")"
    "$TRACESMITH" replay --json --timing "$work/$name.sbt" >"$work/$name.times" 2>"$work/log" || fail "$name: $(cat "$work/log")"
}
# against CODE NAME OPTIONS...: basic against pthread.
against() {
    want=$1
    name=$2
    shift 2
    code=0
    "$TRACESMITH" replay --json --limit 60s --device basic --against pthread "$@" "$work/$name.sbt" >"$work/$name.json" \
        2>"$work/log" || code=$?
    [ "$code" -eq "$want" ] || fail "$name: $* gave $code: $(cat "$work/log" "$work/$name.json")"
}
# holds NAME CONDITION: of Python, over the answer `a`, its results `r`, verdicts `v`, and the commands that are kernels, `k`.
holds() {
    python3 -c 'import json, math, sys
base = sys.argv[1]
a = json.load(open(base + ".json")); r = a["results"]; v = a["verdicts"]; b = a.get("first_bad")
k = [t["command"] for t in json.load(open(base + ".times"))["times"] if t.get("kernel")]
n = a["recording"]["commands"]
sys.exit(0 if eval(sys.argv[2]) else "not so: %s: %s" % (sys.argv[2], json.dumps(a)[:2000]))' "$work/$1" "$2" || fail "$1"
}

capture loop "$programs/cl_launch_loop" -n 200
capture queues "$programs/cl_what_if" queues -n 12
capture links "$programs/cl_hazards" skipped-link --fixed
capture every "$programs/cl_every_command"
for file in loop queues; do
    against 0 $file
    holds $file 'v["exact"] == len(r) >= 1 and not b and "pthread" in a["against"] and "basic" in a["device"]'
    against 0 $file --each
    holds $file 'v["exact"] == len(r) >= len(k)'
done
# Images and shared memory too.
against 0 every
holds every 'v["exact"] == len(r) > 100'

OPENCL_LAYERS=$layer
export OPENCL_LAYERS
FAULTY_DEVICE=pthread-
export FAULTY_DEVICE
for launch in 0 1 63 64 117 200; do
    FAULTY_LAUNCH=$launch
    export FAULTY_LAUNCH
    against 1 loop
    holds loop "b['candidates'] == 1 and b['command']['command'] == k[$launch]"
    holds loop '1 + b["replays"] <= math.ceil(math.log2(n)) + 1'
    holds loop 'all(int(x["recorded_bits"], 16) ^ int(x["replayed_bits"], 16) for x in r if x["verdict"] == "diverged")'
    against 1 loop --each
    holds loop "b['replays'] == 0 and b['command']['command'] == k[$launch]"
    holds loop "all((x['verdict'] == 'exact') == (x['command'] < k[$launch]) for x in r if x['what'] == 'written')"
done
# It is the device that was named, not the other one; and one device agrees with itself, right or wrong.
FAULTY_LAUNCH=1
FAULTY_DEVICE=basic-
against 1 links
holds links 'b["command"]["command"] == k[1] and 1 + b["replays"] <= math.ceil(math.log2(n)) + 1'
"$TRACESMITH" replay --device basic --against basic "$work/links.sbt" >"$work/log" || fail "itself: $(cat "$work/log")"

# A last bit is within tolerance; a whole number's is not. These floats come together again: only --each sees it.
FAULTY_LAUNCH=2
against 1 queues --each
holds queues 'b["command"]["command"] == k[2] and b["replays"] == 0'
against 0 queues --each --tolerance 8ulp
holds queues 'v["within-tolerance"] >= 1 and v["diverged"] == 0 and not b'
against 1 loop --tolerance 8ulp

# A program that only one of the two can build.
FAULTY_BUILD=1 against 1 queues
holds queues 'v["diverged"] >= 1 and any("second device has" in x.get("reason", "") for x in r)'
holds queues 'any(x.startswith("on the first device: ") for x in a["notes"])'

for wrong in "--each" "--against 1 --hazards" "--against 1 --permute 2" "--against 1 --timing" "--against 1 --mode partial --range 1..2"; do
    code=0
    # shellcheck disable=SC2086 # words of an option
    "$TRACESMITH" replay "$work/queues.sbt" $wrong >/dev/null 2>"$work/log" || code=$?
    [ "$code" -eq 2 ] || fail "$wrong gave $code"
done
