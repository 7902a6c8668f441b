#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Code without unwind tables: described by .debug_frame, its stacks are whole and nothing is guessed; described by nothing, each
# frame that was found by a frame pointer is marked, and no other, and callers are missing nowhere but next to a mark.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
: "${CC:?}"
[ "$(uname -m)" = x86_64 ] || skip "of other processors the walk alone is tested (unwind.aarch64)"
[ -z "${TRACESMITH_SANITIZE:-}" ] || skip "a sanitizer's own frames are on these stacks"
command -v readelf >/dev/null || skip "no readelf"
opencl="-O2 -fno-optimize-sibling-calls -DCL_TARGET_OPENCL_VERSION=120 -DCL_USE_DEPRECATED_OPENCL_1_2_APIS"
without="-fno-asynchronous-unwind-tables -fno-unwind-tables"

# build NAME FLAG...: main has unwind tables, the rest depends on the flags.
build() {
    name=$1
    shift
    # shellcheck disable=SC2086 # lists of words
    "$CC" $opencl $without "$@" -c -o "$work/$name.o" "$here/stacks/parts.c"
    # shellcheck disable=SC2086
    "$CC" $opencl -o "$work/$name" "$here/stacks/guessed.c" "$work/$name.o" -lOpenCL
    "$TRACESMITH" profile --stacks -o "$work/$name.sbt" -- "$work/$name" 2>"$work/$name.err" ||
        fail "$name ended with $?: $(cat "$work/$name.err")"
    "$TRACESMITH" view -f json --stacks -t kernel "$work/$name.sbt" >"$work/$name.json"
    "$TRACESMITH" export -f folded "$work/$name.sbt" -o "$work/$name.folded"
}
build described -g -fomit-frame-pointer
readelf -S "$work/described" | grep -q '\.debug_frame' || skip "$CC -g makes no .debug_frame"
build bare -fomit-frame-pointer
build framed -fno-omit-frame-pointer

python3 "$here/check_stacks_guessed.py" "$work"

# In a library, whose addresses were moved.
# shellcheck disable=SC2086
"$CC" $opencl $without -g -fomit-frame-pointer -shared -fPIC -o "$work/libparts.so" "$here/stacks/parts.c" -lOpenCL
# shellcheck disable=SC2086
"$CC" $opencl -rdynamic -o "$work/library" "$here/stacks/guessed.c" "$work/libparts.so" -lOpenCL -Wl,-rpath,"$work"
"$TRACESMITH" profile --stacks -o "$work/library.sbt" -- "$work/library" 2>"$work/library.err" ||
    fail "with a library: $?: $(cat "$work/library.err")"
"$TRACESMITH" view -f json --stacks -t kernel "$work/library.sbt" >"$work/library.json"
python3 "$here/check_stacks_guessed.py" "$work" library
