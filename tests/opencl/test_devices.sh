#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A device that several processes use is one device in every table: one row, busy when any of them uses it; queues are each
# process's own.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

judge() { # judge PROCESSES NAME COMMAND...
    processes=$1
    shift
    record "$@"
    [ "$status" -eq 0 ] || fail "$1 ended with $status: $(cat "$work/$1.err")"
    python3 "$here/check_devices.py" "$work/$1.json" "$work/$1.sbt" "$processes"
}

judge 1 one "$programs/cl_launch_loop" -n 20
for count in 2 4; do
    # shellcheck disable=SC2016
    judge "$count" "fork$count" sh -c 'i=0; while [ $i -lt "$2" ]; do "$1" -n 50 & i=$((i + 1)); done; wait' \
        sh "$programs/cl_launch_loop" "$count"
done
if python3 -c 'import pyopencl' 2>/dev/null; then
    judge 2 pool2 python3 "$here/pool_pyopencl.py" 2
    judge 4 pool4 python3 "$here/pool_pyopencl.py" 4
else
    echo "not tried: a pool of pyopencl's workers (Debian: apt install python3-pyopencl)"
fi
