#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A recorded kernel on Oclgrind: what was counted by source line is what the kernel does by construction, and what Oclgrind
# itself counts of the same program; the stream of one work-item has every instruction it ran; faults are found.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"
[ -f "$agents/libtracesmith-oclgrind.so" ] || skip "the plugin for Oclgrind is not built (liboclgrind-dev, llvm-14-dev)"
command -v oclgrind >/dev/null || skip "there is no oclgrind"
# LeakSanitizer blames this build for what LLVM keeps to the end.
[ -z "$sanitize" ] || export ASAN_OPTIONS=detect_leaks=0

trips=13
"$TRACESMITH" profile --capture -o "$work/run.sbt" -- "$programs/cl_counted" -n $trips >"$work/facts" 2>"$work/err" ||
    fail "recording: $(cat "$work/err")"

# replay CODE OPTION...: the answer in replay.json.
replay() {
    want=$1
    shift
    code=0
    "$TRACESMITH" replay --json "$@" >"$work/replay.json" 2>"$work/err" || code=$?
    [ "$code" -eq "$want" ] || fail "replay $*: gave $code: $(cat "$work/err" "$work/replay.json")"
}

replay 0 "$work/run.sbt" --instructions counted --work-item 4 -o "$work/steps.sbt"
oclgrind --inst-counts --log "$work/oclgrind.log" "$programs/cl_counted" -n $trips >"$work/oclgrind.out" 2>&1
"$TRACESMITH" view -f json "$work/steps.sbt" >"$work/steps.json" || fail "the trace cannot be read"

python3 - "$work" $trips <<'PY' || fail "what was counted is not so"
import collections, json, re, sys
work, trips = sys.argv[1], int(sys.argv[2])
answer, facts = json.load(open(work + "/replay.json")), json.load(open(work + "/facts"))
assert answer["verdicts"]["diverged"] == 0 and answer["verdicts"]["exact"] == len(answer["results"]) > 0
assert answer["findings"] == []
lines = {str(line["line"]): line for line in answer["lines"]}
def value(line, what):
    space, _, name = what.partition("_")
    return lines[line].get(space, {}).get(name, 0) if name else lines[line][what]
for line, counts in facts["lines"].items():
    for what, count in counts.items():
        assert value(line, what) == count, (line, what, value(line, what), count)
# Nothing is counted except the facts: memory that no line of the facts moves is not moved.
for space in "global", "local":
    for what in "load_bytes", "store_bytes":
        there = sum(line.get(space, {}).get(what, 0) for line in lines.values())
        assert there == sum(value(line, space + "_" + what) for line in facts["lines"]), (space, what)
assert "sum += in[i];" in lines["6"]["source"]

# By operation, as Oclgrind counts the program itself: "  240 - load global (960 bytes)".
theirs = collections.Counter()
for text in open(work + "/oclgrind.out").read().split("\n") + open(work + "/oclgrind.log").read().split("\n"):
    found = re.match(r" *(\d+) - (\w+)", text)
    if found:
        theirs[found.group(2)] += int(found.group(1))
ours = collections.Counter()
for instruction in answer["instructions"]:
    ours[instruction["opcode"]] += instruction["executed"]
assert ours and ours == theirs, (ours, theirs)
total = sum(theirs.values())
assert sum(line["executed"] for line in answer["lines"]) == total
assert [launch["executed"] for launch in answer["launches"]] == [total]
assert answer["launches"][0]["global"][0] == facts["items"] and answer["launches"][0]["local"][0] == 8

# The stream of one work-item.
trace = json.load(open(work + "/steps.json"))
steps = sorted((e for e in trace["events"] if e["kind"] == "instruction"), key=lambda e: e["start"])
assert [e["start"] - steps[0]["start"] for e in steps] == list(range(len(steps)))
assert len(steps) == answer["launches"][0]["steps"]
loads = [e for e in steps if e.get("line") == 6 and e["name"] == "load"]
assert len(loads) == trips and all(e["bytes"] == 4 and e["category"] == "global" for e in loads)
assert {b["address"] - a["address"] for a, b in zip(loads, loads[1:])} == {4}
branches = [e["taken"] for e in steps if e.get("line") == 5 and "taken" in e]
assert branches == [1] * trips + [0], branches
assert [e["taken"] for e in steps if e.get("line") == 9 and "taken" in e] == [4 % 3 == 0]
assert steps[-1]["name"] == "ret"
# The counts in the trace are those of the answer.
counts = collections.Counter()
for event in trace["events"]:
    if event["kind"] == "instruction_count":
        counts[event["name"]] += event["count"]
assert counts == theirs
assert sum(e["kind"] == "kernel" for e in trace["events"]) == 1
PY

# The streams of all work-items together are all that was run; and a work-item that does not exist runs nothing.
total=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["launches"][0]["executed"])' "$work/replay.json")
sum=0
item=0
while [ $item -le 24 ]; do
    replay 0 "$work/run.sbt" --instructions counted --work-item $item,0,0
    steps=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["launches"][0]["steps"])' "$work/replay.json")
    [ $item -lt 24 ] || [ "$steps" -eq 0 ] || fail "a work-item that is not there ran $steps instructions"
    sum=$((sum + steps))
    item=$((item + 1))
done
[ "$sum" -eq "$total" ] || fail "the work-items ran $sum instructions, all together $total"

# What is more than was asked for is counted as lost, in the answer and in the trace.
replay 0 "$work/run.sbt" --instructions counted --work-item 4 --steps 20 -o "$work/few.sbt"
"$TRACESMITH" view -f json "$work/few.sbt" >"$work/few.json" 2>/dev/null || fail "the short trace cannot be read"
python3 - "$work" <<'PY' || fail "what was lost is not told"
import json, sys
whole, few, answer = (json.load(open(sys.argv[1] + "/" + name)) for name in ("steps.json", "few.json", "replay.json"))
steps = sum(e["kind"] == "instruction" for e in whole["events"])
assert sum(e["kind"] == "instruction" for e in few["events"]) == 20
assert sum(e["lost"] for e in few["events"] if e["kind"] == "loss") == steps - 20 == answer["launches"][0]["steps_lost"]
PY

# Faults that are there are found, where they are, and none that is not.
replay 0 "$work/run.sbt" --check
"$TRACESMITH" profile --capture -o "$work/faulty.sbt" -- "$programs/cl_counted" --faulty >/dev/null 2>"$work/err" ||
    fail "recording: $(cat "$work/err")"
replay 1 "$work/faulty.sbt" --check
python3 - "$work/replay.json" <<'PY' || fail "not the faults that are there were found"
import json, re, sys
found = {(f["kind"], re.search(r"Kernel: *(\w+)", f["text"]).group(1)) for f in json.load(open(sys.argv[1]))["findings"]}
assert ("race", "racy") in found and ("uninitialized", "unwritten") in found and ("invalid-access", "outside") in found, found
assert not any(kernel == "counted" for _, kernel in found) and ("race", "unwritten") not in found, found
# A race is one, whichever of its two ends came first: between one pair of lines there is one finding.
races = [f for f in json.load(open(sys.argv[1]))["findings"] if "neighbors" in f["text"]]
assert len(races) == 1 and races[0]["kind"] == "race" and races[0]["times"] == 24, races
PY
# A kernel's answer does not mention other kernels; --check lists all.
replay 1 "$work/faulty.sbt" --instructions outside --work-item 3
python3 - "$work/replay.json" outside <<'PY' || fail "findings of other kernels were reported"
import json, re, sys
kernels = {re.search(r"Kernel: *(\w+)", f["text"]).group(1) for f in json.load(open(sys.argv[1]))["findings"]}
assert kernels == set(sys.argv[2:]), kernels
PY
replay 0 "$work/faulty.sbt" --instructions racy --work-item 3
"$TRACESMITH" replay "$work/faulty.sbt" --check >"$work/text" 2>&1 && fail "faults were found and the exit code is 0"
grep -q "found: race" "$work/text" || fail "the race is not told: $(cat "$work/text")"

# A work-item that is in no launch.
"$TRACESMITH" replay "$work/run.sbt" --instructions counted --work-item 4000000000 >"$work/text" 2>&1 ||
    fail "a work-item that is not there: $(cat "$work/text")"
grep -q "no launch of it has a work-item 4000000000" "$work/text" || fail "a missing work-item is not told"

# A kernel that was not launched, and options that make no sense.
replay 2 "$work/run.sbt" --instructions nowhere
grep -q "nowhere" "$work/err" || fail "it is not said which kernel: $(cat "$work/err")"
for wrong in "--work-item 3" "--instructions counted --work-item 1,2,3,4" "--instructions counted --work-item x" \
    "--instructions counted --steps 5" "--check --device 0"; do
    # shellcheck disable=SC2086 # several words
    replay 2 "$work/run.sbt" $wrong
done
# What nothing could be run of is not "nothing was found": a program that is known by its binary alone.
# (An interpreter does not load agents that are built with a sanitizer.)
if [ -z "${TRACESMITH_SANITIZE-}" ] && /usr/bin/python3 -c 'import numpy, pyopencl' 2>/dev/null; then
    cat >"$work/binary.py" <<'PY'
import numpy, pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
source = cl.Program(context, "__kernel void one(__global int *a) { a[get_global_id(0)] = 1; }").build()
program = cl.Program(context, context.devices, source.get_info(cl.program_info.BINARIES)).build()
out = numpy.zeros(64, numpy.int32)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, out.nbytes)
program.one(queue, out.shape, None, buffer)
cl.enqueue_copy(queue, out, buffer)
PY
    PYOPENCL_NO_CACHE=1 "$TRACESMITH" profile --capture -o "$work/binary.sbt" -- /usr/bin/python3 "$work/binary.py" \
        >/dev/null 2>"$work/err" || fail "recording a binary: $(cat "$work/err")"
    replay 4 "$work/binary.sbt" --check
    replay 4 "$work/binary.sbt" --instructions one
    ! grep -q "was launched in the recording" "$work/err" || fail "a launch is denied: $(cat "$work/err")"
fi

# It can be asked for as a device as any other.
replay 0 "$work/run.sbt" --device oclgrind
