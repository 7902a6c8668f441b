#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every driver that is installed: programs print the same, bit for bit, and end in the same way alone and profiled: plain,
# with --stacks and --capture, with --max-overhead. cl_finish computes each checksum on the host as well.
# With TRACESMITH_DRIVERS=all: every program of tests/programs whose output does not change from run to run.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
. "$here/../support/drivers.sh"

# What changes from run to run by itself: numbers of processes and threads, times. And whether a queue that does not take
# times gives some: Mesa 22.3's does, and the agent hides them as OpenCL demands.
settle() {
    sed -E 's/,"times":\[[^]]*\]//g; s/"(pid|ppid|tid|wall_ns[a-z_]*|cpu_ns[a-z_]*)":[^,}]+/"\1":N/g' "$1"
}

# crashes_alone COMMAND...: whether a signal ends the program without the profiler, in at most 40 runs. Mesa's rusticl
# 22.3 damages its own heap now and then: a crash that is seen only with the profiler is the profiler's, one that is
# seen without it proves nothing.
crashes_alone() {
    alone=0
    while [ "$alone" -lt 40 ]; do
        alone=$((alone + 1))
        code=0
        on_driver "$driver" "$@" >/dev/null 2>&1 || code=$?
        [ "$code" -lt 128 ] || return 0
    done
    return 1
}

# runs EXPECTED OPTIONS COMMAND...: runs it profiled ("-": alone) until no signal ends it, at most five times; its output is in
# $work/seen. It has to end with EXPECTED.
runs() {
    expected=$1
    options=$2
    shift 2
    tries=0
    while :; do
        tries=$((tries + 1))
        code=0
        if [ "$options" = - ]; then
            on_driver "$driver" "$@" >"$work/seen" 2>"$work/seen.err" || code=$?
        else
            # shellcheck disable=SC2086 # a list of options
            on_driver "$driver" "$TRACESMITH" profile $options -o "$work/seen.sbt" -- "$@" >"$work/seen" 2>"$work/seen.err" || code=$?
        fi
        [ "$code" -ne "$expected" ] || return 0
        ended=$code
        [ "$ended" -ge 128 ] || fail "$driver: $* ($options) ends with $ended, not $expected: $(tail -n 5 "$work/seen.err")"
        [ "$options" = - ] || crashes_alone "$@" ||
            fail "$driver: $* ($options) ends with $ended, and in none of $alone runs alone: $(tail -n 5 "$work/seen.err")"
        [ "$tries" -lt 5 ] || fail "$driver: $* ($options) ended with $ended or another signal in each of $tries runs"
        echo "$driver: $* ($options) ended with $ended; alone too: run again"
    done
}

# profiled NAME OPTIONS COMMAND...: compares with $work/bare.settled.
profiled() {
    name=$1
    options=$2
    shift 2
    runs 0 "$options" "$@"
    settle "$work/seen" >"$work/seen.settled"
    diff "$work/bare.settled" "$work/seen.settled" || fail "$driver: $name $options prints something else"
}

# same NAME [ARGUMENT...]: a program of tests/programs.
same() {
    name=$1
    shift
    runs 0 - "$programs/$name" "$@"
    settle "$work/seen" >"$work/bare.settled"
    [ -s "$work/bare.settled" ] || fail "$driver: $name prints nothing to compare"
    for options in "" "--stacks --capture" "--max-overhead 1%"; do
        profiled "$name" "$options" "$programs/$name" "$@"
    done
    compared=$((compared + 1))
}

# same_of_others NAME COMMAND...: a foreign program; it writes $work/made, which is compared.
same_of_others() {
    name=$1
    shift
    runs 0 - "$@"
    mv "$work/made" "$work/made.bare"
    for options in "" "--stacks --capture" "--max-overhead 1%"; do
        runs 0 "$options" "$@"
        cmp "$work/made.bare" "$work/made" || fail "$driver: $name $options writes another file"
        rm "$work/made"
        "$TRACESMITH" view -t kernel -n 1 "$work/seen.sbt" 2>/dev/null | grep -q kernel ||
            fail "$driver: $name launched nothing: nothing was compared"
    done
    compared=$((compared + 1))
}

others() {
    # An agent built with a sanitizer loads only into programs built with it.
    [ -z "$sanitize" ] || return 0
    if ! command -v ffmpeg >/dev/null; then
        echo "ffmpeg is not installed: left out"
        return 0
    fi
    same_of_others ffmpeg ffmpeg -nostdin -y -v error -init_hw_device opencl=gpu:0.0 -filter_hw_device gpu \
        -f lavfi -i testsrc=size=320x240:rate=10:duration=1 \
        -vf format=yuv420p,hwupload,roberts_opencl,avgblur_opencl=sizeX=3,hwdownload,format=yuv420p -f framemd5 "$work/made"
    # x264 takes a GPU only: Mesa's device can claim to be one.
    if [ "$driver" != rusticl ] || ! command -v x264 >/dev/null; then
        return 0
    fi
    ffmpeg -nostdin -y -v error -f lavfi -i testsrc=size=320x240:rate=10:duration=2 -pix_fmt yuv420p "$work/in.y4m"
    same_of_others x264 env RUSTICL_DEVICE_TYPE=gpu x264 --opencl --opencl-clbin "$work/clbin" --threads 1 \
        --output "$work/made" "$work/in.y4m"
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
    runs 0 - "$programs/cl_finish"
    same cl_finish -n 2
    if [ "${TRACESMITH_DRIVERS-}" = all ]; then
        # Mesa 22.3 loses callbacks: this one hangs there alone, too. On Intel's runtime the state of an event right after a
        # blocking write differs from run to run.
        [ "$driver" != pocl ] || same cl_own_events
        # Intel's compiler crashes on a source that has to fail, alone too.
        [ "$driver" = intel ] || same cl_errors
        same cl_memory
        same cl_overlap
        same cl_threads -t 4 -n 200 --share none
        same cl_threads -t 4 -n 200 --share queue
        # On Intel's runtime a kernel of another queue runs before a blocking write that has returned is complete: its counts
        # are wrong there alone, too (2 of 20 runs).
        [ "$driver" = intel ] || same cl_ranges
        same cl_devices
        # Intel's runtime moves its boxes wrongly: it ends in an error there alone, too.
        [ "$driver" = intel ] || same cl_every_command
        others
    fi
    echo "$driver: $compared programs, each alone and in three ways profiled: the same"
    seen="$seen $driver"
done
[ -n "$seen" ] || skip "no OpenCL driver (./dev drivers)"
