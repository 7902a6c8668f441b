#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that are rude to their stacks: exceptions, longjmp out of everything, signal handlers that jump out of a walk, code
# without rules or with wrong ones, clone(), Rust.
set -eu
: "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}" "${CC:?}"
skip() {
    echo "skipped: $*"
    exit 77
}
[ "$(uname -m)" = x86_64 ] || skip "of other processors the walk alone is tested (unwind.aarch64)"
[ -z "${TRACESMITH_SANITIZE:-}" ] || skip "a sanitizer's own frames are on these stacks"
cxx=${CXX:-c++}
command -v "$cxx" >/dev/null || skip "there is no C++ compiler"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$TRACESMITH_SOURCE_DIR/tests/unwind/modules
includes="-I$here -I$TRACESMITH_SOURCE_DIR/include -I$TRACESMITH_SOURCE_DIR/src"
without="-O2 -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions"
# shellcheck disable=SC2086 # lists of words
build() {
    "$CC" -O2 -fomit-frame-pointer -D_GNU_SOURCE "$@" $includes -c -o "$work/walk.o" "$here/rude_walk.c"
    "$CC" $without -fno-omit-frame-pointer -DNAME=rude_framed $includes -c -o "$work/framed.o" "$here/rude_frames.c"
    "$CC" $without -fomit-frame-pointer -DNAME=rude_unframed $includes -c -o "$work/unframed.o" "$here/rude_frames.c"
    "$cxx" -std=c++17 -O2 -fomit-frame-pointer "$@" $includes -o "$work/rude" "$here/rude.cc" "$work/walk.o" \
        "$work/framed.o" "$work/unframed.o" "$TRACESMITH_BUILD_DIR/lib/libtracesmith_core.a" -ldl
}
cases="exceptions jumps interrupted unframed framed lying clone"
build
for one in $cases; do
    "$work/rude" "$one"
done
# Inlined and moved across files, and with frame pointers.
build -O3 -flto
for one in exceptions jumps interrupted; do
    "$work/rude" "$one"
done
build -fno-omit-frame-pointer
for one in exceptions jumps interrupted; do
    "$work/rude" "$one"
done
build
if command -v rustc >/dev/null && rustc -O --crate-type cdylib -o "$work/librude.so" "$here/rude.rs" 2>"$work/rustc.err"; then
    "$work/rude" rust "$work/librude.so"
else
    echo "no rustc: its functions are left out"
fi
