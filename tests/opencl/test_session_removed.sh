#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The session directory is removed while the program runs: an error with the content of the file, never "nothing lost"
# or "no GPU API was seen".
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

# A session that stays is none of this.
record whole "$programs/cl_launch_loop" -n 20
[ "$status" -eq 0 ] || fail "ended with $status: $(cat "$work/whole.err")"
grep -q "nothing lost" "$work/whole.err" || fail "$(cat "$work/whole.err")"

# Before anything was recorded.
# shellcheck disable=SC2016 # for the inner shell
record before sh -c 'rm -rf "$TRACESMITH_SESSION"; exec "$1" -n 20' sh "$programs/cl_launch_loop"
[ "$status" -ne 0 ] || fail "a recording that was cut off ended with 0: $(cat "$work/before.err")"
grep -q "session directory .* was removed" "$work/before.err" || fail "does not say why: $(cat "$work/before.err")"
! grep -q "nothing lost\|none of the recorded GPU APIs" "$work/before.err" || fail "says what is not so: $(cat "$work/before.err")"
"$TRACESMITH" view -t loss "$work/before.sbt" >"$work/before.loss"
grep -q "the session directory was removed" "$work/before.loss" || fail "the ledger does not have it: $(cat "$work/before.loss")"

# After a process was recorded, which is in the file.
# shellcheck disable=SC2016 # for the inner shell
record after sh -c '"$1" -n 20; rm -rf "$TRACESMITH_SESSION"; "$1" -n 30' sh "$programs/cl_launch_loop"
[ "$status" -ne 0 ] || fail "a recording that was cut off ended with 0"
grep -q "session directory .* was removed" "$work/after.err" || fail "does not say why: $(cat "$work/after.err")"
python3 - "$work/after.json" "$work/whole.json" <<'PY'
import json
import sys
def kernels_of(trace):
    return [event for event in trace["events"] if event["kind"] == "kernel"]


with open(sys.argv[1]) as file, open(sys.argv[2]) as other:
    trace, whole = json.load(file), json.load(other)
kernels = kernels_of(trace)
assert len(kernels) == len(kernels_of(whole)) >= 20, f"{len(kernels)} kernels of the first process"
lost, = [event for event in trace["events"] if event["kind"] == "loss"]
assert lost["reason"] == "files_damaged" and "lost" not in lost and "removed" in lost["text"], lost
last = max(event["start"] + event.get("duration", 0) for event in kernels)
assert lost["start"] + lost["duration"] > last, f"the loss {lost} ends before the kernels do ({last})"
PY

# The exit code of the program is its own.
# shellcheck disable=SC2016 # for the inner shell
record failing sh -c 'rm -rf "$TRACESMITH_SESSION"; exit 9'
[ "$status" -eq 9 ] || fail "the program's own exit code became $status"
