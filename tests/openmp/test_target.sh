#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that offload with LLVM's OpenMP to its host devices, really: what is recorded against what a second tool, built with
# the runtime's own header, gets, and against the program's own count. Its output is unchanged; a fork, a kill, another tool
# and a program without offloading do what docs/openmp.md says.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
here=$TRACESMITH_SOURCE_DIR/tests/openmp
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
skip() {
    echo "skipped: $*"
    exit 77
}
clang=
for version in 19 20 21 18 17; do
    if command -v "clang-$version" >/dev/null && command -v "clang-offload-packager-$version" >/dev/null; then
        clang=clang-$version
        break
    fi
done
[ -n "$clang" ] || skip "no clang with offloading (Debian: apt install clang-19 clang-tools-19 libomp-19-dev lld-19)"
command -v python3 >/dev/null || skip "no python3 to judge with"
runtime=$(dirname "$("$clang" --print-file-name=libomptarget.so)")
[ -e "$runtime/libomptarget.so" ] || skip "no libomptarget (Debian: apt install libomp-$version-dev)"
[ "$(uname -m)" = x86_64 ] || skip "the host devices of LLVM's runtime are tried on x86-64 only"
export LD_LIBRARY_PATH="$runtime${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$clang" -fsyntax-only -I"$TRACESMITH_SOURCE_DIR" "$here/abi.c" || fail "abi.h is not what omp-tools.h says"
"$clang" -O1 -g -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu -o "$work/offload" "$here/offload.c" 2>"$work/cc" ||
    fail "$(cat "$work/cc")"
"$clang" -O1 -fopenmp -o "$work/host" "$here/offload.c" 2>"$work/cc" || fail "$(cat "$work/cc")"
"$clang" -shared -fPIC -w -o "$work/other.so" "$here/other_tool.c"

OTHER_TOOL_LOG=$work/log OMP_TOOL_LIBRARIES=$work/other.so "$work/offload" 5 >"$work/alone.out" || fail "alone: $?"
[ -s "$work/log" ] || fail "the second tool got nothing"

# record NAME OPTION... -- COMMAND...
record() {
    name=$1
    shift
    "$TRACESMITH" profile -o "$work/$name.sbt" --api openmp "$@" >"$work/$name.out" 2>"$work/$name.err" ||
        fail "$name: exit status $?: $(cat "$work/$name.err")"
    "$TRACESMITH" view --json "$work/$name.sbt" >"$work/$name.json" || fail "$name: no trace"
}
record plain -- "$work/offload" 5
record stacks --stacks -- "$work/offload" 5
record fork -- "$work/offload" 5 fork
record sums --aggregate 50ms -- "$work/offload" 5
ln -s plain.sbt "$work/events.sbt"
python3 "$TRACESMITH_SOURCE_DIR/tests/support/check_sums.py" "$work"
for name in plain stacks fork sums; do
    cmp -s "$work/alone.out" "$work/$name.out" || fail "the program prints something else when it is profiled ($name)"
done

# A tool that the user names is asked first, and is the only one then.
OTHER_TOOL_LOG=$work/log.other OMP_TOOL_LIBRARIES=$work/other.so record other -- "$work/offload" 5
sort "$work/log" >"$work/log.sorted"
sort "$work/log.other" | cmp -s - "$work/log.sorted" || fail "the user's tool got something else"

# Host threads only: the runtime initializes no device, and nothing is recorded.
# shellcheck disable=SC2016 # the inner shell expands it
record host -- sh -c '"$0" 5 || [ $? -eq 77 ]' "$work/host"

mkfifo "$work/said"
# shellcheck disable=SC2016 # the inner shell expands it
"$TRACESMITH" profile -o "$work/killed.sbt" --api openmp -- sh -c \
    '"$0" 5 forever >"$1" & read -r line <"$1" && kill -KILL $! && { wait $! || :; }' "$work/offload" "$work/said" >"$work/killed.err" 2>&1 ||
    fail "killed: $(cat "$work/killed.err")"
"$TRACESMITH" view --json "$work/killed.sbt" >"$work/killed.json" || fail "killed: no trace"

python3 "$here/check_target.py" "$work"
