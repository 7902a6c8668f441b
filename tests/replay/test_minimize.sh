#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `replay --minimize` on a driver that is made to go wrong in one kernel: what remains is that kernel, with as many others as the
# recording makes necessary, in few replays; written as a program it diverges on that driver, in a buffer of that kernel, and is
# exact on a right one. If nothing diverges, nothing is written.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"
layer=$work/libfaulty.so
"${CC:-cc}" -shared -fPIC -o "$layer" "$TRACESMITH_SOURCE_DIR/tests/replay/faulty_layer.c" 2>"$work/cc" ||
    skip "no compiler: $(head -1 "$work/cc")"
echo 'int main(void) { return 0; }' >"$work/empty.c"
"${CC:-cc}" -o "$work/empty" "$work/empty.c" -lOpenCL 2>/dev/null || skip "programs cannot be linked with OpenCL's loader"

capture() {
    name=$1
    shift
    "$TRACESMITH" profile --capture -o "$work/$name.sbt" -- "$@" >"$work/$name.out" 2>"$work/log" ||
        fail "$name: $(tail -3 "$work/log")"
}
# faulty KERNEL ARGUMENT COMMAND...: on a driver that turns a bit of that argument after every launch of the kernel.
faulty() {
    wrong=$1
    argument=$2
    shift 2
    OPENCL_LAYERS=$layer FAULTY_DEVICE='' FAULTY_KERNEL=$wrong FAULTY_ARGUMENT=$argument "$@"
}
# minimize CODE NAME KERNEL ARGUMENT: the answer in NAME.json, the program in NAME.c.
minimize() {
    want=$1
    name=$2
    rm -rf "$work/$name.c"
    code=0
    faulty "$3" "$4" "$TRACESMITH" replay --minimize --emit-c "$work/$name.c" --json "$work/$name.sbt" >"$work/$name.json" \
        2>"$work/log" || code=$?
    [ "$code" -eq "$want" ] || fail "$name: $3: $code, not $want: $(cat "$work/log" "$work/$name.json")"
}
# holds NAME CONDITION: of Python, over the answer `a`, what remains `r`, and `m`.
holds() {
    python3 -c 'import json, math, sys
a = json.load(open(sys.argv[1])); r = a["remaining"]; m = a["minimized"]; kernels = [x["kernel"] for x in r if x["kernel"]]
sys.exit(0 if eval(sys.argv[2]) else "not so: %s: %s" % (sys.argv[2], json.dumps(a)[:2000]))' "$work/$1.json" "$2" || fail "$1"
}
# judges NAME KERNEL ARGUMENT PATTERN: the program, on the wrong driver and on the right one.
judges() {
    make -s -C "$work/$1.c" CFLAGS="-std=c99 -Wall -Wextra -Wpedantic -Werror" repro 2>"$work/log" || fail "$1: $(tail -3 "$work/log")"
    code=0
    (cd "$work/$1.c" && faulty "$2" "$3" ./repro) >"$work/ran" 2>&1 || code=$?
    { [ "$code" -eq 1 ] && grep -q "^DIVERGED: $4" "$work/ran"; } || fail "$1: $2: $code, no '$4': $(cat "$work/ran")"
    code=0
    (cd "$work/$1.c" && ./repro) >"$work/ran" 2>&1 || code=$?
    { [ "$code" -eq 0 ] && grep -q '^EXACT' "$work/ran"; } || fail "$1: on the right driver: $code: $(cat "$work/ran")"
}

# Every stage's result is there in the end, but the first that diverges is the last one's, which is read earlier: only the wrong
# kernel remains, found by halving.
capture stages "$programs/cl_stages"
for stage in 0 3 7; do
    minimize 1 stages stage_$stage 1
    holds stages "kernels == ['stage_$stage'] and m['launches'] == 1 and m['fed'] >= 1"
    holds stages "m['tries'] <= 2 * (math.ceil(math.log2(9)) + 1)"
    [ "$(grep -c 'clEnqueueNDRangeKernel(queues' "$work/stages.c/repro.c")" -eq 1 ] || fail "stage $stage: not one launch"
    judges stages stage_$stage 1 "buffer_[0-9]*, .*written by stage_$stage (command $((stage + 1)))"
done
# A kernel that spoils what it should only read.
minimize 1 stages stage_4 0
holds stages "kernels == ['stage_4']"
judges stages stage_4 0 'buffer_'

# What the stages wrote in between is not in the recording: none can be judged without the others. Of stage_6 it is: its buffer is not
# used again.
capture reuse "$programs/cl_stages" --reuse
minimize 1 reuse stage_2 1
holds reuse "kernels == ['stage_%d' % i for i in range(7)]"
judges reuse stage_2 1 'buffer_[0-9]*, .*written by stage_6'

# Nothing diverges: nothing is written.
code=0
"$TRACESMITH" replay --minimize --emit-c "$work/none" "$work/stages.sbt" >"$work/said" 2>"$work/log" || code=$?
{ [ "$code" -eq 0 ] && grep -q 'nothing diverges' "$work/said" && [ ! -e "$work/none" ]; } ||
    fail "a right driver: $code: $(cat "$work/said" "$work/log")"

# A program with two queues, one of them out of order, whose buffers are used again for the next frame.
pipeline=$TRACESMITH_BUILD_DIR/examples/image_pipeline
if [ -x "$pipeline" ]; then
    capture frames "$pipeline" -n 4 -s 64x32
    for case in 'blur_columns 1' 'luminance_histogram 1' 'tone_map 5'; do
        minimize 1 frames "${case% *}" "${case#* }"
        holds frames "kernels == ['${case% *}'] and len(r) <= 2"
        judges frames "${case% *}" "${case#* }" "buffer_[0-9]*, .*written by ${case% *}"
    done
else
    echo "left out: the example image_pipeline is not built"
fi
