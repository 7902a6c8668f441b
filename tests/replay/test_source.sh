#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One file is carried to another machine, the step reproduced there, its kernel edited and tried: the source comes out of
# the recording, and so do the files that it included, which are not there any more.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"
TMPDIR=$work/tmp
export TMPDIR
mkdir "$TMPDIR" "$work/there" "$work/there/inc" "$work/there/inc/deep" "$work/here"

# value.h -> deep/factor.h (beside it) -> ../base.h; and one from the current folder.
printf '#pragma once\n#include "deep/factor.h"\n#include "current.h"\n#include <not_there.h>\n#define VALUE (FACTOR + CURRENT)\n' |
    sed 's/^#include <not_there.h>$/#ifdef NEVER\n&\n#endif/' >"$work/there/inc/value.h"
printf '#include "../base.h"\n#define FACTOR (BASE * 10)\n' >"$work/there/inc/deep/factor.h"
printf '#define BASE 4\n' >"$work/there/inc/base.h"
printf '#define CURRENT 2\n' >"$work/there/current.h"

for how in build compile; do
    (cd "$work/there" && "$TRACESMITH" profile --capture -o "$work/here/$how.sbt" -- "$programs/cl_includes" inc "--$how" \
        >"$work/$how.out" 2>"$work/$how.err") || fail "$how: $(cat "$work/$how.err")"
    [ "$(cat "$work/$how.out")" = '{"value":42}' ] || fail "the program itself: $(cat "$work/$how.out")"
done

rm -r "$work/there"
cd "$work/here"
for how in build compile; do
    "$TRACESMITH" replay "$how.sbt" >"$how.txt" 2>&1 || fail "$how: $(cat "$how.txt")"
    grep -q '^exact' "$how.txt" || fail "$how: nothing is exact: $(cat "$how.txt")"
    ! grep -q 'uncomparable\|note:' "$how.txt" || fail "$how: $(cat "$how.txt")"
    "$TRACESMITH" replay --permute 2 "$how.sbt" >"$how.txt" 2>&1 || fail "$how: $(cat "$how.txt")"
done

# The source as the program has it, to be edited.
"$TRACESMITH" replay build.sbt --save-source fill=fill.cl >said || fail "the source is not saved"
grep -q '4 files' said || fail "included: $(cat said)"
"$TRACESMITH" replay build.sbt --save-source fill=- | cmp - fill.cl || fail "standard output has another"
grep -q '__kernel void fill' fill.cl || fail "the source: $(cat fill.cl)"
[ "$(stat -c %a fill.cl)" = 600 ] || fail "others can read it"
"$TRACESMITH" replay build.sbt --source fill=fill.cl >same.txt || fail "its own source: $(cat same.txt)"
code=0
sed 's/VALUE \*/VALUE + 1 +/' fill.cl >edited.cl
"$TRACESMITH" replay build.sbt --source fill=edited.cl --json >edited.json || code=$?
[ "$code" -eq 1 ] || fail "an edited kernel gives $code"
# The second element was 42 and is 42 + 1 + 1 now; the first was 0 and is 43.
python3 - edited.json <<'PY' || fail "what the edited kernel changed: $(cat edited.json)"
import json, sys
result = [r for r in json.load(open(sys.argv[1]))["results"] if r["verdict"] == "diverged"][0]
assert (result["offset"], int(result["recorded_bits"], 16), int(result["replayed_bits"], 16)) == (0, 0, 43), result
PY

# What is there is kept, and what is not there is said.
code=0
"$TRACESMITH" replay build.sbt --save-source fill=edited.cl 2>said || code=$?
[ "$code" -eq 4 ] && grep -q 'edited.cl: File exists' said || fail "overwrites: $code $(cat said)"
code=0
"$TRACESMITH" replay build.sbt --save-source blur=blur.cl 2>said || code=$?
[ "$code" -ne 0 ] && grep -q "no program in the recording has a kernel 'blur'; there are: 'fill'" said || fail "$code $(cat said)"
[ ! -e blur.cl ] || fail "a file was made of nothing"

[ -z "$(ls -A "$TMPDIR")" ] || fail "left behind: $(ls "$TMPDIR")"
