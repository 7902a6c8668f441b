#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Frames of an OpenCL program, whose steps are ranges and end with a wait: their number, their times and their commands are those that
# the program prints. Each step launches kernels of a global size that is the number of the step.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
steps=12
for form in range:step wait; do
    "$TRACESMITH" profile --frames="$form" -o "$work/steps.sbt" -- "$programs/cl_steps" $steps 4 5 >"$work/out" 2>"$work/err" ||
        fail "$form: $(cat "$work/err")"
    "$TRACESMITH" analyze --json --only frames "$work/steps.sbt" >"$work/frames.json" || fail "$form: no answer"
    for number in 1 2 $steps; do
        "$TRACESMITH" view --json --frame "$number" "$work/steps.sbt" >"$work/frame.$number.json" || fail "$form: no frame $number"
        "$TRACESMITH" view --frame "$number" "$work/steps.sbt" >"$work/frame.$number.txt" || fail "$form: no frame $number as text"
    done
    python3 - "$work" $form $steps <<'PYTHON' || fail "$form"
import json, sys

work, form, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
with open(f"{work}/out", encoding="utf-8") as file:
    said = [tuple(map(int, line.split())) for line in file]
with open(f"{work}/frames.json", encoding="utf-8") as file:
    (report,) = json.load(file)["traces"][0]["reports"]
rows = {row["frame"]: row for row in report["tables"]["frames"]}
# The program launches and waits once before its first step: for "wait" that is a frame too.
before = 1 if form == "wait" else 0
assert sorted(rows) == list(range(1, steps + before + 1)), sorted(rows)
assert f"({form})" in report["finding"], report["finding"]
for number, _, within, around, _ in said:
    row = rows[number + before]
    assert (row["kernels"], row["transfers"]) == (5, 0), (number, row)
    if form == "range:step":
        # The program's clock is another one; the two are compared while it runs.
        assert within * 0.95 - 100_000 <= row["time_ns"] <= around * 1.05 + 100_000, (number, row, within, around)
for number in (1, 2, steps):
    with open(f"{work}/frame.{number}.json", encoding="utf-8") as file:
        view = json.load(file)
    # Where the clock is coarse the wait before may have its begin and its end at the begin of the frame: it is in both.
    begin = view["first_start"] + rows[number]["start_ns"]
    events = [event for event in view["events"] if event["start"] + event.get("duration", 0) > begin or event["start"] > begin]
    kernels = [event for event in events if event["kind"] == "kernel"]
    step = number - before
    if step:
        assert [event["global_x"] for event in kernels] == [step] * 5, (form, number, kernels)
    else:
        assert [event["global_x"] for event in kernels] == [1], (form, number, kernels)
    calls = [event["name"] for event in events if event["kind"] == "api"]
    assert calls.count("clEnqueueNDRangeKernel") == (5 if step else 1) and calls.count("clFinish") <= 1, (form, number, calls)
    assert sum(event["kind"] == "sync" for event in events) == 1, (form, number, events)
    with open(f"{work}/frame.{number}.txt", encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert len(lines) == len(view["events"]) + 1, (form, number, lines)
PYTHON
done

# A form that does not exist is reported before anything runs.
code=0
"$TRACESMITH" profile --frames=tick -o "$work/bad.sbt" -- touch "$work/ran" 2>"$work/err" || code=$?
[ $code -eq 2 ] || fail "--frames=tick gives $code: $(cat "$work/err")"
if [ -e "$work/ran" ] || [ -e "$work/bad.sbt" ]; then fail "--frames=tick: something was run or written"; fi
grep -q "unknown form of frames 'tick'" "$work/err" || fail "not said what is wrong: $(cat "$work/err")"
