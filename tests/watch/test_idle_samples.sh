#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# analyze idle names the code that the host ran while the device had no work: the samples that it counts are those between the
# program's launches, found here by their times alone, and the code is the program's.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
"$TRACESMITH" profile --sample -o "$work/run.sbt" -- "$programs/cl_sleepy" -n 40 >"$work/said.json" 2>"$work/err" ||
    fail "recording: $(cat "$work/err")"
if grep -q "no samples are recorded" "$work/err"; then
    skip "$(grep "no samples are recorded" "$work/err")"
fi
"$TRACESMITH" analyze --json --only idle "$work/run.sbt" >"$work/idle.json" || fail "it cannot be analyzed"
"$TRACESMITH" view --stacks -f json "$work/run.sbt" >"$work/run.json" || fail "it cannot be read"
"$TRACESMITH" analyze "$work/run.sbt" | tr -s ' \n' '  ' >"$work/text"
"$TRACESMITH" export --cpu -f folded "$work/run.sbt" >"$work/folded" || fail "it cannot be exported"
python3 - "$work" <<'PY' || fail "it is not the code that the host ran"
import json, sys
work = sys.argv[1]
tables = json.load(open(work + "/idle.json"))["traces"][0]["reports"][0]["tables"]
trace, text = json.load(open(work + "/run.json")), open(work + "/text").read()
tracks = {track["id"]: track for track in trace["tracks"]}
events = trace["events"]
kernels = [e for e in events if e["kind"] == "kernel"]
main = next(e["track"] for e in events if e["kind"] == "api" and "NDRange" in e["name"])
calls = sorted(((e["start"], e["start"] + e.get("duration", 0)) for e in events
                if e["track"] == main and e["kind"] in ("api", "sync", "compile")))
samples = [e for e in events if e["kind"] == "sample"]
period = samples[0]["sampler_period"] if samples else 0
first, last = min(e["start"] for e in kernels), max(e["start"] + e["duration"] for e in kernels)
mine = [e["start"] for e in samples if e["track"] == main and first <= e["start"] <= last]
# Between two calls nothing runs: each launch is waited for. Times of the device may be off by some microseconds, and by more where
# many programs want the processors.
between = [t for t in mine if not any(a - 500000 <= t <= b + 500000 for a, b in calls)]
rows = tables.get("host_code", [])
found = sum(row["samples"] for row in rows)
assert len(between) <= found <= len(mine), (len(between), found, len(mine))
assert len(rows) < 20 and all(row["time_ns"] == row["samples"] * period for row in rows), rows
if found >= 5:
    most = {}
    for row in rows:
        most[row["function"]] = most.get(row["function"], 0) + row["samples"]
    # It computes there, and reads the clock until the pause is over.
    assert max(most, key=most.get) in ("pause_in", "now", "program_clock_ns"), most
    assert "In %d of %d CPU samples of the launching threads" % (max(most.values()), found) in text, (most, text)
else:
    assert "too few to name its code" in text, text
gaps = tables["gap_code"]
assert all((row["samples"] < 5) == (row["function"] == "too few samples") for row in gaps), gaps
for row in gaps:
    if row["samples"] >= 5:
        assert 0 <= row["share_from"] <= row["in_function"] / row["samples"] <= row["share_to"] <= 1, row
# The flame graph has the time of all samples.
weights = [int(line.rsplit(" ", 1)[1]) for line in open(work + "/folded")]
assert sum(weights) == len(samples) * period, (sum(weights), len(samples), period)
PY
