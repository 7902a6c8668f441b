#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Memory objects of every kind: each creation and end, and the live total after each, against the program's own books.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

for how in "" --leak; do
    # shellcheck disable=SC2086
    record memory "$programs/cl_memory" $how
    [ "$status" -eq 0 ] || fail "the program ended with $status"
    python3 - "$work/memory.json" "$work/memory.out" <<'PY'
import sys
from trace import Trace, expect, load_truth

trace = Trace(sys.argv[1])
truth = load_truth(sys.argv[2])
made, gone = trace.of("alloc"), trace.of("free")
expect(len(made) == truth["objects_created"], f"{len(made)} created, the program says {truth['objects_created']}")
expect(len(gone) == truth["objects_destroyed"], f"{len(gone)} freed, the program says {truth['objects_destroyed']}")
events = sorted(trace.of("alloc", "free"), key=lambda e: e["start"])  # equal times: as in the trace
expect(events[-1]["live_bytes"] == truth["live_end_bytes"], f"{events[-1]['live_bytes']} bytes live at the end")
expect(max(e["live_bytes"] for e in events) == truth["live_high_bytes"], "the highest live total")
# Step by step: what changes the total in the program's books changes it in the trace, in the same order.
def changes(totals):
    return [total for before, total in zip([0] + totals, totals) if total != before]


expect(changes([e["live_bytes"] for e in events]) == changes([s["live_bytes"] for s in truth["steps"]]), "the steps")
created = [s for s in truth["steps"] if s["what"] in ("create", "alias", "svm_alloc")]
made.sort(key=lambda e: e["start"])
for said, seen in zip(created, made):
    kind = said["kind"] if said["kind"] in ("buffer", "sub_buffer", "svm", "pipe") else "image"
    where = f"{said} is {seen}"
    expect(seen["operation"] == kind and seen["bytes"] == said["bytes"], where)
    expect(kind == "svm" or seen["flags"] == said["flags"], where)
    expect((kind == "sub_buffer") <= ("parent" in seen), where)
names = {e["object"] for e in made}
expect(len(names) == len(made) and {e["object"] for e in gone} <= names, "object numbers")
print(f"{len(made)} objects, highest total {truth['live_high_bytes']}")
PY
done

# Who allocated: every site has a call stack from main, and they add up to the program's own books.
"$TRACESMITH" profile --stacks -o "$work/stacks.sbt" -- "$programs/cl_memory" --leak >"$work/stacks.out" 2>"$work/stacks.err" ||
    fail "the program ended with $?: $(cat "$work/stacks.err")"
"$TRACESMITH" analyze --only memory --json "$work/stacks.sbt" >"$work/sites.json"
python3 - "$work/sites.json" "$work/stacks.out" <<'PY'
import json
import sys
from trace import expect, load_truth

with open(sys.argv[1], encoding="utf-8") as file:
    tables = json.load(file)["traces"][0]["reports"][0]["tables"]
truth = load_truth(sys.argv[2])
made = [s["bytes"] for s in truth["steps"] if s["what"] in ("create", "svm_alloc") and s["kind"] != "sub_buffer"]
expect(sum(site["allocated_bytes"] for site in tables["sites"]) == sum(made), f"bytes of all sites: {tables['sites']}")
expect(sum(site["allocations"] for site in tables["sites"]) == len(made), "allocations of all sites")
expect(sum(site["at_peak_bytes"] for site in tables["sites"]) == truth["live_high_bytes"], "sites at the peak")
left = tables["never_freed"]
expect(sum(row["size_bytes"] for row in left) == truth["live_end_bytes"] and len(left) == 2, f"never freed: {left}")
for row in tables["sites"] + left:
    expect("main" in (row["stack"] or "").split(";"), f"a stack from main: {row}")
PY
