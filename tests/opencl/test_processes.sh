#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Threads, forks, execs, a late dlopen, several devices: each program's own count of launches, per process, thread and
# device, against the trace.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

cat >"$work/judge.py" <<'PY'
import sys
from collections import Counter
from trace import Trace, expect, lines_of_truth

trace = Trace(sys.argv[1])
said = {}
by_thread = Counter()
for line in lines_of_truth(sys.argv[2]):
    counts = said.setdefault(line["pid"], Counter())
    counts.update(line["kernels"])
    for thread in line.get("threads", []):
        by_thread[line["pid"], thread["tid"], thread["kernel"]] += thread["launches"]
seen = {}
threads = Counter()
for kernel in trace.of("kernel"):
    seen.setdefault(trace.pid(kernel), Counter())[kernel["name"]] += 1
    threads[trace.pid(kernel), trace.tid(kernel["host_track"]), kernel["name"]] += 1
said = {pid: +counts for pid, counts in said.items() if +counts}
expect(seen == said, f"traced {seen}, the program says {said}")
if by_thread:
    expect(threads == by_thread, f"traced {threads}, the program says {by_thread}")
expect(trace.lost["total"] <= int(sys.argv[3]), str(trace.lost))
trace.check_order()
trace.check_waits()
for process in trace.of("process"):
    if process["operation"] == "process_exit" and "result" in process:
        expect(process["result"] == 0, str(process))
print(f"{sum(sum(c.values()) for c in seen.values())} launches in {len(seen)} processes")
PY

# judge ALLOWED_LOSSES NAME COMMAND...
judge() {
    allowed=$1
    shift
    record "$@"
    [ "$status" -eq 0 ] || fail "$1 ended with $status: $(cat "$work/$1.err")"
    python3 "$work/judge.py" "$work/$1.json" "$work/$1.out" "$allowed"
}

judge 0 threads "$programs/cl_threads" -t 8 -n 100
judge 0 context "$programs/cl_threads" -t 8 -n 100 --share context
judge 0 queue "$programs/cl_threads" -t 8 -n 100 --share queue
judge 0 dlopen "$programs/cl_dlopen"
judge 0 platforms "$programs/cl_platforms"
# Its children end by _exit and exec, between records: nothing is lost.
judge 0 children "$programs/cl_children"
# The same behind a layer of the program's own: ocl-icd cuts the list of layers in the environment, which children inherit.
OPENCL_LAYERS=$work/no-such-layer.so
export OPENCL_LAYERS
judge 0 layered "$programs/cl_children"
unset OPENCL_LAYERS
POCL_DEVICES="pthread pthread"
export POCL_DEVICES
judge 0 two "$programs/cl_threads" -t 4 -n 100
judge 0 two-platforms "$programs/cl_platforms"

# In a PID namespace a process has another number for itself than for us, with and without a /proc of its own.
if unshare --user --map-root-user --pid --fork --mount-proc true 2>/dev/null; then
    judge 0 namespace unshare --user --map-root-user --pid --fork --mount-proc "$programs/cl_threads" -t 4 -n 100
    judge 0 outer-proc unshare --user --map-root-user --pid --fork "$programs/cl_children"
fi
