#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Metrics of the GPU over time: every sample that the mock made comes into the trace with its value at its time, or into the
# ledger. How many it made the mock itself writes down (mock/cupti_metrics.c).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

# measure NAME WORDS: with words for the mock.
measure() {
    MOCK_METRICS=$work/$1.made MOCK_CUPTI=$2 record "$1" -- "$programs/cu_work" launches=100
    [ "$status" = 0 ] || fail "$1: the program's result is $status: $(cat "$work/$1.err")"
}
record without -- "$programs/cu_work" launches=10
options=--gpu-metrics
measure default pmwait
for version in 24 130301; do
    measure "version$version" "pmwait,version=$version"
done
measure unknown pmwait,pmunknown
measure passes pmwait,pmpasses=3
measure cycles pmwait,pmcycles
measure clock pmwait,pmclock
measure denied pmwait,pmdenied=35
measure busy pmwait,pmdenied=26
measure stuck pmwait,pmstuck
measure old version=23
options=--gpu-metrics=1000
measure full pmwait,pmfull=3
options='--pc-samples --gpu-metrics=500:sm__cycles_active.avg+dram__bytes.sum'
measure chosen pmwait
options='--agent-option cuda.pc-samples --agent-option cuda.metrics=500 --agent-option=cuda.metric-names=sm__cycles_active.avg+dram__bytes.sum'
measure named pmwait
options=--gpu-metrics=200:nothing
measure nothing pmwait
for wrong in 5 100: 100:a-b x 100,latency; do
    "$TRACESMITH" profile "--gpu-metrics=$wrong" -o "$work/no.sbt" -- true 2>"$work/no.err" && fail "$wrong was taken"
    grep -qE 'is not a (number from 10 to 1000000|list of names)' "$work/no.err" || fail "a wrong interval is not said: $(cat "$work/no.err")"
done
python3 - "$work" <<'PY'
import sys
from collections import Counter, defaultdict
from trace import Run

work = sys.argv[1]

def metrics(run):
    return [e for e in run.of("counter") if run.tracks[e["track"]]["name"] == "GPU metrics"]

# The samples that are in the trace, by metric; each value is of its metric and of a sample that comes after the one before it.
def check(name, count=None, interval=100000, lost=None):
    run = Run(work, name)
    run.check_everything()
    made = {}
    with open(f"{work}/{name}.made", encoding="utf-8") as file:
        for line in file:
            words = line.split()
            made[int(words[1])] = int(words[3])
            run.expect(int(words[5]) == interval, f"an interval of {words[5]}")
    run.expect(list(made) == [0], f"devices {made}")
    lost = lost or {}
    missing = sum(lost.values())
    run.expect(run.lost == lost, f"lost {run.lost}, not {lost}")
    names = defaultdict(list)
    for event in metrics(run):
        track = run.tracks[event["track"]]
        run.expect(track["device"] and track["simulated"], f"on {track}")
        names[event["name"]].append(event)
    run.expect(len(names) == count, f"metrics {list(names)}")
    bases = set()
    for metric, events in names.items():
        run.expect(len(events) == made[0] - missing > 0, f"{metric}: {len(events)} samples of {made[0]}, {missing} lost")
        events.sort(key=lambda e: e["start"])
        base = events[0]["value"] // 1000
        bases.add(base)
        steps = Counter((b["value"] - a["value"]) % 100 for a, b in zip(events, events[1:]))
        run.expect(all(e["value"] // 1000 == base for e in events), f"{metric}: a value of another metric")
        run.expect(set(steps) <= {1, 1 + missing} and steps[1 + missing] == (1 if missing else steps[1]), f"{metric}: {steps}")
        # The clocks are compared ten times a second, and may be off by the error that the trace states.
        error = int(run.attributes["cuda.clock_error_ns"])
        run.expect(abs(events[-1]["start"] - events[0]["start"] - (made[0] - 1) * interval) <= 2 * error + 1000, "times")
    run.expect(bases == set(range(count)), f"values of metrics {bases}")
    return run, names

run = Run(work, "without")
run.expect(not metrics(run), "metrics were not requested")
for name in "default", "version24", "version130301", "cycles":
    check(name, 11)
run, names = check("unknown", 9)
run.expect(not any(n.startswith("nvl") for n in names), f"{list(names)}")
run.expect("nvlrx__bytes.sum.per_second" in run.attributes["cuda.metrics.left_out"], "what was left out is not said")
run, names = check("passes", 3)
run.expect(run.attributes["cuda.metrics.left_out"].count("one pass") == 8, run.attributes["cuda.metrics.left_out"])
check("named", 2, 500000)
run, names = check("chosen", 2, 500000)
run.expect(set(names) == {"sm__cycles_active.avg", "dram__bytes.sum"} and run.of("sample"), f"{list(names)}")
run, names = check("full", 11, 1000000, {"vendor_dropped": 3})
run.expect("--gpu-metrics=US" in run.said, run.said)

# Without them, everything else is recorded, and one line gives the reason.
for name, word in (("denied", "ERR_NVGPUCTRPERM"), ("busy", "another tool has"), ("old", "CUDA 12.6"), ("nothing", "choosing metrics")):
    run = Run(work, name)
    run.check_everything()
    run.expect(not metrics(run) and not run.lost, f"metrics where there are none, lost {run.lost}")
    run.expect(sum(word in line for line in run.said.splitlines()) == 1, run.said)
# Times of an unknown clock are never taken for times of the trace's.
run = Run(work, "clock")
run.check_everything()
with open(f"{work}/clock.made", encoding="utf-8") as file:
    made = int(file.read().split()[3])
run.expect(not metrics(run) and run.lost == {"no_timing": made} and "not on CUPTI's clock" in run.said, f"{run.lost}")
# A CUPTI that does not return: the program ends all the same.
run = Run(work, "stuck")
run.check_everything()
run.expect(run.lost == {"vendor_dropped": 1} and "did not return" in run.said, f"{run.lost} {run.said}")
PY
