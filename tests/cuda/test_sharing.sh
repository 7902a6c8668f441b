#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program that profiles itself through CUPTI, as PyTorch's profiler does in both of its forms, and is recorded at the same
# time: its own profiler counts what it counts alone, and the trace has every launch of the program.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

# both NAME FORM WHEN SESSIONS
both() {
    name=$1
    shift
    "$programs/cu_self" "$@" >"$work/$name.alone" 2>/dev/null || fail "$name: $? alone"
    grep -q 'subscription 0 kernels 1000 ' "$work/$name.alone" || fail "$name: alone it counts $(cat "$work/$name.alone")"
    grep -q ' calls 1053 ' "$work/$name.alone" || fail "$name: the calls of its session: $(cat "$work/$name.alone")"
    grep -q 'outside 0 threads 0 left_out 0 .* refused 0 unknown 0' "$work/$name.alone" || fail "$name: $(cat "$work/$name.alone")"
    record "$name" -- "$programs/cu_self" "$@"
    [ "$status" -eq 0 ] || fail "$name: exit status $status"
    diff "$work/$name.alone" "$work/$name.out" || fail "$name: its own profiler counts otherwise when it is recorded"
    ! grep -q 'buffers of threads' "$work/$name.err" || fail "$name: CUPTI's buffers were switched by its own profiler"
    ! grep -q 'timestamp callback' "$work/$name.err" || fail "$name: CUPTI was given another clock"
}
for how in plain late,unordered threads,partial slow version=17 version=28 version=130301; do
    MOCK_CUPTI=$how
    [ "$how" != plain ] || MOCK_CUPTI=
    export MOCK_CUPTI
    both "old-$how" subscribed early 1
    both "new-$how" buffers early 2
done
unset MOCK_CUPTI
both loaded-late buffers late 1
export KINETO_CLOCK=1
both old-clock subscribed early 2
both new-clock buffers early 2
unset KINETO_CLOCK
KINETO_FINALIZE=1 both finalized buffers early 1

python3 - "$work" <<'PY'
import glob
import sys
from trace import Run

names = sorted(path.split("/")[-1][:-4] for path in glob.glob(sys.argv[1] + "/*.sbt"))
assert len(names) == 18, names
for name in names:
    run = Run(sys.argv[1], name)
    launches = run.truths[-1]["launches"]
    sessions = len(run.truths) - 1
    run.expect(launches == 200 + 1300 * sessions, f"{launches} launches")
    run.expect(len(run.of("kernel")) == launches and len(run.calls("cuLaunchKernel")) == launches, f"{len(run.of('kernel'))} kernels of {launches}")
    run.expect(all("duration" in kernel and "host_track" in kernel for kernel in run.of("kernel")), "times and threads")
    run.expect(not run.lost, f"lost {run.lost}")
    # The call that the program's own profiler leaves out is in the trace.
    run.expect(len(run.calls("cuCtxSynchronize")) == 1 + 2 * sessions, "what only the other tool left out")
    markers = [e["args"]["externalId"] for e in run.of("marker")]
    run.expect(len(markers) == 1000 * sessions and set(markers) == set(range(1, 11)), f"{len(markers)} external ids")
    run.check_order()
    print(f"{name}: {launches} launches on both sides")
PY
