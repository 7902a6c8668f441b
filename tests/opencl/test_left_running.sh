#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Processes that outlive the program are recorded too, and reported as left out when they are not, or cannot be; a
# file size limit stops the recording and not the program.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

kernels() {
    "$TRACESMITH" info --json "$work/$1.sbt" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["kinds"].get("kernel", 0))'
}

# A background job that uses the device only once its parent is gone, waited for and all.
cat >"$work/leave.sh" <<'SH'
(
    while [ -d "/proc/$$" ]; do :; done
    exec "$1" -n 300 </dev/null >/dev/null 2>&1
) &
SH
record all sh "$work/leave.sh" "$programs/cl_launch_loop"
[ "$(kernels all)" -eq 301 ] || fail "a job left behind made 301 launches, traced $(kernels all)"

# Asked not to wait: it reports that processes were left.
mkfifo "$work/never"
# shellcheck disable=SC2016 # the inner shell expands it
"$TRACESMITH" profile --wait program -o "$work/only.sbt" -- \
    sh -c 'exec 3<>"$1"; (read -r line <&3) & exec true' leave "$work/never" >"$work/only.out" 2>"$work/only.err"
grep -q '1 process of the program still ran' "$work/only.err" || fail "no process was left: $(cat "$work/only.err")"
echo end 1<>"$work/never" >"$work/never"

# Rings that would make the file longer than the limit: the program ends as it would.
# shellcheck disable=SC2016 # the inner shell expands it
record limited sh -c 'ulimit -f 12000; exec "$0" -n 20000' "$programs/cl_launch_loop"
[ "$status" -eq 0 ] || fail "a file size limit ended the program with $status"
[ "$(kernels limited)" -gt 0 ] || fail "nothing was recorded under a file size limit"

# A limit below the least that recording needs: it runs, and the trace states that it is missing.
# shellcheck disable=SC2016 # the inner shell expands it
record unattached sh -c 'ulimit -f 4000; exec "$0" -n 100' "$programs/cl_launch_loop"
[ "$status" -eq 0 ] || fail "a small file size limit ended the program with $status"
grep -q '1 process could not be recorded' "$work/unattached.err" || fail "no process is missing: $(cat "$work/unattached.err")"
echo "left running: ok"
