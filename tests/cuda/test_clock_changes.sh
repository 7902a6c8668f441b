#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CUPTI's clock may change its origin while CUDA initializes: from a small one to CLOCK_REALTIME, or back, at the end of
# cuInit, at the first context, or at the first kernel. Every record is at its time, within the error that the trace states,
# or is in the ledger: by what the mock of the driver wrote down itself.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

export MOCK_PPM=50 MOCK_KERNEL_NS=200000
changes="small-never real-never"
for first in small real; do
    for when in init context late kernel; do
        changes="$changes $first-$when"
    done
done
for change in $changes; do
    export MOCK_CLOCK="$change" MOCK_TRUTH="$work/$change.truth"
    record "$change" -- "$programs/cu_work" launches=2500
    [ "$status" -eq 0 ] || fail "$change: exit status $status"
done
# Buffers that come back only at the end are of both clocks at once.
for change in small-kernel real-kernel; do
    export MOCK_CLOCK="$change" MOCK_TRUTH="$work/$change-late.truth" MOCK_CUPTI=late,unordered
    record "$change-late" -- "$programs/cu_work" launches=2500
done

# shellcheck disable=SC2086 # one word each
python3 - "$work" $changes small-kernel-late real-kernel-late <<'PY'
import sys
from trace import Run

KINDS = {"call": "api", "kernel": "kernel", "copy": "memcpy", "set": "memset", "wait": "sync"}
for name in sys.argv[2:]:
    run = Run(sys.argv[1], name)
    truth = {}
    with open(f"{sys.argv[1]}/{name}.truth", encoding="utf-8") as file:
        for line in file:
            what, correlation, start, end = line.split()
            truth[KINDS[what], int(correlation)] = int(start), int(end)
    run.expect(len(truth) > 2000, f"the mock wrote down {len(truth)} events")
    error = int(run.attributes["cuda.clock_error_ns"])
    run.expect(0 < error < 10**7, f"an error of {error} ns")
    seen = set()
    for event in run.events:
        if event["kind"] not in KINDS.values() or "duration" not in event:
            continue
        key = event["kind"], event["correlation"] & 0xffffffff
        run.expect(key in truth and key not in seen, f"{event}")
        seen.add(key)
        start, end = truth[key]
        off = event["start"] - start
        run.expect(abs(off) <= error + 2, f"{off} ns off, and {error} ns are stated: {event}")
        stretch = event["duration"] - (end - start)
        run.expect(abs(stretch) <= (end - start) * 1e-4 + 2 * error + 2, f"{stretch} ns longer: {event}")
    memory = len(run.of("alloc")) + len(run.of("free"))
    missing = len(truth) - len(seen) + run.truth["allocs"] + run.truth["frees"] - memory
    run.expect(run.lost == ({"no_timing": missing} if missing else {}), f"{missing} are not at their time, lost {run.lost}")
    # Only what lasted from the one clock to the other has none.
    run.expect(missing <= (0 if name.endswith("never") else 2), f"{missing} of {len(truth)} have no time")
    print(f"{name}: {len(seen)} at their time, within {error} ns; {missing} in the ledger")
PY
