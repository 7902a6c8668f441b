#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `replay --range frame:N` runs the commands of a frame and what they need, and gives what the program computed. cl_steps launches
# once, and then 5 times in each step; every launch adds to one buffer, so each needs all before it.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"

"$TRACESMITH" profile --capture --capture-hashes --frames=range:step -o "$work/steps.sbt" -- "$programs/cl_steps" 6 100 0 \
    >"$work/log" 2>&1 || fail "$(cat "$work/log")"

# frame NUMBER STEP OPTION...: the frame is this step.
frame() {
    number=$1 step=$2
    shift 2
    "$TRACESMITH" replay --json --timing --range "frame:$number" "$@" "$work/steps.sbt" >"$work/answer.json" 2>"$work/log" ||
        fail "frame $number $*: $(cat "$work/log" "$work/answer.json")"
    python3 - "$work/answer.json" "$step" <<'PYTHON' || fail "frame $number $*"
import json, sys

with open(sys.argv[1], encoding="utf-8") as file:
    answer = json.load(file)
step = int(sys.argv[2])
first = 1 + 5 * (step - 1)
ran = [time["command"] for time in answer["times"]]
assert ran == list(range(first + 5)), ran
results = [result for result in answer["results"] if result["what"] == "written"]
assert [result["writer_command"] for result in results] == list(range(first, first + 5)), results
assert all(result["verdict"] == "exact" for result in answer["results"]), answer["results"]
PYTHON
}
frame 1 1
frame 3 3
frame 6 6 --mode partial
frame 4 3 --frames wait

for wrong in "--range frame:0" "--range frame:" "--range frame:7" "--range frame:2 --mode full" "--frames wait" \
    "--range frame:1 --frames tick" "--mode partial --range 1..2 --frames wait"; do
    code=0
    # shellcheck disable=SC2086 # words of an option
    "$TRACESMITH" replay "$work/steps.sbt" $wrong >"$work/log" 2>&1 || code=$?
    [ "$code" -eq 2 ] || fail "$wrong gave $code: $(cat "$work/log")"
done
# A frame of which nothing was recorded.
code=0
"$TRACESMITH" profile --capture=kernels:2+5 --frames=wait -o "$work/part.sbt" -- "$programs/cl_steps" 3 100 0 >"$work/log" 2>&1 ||
    fail "$(cat "$work/log")"
"$TRACESMITH" replay "$work/part.sbt" --range frame:3 >"$work/log" 2>&1 || code=$?
[ "$code" -ne 0 ] || fail "a frame without commands was replayed"
grep -q "no recorded command matches the selection" "$work/log" || fail "not said why: $(cat "$work/log")"
