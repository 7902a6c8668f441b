#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# profile --xray: the functions of a program are in the trace of its launches, on its threads and on one clock: every
# launch is inside the function that made it, within the clock error that the trace states. Also of a program that
# another one started.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ -z "$sanitize" ] || skip "a sanitized agent cannot be in a program that clang instruments"

# check NAME [FUNCTION [OUTER]]: the trace NAME.json compared with the program's output in NAME.out.
check() {
    "$TRACESMITH" view -f json "$work/$1.sbt" >"$work/$1.json" 2>/dev/null || fail "$1: the trace cannot be read"
    "$TRACESMITH" info --json "$work/$1.sbt" >"$work/$1.info" 2>/dev/null || fail "$1: nothing is known of the trace"
    python3 - "$work/$1.json" "$work/$1.out" "$work/$1.info" "${2:-launch_once}" "${3-launch_all}" <<'PY' || fail "$1: the functions are not where the launches are"
import collections, json, sys
once, every = sys.argv[4:6]
trace, said, info = (json.load(open(path)) for path in sys.argv[1:4])
# A slope between two comparisons that holds until the distance has doubled errs by at most three times what they err by.
known = {clock["name"]: clock["error_ns"]["most"] for clock in info["clocks"] if not clock["device"]}
error = 3 * (known.get("tsc", 0) + known["CLOCK_REALTIME"])
tracks = {track["id"]: track for track in trace["tracks"]}
functions, launches = collections.defaultdict(list), collections.defaultdict(list)
for event in trace["events"]:
    if event["kind"] == "host_function":
        functions[event["name"]].append(event)
    elif event["kind"] == "api" and event["name"] == "clEnqueueNDRangeKernel":
        launches[event["track"]].append(event)
assert {name: len(calls) for name, calls in functions.items()} == \
    {once: said["launches"], **({every: said["threads"]} if every else {})}, {n: len(c) for n, c in functions.items()}
assert sum(map(len, launches.values())) == said["launches"] and len(launches) == said["threads"]
for track, calls in launches.items():
    assert tracks[track]["kind"] == "thread" and tracks[track]["tid"]
    mine = sorted((f for f in functions[once] if f["track"] == track), key=lambda f: f["start"])
    calls.sort(key=lambda call: call["start"])
    assert len(mine) == len(calls) > 1
    for function, call in zip(mine, calls):
        assert function["start"] <= call["start"] + error and \
            call["start"] + call["duration"] <= function["start"] + function["duration"] + error, (function, call, known)
    if not every:
        continue
    outer = [f for f in functions[every] if f["track"] == track]
    assert len(outer) == 1 and outer[0]["start"] <= mine[0]["start"]
    assert mine[-1]["start"] + mine[-1]["duration"] <= outer[0]["start"] + outer[0]["duration"]
# One process, one row per thread: what joined the trace did not bring its own.
assert len({track["process"] for track in tracks.values() if track["kind"] == "thread"}) == 1
assert len([t for t in tracks.values() if t["kind"] == "thread"]) == len({t["tid"] for t in tracks.values() if t["kind"] == "thread"})
PY
}

TMPDIR=$work
export TMPDIR

# Ticks of the TSC, independent of what XRay's runtime does on this machine.
status=0
"$TRACESMITH" profile --xray -o "$work/ticks.sbt" -- "$programs/cl_ticks" >"$work/ticks.out" 2>"$work/ticks.err" || status=$?
if "$TRACESMITH" info "$work/ticks.sbt" | grep -q "tsc " && [ $status -ne 77 ]; then
    [ $status -eq 0 ] || fail "ticks: $(cat "$work/ticks.err")"
    check ticks "func_id 1" ""
fi

clang=
for candidate in clang clang-14; do
    command -v $candidate >/dev/null || continue
    $candidate -O1 -fxray-instrument -fxray-instruction-threshold=1000 -fxray-ignore-loops -o "$work/launches" \
        "$TRACESMITH_SOURCE_DIR/tests/opencl/xray_launches.c" -lOpenCL -lpthread 2>"$work/clang" && clang=$candidate && break
done
[ -n "$clang" ] || skip "no clang with the runtime of XRay (Debian: clang libclang-rt-14-dev): $(head -c 200 "$work/clang" 2>&1)"

"$TRACESMITH" profile --xray -o "$work/direct.sbt" -- "$work/launches" >"$work/direct.out" 2>"$work/direct.err" ||
    fail "direct: $(cat "$work/direct.err")"
check direct
"$TRACESMITH" profile --xray -o "$work/child.sbt" -- sh -c "\"$work/launches\"; exit 7" >"$work/child.out" 2>"$work/child.err" &&
    fail "the program's exit code is not handed on"
check child
for left in "$work"/tracesmith-xray-*; do
    [ ! -e "$left" ] || fail "$left was left behind"
done

# At any depth: XRay's runtime keeps the outermost 64 unless configured.
printf '%s\n' '__attribute__((noinline, xray_always_instrument)) static int deep(int n) {' \
    '    volatile int more = n ? deep(n - 1) : 0; return more + 1; }' 'int main(void) { return deep(4999) != 5000; }' >"$work/deep.c"
$clang -O1 -fxray-instrument -fxray-instruction-threshold=1000 -o "$work/deep" "$work/deep.c"
"$TRACESMITH" profile --xray -o "$work/deep.sbt" -- "$work/deep" 2>"$work/deep.err" || fail "deep: $(cat "$work/deep.err")"
"$TRACESMITH" query --csv "$work/deep.sbt" "SELECT count(*) FROM host_function WHERE name = 'deep'" | grep -q '^5000' ||
    fail "of 5000 calls within one another not all are there"

# A call without an exit is a loss of unknown size: the summary does not state that nothing is lost.
printf '%s\n' '#include <setjmp.h>' 'static jmp_buf out;' \
    '__attribute__((noinline, xray_always_instrument)) static void leave(void) { longjmp(out, 1); }' \
    'int main(void) { if (!setjmp(out)) leave(); return 0; }' >"$work/leave.c"
$clang -O1 -fxray-instrument -fxray-instruction-threshold=1000 -o "$work/leave" "$work/leave.c"
"$TRACESMITH" profile --xray -o "$work/leave.sbt" -- "$work/leave" 2>"$work/leave.err" || fail "leave: $(cat "$work/leave.err")"
"$TRACESMITH" view -t loss "$work/leave.sbt" 2>/dev/null | grep -q "not left" || fail "that a call is not left is not in the trace"
! grep -q "nothing lost" "$work/leave.err" || fail "the summary knows nothing of the loss: $(cat "$work/leave.err")"

# The same for the flight data recorder, which a library in the program starts and stops.
[ -f "$agents/libtracesmith-xray.so" ] || fail "the library for the recorder is not built"
"$TRACESMITH" profile --xray=fdr -o "$work/fdr.sbt" -- "$work/launches" >"$work/fdr.out" 2>"$work/fdr.err" ||
    fail "fdr: $(cat "$work/fdr.err")"
check fdr
"$TRACESMITH" profile --xray=fdr -o "$work/fdr_child.sbt" -- sh -c "\"$work/launches\"; exit 7" >"$work/fdr_child.out" 2>/dev/null &&
    fail "the program's exit code is not handed on"
check fdr_child

# More calls than its buffers hold: recorded calls are correct, and the loss is reported. With enough, nothing is
# lost.
cat >"$work/many.c" <<'C'
__attribute__((noinline, xray_always_instrument)) int leaf(int x) { return x * 3; }
int main(void) { int sum = 0; for (int i = 0; i < 20000; i++) sum += leaf(i); return sum == 1; }
C
$clang -O1 -fxray-instrument -fxray-instruction-threshold=1000 -fxray-ignore-loops -o "$work/many" "$work/many.c" -lpthread
for buffers in 2 100; do
    "$programs/sbt_xray" "$work/many.sbt" $buffers "$work/many" 2>/dev/null || fail "recording with $buffers buffers failed"
    "$TRACESMITH" view -f json "$work/many.sbt" >"$work/many.json" 2>/dev/null || fail "the trace cannot be read"
    python3 - "$work/many.json" $buffers <<'PY' || fail "with $buffers buffers it is not told what is missing"
import json, sys
events, few = json.load(open(sys.argv[1]))["events"], sys.argv[2] == "2"
calls = [e for e in events if e["kind"] == "host_function"]
lost = [e for e in events if e["kind"] == "loss" and e["reason"] == "overwritten"]
assert (0 < len(calls) < 20000 and len(lost) == 1) if few else (len(calls) == 20000 and not lost), (len(calls), lost)
assert {e["name"] for e in calls} == {"leaf"}
PY
done

# What the user asked of XRay holds as well.
XRAY_OPTIONS="verbosity=1" "$TRACESMITH" profile --xray -o "$work/options.sbt" -- "$work/launches" >"$work/options.out" 2>"$work/options.err" ||
    fail "options: $(cat "$work/options.err")"
grep -q "Log file in" "$work/options.err" || fail "XRAY_OPTIONS was not kept: $(cat "$work/options.err")"
check options

# A program that was not instrumented: reported, and the recording is complete.
"$TRACESMITH" profile --xray -o "$work/plain.sbt" -- "$programs/cl_launch_loop" -n 10 >/dev/null 2>"$work/plain.err" ||
    fail "plain: $(cat "$work/plain.err")"
grep -q "fxray-instrument" "$work/plain.err" || fail "nothing is said of a program without functions: $(cat "$work/plain.err")"
