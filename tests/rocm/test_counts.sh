#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everything that a HIP program counts itself is in the trace, with names, sizes, threads, streams and order: simulated.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

record plain -- "$program" launches=1000
record threads -- "$program" launches=500 threads=4 streams=3
options='--aggregate 50ms' record sums -- "$program" launches=500 threads=4 streams=3
ln -s threads.sbt "$work/events.sbt"
python3 "$TRACESMITH_SOURCE_DIR/tests/support/check_sums.py" "$work" kernel
record copies -- "$program" launches=3 copies=20
python3 - "$work" <<'PY'
import sys
from collections import Counter
from rocm_run import Run

plain, threads, copies = (Run(sys.argv[1], name) for name in ("plain", "threads", "copies"))
for run in (plain, threads, copies):
    run.check_counts()
    run.check_causes()
    run.check_order()
    run.check_sizes()
    run.expect(not run.lost, f"lost {run.lost}")
    run.expect("duration" in run.of("kernel")[0], "a kernel without times")
plain.expect([(d["name"], d["vendor"], d["compute_units"], d["memory_bytes"]) for d in plain.devices] ==
             [("Mock Instinct", "AMD", 304, 192 << 30)] * 2, f"devices {plain.devices}")
plain.expect({k["duration"] for k in plain.of("kernel")} == {2000}, "how long kernels run")
queues = {threads.tracks[k["track"]]["name"] for k in threads.of("kernel")}
threads.expect(queues == {"stream 1", "stream 2", "stream 3"}, f"streams {queues}")
threads.expect(len({call["track"] for call in threads.calls()}) == 4, "a track for each thread")
moved = Counter((c["direction"], c["operation"], c["bytes"]) for c in copies.of("memcpy"))
copies.expect(moved == {("h2d", "write", 4096): 20, ("d2h", "read", 4096): 20, ("d2d", "copy", 2048): 20, ("p2p", "copy", 1024): 20}, f"{moved}")
copies.expect({copies.tracks[c["track"]]["name"] for c in copies.of("memcpy")} == {"stream 1"}, "streams of copies")
allocated, freed = copies.of("alloc"), copies.of("free")
copies.expect([a["bytes"] for a in allocated] == [4096] and len(freed) == 1 and freed[0]["object"] == allocated[0]["object"], "memory")
PY
