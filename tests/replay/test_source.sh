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

# gives CODE PATTERN ARGUMENT...: the output of replay, on either stream, into `said`.
gives() {
    want=$1
    pattern=$2
    shift 2
    code=0
    "$TRACESMITH" replay "$@" >said 2>&1 || code=$?
    [ "$code" -eq "$want" ] || fail "replay $*: $code, not $want: $(cat said)"
    grep -q "$pattern" said || fail "replay $*: says no '$pattern': $(cat said)"
}

# value.h -> deep/factor.h (next to it) -> ../base.h; and one from the current folder.
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
gives 0 '4 included files' build.sbt --save-source fill=fill.cl
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

# Both contents are saved as files: every element of the program's own count.
gives 1 'results: 2 results' build.sbt --source fill=edited.cl --save-results results
python3 - results <<'PY' || fail "the saved results: $(ls results)"
import array, os, sys
names = sorted(os.listdir(sys.argv[1]))
assert len(names) == 4 and all("-buffer-" in name for name in names), names
for name in names:
    assert os.stat(os.path.join(sys.argv[1], name)).st_mode & 0o777 == 0o600
    got = array.array("I")
    with open(os.path.join(sys.argv[1], name), "rb") as file:
        got.frombytes(file.read())
    wanted = [42 * i for i in range(1000)] if name.endswith(".recorded.u32") else [42 + 1 + i for i in range(1000)]
    assert name.endswith((".recorded.u32", ".replayed.u32")) and list(got) == wanted, name
PY
gives 4 'not an empty directory' build.sbt --save-results results
gives 0 'nothing: 0 results' build.sbt --save-results nothing
[ -z "$(ls nothing)" ] || fail "exact results are written"
gives 0 'every: 2 results' build.sbt --save-results every --all

# Existing files are kept, and missing ones are reported.
gives 4 'edited.cl: File exists' build.sbt --save-source fill=edited.cl
gives 3 "no program in the recording has a kernel 'blur'; available: 'fill'" build.sbt --save-source blur=blur.cl
[ ! -e blur.cl ] || fail "a file was made of nothing"

[ -z "$(ls -A "$TMPDIR")" ] || fail "left behind: $(ls "$TMPDIR")"
