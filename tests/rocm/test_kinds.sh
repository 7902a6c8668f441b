#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What there is beyond kernels, copies and calls: roctx, RCCL, scratch memory, migrations, what the driver dropped, graphs, events as
# dependencies, call stacks: simulated.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

options='--agent-option rocm.migrations'
record plain -- "$program" launches=10 marks=20 graphs=3 events=4 streams=2 itself=1
options=
record default -- "$program" launches=10 itself=1
options='--agent-option rocm.events --agent-option rocm.graphs'
record asked -- "$program" launches=10 graphs=3 events=4 streams=2
options=--stacks
record stacks -- "$program" launches=10 copies=1 marks=2
options=
python3 - "$work" <<'PY'
import sys
from collections import Counter
from rocm_run import Run

plain, asked, stacks = (Run(sys.argv[1], name) for name in ("plain", "asked", "stacks"))
for run in (plain, asked, stacks):
    run.check_counts()
    run.check_causes()
plain.expect(plain.lost == {"vendor_dropped": 11}, f"{plain.lost}")
ranges = Counter(e["name"] for e in plain.of("range"))
plain.expect(ranges == {"outer": 20, "inner": 20, "across": 20}, f"{ranges}")
plain.expect([e["name"] for e in plain.of("marker")] == ["here"] * 20, "marks")
plain.expect({e["category"] for e in plain.of("range") + plain.of("marker")} == {"roctx"}, "category")
outer, inner, marks = ([e for e in plain.of("range") + plain.of("marker") if e["name"] == name] for name in ("outer", "inner", "here"))
for o, i, m in zip(outer, inner, marks):
    plain.expect(o["start"] <= i["start"] <= m["start"] <= i["start"] + i["duration"] <= o["start"] + o["duration"], "nesting")
plain.expect([c["name"] for c in plain.calls("rccl")] == ["ncclAllReduce"] * 20, "calls of RCCL")
scratch = Counter((e["kind"], e["name"], e["bytes"]) for e in plain.of("alloc") + plain.of("free"))
plain.expect(scratch == {("alloc", "scratch memory", 4096): 1, ("free", "scratch memory", 4096): 1,
                         ("free", "scratch memory reclaimed", 4096): 1}, f"{scratch}")
moved = [(m["name"], m["operation"], m["direction"], m["bytes"], m["duration"]) for m in plain.of("memcpy")]
plain.expect(moved == [("page migration", "migrate", "h2d", 8192, 500)], f"{moved}")
default = Run(sys.argv[1], "default")
default.expect(not default.lost and not default.of("memcpy") and len(default.of("alloc")) == 1, "what was not asked for")
plain.expect(not plain.of("graph_launch") and not plain.of("event_record"), "what was not asked for")

graphs = asked.of("graph_launch")
asked.expect([(g["args"]["graph_exec_id"], g["args"]["kernel_dispatch_count"]) for g in graphs] == [(5, 5)] * 3, f"{graphs}")
of_graphs = Counter(k["correlation"] for k in asked.of("kernel"))
asked.expect(all(of_graphs[g["correlation"]] == 5 for g in graphs), "kernels of a graph have its launch's number")
records, waits = asked.of("event_record"), asked.of("sync")
asked.expect(len(records) == 4 and len(waits) == 4, f"{len(records)} records, {len(waits)} waits")
numbers = {r["correlation"]: r for r in records}
for wait in waits:
    asked.expect(len(wait["waits"]) == 1 and wait["waits"][0] in numbers, f"{wait}")
    record = numbers[wait["waits"][0]]
    asked.expect(asked.tracks[record["track"]]["name"] == "stream 1" and asked.tracks[wait["track"]]["name"] == "stream 2" and record["args"]["hipEvent"] == wait["args"]["hipEvent"], "the queues")
asked.expect(len({w["waits"][0] for w in waits}) == 4, "each wait is for the last record of its event")

for event in stacks.of("api") + stacks.of("kernel") + stacks.of("memcpy") + stacks.of("range"):
    if event.get("category") != "rccl":
        stacks.expect("stack" in event, f"without its stack: {event}")
plain.expect(not any("stack" in event for event in plain.events), "stacks without --stacks")
PY
