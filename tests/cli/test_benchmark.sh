#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# benchmark and devices on the device that is here, and without one.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Threads of the driver may be about to end when leaks are looked for.
[ -z "${TRACESMITH_SANITIZE-}" ] || export ASAN_OPTIONS=detect_leaks=0

# Without any device: the message names what is missing, and how to get it.
mkdir "$work/empty"
code=0
OCL_ICD_VENDORS="$work/empty" OPENCL_VENDOR_PATH="$work/empty" VK_DRIVER_FILES="$work/none.json" VK_ICD_FILENAMES="$work/none.json" \
    "$TRACESMITH" devices >"$work/out" 2>"$work/err" || code=$?
[ $code = 4 ] || {
    echo "devices without a device gave $code"
    cat "$work/out" "$work/err"
    exit 1
}
grep -q 'install' "$work/err"

"$TRACESMITH" devices --json >"$work/devices" || {
    echo "skipped: no device here"
    exit 77
}
grep -q '"compute_units":[1-9]' "$work/devices"

code=0
"$TRACESMITH" benchmark -n 2000 --json -o "$work/b.sbt" >"$work/out" 2>"$work/err" || code=$?
if [ $code = 4 ]; then
    cat "$work/err"
    echo "skipped: the launch loop was not built"
    exit 77
fi
[ $code = 0 ] || {
    cat "$work/out" "$work/err"
    exit 1
}
# Call stacks where there is a walk for them: of each launch of the loop (the one before it has one too), and the right one.
right='"right":2000'
[ "$(uname -m)" = x86_64 ] || right='"checked":2000'
for member in "$right" '"checked":2000' '"launches":2001' '"launches_recorded":2001' '"completions_recorded":2001' '"lost":0' '"complete":true'; do
    grep -q "$member" "$work/out" || {
        echo "no $member in:"
        cat "$work/out"
        exit 1
    }
done
"$TRACESMITH" info "$work/b.sbt" >/dev/null
