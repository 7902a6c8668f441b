#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# profile --stacks: every launch has the call path that made it, by the program's own functions, from its first launch on,
# in every thread; without the option none has.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

options=--stacks
record with -- "$programs/cu_work" launches=2000 threads=3
"$TRACESMITH" view --stacks -t kernel "$work/with.sbt" >"$work/with.text" || fail "view --stacks"
"$TRACESMITH" view --stacks -t alloc "$work/with.sbt" >"$work/alloc.text" || fail "view --stacks"
record graphs -- "$programs/cu_work" launches=10 graphs=20
"$TRACESMITH" view --stacks "$work/graphs.sbt" >"$work/graphs.text" || fail "view --stacks"
options=
record without -- "$programs/cu_work" launches=50
python3 - "$work" <<'PY'
import re
import sys
from collections import Counter
from trace import Run

run = Run(sys.argv[1], "with")
run.check_everything()
run.expect(not run.lost, f"lost {run.lost}")
kernels = run.of("kernel")
run.expect(all(kernel.get("stack") for kernel in kernels), "a kernel without a stack")
calls = {call["correlation"]: call for call in run.calls("cuLaunchKernel")}
run.expect(all(calls[k["correlation"]]["stack"] == k["stack"] for k in kernels), "the call has another stack")

# Each stack as view shows it: the frames of the program, outermost last.
with open(sys.argv[1] + "/with.text", encoding="utf-8") as file:
    paths, path = Counter(), []
    for line in file:
        frame = re.match(r"\s+#(\d+)\s+(\S+)", line)
        if path and (not frame or frame.group(1) == "0"):
            paths[tuple(path)] += 1
            path = []
        if frame:
            path.append(frame.group(2))
    paths[tuple(path)] += 1
run.expect(sum(paths.values()) == len(kernels), f"{sum(paths.values())} stacks of {len(kernels)} kernels")
for path in paths:
    at = path.index("cuLaunchKernel") if "cuLaunchKernel" in path else -1
    run.expect(at >= 0 and path[at + 1] == "run", f"{path}")
    run.expect("on_call" not in path, f"CUPTI's own function is on the path: {path}")
# Two places launch in run(), the same in each of three threads.
print({" < ".join(path): count for path, count in paths.items()})
run.expect(len({k["stack"] for k in kernels}) == 2, f"{len({k['stack'] for k in kernels})} stacks")
with open(sys.argv[1] + "/alloc.text", encoding="utf-8") as file:
    run.expect("check_memory" in file.read(), "who allocates is not there")

run = Run(sys.argv[1], "without")
run.expect(not any(event.get("stack") for event in run.events), "stacks that were not requested")

# A kernel of a graph has the path at which its node was made, of which the launched one is a copy; the call has its own.
run = Run(sys.argv[1], "graphs")
nodes = [kernel for kernel in run.of("kernel") if kernel.get("args", {}).get("graphNodeId")]
run.expect(len(nodes) == 100, f"{len(nodes)} kernels of graphs")
launches = {call["correlation"]: call["stack"] for call in run.calls("cuGraphLaunch")}
run.expect(len(launches) == 20 and all(k.get("stack") for k in nodes), "a launch or kernel without a stack")
run.expect(all(launches[k["correlation"]] != k["stack"] for k in nodes), "a kernel has the stack of the graph's launch")
with open(sys.argv[1] + "/graphs.text", encoding="utf-8") as file:
    whose, paths = None, {}
    for line in file:
        frame = re.match(r"\s+#(\d+)\s+(\S+)", line)
        if not frame:
            whose = next((word for word in ("graph_node_kernel", "cuGraphLaunch") if word in line), None)
        elif whose:
            paths.setdefault(whose, set()).add(frame.group(2))
run.expect("mock_graph" in paths["graph_node_kernel"] and "cuGraphLaunch" not in paths["graph_node_kernel"], f"{paths}")
run.expect("main" in paths["graph_node_kernel"] and "cuGraphLaunch" in paths["cuGraphLaunch"], f"{paths}")
PY
