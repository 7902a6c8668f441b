#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `profile --capture` of single frames: the frames that are asked for are recorded, whole, and nothing else, and they replay from the
# state at their start. cl_steps launches once and then 5 times in each step; a step is a range and ends with a wait.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"

# judge FILE SIZES: the launches that are in the recording, by their global sizes, which are the numbers of their steps.
judge() {
    "$TRACESMITH" replay --json --timing "$1" >"$work/answer.json" 2>"$work/log" || fail "$1: $(cat "$work/log" "$work/answer.json")"
    "$TRACESMITH" view --json -t kernel "$1" >"$work/events.json" || fail "$1: no trace"
    python3 - "$work/answer.json" "$work/events.json" "$2" <<'PYTHON' || fail "$1"
import json, sys

with open(sys.argv[1], encoding="utf-8") as file:
    answer = json.load(file)
with open(sys.argv[2], encoding="utf-8") as file:
    events = json.load(file)["events"]
steps = [int(word) for word in sys.argv[3].split()]
# The trace has all launches, the recording those of the frames.
assert answer["recording"]["commands"] == answer["recording"]["kernels"] == 5 * len(steps), (answer["recording"], steps)
verdicts = [result["verdict"] for result in answer["results"]]
assert verdicts and set(verdicts) == {"exact"}, answer["results"]
recorded = sorted(time["recorded_ns"] for time in answer["times"])
wanted = sorted(event["duration"] for step in steps for event in events if event["global_x"] == step)
if 1 not in steps: # the launch before the first step has its size
    assert recorded == wanted, (steps, recorded, wanted)
PYTHON
}

# RANGE, form of frames, steps. With "wait" the launch before the first step is a frame too.
while read -r range form steps; do
    "$TRACESMITH" profile --capture="$range" --frames="$form" -o "$work/frames.sbt" -- "$programs/cl_steps" 6 100 0 \
        >"$work/out" 2>"$work/err" || fail "$range $form: $(cat "$work/err")"
    judge "$work/frames.sbt" "$steps"
done <<'LIST'
frames:3+1 wait 2
frames:3+2 range:step 3 4
frames-every:2 range:step 2 4 6
frames-every:3 wait 2 5
frames:6+9 range:step 6
LIST

# Frames end with waits where nothing is said; a recorded frame has its number in the trace, and begins with its own state.
"$TRACESMITH" profile --capture=frames:5+1 -o "$work/frame.sbt" -- "$programs/cl_steps" 6 100 0 >"$work/out" 2>"$work/err" ||
    fail "$(cat "$work/err")"
judge "$work/frame.sbt" 4
"$TRACESMITH" replay --json --timing --range frame:5 "$work/frame.sbt" >"$work/answer.json" 2>"$work/err" || fail "frame 5: $(cat "$work/err")"
python3 -c 'import json, sys
a = json.load(open(sys.argv[1]))
sys.exit(0 if [t["command"] for t in a["times"]] == [0, 1, 2, 3, 4] and a["verdicts"]["exact"] == len(a["results"]) > 0 else str(a))' \
    "$work/answer.json" || fail "the recorded frame is not replayed by itself"

# The next frame after each trigger: the program asks before each step, so that every trigger falls between two.
mkfifo "$work/in"
"$TRACESMITH" profile --capture=frame --frames=range:step -o "$work/asked.sbt" -- "$programs/cl_steps" 6 100 0 ask \
    <"$work/in" >"$work/out" 2>"$work/err" &
recorder=$!
exec 9>"$work/in"
for step in 1 2 3 4 5 6; do
    until [ "$(grep -c '^/' "$work/out")" -ge $step ]; do
        kill -0 $recorder || fail "$(cat "$work/err")"
        sleep 0.05
    done
    case $step in
    2) # by hand
        "$TRACESMITH" trigger "$recorder" || fail "tracesmith trigger"
        ;;
    5)
        kill -USR2 $recorder
        # The handler has run once the signal is no more pending, and not blocked, which it is in the handler.
        until [ "$(python3 -c 'import sys
for line in open("/proc/%s/status" % sys.argv[1]):
    if line.startswith(("SigPnd", "ShdPnd", "SigBlk")): print(int(line.split()[1], 16) >> 11 & 1)' $recorder | sort -u)" = 0 ]; do
            sleep 0.05
        done
        ;;
    esac
    printf x >&9
done
exec 9>&-
wait $recorder || fail "$(cat "$work/err")"
judge "$work/asked.sbt" "2 5"

# After a frame of 40 ms or more: steps 2 and 4 sleep for 50 ms after their wait, which delays the frames of steps 3 and 5. On a busy
# machine others may be late as well.
"$TRACESMITH" profile --capture=frames-after:40 -o "$work/late.sbt" -- "$programs/cl_steps" 6 2 50 >"$work/out" 2>"$work/err" ||
    fail "$(cat "$work/err")"
"$TRACESMITH" replay --json --timing "$work/late.sbt" >"$work/answer.json" 2>"$work/log" || fail "late: $(cat "$work/log")"
"$TRACESMITH" view --json -t kernel "$work/late.sbt" >"$work/events.json" || fail "late: no trace"
python3 - "$work/answer.json" "$work/events.json" <<'PYTHON' || fail "frames after late ones"
import json, sys
from collections import Counter

with open(sys.argv[1], encoding="utf-8") as file:
    answer = json.load(file)
with open(sys.argv[2], encoding="utf-8") as file:
    events = json.load(file)["events"]
assert {result["verdict"] for result in answer["results"]} == {"exact"}, answer["results"]
left = Counter(time["recorded_ns"] for time in answer["times"])
for step in (4, 6):
    own = Counter(event["duration"] for event in events if event["global_x"] == step)
    assert not own - left, (step, own, left)
    left -= own
PYTHON

# Forms that do not fit are reported before anything runs. Vulkan has presents.
while read -r range form; do
    code=0
    "$TRACESMITH" profile --api opencl --capture="$range" --frames="$form" -o "$work/bad.sbt" -- touch "$work/ran" 2>"$work/err" || code=$?
    [ $code -eq 2 ] || fail "$range $form gives $code: $(cat "$work/err")"
    [ ! -e "$work/ran" ] || fail "$range $form: the program was run"
done <<'LIST'
frames:1+1 present
frames:1+1 range:st*
frames-after:5 range:step
frames-every:0 wait
frames wait
LIST
