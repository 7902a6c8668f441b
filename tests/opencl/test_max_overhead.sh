#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --max-overhead: what recording costs is measured, in the trace and in `info`; and a program that launches as fast as it
# can, with a share that cannot be kept, is throttled, with every command either in the trace or in the ledger.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

# overhead NAME P COMMAND...
overhead() {
    name=$1
    share=$2
    shift 2
    "$TRACESMITH" profile --max-overhead "$share" -o "$work/$name.sbt" "$@" >"$work/$name.out" 2>"$work/$name.err" ||
        fail "$name: $(cat "$work/$name.err")"
    "$TRACESMITH" view -f json "$work/$name.sbt" >"$work/$name.json"
    "$TRACESMITH" info "$work/$name.sbt" >"$work/$name.info"
    grep -q '^cost  *process [0-9]*: [0-9]*\.[0-9]* % of a thread' "$work/$name.info" || fail "$name: info does not say the cost"
}

overhead measured 100 "$programs/cl_launch_loop" -n 20000
overhead thinned 0.01% "$programs/cl_launch_loop" -n 60000
overhead threads 0.001 "$programs/cl_threads" -t 4 -n 3000
python3 - "$work" <<'PY'
import json
import sys

work = sys.argv[1]


def read(name):
    with open(f"{work}/{name}.json") as trace, open(f"{work}/{name}.out") as truth:
        return json.load(trace), json.load(truth)


def expect(right, what):
    if not right:
        sys.exit(f"FAILED: {what}")


def commands(trace):
    return sum(event["kind"] in ("kernel", "memcpy", "memset") for event in trace["events"])


for name, others in (("measured", 2), ("thinned", 2), ("threads", None)):
    trace, truth = read(name)
    if others is None:
        others = truth["fill_buffer"] + truth["read_buffer"]
    lost = trace["lost"]["by_reason"]
    expect(set(lost) <= {"thinned"}, f"{name}: lost {lost}")
    expect(commands(trace) + lost.get("thinned", 0) == truth["launches"] + others,
           f"{name}: {commands(trace)} in the trace, {lost}, and not {truth['launches']} + {others}")
    # Threads may be over before the first look.
    expect(name == "threads" or bool(lost) == (name != "measured"), f"{name}: {lost}")
    costs = [event for event in trace["events"] if event["kind"] == "overhead"]
    threads = {track["id"] for track in trace["tracks"] if track["kind"] == "thread"}
    expect(costs and all(event["certainty"] == "inferred" and event["track"] in threads for event in costs), f"{name}: {costs[:3]}")
    expect(sum(event["duration"] for event in costs) <= trace["duration_ns"] * (4 if name == "threads" else 1),
           f"{name}: it cost more than there was")
    with open(f"{work}/{name}.info") as info:
        expect((f"{lost['thinned']} thinned" if lost else ", 0 thinned") in info.read(), f"{name}: info")
    # A call that is passed over is not there either: those that are have their command.
    calls = [event for event in trace["events"] if event["kind"] == "api" and event["name"] == "clEnqueueNDRangeKernel"]
    kernels = {event["correlation"] for event in trace["events"] if event["kind"] == "kernel"}
    expect({event["correlation"] for event in calls} == kernels, f"{name}: calls and kernels")
PY
for wrong in 0 -1 101 nan x '5 %'; do
    if "$TRACESMITH" profile --max-overhead "$wrong" true >"$work/wrong" 2>&1; then
        fail "--max-overhead $wrong was taken"
    fi
    grep -q 'is not a percentage' "$work/wrong" || fail "--max-overhead $wrong: $(cat "$work/wrong")"
done
echo "measured, thinned, and nothing unaccounted for"
