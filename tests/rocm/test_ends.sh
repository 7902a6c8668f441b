#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# However a program ends, each of its kernels is in the trace or counted: exit, _exit, a signal, with work that has not ended; a
# forked child has none, and ends although its parent was flushing: simulated.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

record wait -- "$program" launches=300
record exit -- "$program" launches=300 wait=0
record quick -- "$program" launches=300 then=_exit wait=0
record fork -- "$program" launches=300 then=fork
MOCK_ROCM=forkflush record forkexit -- timeout 60 "$program" launches=300 then=forkexit
[ "$status" -eq 0 ] || fail "the forked child did not end: $status"
record kill -- "$program" launches=300 then=kill wait=0
[ "$status" -ne 0 ] || fail "the program was not killed"
# Work that outlives the program: a hundred seconds for the last kernel.
MOCK_KERNEL_NS=100000000000 record endless -- "$program" launches=3 wait=0
python3 - "$work" <<'PY'
import sys
from rocm_run import Run

for name in ("wait", "exit", "fork", "forkexit"):
    run = Run(sys.argv[1], name)
    run.check_counts()
    run.check_causes()
    run.expect(not run.lost, f"lost {run.lost}")
for name in ("quick", "kill"):
    run = Run(sys.argv[1], name)
    there, missing = len(run.of("kernel")), run.lost.get("no_completion", 0)
    run.expect(there + missing == 300, f"{there} kernels and {missing} missing of 300: {run.lost}")
    run.expect(set(run.lost) <= {"no_completion", "process_died"}, f"lost {run.lost}")
endless = Run(sys.argv[1], "endless")
endless.expect(len(endless.of("kernel")) == 0 and endless.lost == {"no_completion": 3}, f"{len(endless.of('kernel'))} {endless.lost}")
PY
