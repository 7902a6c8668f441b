#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unified shared memory of Intel's extension: the program's own account, over a layer that simulates it on PoCL, and on every driver that
# has it. And what is passed after it was freed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
. "$here/../support/drivers.sh"
layer=$work/libusm.so
# shellcheck disable=SC2086 # a sanitizer's options
"${CC:-cc}" $sanitize -shared -fPIC -o "$layer" "$here/usm_layer.c" 2>"$work/cc" || skip "no compiler: $(head -1 "$work/cc")"

# usm NAME DRIVER LAYERS [ARGUMENT]: the trace of a run against the program's own account; it prints what it prints alone.
usm() {
    on_driver "$2" env OPENCL_LAYERS="$3" "$programs/cl_usm" ${4:+"$4"} >"$work/alone" 2>"$work/alone.err" || fail "$1 alone: $(cat "$work/alone.err")"
    on_driver "$2" env OPENCL_LAYERS="$3" "$TRACESMITH" profile --stacks -o "$work/$1.sbt" -- "$programs/cl_usm" ${4:+"$4"} >"$work/$1.out" \
        2>"$work/$1.err" || fail "$1: $(cat "$work/$1.err")"
    cmp "$work/alone" "$work/$1.out" || fail "$1 prints something else"
    "$TRACESMITH" view --stacks -f json "$work/$1.sbt" >"$work/$1.json" || fail "$1 cannot be read"
    python3 "$here/check_usm.py" "$work/$1.json" "$work/$1.out" >"$work/answer" || fail "$1"
    echo "$1: $(cat "$work/answer")"
}

usm simulated pocl "$layer" migrate
for driver in $drivers; do
    status=0
    driver_here "$driver" || continue
    on_driver "$driver" "$programs/cl_usm" >/dev/null 2>&1 || status=$?
    if [ "$status" -eq 4 ]; then
        echo "$driver: no unified shared memory"
        continue
    fi
    usm "$driver" "$driver" ""
done

# freed HOW CALL WHERE: one use after the release.
freed() {
    on_driver pocl env OPENCL_LAYERS="$layer" "$TRACESMITH" profile --stacks --agent-option opencl.released -o "$work/$1.sbt" -- \
        "$programs/cl_usm" "$1" >"$work/out" 2>&1 || fail "$1: $(cat "$work/out")"
    "$TRACESMITH" analyze --only memory --json "$work/$1.sbt" >"$work/$1.json" || fail "$1: no analysis"
    python3 - "$work/$1.json" "$2" "$3" <<'PY'
import json
import sys

path, call, where = sys.argv[1:]
rows = json.load(open(path))["traces"][0]["reports"][0]["tables"]["used_after_release"]
assert len(rows) == 1, rows
assert rows[0]["call"] == call and rows[0]["released_by"] == "clMemFreeINTEL", rows
assert where in rows[0]["stack"] and "give_back" in rows[0]["released_stack"], rows
PY
}

freed freed-copy clEnqueueMemcpyINTEL use_freed
freed freed-twice clMemFreeINTEL use_freed
freed freed-set clSetKernelArgMemPointerINTEL set
freed freed-argument "clEnqueueNDRangeKernel, argument 0" launch
# An address that is given out again and again: only what is passed after its last free is reported.
USM_LAYER_REUSES=1 freed reused clEnqueueMemcpyINTEL use_reused

# A free that fails frees nothing.
on_driver pocl env OPENCL_LAYERS="$layer" "$TRACESMITH" profile --stacks --agent-option opencl.released -o "$work/refused.sbt" -- \
    "$programs/cl_usm" refused >"$work/out" 2>&1 || fail "refused: $(cat "$work/out")"
"$TRACESMITH" view -f json "$work/refused.sbt" >"$work/refused.json"
python3 - "$work/refused.json" <<'PY'
import json
import sys

events = json.load(open(sys.argv[1]))["events"]
of = {kind: [event for event in events if event["kind"] == kind] for kind in ("alloc", "free", "memcpy", "marker")}
(made,) = [event for event in of["alloc"] if event["name"] == "clDeviceMemAllocINTEL"]
gone = [event for event in of["free"] if event["object"] == made["object"] and event["name"] == "clMemFreeINTEL"]
assert len(gone) == 1 and gone[0]["start"] > max(copy["start"] for copy in of["memcpy"]), gone
assert of["memcpy"][0]["source"] == made["object"], of["memcpy"]
assert not [event for event in of["marker"] if event["name"] == "memory object used after release"], of["marker"]
PY
echo "usm: ok"
