#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `replay --emit-c`: programs of C, and of Python where pyopencl is, are written as C programs, which gcc and clang compile as ISO C99
# without a warning. They give the verdict of `replay` on the same device: exact on a right driver; on one that turns a bit of a known
# buffer they name that buffer, the byte and both values.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
# shellcheck source=tests/replay/drivers.sh
. "$TRACESMITH_SOURCE_DIR/tests/replay/drivers.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"
compilers=
for compiler in gcc clang; do
    ! command -v "$compiler" >/dev/null || compilers="$compilers $compiler"
done
[ -n "$compilers" ] || skip "neither gcc nor clang is here"
echo 'int main(void) { return 0; }' >"$work/empty.c"
# shellcheck disable=SC2086 # the first word
set -- $compilers
"$1" -o "$work/empty" "$work/empty.c" -lOpenCL 2>/dev/null || skip "programs cannot be linked with OpenCL's loader"

capture() {
    name=$1
    shift
    "$TRACESMITH" profile --capture -o "$work/$name.sbt" -- "$@" >"$work/$name.out" 2>"$work/log" ||
        fail "$name: $(tail -3 "$work/log")"
}
# emit NAME DIR OPTIONS...: written, private, and compiled with the strictest options.
emit() {
    name=$1
    dir=$2
    shift 2
    "$TRACESMITH" replay --emit-c "$work/$dir" "$@" "$work/$name.sbt" >"$work/$dir.said" 2>&1 ||
        fail "$name: $* $(cat "$work/$dir.said")"
    [ -z "$(find "$work/$dir" -type f ! -perm 600 -o -type d ! -perm 700)" ] || fail "$dir: others can read it"
    for compiler in $compilers; do
        (cd "$work/$dir" && "$compiler" -fsyntax-only -std=c99 -Wall -Wextra -Wpedantic -Werror repro.c) >"$work/log" 2>&1 ||
            fail "$dir: $compiler: $(grep -m 3 error "$work/log" || tail -3 "$work/log")"
    done
    make -s -C "$work/$dir" CFLAGS=-std=c99 repro >"$work/log" 2>&1 || fail "$dir: make: $(tail -3 "$work/log")"
}
# gives CODE DIR ARGUMENT...: the exit status; what it prints in DIR.ran.
gives() {
    want=$1
    dir=$2
    shift 2
    code=0
    (cd "$work/$dir" && ./repro "$@") >"$work/$dir.ran" 2>"$work/$dir.err" || code=$?
    [ "$code" -eq "$want" ] || fail "$dir: it gives $code, not $want: $(cat "$work/$dir.ran" "$work/$dir.err")"
}
# same NAME DIR: as many results are exact as of a replay, whose verdict it has.
same() {
    code=0
    "$TRACESMITH" replay --json "$work/$1.sbt" >"$work/$1.json" 2>"$work/log" || code=$?
    gives "$code" "$2"
    python3 - "$work/$1.json" "$work/$2.ran" "$work/$2/repro.c" <<'PY' || fail "$2: $(cat "$work/$2.ran")"
import json, re, sys
answer = json.load(open(sys.argv[1]))
said = open(sys.argv[2]).read()
wanted = answer["verdicts"]
assert not wanted["diverged"] and wanted["exact"] == len(answer["results"]), answer
assert re.search(r"^EXACT: %d of %d results" % (wanted["exact"], len(answer["results"])), said, re.M), said
# One launch in the program for each recorded one; of the same ones in a row a loop.
program = open(sys.argv[3]).read()
looped = sum(int(b) - int(a) for a, b in re.findall(r"for \(command = (\d+); command <= (\d+);", program))
launches = program.count("clEnqueueNDRangeKernel(queues") + looped
assert launches == answer["recording"]["kernels"], (launches, answer["recording"])
PY
}
try() {
    name=$1
    shift
    capture "$name" "$@"
    emit "$name" "$name"
    same "$name" "$name"
}

try loop "$programs/cl_launch_loop" -n 5
try every "$programs/cl_every_command"
try queues "$programs/cl_what_if" queues -n 4
try binary "$programs/cl_binary"
mkdir "$work/inc"
printf '#define VALUE 42\n' >"$work/inc/value.h"
(cd "$work" && capture includes "$programs/cl_includes" inc --build)
emit includes includes
mv "$work/inc" "$work/moved" # the copies in the directory are used
same includes includes
grep -q 'VALUE 42' "$work"/includes/include"$work"/inc/value.h || fail "the included file: $(find "$work/includes")"
# A program that knows no sanitizer cannot load an agent that was built with one.
if [ -z "${TRACESMITH_SANITIZE-}" ] && /usr/bin/python3 -c 'import pyopencl' 2>/dev/null; then
    export PYOPENCL_NO_CACHE=1
    for name in image_with_sampler image_3d shared_list compiled_and_linked user_events two_contexts; do
        try $name /usr/bin/python3 "$TRACESMITH_SOURCE_DIR/tests/replay/pyopencl_programs.py" $name
    done
else
    echo "left out: pyopencl (Debian: python3-pyopencl; not in builds with a sanitizer)"
fi

# Every driver runs it; whether it computes the same is the driver's affair, and the program says so itself.
for driver in $(drivers); do
    code=0
    (cd "$work/loop" && OCL_ICD_VENDORS=$driver ./repro) >"$work/ran" 2>&1 || code=$?
    { [ "$code" -eq 0 ] && grep -q '^EXACT' "$work/ran"; } || fail "$driver: $code: $(cat "$work/ran")"
done

# A directory that has something in it is left alone; so is an option that has no meaning.
code=0
"$TRACESMITH" replay --emit-c "$work/loop" "$work/loop.sbt" >/dev/null 2>"$work/log" || code=$?
{ [ "$code" -eq 4 ] && grep -q 'not an empty directory' "$work/log"; } || fail "a full directory: $code $(cat "$work/log")"
code=0
"$TRACESMITH" replay --emit-c "$work/new" --times 3 "$work/loop.sbt" >/dev/null 2>"$work/log" || code=$?
{ [ "$code" -eq 2 ] && [ ! -e "$work/new" ]; } || fail "--times: $code $(cat "$work/log")"

# A part: the last launch of one of four chains in turns needs every fourth before it.
capture chains "$programs/cl_what_if" independent -n 8
emit chains part --mode partial --range 35..35
gives 0 part
[ "$(grep -c 'clEnqueueNDRangeKernel(queues' "$work/part/repro.c")" -eq 9 ] || fail "part: $(cat "$work/part.said")"

# What is missing or wrong is said, with the exit status for it.
gives 2 loop no-such-device
grep -q 'no-such-device' "$work/loop.err" || fail "a device that is not there: $(cat "$work/loop.err")"
mv "$work/loop/data.bin" "$work/data.bin"
gives 2 loop
grep -q 'data.bin' "$work/loop.err" || fail "no data: $(cat "$work/loop.err")"
mv "$work/data.bin" "$work/loop/data.bin"

# A driver that is made to turn a bit after the last launch.
if "${CC:-cc}" -shared -fPIC -o "$work/libfaulty.so" "$TRACESMITH_SOURCE_DIR/tests/replay/faulty_layer.c" 2>"$work/log"; then
    OPENCL_LAYERS=$work/libfaulty.so FAULTY_DEVICE='' FAULTY_LAUNCH=5
    export OPENCL_LAYERS FAULTY_DEVICE FAULTY_LAUNCH
    gives 1 loop
    python3 - "$work/loop.ran" "$work/loop.json" <<'PY' || fail "a wrong driver: $(cat "$work/loop.ran")"
import json, re, sys
said = open(sys.argv[1]).read()
first = re.search(r"^DIVERGED: (\w+)_(\d+), .* at byte (\d+) of 4: expected .*\(0x(\w+)\), found .*\(0x(\w+)\)", said, re.M)
result = json.load(open(sys.argv[2]))["results"][0]
assert first.group(1) == "buffer" and int(first.group(2)) == result["buffer"] and first.group(3) == "0", said
assert int(first.group(4), 16) ^ int(first.group(5), 16) == 1, said
assert "written by tick (command 6)" in said, said
PY
    unset OPENCL_LAYERS FAULTY_DEVICE FAULTY_LAUNCH
else
    echo "left out: no compiler for the layer that makes a driver wrong"
fi
