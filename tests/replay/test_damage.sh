#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A bit of a recording is flipped, or there is little memory: the error and its place are reported; results that do
# not need it are compared all the same; and no result is reported as diverged. tests/programs/cl_ranges has two
# buffers: a megabyte that the host wrote, and 256 bytes that a kernel counts in.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"

"$TRACESMITH" profile --capture -o "$work/whole.sbt" -- "$programs/cl_ranges" >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"

# In the data, which is most of the file.
for part in 3 4 5 6; do
    python3 - "$work/whole.sbt" "$work/damaged.sbt" "$part" <<'PY'
import sys
whole = bytearray(open(sys.argv[1], "rb").read())
whole[len(whole) * int(sys.argv[3]) // 8] ^= 16
open(sys.argv[2], "wb").write(whole)
PY
    code=0
    "$TRACESMITH" replay --json "$work/damaged.sbt" >"$work/answer.json" 2>"$work/err" || code=$?
    [ "$code" -eq 3 ] || fail "damage: exit code $code, docs/commands.md says 3: $(cat "$work/err")"
    grep -q "damaged part was left out, the first at byte [0-9]" "$work/err" || fail "not said where: $(cat "$work/err")"
    python3 - "$work/answer.json" <<'PY' || fail "damage in eighth $part"
import json, sys
answer = json.load(open(sys.argv[1]))
of = {verdict: [r for r in answer["results"] if r["verdict"] == verdict] for verdict in answer["verdicts"]}
reasons = [r["reason"] for r in answer["results"] if r["verdict"] == "uncomparable"]
good = ([r["writer"] for r in of["exact"]] == ["count_it"] * 2 and all(r["bytes"] == 256 for r in of["exact"])
        and len(of["uncomparable"]) == len(answer["results"]) - 2 == 2 and all("missing" in reason or "damaged" in reason for reason in reasons))
sys.exit(None if good else json.dumps(answer["results"]))
PY
done

# A bit anywhere in the file, also where the replay reads nothing (the events of the trace, the index): reported with
# every answer. The trace's own summary of its damage, which reads every frame, is the reference.
python3 - "$work/whole.sbt" "$work/damaged.sbt" "$TRACESMITH" <<'PY' || fail "damage that is not said"
import json, random, subprocess, sys
whole = open(sys.argv[1], "rb").read()
rng = random.Random(5)
places = [rng.randrange(min(4096, len(whole))) for _ in range(8)] + [len(whole) - 1 - rng.randrange(4096) for _ in range(8)]
for at in places:
    damaged = bytearray(whole)
    damaged[at] ^= 1 << rng.randrange(8)
    open(sys.argv[2], "wb").write(damaged)
    for options in ((), ("--hazards",), ("--permute", "1"), ("--mode", "dry-run")):
        run = subprocess.run([sys.argv[3], "replay", *options, sys.argv[2]], capture_output=True, text=True)
        if run.returncode != 3 or not run.stderr:
            sys.exit("byte %d, %s: exit code %d: %s%s" % (at, options, run.returncode, run.stdout, run.stderr))
        if run.stdout and not ("damaged: " in run.stdout or "truncated: " in run.stdout):
            sys.exit("byte %d, %s: not said on the answer: %s" % (at, options, run.stdout))
PY

# Cut off before its commands: the recorded device is named, and that nothing ran.
head -c 60000 "$work/whole.sbt" >"$work/cut.sbt"
code=0
"$TRACESMITH" replay "$work/cut.sbt" >"$work/out" 2>"$work/err" || code=$?
[ "$code" -eq 3 ] || fail "a file that is cut off: exit code $code"
if grep -q '0 commands' "$work/out"; then
    grep -q '^on .*[a-zA-Z].*, nothing to run' "$work/out" || fail "no device is named: $(cat "$work/out")"
fi

# Less memory than the driver takes, up to enough: no crash of ours, and a reason. What the compiler of a driver does without
# memory is its own affair: 134 is abort().
[ -z "${TRACESMITH_SANITIZE-}" ] || exit 0 # takes terabytes of addresses
for room in 100000 200000 300000 400000 600000 4000000; do
    code=0
    (
        # shellcheck disable=SC3045 # dash has it
        ulimit -v $room
        exec "$TRACESMITH" replay "$work/whole.sbt" >"$work/out" 2>"$work/err"
    ) || code=$?
    case $code in
    0) grep -q 'exact 4' "$work/out" || fail "$room kB: $(cat "$work/out")" ;;
    134) ! grep -q 'src/\|cli/' "$work/err" || fail "$room kB: we aborted: $(cat "$work/err")" ;;
    3 | 4) grep -qi 'memory' "$work/err" "$work/out" || fail "$room kB: no reason: $(cat "$work/err" "$work/out")" ;;
    *) fail "$room kB: exit code $code: $(cat "$work/err")" ;;
    esac
done
[ "$code" -eq 0 ] || fail "4 GB do not suffice: $(cat "$work/err")"
