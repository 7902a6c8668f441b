#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that were not written for TraceSmith (Debian's clpeak, CLBlast's tuner, hashcat), profiled on every driver
# that is installed: what holds in every trace (check_laws.py) holds in theirs. Their own results are not looked at.
# With TRACESMITH_DRIVERS=all: all three programs, hashcat on PoCL only; else the quick
# part of clpeak.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
. "$here/../support/drivers.sh"
layer=$work/libcalls.so
"${CC:-cc}" -shared -fPIC -o "$layer" "$here/calls_layer.c" 2>"$work/cc" || skip "no compiler: $(head -n 1 "$work/cc")"
HOME=$work # hashcat keeps its compiled kernels there
export HOME
tried=

# laws NAME COMMAND...: one program on $driver.
laws() {
    name=$driver-$1
    shift
    command -v "$1" >/dev/null || {
        echo "$1: not installed (./dev drivers)"
        return 0
    }
    tried=yes
    code=0
    (cd "$work" && on_driver "$driver" env OPENCL_LAYERS="$layer" CALLS_LAYER_LOG="$work/$name.calls" timeout 300 \
        "$TRACESMITH" profile -b 64M -o "$work/$name.sbt" -- "$@") >"$work/$name.out" 2>&1 || code=$?
    [ "$code" -ne 124 ] || fail "$name: still running after 300 s: $(tail -n 3 "$work/$name.out")"
    "$TRACESMITH" view -f json "$work/$name.sbt" >"$work/$name.json" 2>"$work/err" || fail "$name: $(cat "$work/err")"
    grep -q clEnqueue "$work/$name.calls" || fail "$name: enqueued nothing: $(tail -n 3 "$work/$name.out")"
    python3 "$here/check_laws.py" "$work/$name.json" "$driver"
}

for driver in $drivers; do
    if ! driver_here "$driver"; then
        echo "$driver: not installed (./dev drivers)"
        continue
    fi
    laws latency clpeak --kernel-latency
    [ "${TRACESMITH_DRIVERS-}" = all ] || continue
    laws transfers clpeak --transfer-bandwidth
    laws tuner clblast_tuner_xaxpy -n 262144
    [ "$driver" != pocl ] || # its kernels compile for 40 s of processor time, and on Intel's driver for minutes
        laws hashcat hashcat --force --quiet --potfile-disable --restore-disable -m 0 -a 3 \
            81dc9bdb52d04dc20036dbd8313ed055 '?d?d?d?d'
done
[ -n "$tried" ] || skip "none of these programs is installed (./dev drivers)"
