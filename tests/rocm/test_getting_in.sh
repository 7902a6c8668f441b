#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How the agent gets into programs, and how it stays out: with another tool, in a list that has it already, in children, with an
# SDK that is too old or not there. The program's output is the same every time: simulated.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
agent=$(dirname "$TRACESMITH")/../lib/tracesmith/libtracesmith-rocm.so
[ -e "$agent" ] || agent=$TRACESMITH_BUILD_DIR/lib/tracesmith/libtracesmith-rocm.so
agent=$(realpath "$agent")

"$program" launches=50 >"$work/alone"
same() { cmp -s "$work/alone" "$work/$1.out" || fail "$1: the program prints something else: $(cat "$work/$1.out" "$work/$1.err")"; }
kernels() { "$TRACESMITH" view --format csv -t kernel "$work/$1.sbt" | tail -n +2 | wc -l; }
has() { [ "$(kernels "$1")" -eq "$2" ] || fail "$1: $(kernels "$1") kernels, not $2: $(cat "$work/$1.err")"; }

# Another tool: first, and it gets all. One of a list that ends without ':' is not lost either.
${CC:-cc} -shared -fPIC -o "$work/other.so" -I"$TRACESMITH_SOURCE_DIR/agents/rocm" "$here/other_tool.c" -ldl
export OTHER_TOOL_LOG="$work/log"
ROCP_TOOL_LIBRARIES=$work/other.so record other -- "$program" launches=50
same other
has other 50
grep -qx 'priority 0 dispatches 50' "$work/log" || fail "the other tool: $(cat "$work/log")"

# The list is appended to, not replaced, and has the agent once.
# shellcheck disable=SC2016 # the inner shell expands it
show='echo "$ROCP_TOOL_LIBRARIES"'
ROCP_TOOL_LIBRARIES=$work/other.so record list -- sh -c "$show"
[ "$(cat "$work/list.out")" = "$work/other.so:$agent:" ] || fail "the list: $(cat "$work/list.out")"
ROCP_TOOL_LIBRARIES=$agent:$work/other.so record again -- sh -c "$show"
[ "$(cat "$work/again.out")" = "$agent:$work/other.so" ] || fail "the list that has it already: $(cat "$work/again.out")"
record unset -- sh -c "$show"
[ "$(cat "$work/unset.out")" = "$agent:" ] || fail "the list: $(cat "$work/unset.out")"

# A child of a shell.
record child -- sh -c "'$program' launches=50; :"
same child
has child 50

# The program's signals are not taken by the SDK's threads, and are by its own.
MOCK_ROCM=signals record signals -- "$program" launches=50
same signals
grep -qx 'mock: the callback thread takes signals: no' "$work/signals.err" || fail "signals: $(cat "$work/signals.err")"

# An SDK of before 1.0: not recorded, said, and counted.
MOCK_ROCM=version=605 record old -- "$program" launches=50
same old
has old 0
grep -q 'rocprofiler-sdk has version 0.6' "$work/old.err" || fail "old: $(cat "$work/old.err")"

# No SDK. With the variable the program would be ended, so it is not set, and that is said.
mkdir "$work/no-sdk" "$work/no-name"
for library in libamdhip64.so librocprofiler-register.so.0; do
    ln -s "$mocks/$library" "$work/no-sdk/$library"
    ln -s "$mocks/$library" "$work/no-name/$library"
done
ln -s "$mocks/librocprofiler-sdk.so.1" "$work/no-name/librocprofiler-sdk.so.1"
for folder in /opt/rocm/lib /opt/rocm/core/lib; do
    [ ! -e "$folder/librocprofiler-sdk.so.1" ] || skip "ROCm is installed here: its SDK would be found"
done
for without in no-sdk no-name; do
    (LD_LIBRARY_PATH=$work/$without && ROCP_TOOL_LIBRARIES=$agent && export LD_LIBRARY_PATH ROCP_TOOL_LIBRARIES && "$program" launches=50) >/dev/null 2>&1 &&
        fail "$without: the mock does not do what rocprofiler-register does"
    LD_LIBRARY_PATH=$work/$without record "$without" -- "$program" launches=50
    same "$without"
    has "$without" 0
    grep -q 'librocprofiler-sdk.so.1 was not found. Install' "$work/$without.err" || fail "$without: $(cat "$work/$without.err")"
done
# Of all APIs it is said only where there is a HIP program to be recorded.
"$TRACESMITH" profile -o "$work/all.sbt" -- true >/dev/null 2>"$work/all.err"
LD_LIBRARY_PATH=/nonexistent "$TRACESMITH" profile -o "$work/none.sbt" -- true >/dev/null 2>"$work/none.err"
LD_LIBRARY_PATH=$work/no-sdk "$TRACESMITH" profile -o "$work/some.sbt" -- true >/dev/null 2>"$work/some.err"
! grep -q 'librocprofiler-sdk' "$work/all.err" "$work/none.err" || fail "said without need: $(cat "$work/all.err" "$work/none.err")"
grep -q 'librocprofiler-sdk' "$work/some.err" || fail "not said: $(cat "$work/some.err")"
# Not selected: nothing is set.
"$TRACESMITH" profile -o "$work/opencl.sbt" --api opencl -- sh -c "$show" >"$work/opencl.out" 2>/dev/null
[ "$(cat "$work/opencl.out")" = "" ] || fail "not selected: $(cat "$work/opencl.out")"
