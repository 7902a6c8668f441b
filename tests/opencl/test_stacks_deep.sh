#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stacks as deep as the program is: whole where --stack-frames has room for them, else cut at exactly that depth, marked,
# counted under a reason of their own, and not called "nothing lost".
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
: "${CC:?}"
[ "$(uname -m)" = x86_64 ] || skip "of other processors the walk alone is tested (unwind.aarch64)"
depth=5000 turns=400
# No -O2: calls in last place must stay calls, and functions must not be merged into one another.
# shellcheck disable=SC2086 # no word where there is no sanitizer
"$CC" -O1 -fno-optimize-sibling-calls -DCL_TARGET_OPENCL_VERSION=120 -DCL_USE_DEPRECATED_OPENCL_1_2_APIS $sanitize -o "$work/deep" \
    "$here/stacks/deep.c" -lOpenCL

# record NAME OPTION...
record() {
    name=$1
    shift
    "$TRACESMITH" profile --stacks "$@" -o "$work/$name.sbt" -- "$work/deep" $depth $turns 2>"$work/$name.err" ||
        fail "$name ended with $?: $(cat "$work/$name.err")"
    "$TRACESMITH" view -f json --stacks "$work/$name.sbt" >"$work/$name.json"
    "$TRACESMITH" export -f folded "$work/$name.sbt" -o "$work/$name.folded"
    "$TRACESMITH" export "$work/$name.sbt" -o "$work/$name.svg"
    "$TRACESMITH" analyze --only callsites --json "$work/$name.sbt" >"$work/$name.callsites"
}
record whole --stack-frames 8000
record cut
record few --stack-frames 40
python3 "$here/check_stacks_deep.py" "$work" $depth $turns

! grep -q 'nothing lost' "$work/cut.err" || fail "a stack was cut, and the summary says: $(cat "$work/cut.err")"
grep -q '1 call stack missing or incomplete' "$work/few.err" ||
    grep -q 'call stacks missing or incomplete' "$work/few.err" || fail "the summary: $(cat "$work/few.err")"
grep -q 'nothing lost' "$work/whole.err" || fail "nothing was cut, and the summary says: $(cat "$work/whole.err")"

for wrong in 7 16385 1e3 0x40 '' -5; do
    "$TRACESMITH" profile --stacks --stack-frames "$wrong" -o "$work/no.sbt" -- true 2>/dev/null &&
        fail "--stack-frames '$wrong' is taken"
done
"$TRACESMITH" profile --stack-frames 40 -o "$work/no.sbt" -- true 2>/dev/null && fail "--stack-frames without --stacks"
exit 0
