#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# PoCL's own event log, written by the driver in the same run, against the trace: every launch once, with the same name
# and the same four times.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

compare() {
    name=$1
    shift
    record "$name" env POCL_TRACING=text POCL_TRACING_OPT="$work/$name.pocl" "$@"
    [ "$status" -eq 0 ] || fail "$name ended with $status"
    [ -s "$work/$name.pocl" ] || skip "the OpenCL device writes no event log: it is not PoCL"
    python3 - "$work/$name.json" "$work/$name.pocl" <<'PY'
import sys
from collections import Counter
from trace import Trace, expect

STATES = ("queued", "submitted", "running", "complete")
logged = {}  # event of PoCL -> name and times
for line in open(sys.argv[2], errors="replace"):
    parts = [part.strip() for part in line.split("|")]
    # A task's kernel is logged like any other; migrations that PoCL adds by itself are not launches.
    if len(parts) > 5 and parts[4] == "ndrange_kernel":
        entry = logged.setdefault(parts[1], {"name": parts[-1].removeprefix("name=")})
        entry[parts[5]] = int(parts[0])
trace = Trace(sys.argv[1])
expect(not trace.lost["by_reason"].keys() - {"no_timing"}, str(trace.lost))
kernels = trace.of("kernel")
truth = Counter((e["name"], *(e[state] for state in STATES)) for e in logged.values())
seen = Counter((k["name"], k["queued"], k["submitted"], k["start"], k["start"] + k["duration"]) for k in kernels)
expect(len(kernels) == len(logged) > 0, f"{len(kernels)} launches, PoCL says {len(logged)}")
# The trace's clock and the device's may differ by a constant.
offset = min(key[1] for key in seen) - min(key[1] for key in truth)
moved = Counter({(n, *(t + offset for t in times)): c for (n, *times), c in truth.items()})
expect(seen == moved, f"offset {offset}: only traced {list((seen - moved).items())[:3]}, "
                      f"only in PoCL's log {list((moved - seen).items())[:3]}")
timed = trace.check_order()
print(f"{len(kernels)} launches the same, {timed} commands in order")
PY
}

compare loop "$programs/cl_launch_loop" -n 2000
compare events "$programs/cl_launch_loop" -n 2000 --events
compare every "$programs/cl_every_command"
compare threads "$programs/cl_threads" -t 8 -n 200 --share queue
POCL_DEVICES="pthread pthread"
export POCL_DEVICES
compare devices "$programs/cl_threads" -t 4 -n 200
