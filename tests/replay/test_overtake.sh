#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A thread's command that comes while memory is being copied for another thread's waits until the driver has been asked for
# the copy: what is in the recording is what the memory held before both (overtake.c).
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"

command -v "${CC:-cc}" >/dev/null || skip "no compiler"
# shellcheck disable=SC2086 # empty, or one word
"${CC:-cc}" $sanitize -D_GNU_SOURCE "$TRACESMITH_SOURCE_DIR/tests/leaks_allowed.c" -rdynamic -o "$work/overtake" \
    "$TRACESMITH_SOURCE_DIR/tests/replay/overtake.c" -lOpenCL -lpthread 2>"$work/cc" || fail "the program is not compiled: $(cat "$work/cc")"
"${CC:-cc}" -shared -fPIC -D_GNU_SOURCE -o "$work/layer.so" "$TRACESMITH_SOURCE_DIR/tests/replay/overtake_layer.c" 2>"$work/cc" ||
    skip "no headers of OpenCL's layers: $(head -1 "$work/cc")"

OPENCL_LAYERS=$work/layer.so "$TRACESMITH" profile --capture -o "$work/run.sbt" -- "$work/overtake" >"$work/out" 2>"$work/err" ||
    fail "the program: $(cat "$work/err")"
grep -q '^copies 1$' "$work/out" || skip "the loader puts no layer below the recorder: $(cat "$work/out")"
code=0
"$TRACESMITH" replay --json "$work/run.sbt" >"$work/answer.json" 2>"$work/err" || code=$?
[ "$code" -eq 0 ] || fail "replay gave $code: $(cat "$work/err" "$work/answer.json")"
python3 - "$work/answer.json" <<'PY' || fail "what the second thread computed is in the copy for the first"
import json, sys
answer = json.load(open(sys.argv[1]))
sys.exit(answer["recording"]["kernels"] != 2 or answer["verdicts"]["exact"] != 1 or bool(answer["refusals"]))
PY
