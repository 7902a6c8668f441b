#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a driver is asked to do by a profiled program, seen by a layer below ours, on every driver that is installed: the
# same commands, flushes and waits in the same order as without us. With --capture also reads through queues of ours, and
# markers where the program has not waited; never a flush or a wait of the program's queues.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
. "$here/../support/drivers.sh"

layer=$work/libcalls.so
"${CC:-cc}" -shared -fPIC -o "$layer" "$here/calls_layer.c" 2>"$work/cc" || skip "no compiler: $(head -n 1 "$work/cc")"

# seen LOG COMMAND...: what the driver is asked.
seen() {
    log=$1
    shift
    on_driver "$driver" env OPENCL_LAYERS="$layer" CALLS_LAYER_LOG="$work/$log" "$@" >"$work/out" 2>&1 ||
        fail "$driver: $*: $(tail -n 3 "$work/out")"
    [ -s "$work/$log" ] || fail "$driver: the layer saw nothing of $*"
}

# Without what is ours: queues made by clCreateCommandQueue, which these programs do not call, what goes into them, and a wait
# for them. The program's queues are numbered as they are alone.
# shellcheck disable=SC2016 # the fields are awk's
without_ours='
    { number = $3 }
    $1 == "clCreateCommandQueue" { ours[number] = 1 }
    $1 == "clCreateCommandQueueWithProperties" { own[number] = ++made }
    ours[number] { flushed = $1 == "clFlush"; next }
    flushed && $1 == "clWaitForEvents" { flushed = 0; next }
    { flushed = 0 }
    number > 0 { $3 = own[number] }
    { print }'

tried=
for driver in $drivers; do
    if ! driver_here "$driver"; then
        echo "$driver: not installed (./dev drivers)"
        continue
    fi
    for program in "cl_finish -n 1" cl_every_command cl_own_events; do
        # shellcheck disable=SC2086 # a program and its arguments
        set -- $program
        name=$1
        shift
        # Mesa 22.3 loses callbacks: this one hangs there alone, too.
        [ "$driver $name" != "rusticl cl_own_events" ] || continue
        # On its own a program that ends in an error is no program to compare.
        on_driver "$driver" "$programs/$name" "$@" >/dev/null 2>&1 || continue
        seen bare "$programs/$name" "$@"
        for options in "" --stacks "--max-overhead 100%"; do
            # shellcheck disable=SC2086 # a list of options
            seen profiled "$TRACESMITH" profile $options -o "$work/seen.sbt" -- "$programs/$name" "$@"
            # A queue that is refused is asked for again with the program's own properties.
            awk '!($1 ~ /^clCreateCommandQueue/ && $3 == 0 && $0 == before) { print } { before = $0 }' \
                "$work/profiled" >"$work/own"
            diff "$work/bare" "$work/own" || fail "$driver: $name $options asks the driver for something else"
        done
    done
    for form in finish map write; do # they wait for their queue: no marker is needed
        seen bare "$programs/cl_finish" -n 1 "$form"
        seen captured "$TRACESMITH" profile --capture -o "$work/seen.sbt" -- "$programs/cl_finish" -n 1 "$form"
        awk "$without_ours" "$work/captured" >"$work/own"
        diff "$work/bare" "$work/own" || fail "$driver: --capture adds to the queues of cl_finish $form"
        cmp -s "$work/captured" "$work/own" && fail "$driver: --capture copied nothing of cl_finish $form"
    done
    seen bare "$programs/cl_finish" -n 1
    seen captured "$TRACESMITH" profile --capture -o "$work/seen.sbt" -- "$programs/cl_finish" -n 1
    awk "$without_ours" "$work/captured" | grep -v '^clEnqueueMarker' >"$work/own"
    diff "$work/bare" "$work/own" || fail "$driver: --capture adds more than markers to the queues of cl_finish"
    tried="$tried $driver"
done
[ -n "$tried" ] || skip "no OpenCL driver (./dev drivers)"
echo "nothing added on$tried"
