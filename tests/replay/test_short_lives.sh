#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a program makes and releases by the hundred thousand leaves nothing with the recorder: the program's own heap
# grows no more than without it (tests/programs/cl_short_lives.c). And reused handles are distinguished: their results
# replay exactly.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"

# Of the 90,000 objects made meanwhile each would be 200 bytes; different data stays recorded.
room=1048576
grown() { sed -n 's/^.*grown \([0-9]*\)$/\1/p' "$work/out"; }

# measure ROUNDS OPTION...: the rest are options of the profile.
measure() {
    rounds=$1
    shift
    "$TRACESMITH" profile "$@" -o "$work/run.sbt" -- "$programs/cl_short_lives" -n "$rounds" >"$work/out" 2>"$work/err" ||
        fail "$*: $(cat "$work/err")"
    [ -n "${TRACESMITH_SANITIZE:-}" ] || [ "$(grown)" -le $((bare + room)) ] ||
        fail "$*: the heap grew by $(grown) bytes, $bare without recorder"
}

"$programs/cl_short_lives" -n 50000 >"$work/out" || fail "the program does not run"
bare=$(grown)
measure 50000 --capture=kernels:999999999+1
measure 50000 --capture
code=0
"$TRACESMITH" replay --json "$work/run.sbt" >"$work/answer.json" 2>"$work/err" || code=$?
[ "$code" -eq 0 ] || fail "replay gave $code: $(cat "$work/err" "$work/answer.json")"
python3 - "$work/answer.json" <<'PY' || fail "$(cat "$work/answer.json")"
import json, sys
answer = json.load(open(sys.argv[1]))
results = answer["results"]
sys.exit(answer["recording"]["kernels"] != 50 or len(results) < 100 or answer["verdicts"]["exact"] != len(results))
PY

# A range that begins late: what was made before it is there.
measure 50000 --capture=kernels:40+5
"$TRACESMITH" replay --json "$work/run.sbt" >"$work/answer.json" 2>"$work/err" || fail "replay of the range: $(cat "$work/err" "$work/answer.json")"
python3 - "$work/answer.json" <<'PY' || fail "$(cat "$work/answer.json")"
import json, sys
answer = json.load(open(sys.argv[1]))
results = answer["results"]
sys.exit(answer["recording"]["kernels"] != 5 or len(results) < 5 or answer["verdicts"]["exact"] != len(results))
PY
