#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# For every way in which a program ends, its result is its own, and every launch is in the trace or counted: one that
# is killed loses the last tenth of a second, and a buffer of CUPTI's that has a record of work that had not ended,
# and that is reported.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

end() {
    name=$1
    expected=$2
    shift 2
    bare=0
    "$programs/cu_work" launches=3000 "$@" >/dev/null 2>&1 || bare=$?
    record "$name" -- "$programs/cu_work" launches=3000 "$@"
    [ "$bare" -eq "$expected" ] || fail "$name: $bare without the profiler, not $expected"
    [ "$status" -eq "$expected" ] || fail "$name: $status under the profiler, $expected without"
}
end return 0 end=return
end exit 0 end=exit
end close 0 close
end fork 0 fork
end _exit 0 end=_exit
end abort 134 end=abort
end kill 137 end=kill
# A kernel that does not end: CUPTI keeps the buffer with its record, and the whole buffer is lost.
end endless 137 endless end=kill
# The driver's own exit handler, which it registers within cuInit, does not come before the agent's last look.
MOCK_EXIT=1 MOCK_CUPTI=late record driver_exits -- "$programs/cu_work" launches=3000
[ "$status" -eq 0 ] || fail "driver_exits: exit status $status"
# CUPTI that finalized itself is not called any more.
MOCK_CUPTI=fatal=500 record fatal -- "$programs/cu_work" launches=30000 pause
[ "$status" -eq 0 ] || fail "fatal: exit status $status"
! grep 'after it was finalized' "$work/fatal.err" || fail "fatal: CUPTI was called"
grep -q 'CUPTI stopped recording: .*an error of the mock' "$work/fatal.err" || fail "fatal: $(cat "$work/fatal.err")"
"$TRACESMITH" view --stats "$work/fatal.sbt" >/dev/null || fail "fatal: the trace"
# Another tool ends CUPTI in the middle: the program goes on, and what is missing from then on is said.
for how in detached=500 version=130301,detached=500; do
    MOCK_CUPTI=$how record "$how" -- "$programs/cu_work" launches=30000 pause
    [ "$status" -eq 0 ] || fail "$how: exit status $status"
    ! grep 'after it was finalized' "$work/$how.err" || fail "$how: CUPTI was called"
    grep -q 'another tool in the program has ended CUPTI (cuptiFinalize): what the program does from then on is not recorded' "$work/$how.err" ||
        fail "$how: $(cat "$work/$how.err")"
done
# Killed with two agents in it, which its thread wrote to both.
"$TRACESMITH" profile -o "$work/both.sbt" --api cuda,nvtx -- "$programs/cu_nvtx" kill >/dev/null 2>&1 || true
"$TRACESMITH" view -f json "$work/both.sbt" >"$work/both.whole"
# Forks while CUPTI returns records, under the driver's own lock: no deadlock.
MOCK_NAMES=1 record forks -- timeout 120 "$programs/cu_work" launches=10 forks=100
[ "$status" -eq 0 ] || fail "forks: exit status $status"
# Children, of a shell that does not use CUDA itself.
record children -- sh -c "'$programs/cu_work' launches=700 & '$programs/cu_work' launches=500; wait"

# The recording ends before the program does: from then on it runs unrecorded, with its own result.
cat >"$work/outlive" <<'O'
"$1" launches=100 >"$2/first"
{ "$1" pause launches=100 end=exit && echo done || echo failed; } >"$2/late" 2>&1 &
while [ ! -s "$2/late" ]; do sleep 0.01; done
O
options='--wait program'
record outlived -- sh "$work/outlive" "$programs/cu_work" "$work"
options=
for _ in $(seq 600); do
    ! grep -q 'done\|failed' "$work/late" || break
    sleep 0.05
done
grep -q "done" "$work/late" || fail "the program that outlived the recording: $(cat "$work/late")"

python3 - "$work" <<'PY'
import json
import sys
from collections import Counter
from trace import Run, expect

for name in "return", "exit", "close", "fork", "driver_exits":
    run = Run(sys.argv[1], name)
    run.check_everything()
    run.expect(not run.lost, f"lost {run.lost}")
for name in "_exit", "abort", "kill":
    run = Run(sys.argv[1], name)
    kernels = len(run.of("kernel"))
    # The agent's thread may have been between recording a kernel and counting it.
    unknown = kernels + run.missing("no_completion") - run.truth["launches"]
    run.expect(unknown in (0, 1), f"{kernels} kernels and {run.lost}")
    run.check_order(killed=True)
    print(f"{name}: {kernels} kernels, {run.lost} lost")

# The buffer is of 128 KiB; a launch and its kernel have 256 bytes in it. All others came back before the program was killed.
run = Run(sys.argv[1], "endless")
lost, kernels = run.missing("no_completion"), len(run.of("kernel"))
run.expect(kernels + lost == run.truth["launches"] + 1, f"{kernels} kernels and {run.lost}")
run.expect(1 <= lost <= 128 * 1024 // 256, f"{run.lost}: more than a buffer")
print(f"endless: {kernels} kernels, {run.lost} lost")

# The program's thread is counted once, not once per agent. The agent's thread is counted, too, if it has written records
# of CUPTI and did not sleep when the program was killed.
with open(sys.argv[1] + "/both.whole", encoding="utf-8") as file:
    whole = json.load(file)
kinds = Counter(event["kind"] for event in whole["events"])
died = sum(event["lost"] for event in whole["events"] if event.get("reason") == "process_died")
expect(kinds["range"] == 2 and 1 <= died <= (2 if kinds["api"] else 1), f"{died} counted of {kinds}")

run = Run(sys.argv[1], "children")
run.expect(len(run.truths) == 2 and not run.lost, f"lost {run.lost}")
for truth in run.truths:
    mine = [k for k in run.of("kernel") if run.pid(k) == truth["pid"]]
    run.expect(len(mine) == truth["launches"], f"process {truth['pid']}: {len(mine)} kernels of {truth['launches']}")
run.check_order()
PY
