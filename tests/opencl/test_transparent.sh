#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs of all sorts with and without the profiler: the same output, byte for byte, and the same exit code; through
# the layer and through the preloaded library.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

# same NAME COMMAND...: filter_NAME, where there is one, takes out what changes from run to run by itself.
same() {
    name=$1
    shift
    bare=0
    "$@" >"$work/bare" 2>/dev/null || bare=$?
    for way in layer preload; do
        status=0
        if [ "$way" = layer ]; then
            "$TRACESMITH" profile -o "$work/same.sbt" -- "$@" >"$work/seen" 2>/dev/null || status=$?
        else
            "$TRACESMITH" profile -o "$work/same.sbt" -- env -u OPENCL_LAYERS \
                LD_PRELOAD="$agents/libtracesmith-opencl-preload.so" "$@" >"$work/seen" 2>/dev/null || status=$?
        fi
        [ "$status" -eq "$bare" ] || fail "$name ($way): exit code $status, $bare without the profiler"
        filter_"$name" <"$work/bare" >"$work/bare.filtered"
        filter_"$name" <"$work/seen" >"$work/seen.filtered"
        diff "$work/bare.filtered" "$work/seen.filtered" || fail "$name ($way): another output"
        [ -s "$work/bare.filtered" ] || fail "$name: no output to compare"
    done
    echo "$name: same"
}
numbers() {
    sed -E 's/"(pid|ppid|tid)":[0-9]+/"\1":N/g'
}
filter_own_events() { cat; }
filter_errors() { cat; }
filter_memory() { numbers; }
filter_dlopen() { numbers; }
filter_clinfo() { cat; }
filter_clinfo_raw() { cat; }
filter_pyopencl() { cat; }
filter_blas() { cat; }
# What clpeak measures changes; what it measures does not.
filter_clpeak() { sed -E 's/[0-9]+(\.[0-9]+)?/N/g'; }

same own_events "$programs/cl_own_events"
same errors "$programs/cl_errors"
same memory "$programs/cl_memory"
same dlopen "$programs/cl_dlopen"
# An agent built with a sanitizer loads only into programs built with it.
[ -z "${TRACESMITH_SANITIZE-}" ] || exit 0
if [ -n "$sanitize" ]; then
    echo "a sanitized agent cannot be loaded into other people's programs: left out"
    exit 0
fi
! command -v clinfo >/dev/null || same clinfo clinfo
! command -v clinfo >/dev/null || same clinfo_raw clinfo --raw
! command -v clpeak >/dev/null || same clpeak clpeak --kernel-latency --transfer-bandwidth

python=
for candidate in python3 /usr/bin/python3; do
    ! "$candidate" -c "import pyopencl, numpy" 2>/dev/null || python=$candidate
done
if [ -n "$python" ]; then
    same pyopencl "$python" "$here/with_pyopencl.py"
fi

blas=$work/with_clblast
if "${CC:-cc}" -o "$blas" "$here/with_clblast.c" -lclblast -lOpenCL -lm 2>"$work/cc"; then
    same blas "$blas"
else
    echo "CLBlast is not installed: left out"
fi
