#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that forget to order two commands, and their twins that do not: each mistake is found, and nothing is said of a
# twin. The programs and what they are called come from the tables in tests/programs/cl_hazards*.c.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"

capture() {
    name=$1
    shift
    "$TRACESMITH" profile --capture -o "$work/$name.sbt" -- "$programs/$program" "$@" >"$work/log" 2>&1 ||
        fail "$name: $(cat "$work/log")"
}
hazards() {
    want=$1
    code=0
    "$TRACESMITH" replay --hazards --json "$work/$2.sbt" >"$work/$2.json" 2>"$work/log" || code=$?
    [ "$code" -eq "$want" ] || fail "$2: --hazards gave $code: $(cat "$work/log" "$work/$2.json")"
}
permute() {
    want=$1
    code=0
    "$TRACESMITH" replay --permute 2 --seed 7 --json "$work/$2.sbt" >"$work/$2.permuted" 2>"$work/log" || code=$?
    [ "$code" -eq "$want" ] || fail "$2: --permute gave $code: $(cat "$work/log" "$work/$2.permuted")"
}

for program in cl_hazards cl_hazards_memory; do
    "$programs/$program" list | sed "s/^/$program /"
done >"$work/list"
[ "$(wc -l <"$work/list")" -ge 33 ] || fail "there are fewer than 33 programs"
while read -r program planted where; do
    capture "$planted" "$planted"
    hazards 1 "$planted"
    python3 -c 'import json, sys
found = json.load(open(sys.argv[1]))["hazards"]
host = [h for h in found if h["memory"] != "buffer"]
sys.exit(0 if found and (sys.argv[2] == "device" or host) else "not found where it is: %s" % found)' \
        "$work/$planted.json" "$where" || fail "$planted"
    capture "$planted-twin" "$planted" --fixed
    hazards 0 "$planted-twin"
    # Other orders give other results where the device's memory is at stake, and name the same two commands.
    [ "$where" = device ] && permuted=1 || permuted=0
    permute "$permuted" "$planted"
    permute 0 "$planted-twin"
    python3 -c 'import json, sys
hazards, permuted = (json.load(open(a)) for a in sys.argv[1:3])
pairs = [{(h["first"]["command"], h["second"]["command"]) for h in found}
         for found in (hazards["hazards"], permuted["missing"])]
sys.exit(0 if pairs[1] <= pairs[0] else "other commands: %s" % pairs)' \
        "$work/$planted.json" "$work/$planted.permuted" || fail "$planted"
done <"$work/list"

# Parts of a buffer that an argument tells: a finding either way, and the other way round tells which of them does harm.
program=cl_hazards_memory
capture halves halves
capture halves-twin halves --fixed
for name in halves halves-twin; do
    hazards 1 $name
done
confirm() {
    want=$1
    code=0
    "$TRACESMITH" replay --hazards --confirm --json "$work/$2.sbt" >"$work/$2.tried" 2>"$work/log" || code=$?
    [ "$code" -eq "$want" ] || fail "$2: --confirm gave $code: $(cat "$work/log" "$work/$2.tried")"
    python3 -c 'import json, sys
a = json.load(open(sys.argv[1])); h = a["hazards"]
sys.exit(0 if eval(sys.argv[2]) else "not so: %s: %s" % (sys.argv[2], a))' "$work/$2.tried" "$3" || fail "$2"
}
confirm 1 halves 'len(h) == 1 and h[0]["trial"] == "different" and h[0]["assumed"] and a["possible"] == 0'
confirm 0 halves-twin 'len(h) == 1 and h[0]["trial"] == "same" and h[0]["assumed"] and a["possible"] == 1'
"$TRACESMITH" replay --hazards --confirm "$work/halves-twin.sbt" | grep -q '^possible ' || fail "not said to be only possible"
# What was planted does harm, exact or not; twins have nothing to try.
for name in two-queues-raw double-buffer skipped-link image-write-after-write shared-by-pointer; do
    confirm 1 $name 'all(x["trial"] == "different" for x in h) and a["replays"] > len(h)'
    confirm 0 $name-twin 'not h and a["replays"] == 0'
done

# The same seed, the same answer.
cp "$work/double-buffer.permuted" "$work/first"
permute 1 double-buffer
cmp "$work/first" "$work/double-buffer.permuted" || fail "the same seed gives another answer"

# A kernel that does not end: the replay is given up.
echo '__kernel void add(__global int *v, int k) { while (*(volatile __global int *)v != 77) ; }' >"$work/spin.cl"
code=0
"$TRACESMITH" replay --permute 2 --limit 300ms --source "add=$work/spin.cl" "$work/two-queues-raw.sbt" >"$work/log" 2>&1 ||
    code=$?
[ "$code" -eq 4 ] || fail "a replay without end gave $code: $(cat "$work/log")"

# Both commands are named, with the bytes they share: tiles of 64 by 16 bytes, 32 bytes of each row in both.
python3 -c 'import json, sys
(h,) = json.load(open(sys.argv[1]))["hazards"]
assert h["kind"] == "write-after-write" and not h["assumed"], h
assert (h["first"]["command"], h["second"]["command"]) == (0, 1), h
assert h["first"]["what"] == h["second"]["what"] == "write box" and h["first"]["queue"] != h["second"]["queue"], h
assert h["from"] == 32 and h["to"] == 15 * 128 + 64, h' "$work/boxes-overlap.json" || fail "boxes"
python3 -c 'import json, sys
(h,) = json.load(open(sys.argv[1]))["hazards"]
assert h["kind"] == "write-after-read" and h["first"]["kernel"] == "twice" and h["second"]["what"] == "fill", h
assert h["count"] == 1 and h["first"]["command"] == 4 and h["second"]["command"] == 9, h' \
    "$work/double-buffer.json" || fail "double buffer"

# With stacks in the trace both calls are named by their source lines, and who called them.
"$TRACESMITH" profile --capture --stacks -o "$work/stacks.sbt" -- "$programs/cl_hazards" double-buffer >"$work/log" 2>&1 ||
    fail "stacks: $(cat "$work/log")"
hazards 1 stacks
python3 - "$work/stacks.json" "$TRACESMITH_SOURCE_DIR/tests/programs/cl_hazards.c" <<'PY' || fail "stacks"
import json, sys
(h,) = json.load(open(sys.argv[1]))["hazards"]
source = open(sys.argv[2]).read().split("\n")
for side, call, outer in (("first", "clEnqueueNDRangeKernel", "double_buffer"), ("second", "clEnqueueFillBuffer", "double_buffer")):
    stack = h[side]["stack"]
    assert stack[0]["file"].endswith("cl_hazards.c"), stack
    assert any(call in source[line - 1] for line in range(stack[0]["line"] - 1, stack[0]["line"] + 2)), stack
    assert outer in [x["function"] for x in stack], stack
PY

# Programs that make no such mistake.
for line in "cl_launch_loop -n 50" "cl_what_if queues -n 8" "cl_what_if copies -n 4" cl_own_events cl_every_command; do
    # shellcheck disable=SC2086 # words of the line
    set -- $line
    program=$1
    shift
    "$TRACESMITH" profile --capture -o "$work/good.sbt" -- "$programs/$program" "$@" >"$work/log" 2>&1 ||
        fail "$line: $(cat "$work/log")"
    hazards 0 good
done
