#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# PC samples: every sample that the mock made comes into the trace or into the ledger, with its function, instruction,
# reason and, where CUPTI knows it, source line. The mock makes the same samples for each launch
# (mock/cupti_sampling.c); how many launches there were the program counts itself.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

record without -- "$programs/cu_work" launches=10
options=--pc-samples
for version in 20 22 130001; do
    MOCK_CUPTI=version=$version record "version$version" -- "$programs/cu_work" launches=300 threads=2 graphs=3
done
MOCK_CUPTI=pcroom=3 record small -- "$programs/cu_work" launches=100 close
MOCK_CUPTI=pclate record late -- "$programs/cu_work" launches=100
MOCK_CUPTI=pclate record closed -- "$programs/cu_work" launches=100 close
MOCK_CUPTI=pcdropped=70,pcothers=11 record dropped -- "$programs/cu_work" launches=100
for how in each pctotals pcmixed; do
    MOCK_CUPTI=pcroom=3,pcdropping=2,pcothers=11,$how record "dropping-$how" -- "$programs/cu_work" launches=100 graphs=3 close
    MOCK_CUPTI=pclate,pcdropping=2,pcothers=11,$how record "dropping-late-$how" -- "$programs/cu_work" launches=100 graphs=3
done
MOCK_CUPTI=pcstuck record stuck -- "$programs/cu_work" launches=100 close
MOCK_CUPTI=pcfull record full -- "$programs/cu_work" launches=100
MOCK_CUPTI=pcdenied=35 record denied -- "$programs/cu_work" launches=100
MOCK_CUPTI=version=18 record old -- "$programs/cu_work" launches=100
MOCK_DEVICES=2 record peers -- "$programs/cu_work" launches=10 peers
options='--cuda events --pc-samples=12'
record period -- "$programs/cu_work" launches=10
"$TRACESMITH" profile --pc-samples=4 -o "$work/no.sbt" -- true 2>"$work/no.err" && fail "a period of 2^4 was taken"
grep -q 'is not a number from 5 to 31' "$work/no.err" || fail "a wrong period is not said: $(cat "$work/no.err")"
for name in version130001 dropped; do
    "$TRACESMITH" query --csv "$work/$name.sbt" \
        "SELECT name, category, sum(count) AS samples, file, line FROM sample GROUP BY name, category, address" >"$work/$name.csv"
    "$TRACESMITH" analyze --json --only stalls "$work/$name.sbt" >"$work/$name.stalls"
done
python3 - "$work" <<'PY'
import csv, json, sys
from collections import Counter
from trace import Run, expect

work = sys.argv[1]
PER_LAUNCH = {(0x00, "selected"): 1, (0x10, "stalled_long_scoreboard"): 5, (0x10, "stalled_barrier"): 2,
              (0x120, "stalled_long_scoreboard"): 1}
LINES = {"first": 10, "second": 20, "graph_node_kernel(float*, int)": 20}

def samples(run):
    found = Counter()
    device_names = {device["id"]: device["name"] for device in run.devices}
    for event in run.of("sample"):
        found[event["name"], event["address"], event["category"]] += event["count"]
        track = run.tracks[event["track"]]
        run.expect(track["name"] == "PC samples" and track["device"] and track["simulated"], f"on {track}")
        run.expect(device_names[track["device"]] == "Mock GPU", "the device was described before it was needed")
        run.expect(event["duration"] >= 0, "a reading that ends before it began")
    return found

def check(name, lost=None):
    run = Run(work, name)
    first, launches = run.truth["first"], run.truth["launches"]
    wanted = Counter()
    for kernel, count in (("first", first), ("second", launches - first),
                          ("graph_node_kernel(float*, int)", 5 * run.truth["graphs"])):
        for (address, reason), samples_each in PER_LAUNCH.items():
            if count:
                wanted[kernel, address, reason] = samples_each * count
    found = samples(run)
    run.expect(found == wanted, f"samples {found} instead of {wanted}")
    run.expect(run.lost == (lost or {}), f"lost {run.lost}")
    for event in run.of("sample"):
        line = (event.get("file"), event.get("line"))
        known = ("/src/work.cu", LINES[event["name"]] + event["address"] // 16)
        run.expect(line == (known if event["address"] < 0x100 else (None, None)), f"{event}")
    return run

run = Run(work, "without")
run.expect(not run.of("sample"), "samples were not requested")
for version in 20, 22, 130001:
    check(f"version{version}").check_everything()
check("small")
check("late")
check("closed")
check("period")
check("dropped", {"vendor_dropped": 70, "untraced": 11})
# Numbers of dropped samples may be per reading or totals: the ledger has the same.
for how in "each", "pctotals", "pcmixed":
    for late in "", "late-":
        check(f"dropping-{late}{how}", {"vendor_dropped": 2 * (100 + 5 * 3), "untraced": 11})
# A context that CUPTI is busy with when it is destroyed: samples that were not read before (for example when the
# module was unloaded) are lost, and not requested again.
run = Run(work, "stuck")
run.check_everything()
run.expect(run.lost == {"vendor_dropped": 1} and sum(samples(run).values()) <= 100 * sum(PER_LAUNCH.values()), f"lost {run.lost}")
run.expect("when the program destroyed it" in run.said, run.said)
run = check("full", {"vendor_dropped": 1})
run.expect("--pc-samples=N" in run.said, run.said)
for name, word in (("denied", "ERR_NVGPUCTRPERM"), ("old", "CUDA 12.2")):
    run = Run(work, name)
    run.check_everything()
    run.expect(not run.of("sample") and not run.lost, "samples where there are none")
    run.expect(sum(word in line for line in run.said.splitlines()) == 1, run.said)
run = Run(work, "peers")
run.expect({run.tracks[e["track"]]["device"] for e in run.of("sample")} == {1}, "kernels ran on the first device")

# The columns of the table, and the analysis, against sums of the events.
for name in "version130001", "dropped":
    run = Run(work, name)
    with open(f"{work}/{name}.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    events = samples(run)
    expect(sorted(int(row["samples"]) for row in rows) == sorted(events.values()), "the table of samples")
    with open(f"{work}/{name}.stalls", encoding="utf-8") as file:
        tables = json.load(file)["traces"][0]["reports"][0]["tables"]
    functions, reasons, lines, mostly = Counter(), Counter(), Counter(), {}
    for (function, address, reason), count in sorted(events.items()):
        line = ("/src/work.cu", LINES[function] + address // 16, None) if address < 0x100 else (None, None, address)
        functions[function] += count
        reasons[function, reason] += count
        lines[function, line] += count
        if count > mostly.get((function, line), (0, ""))[0]:
            mostly[function, line] = count, reason
    total = sum(functions.values())
    expect({row["function"]: (row["samples"], round(row["share"], 9)) for row in tables["functions"]} ==
           {f: (n, round(n / total, 9)) for f, n in functions.items()}, "functions")
    expect({(row["function"], row["reason"]): (row["samples"], round(row["share"], 9)) for row in tables["reasons"]} ==
           {k: (n, round(n / functions[k[0]], 9)) for k, n in reasons.items()}, "reasons")
    expect({(row["function"], (row["file"], row["line"], row["address"])): (row["samples"], row["mostly"])
            for row in tables["lines"]} == {k: (n, mostly[k][1]) for k, n in lines.items()}, "lines")
    expect([row["samples"] for row in tables["lines"]] == sorted(lines.values(), reverse=True), "most first")
PY
