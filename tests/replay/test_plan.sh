#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that forget to order two commands, and their twins that do not: each mistake is found, and a twin has no
# finding. The programs and their names come from the tables in tests/programs/cl_hazards*.c.
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

for program in cl_hazards cl_hazards_memory cl_hazards_order; do
    "$programs/$program" list | sed "s/^/$program /"
done >"$work/list"
[ "$(wc -l <"$work/list")" -ge 46 ] || fail "there are fewer than 46 programs"
# With a sanitizer every sixth program: the others run the same code.
every=1
[ -z "${TRACESMITH_SANITIZE-}" ] || every=6
awk -v every="$every" 'NR % every == 0 || $2 ~ /^(halves|parts-unknown|atomics-one-awaited|two-queues-raw|double-buffer|skipped-link|image-write-after-write|shared-by-pointer|boxes-overlap)/' \
    "$work/list" >"$work/taken"
found=0
silent=0
while read -r program planted where; do
    capture "$planted" "$planted"
    hazards 1 "$planted"
    python3 -c 'import json, sys
found = json.load(open(sys.argv[1]))["hazards"]
host = [h for h in found if h["memory"] != "buffer"]
sys.exit(0 if found and (sys.argv[2] == "device" or host) else "not found where it is: %s" % found)' \
        "$work/$planted.json" "$where" || fail "$planted"
    found=$((found + 1))
    capture "$planted-twin" "$planted" --fixed
    hazards 0 "$planted-twin"
    silent=$((silent + 1))
    # The finding names the two commands and the missing order.
    "$TRACESMITH" replay --hazards "$work/$planted.sbt" >"$work/text" 2>"$work/log" || true
    grep -q '^    fix: ..*' "$work/text" || fail "$planted: no fix is named: $(cat "$work/text")"
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
done <"$work/taken"
echo "$found of $(wc -l <"$work/taken") planted mistakes found, $(($(wc -l <"$work/taken") - silent)) false alarms in as many correct programs"

# Parts of a buffer whose begin is an argument's value: those that share bytes are found, the others are not.
program=cl_hazards_memory
capture halves halves
capture halves-twin halves --fixed
hazards 1 halves
hazards 0 halves-twin
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
confirm 0 halves-twin 'not h'
# Which bytes the kernel of parts-unknown uses is not found, and atomics that meet are no mistake: no alarm, but they are
# counted, and --confirm tries them.
for name in parts-unknown-twin atomics-one-awaited-twin; do
    "$TRACESMITH" replay --hazards "$work/$name.sbt" >"$work/text" || fail "$name: an alarm: $(cat "$work/text")"
    grep -q 'note: 1 pair of commands in no fixed order' "$work/text" || fail "$name: nothing is said: $(cat "$work/text")"
    confirm 0 $name 'len(h) == 1 and h[0]["trial"] == "same" and h[0]["possible"] and a["possible"] == 1'
done
"$TRACESMITH" replay --hazards --confirm "$work/parts-unknown-twin.sbt" | grep -q '^possible ' || fail "not said to be only possible"
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

# Only orders that exist are counted, however many are asked for: of one queue in order there is one; of two kernels that both
# wait for a third and for nothing else there are two.
"$TRACESMITH" profile --capture -o "$work/one.sbt" -- "$programs/cl_launch_loop" -n 3 >"$work/log" 2>&1 || fail "one order: $(cat "$work/log")"
permuted() {
    code=0
    "$TRACESMITH" replay --permute 20 "$2" "$work/$1.sbt" >"$work/$1.out" 2>"$work/log" || code=$?
}
permuted one --json
[ "$code" -eq 0 ] || fail "one order: exit code $code"
python3 -c 'import json, sys
p = json.load(open(sys.argv[1]))["permutation"]
sys.exit(0 if p["legal_orders"] == 1 and p["orders"] == 0 and p["results"] > 0 else str(p))' "$work/one.out" || fail "one order"
permuted one --seed=3
grep -qx '1 legal order; nothing else to try' "$work/one.out" || fail "one order: $(cat "$work/one.out")"
program=cl_hazards
capture readers-twin readers --fixed
permuted readers-twin --json
python3 -c 'import json, sys
p = json.load(open(sys.argv[1]))["permutation"]
sys.exit(0 if p["legal_orders"] - 1 == p["orders"] == 1 else str(p))' "$work/readers-twin.out" || fail "two readers: two orders"

# Nothing to check is no success.
"$TRACESMITH" profile --capture=kernels:100+5 -o "$work/empty.sbt" -- "$programs/cl_launch_loop" -n 3 >"$work/log" 2>&1 ||
    fail "an empty range: $(cat "$work/log")"
for option in --hazards "--permute 3"; do
    code=0
    # shellcheck disable=SC2086 # words
    "$TRACESMITH" replay $option "$work/empty.sbt" >"$work/empty.out" 2>"$work/log" || code=$?
    [ "$code" -eq 4 ] || fail "$option of nothing: exit code $code"
    grep -q '^nothing to check: ' "$work/empty.out" || fail "$option of nothing: $(cat "$work/empty.out")"
done

# A replay of a program with an open order names it, and calls itself exact only if it is; one without does not.
for times in 1 4; do
    for name in two-queues-raw two-queues-raw-twin loose-barrier; do
        "$TRACESMITH" replay --times $times "$work/$name.sbt" >"$work/$name.out" 2>"$work/log" || true
    done
    for name in two-queues-raw loose-barrier; do
        grep -q '^hint: .*--hazards lists them' "$work/$name.out" || fail "no hint: $(cat "$work/$name.out")"
        exact=0
        ! grep -q '^exact [0-9]*$' "$work/$name.out" || exact=1
        said=0
        ! grep -q '^hint: this replay is exact' "$work/$name.out" || said=1
        [ $exact -eq $said ] || fail "exact or not: $(cat "$work/$name.out")"
    done
    ! grep -q '^hint: ' "$work/two-queues-raw-twin.out" || fail "a hint of nothing: $(cat "$work/two-queues-raw-twin.out")"
done

# What would run is listed, and what ran of a part.
"$TRACESMITH" replay --mode dry-run "$work/double-buffer.sbt" >"$work/dry"
"$TRACESMITH" replay --mode dry-run --json "$work/double-buffer.sbt" >"$work/dry.json"
python3 - "$work/dry" "$work/dry.json" <<'PY' || fail "dry run"
import json, sys
lines = [l for l in open(sys.argv[1]) if l.startswith("command ")]
answer = json.load(open(sys.argv[2]))
commands = answer["commands"]
assert len(lines) == len(commands) == answer["recording"]["commands"], (len(lines), len(commands))
assert [c["command"] for c in commands] == list(range(len(commands)))
assert sum(c["kernel"] is not None for c in commands) == answer["recording"]["kernels"]
PY
"$TRACESMITH" replay --mode partial --range 4..4 --json "$work/double-buffer.sbt" >"$work/part.json" 2>"$work/log" || true
python3 -c 'import json, sys
e = json.load(open(sys.argv[1]))["extent"]
sys.exit(0 if e["asked"] == 1 <= e["ran"] < e["commands"] else str(e))' "$work/part.json" || fail "what ran of a part"
