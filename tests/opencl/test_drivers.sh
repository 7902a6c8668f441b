#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every driver that is installed: programs print the same, bit for bit, and end in the same way alone and profiled: plain,
# with --stacks, with --capture, with --max-overhead. cl_finish computes each checksum on the host as well.
# With TRACESMITH_DRIVERS=all: every program of tests/programs whose output does not change from run to run.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
. "$here/../support/drivers.sh"

# What changes from run to run by itself: numbers of processes and threads, times.
settle() {
    sed -E 's/"(pid|ppid|tid|wall_ns[a-z_]*|cpu_ns[a-z_]*|times)":[^,}]+/"\1":N/g' "$1"
}

# profiled NAME WAY [OPTION...] -- COMMAND...: compares with $work/bare, whose exit code is in $bare.
profiled() {
    name=$1
    shift
    options=$1
    shift
    code=0
    # shellcheck disable=SC2086 # a list of options
    on_driver "$driver" "$TRACESMITH" profile $options -o "$work/seen.sbt" -- "$@" >"$work/seen" 2>"$work/seen.err" || code=$?
    [ "$code" -eq "$bare" ] || fail "$driver: $name $options ended with $code, $bare alone: $(tail -n 5 "$work/seen.err")"
    settle "$work/seen" >"$work/seen.settled"
    diff "$work/bare.settled" "$work/seen.settled" || fail "$driver: $name $options prints something else"
}

# same NAME [ARGUMENT...]: a program of tests/programs.
same() {
    name=$1
    shift
    bare=0
    on_driver "$driver" "$programs/$name" "$@" >"$work/bare" 2>"$work/bare.err" || bare=$?
    settle "$work/bare" >"$work/bare.settled"
    [ -s "$work/bare.settled" ] || [ "$bare" -ne 0 ] || fail "$driver: $name prints nothing to compare"
    for options in "" --stacks --capture "--max-overhead 1%"; do
        profiled "$name" "$options" "$programs/$name" "$@"
    done
    compared=$((compared + 1))
}

seen=
for driver in $drivers; do
    if ! driver_here "$driver"; then
        echo "$driver: not installed (./dev drivers)"
        continue
    fi
    on_driver "$driver" "$programs/cl_launch_loop" -n 1 >"$work/out" 2>&1 || fail "$driver does not work: $(cat "$work/out")"
    compared=0
    # Alone it has to be right, or there is nothing to compare.
    on_driver "$driver" "$programs/cl_finish" >"$work/out" 2>&1 || fail "$driver: cl_finish alone: $(cat "$work/out")"
    same cl_finish -n 2
    if [ "${TRACESMITH_DRIVERS-}" = all ]; then
        # Mesa 22.3 loses callbacks: this one hangs there alone, too.
        [ "$driver" = rusticl ] || same cl_own_events
        same cl_errors
        same cl_memory
        same cl_float_sum
        same cl_overlap
        same cl_threads -t 4 -n 200 --share none
        same cl_threads -t 4 -n 200 --share queue
        same cl_ranges
        same cl_short_lives -n 300
        same cl_devices
        same cl_includes "$TRACESMITH_SOURCE_DIR/tests/programs"
        same cl_children
        same cl_every_command
    fi
    echo "$driver: $compared programs, each alone and in four ways profiled: the same"
    seen="$seen $driver"
done
[ -n "$seen" ] || skip "no OpenCL driver (./dev drivers)"
