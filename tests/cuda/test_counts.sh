#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everything that a CUDA program counts itself is in the trace, with names, sizes, threads and order.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

record plain -- "$programs/cu_work" launches=1000
record threads -- "$programs/cu_work" launches=500 threads=4 streams=3 bad=2
record graphs -- "$programs/cu_work" launches=10 graphs=20
MOCK_CUPTI=early record early -- "$programs/cu_work" launches=1000
MOCK_CUPTI=pthreads record pthreads -- "$programs/cu_work" launches=500 threads=4
MOCK_CUPTI=strict record strict -- "$programs/cu_work" launches=10 graphs=20
python3 - "$work" <<'PY'
import sys
from trace import Run

plain = Run(sys.argv[1], "plain")
plain.expect(plain.truth["launches"] == 1000, "the program did not do its work")
early = Run(sys.argv[1], "early")
for run in (plain, early, *(Run(sys.argv[1], name) for name in ("threads", "graphs", "strict", "pthreads"))):
    run.check_everything()
    run.expect(not run.lost, f"lost {run.lost}")
    run.expect(all("duration" in kernel for kernel in run.of("kernel")), "a kernel without times")
plain.check_sizes()
plain.expect([(d["name"], d["compute_units"], d["memory_bytes"]) for d in plain.devices] == [("Mock GPU", 40, 8 << 30)],
             f"devices {plain.devices}")
plain.expect(early.devices == plain.devices, "what was too early within cuInit is recorded later")
# Each wait of the program is one wait in the answer: its call and CUPTI's record of it are the same.
plain.check_waits()
# CUPTI identifies threads by pthread_self() unless configured otherwise.
threads = Run(sys.argv[1], "threads")
for run in (threads, Run(sys.argv[1], "pthreads")):
    tracks = [run.tracks[call["track"]] for call in run.calls("cuLaunchKernel")]
    run.expect({track["kind"] for track in tracks} == {"thread"}, f"{tracks}")
    run.expect(len({track["tid"] for track in tracks}) == 4, "a track for each thread")
elsewhere = [(e.get("name"), threads.tracks[e["track"]]) for e in threads.of("api")
             if threads.tracks[e["track"]]["kind"] != "thread"]
threads.expect(not elsewhere, f"calls that are on no thread's track: {elsewhere[:5]}")
graphs = [k for k in Run(sys.argv[1], "graphs").of("kernel") if k["name"] == "graph_node_kernel(float*, int)"]
plain.expect(len({k["correlation"] for k in graphs}) == 20, "nodes belong to the launch of their graph")
plain.expect(sorted({k["args"]["graphNodeId"] & 0xffffffff for k in graphs}) == [1, 2, 3, 4, 5], "nodes")
PY
