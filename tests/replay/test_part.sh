#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Parts of a recording: what is asked for is run with what it needs, and nothing else; the times are those of the recorded
# commands; the host keeps its pace; and the first command that goes wrong is named, whichever way it is found.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"

# capture NAME OPTIONS -- PROGRAM...
capture() {
    file=$1
    shift
    "$TRACESMITH" profile --capture -o "$work/$file.sbt" "$@" >"$work/log" 2>&1 || fail "$file: $(cat "$work/log")"
}
replay() {
    want=$1
    file=$2
    shift 2
    code=0
    "$TRACESMITH" replay --json "$@" "$work/$file.sbt" >"$work/$file.json" 2>"$work/log" || code=$?
    [ "$code" -eq "$want" ] || fail "$file: replay $* gave $code: $(cat "$work/log" "$work/$file.json")"
}
# holds NAME CONDITION: of Python, over the answer `a`, its results `r` and the commands `t` that have times.
holds() {
    python3 -c 'import json, math, sys
a = json.load(open(sys.argv[1])); r = a["results"]; v = a["verdicts"]
times = a.get("times", []); t = [x["command"] for x in times]; b = a.get("first_bad")
sys.exit(0 if eval(sys.argv[2]) else "not so: %s: %s" % (sys.argv[2], json.dumps(a)[:2000]))' "$work/$1.json" "$2" ||
        fail "$1"
}

# Four chains in one queue, in turns: command 20 needs every fourth before it. What each command wrote is known.
capture chains --capture-hashes -- "$programs/cl_what_if" independent -n 8
replay 0 chains --mode partial --range 20..20 --timing
holds chains 't == [0, 4, 8, 12, 16, 20] and v["exact"] == len(r) == 1 and r[0]["writer_command"] == 20'
replay 0 chains --mode partial --range 21..22 --timing
holds chains 't == sorted(list(range(1, 22, 4)) + list(range(2, 23, 4))) and v["exact"] == len(r) == 2'
replay 0 chains --timing --times 3
holds chains 't == list(range(len(t))) and len(t) == a["recording"]["commands"] and v["exact"] == len(r)'
holds chains 'all(x["replays"] == 3 and 0 < x["least_ns"] <= x["median_ns"] <= x["most_ns"] for x in times)'

# The recorded times are those of the trace, and nothing of the recorder's own is in it.
"$TRACESMITH" view -f json "$work/chains.sbt" >"$work/events.json"
python3 - "$work/chains.json" "$work/events.json" <<'PY' || fail "recorded times"
import json, sys
times = json.load(open(sys.argv[1]))["times"]
events = json.load(open(sys.argv[2]))
events = events if isinstance(events, list) else events["events"]
def kind(e): return e.get("kind")
kernels = sorted((e for e in events if kind(e) == "kernel"), key=lambda e: e["start"])
calls = [e for e in events if kind(e) == "api" and str(e.get("name", "")).startswith("clEnqueue")]
took = [e["duration"] if "duration" in e else e["end"] - e["start"] for e in kernels]
assert len(kernels) == len(times) == len(calls), (len(kernels), len(times), len(calls))
assert [t["recorded_ns"] for t in times] == took, list(zip([t["recorded_ns"] for t in times], took))[:5]
PY

# Three queues, each needing the one before it: one queue, one kernel.
capture links --capture-hashes -- "$programs/cl_hazards" skipped-link --fixed
replay 0 links --timing
queue=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["times"][1]["queue"])' "$work/links.json")
replay 0 links --mode stream --stream "$queue" --timing
holds links 't == [0, 1] and v["exact"] == len(r) == 1'
replay 0 links --mode partial --kernel 'tw*' --timing
holds links 't == [0, 1] and [x["kernel"] for x in times] == ["add", "twice"]'
replay 0 links --mode partial --kernel add --timing
holds links 't == [0, 1, 2]'
code=0
"$TRACESMITH" replay "$work/links.sbt" --mode partial --kernel nothing 2>"$work/log" || code=$?
[ "$code" -ne 0 ] || fail "a kernel that is not there was replayed"
for wrong in "--mode partial" "--mode stream" "--range 1..2" "--mode full --stream 4" "--mode partial --range 5..2" \
    "--speed 0" "--speed x" "--hazards --permute 2" "--hazards --times 2" "--permute 2 --mode dry-run" "--seed 3"; do
    code=0
    # shellcheck disable=SC2086 # words of an option
    "$TRACESMITH" replay "$work/links.sbt" $wrong 2>"$work/log" || code=$?
    [ "$code" -eq 2 ] || fail "$wrong gave $code"
done

# At the recorded pace the calls take as long as they took; ten times as fast they need not.
capture paced -- "$programs/cl_what_if" host -n 40
"$TRACESMITH" view -f json "$work/paced.sbt" >"$work/paced.events"
python3 - "$TRACESMITH" "$work/paced.sbt" "$work/paced.events" <<'PY' || fail "the pace"
import json, subprocess, sys, time
events = json.load(open(sys.argv[3]))
events = events if isinstance(events, list) else events["events"]
starts = [e["start"] for e in events if e.get("kind") == "api" and str(e.get("name", "")).startswith("clEnqueue")]
span = (max(starts) - min(starts)) / 1e9
begin = time.monotonic()
subprocess.run([sys.argv[1], "replay", "--speed", "1", sys.argv[2]], stdout=subprocess.DEVNULL, check=True)
took = time.monotonic() - begin
assert span > 0.06, span # the program pauses 1.5 ms forty times
assert took >= span, (took, span)
PY
replay 0 paced --speed 1000
holds paced 'v["exact"] == len(r)'

# Edited, and the first launch of what was edited is named: by comparing with and without, and by the recorded hashes. Both
# need fewer replays than halving.
sed 's/v\[1\] = work(v\[1\], n)/v[1] = work(v[1], n) + 1/' >"$work/edited.cl" <<'CL'
float work(float x, int n) { for (int i = 0; i < n; i++) x = x * 0.999f + 0.001f; return x; }
__kernel void work_a(__global float *v, int n) { v[0] = work(v[0], n); }
__kernel void work_b(__global float *v, int n) { v[1] = work(v[1], n); }
__kernel void work_ab(__global float *v, int n, int m) { v[0] = work(v[0], n); v[1] = work(v[1], m); }
CL
for hashes in "" --capture-hashes; do
    # shellcheck disable=SC2086 # an option, or nothing
    capture edited $hashes -- "$programs/cl_what_if" chain -n 30
    replay 0 edited --timing
    first=$(python3 -c 'import json, sys
print([x["command"] for x in json.load(open(sys.argv[1]))["times"] if x["kernel"] == "work_b"][0])' "$work/edited.json")
    replay 1 edited --source "work_b=$work/edited.cl"
    holds edited "b['candidates'] == 1 and b['command']['command'] == $first and b['command']['kernel'] == 'work_b'"
    holds edited '1 + b["replays"] <= math.ceil(math.log2(a["recording"]["commands"])) + 1'
    # It goes wrong in the same way every time.
    replay 0 edited --validate --source "work_b=$work/edited.cl"
    holds edited 'a["varying"] == 0 and v["diverged"] > 0'
done

# A replay of one queue that waits for what never comes is given up.
echo '__kernel void add(__global int *v, int k) { while (*(volatile __global int *)v != 77) ; }' >"$work/spin.cl"
replay 4 links --source "add=$work/spin.cl" --limit 300ms
