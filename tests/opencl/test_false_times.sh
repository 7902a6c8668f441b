#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Impossible times of a driver are rejected: each such command has no time and is in the ledger as no_timing, and
# every answer states for how many commands times are known. A clock of the driver's own is accepted, and one that is
# set; and a command that still runs when its times are queried is queried again.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

layer=$work/libfalse.so
"${CC:-cc}" -shared -fPIC -o "$layer" "$here/false_times_layer.c" 2>"$work/cc" || skip "no compiler: $(head -n 1 "$work/cc")"

for shape in none zero order beyond before same domain step early; do
    record "$shape" env FALSE_TIMES="$shape" OPENCL_LAYERS="$layer:$agents/libtracesmith-opencl.so" \
        "$programs/cl_finish" -n 3 finish events
    [ "$status" -eq 0 ] || fail "$shape: $(cat "$work/$shape.err")"
done
python3 - "$work" <<'PY'
import json
import os
import subprocess
import sys

from trace import Trace, expect

work = sys.argv[1]


def timed(shape):
    trace = Trace(f"{work}/{shape}.json")
    commands = trace.of("kernel", "memcpy")
    have = [c for c in commands if "duration" in c]
    expect(len(commands) == 18, f"{shape}: {len(commands)} commands of 18")
    without = len(commands) - len(have)
    expect(trace.lost["by_reason"].get("no_timing", 0) == without, f"{shape}: {without} untimed, ledger {trace.lost}")
    for command in commands:
        if "duration" not in command:
            expect(command.get("certainty") == "untimed", f"{shape}: a command without times does not say so")
            expect(not {"queued", "submitted", "completed"} & command.keys(), f"{shape}: {command}")
    return commands, have


def answers(shape, known, all_commands):
    trace = f"{work}/{shape}.sbt"

    def told(*arguments):
        done = subprocess.run([os.environ["TRACESMITH"], *arguments, trace], capture_output=True, text=True, check=True)
        lost = f"{all_commands - known} events are missing or incomplete: {all_commands - known} no_timing"
        expect(lost in done.stderr and "not recorded" not in done.stderr, f"{shape}: {arguments} says {done.stderr}")
        return " ".join(done.stdout.split())

    share = f"{known} of {all_commands} kernels and transfers"
    expect(share in told("view", "--stats"), f"{shape}: view --stats does not say {share}")
    expect("MISSING OR INCOMPLETE" in told("view", "--stats"), f"{shape}: view --stats has no gap")
    expect(share in told("info"), f"{shape}: info does not say {share}")
    whole = told("analyze")
    for answer in ("breakdown", "idle", "kernels", "critical_path", "launches", "sync", "streams", "bandwidth"):
        said = whole.split(f" {answer} ", 1)[1]
        expect(share in said[:600], f"{shape}: analyze's {answer} does not say {share}: {said[:300]}")
    waits = json.loads(told("analyze", "--only", "sync", "--json"))["traces"][0]["reports"][0]
    calls = waits["tables"]["waits"]
    total = sum(call["total_ns"] for call in calls)
    expect(f"waited {sum(call['count'] for call in calls)} times" in waits["finding"], f"{shape}: {waits['finding']}")
    expect(total > 0, f"{shape}: no wait of the host: {calls}")
    if not known:  # when what was waited for ended is not known of any
        expect("when the device had finished is not known" in waits["finding"], f"{shape}: {waits['finding']}")
        expect(all(call["matched"] == 0 and call["return_delay_ns"] is None for call in calls), f"{shape}: {calls}")
    expect("what to fix first is not known" in whole, f"{shape}: advice rests on untimed commands")
    with open(f"{work}/{shape}.err") as file:
        expect(f"times are known for {share}" in file.read(), f"{shape}: profile does not say {share}")
    stats = json.loads(told("view", "--stats", "-f", "json"))
    expect(stats["work"] == {"commands": all_commands, "timed": known}, f"{shape}: {stats['work']}")


for shape in ("none", "domain", "early"):
    commands, have = timed(shape)
    expect(len(have) == len(commands), f"{shape}: {len(have)} of {len(commands)} have times")
for shape in ("zero", "order", "beyond"):
    commands, have = timed(shape)
    expect(not have, f"{shape}: {len(have)} of {len(commands)} are believed")
    answers(shape, 0, len(commands))
# The first command has nothing to be compared with.
commands, have = timed("same")
expect(len(have) <= 1, f"same: {len(have)} of {len(commands)} are believed")
answers("same", len(have), len(commands))
commands, have = timed("before")
expect(len(have) == len(commands) // 2, f"before: {len(have)} of {len(commands)} are believed")
answers("before", len(have), len(commands))
# Some go without times until two agree on where the clock is now.
commands, have = timed("step")
commands.sort(key=lambda command: command["correlation"])
expect(all("duration" in c for c in commands[:6]), "step: not believed before")
expect("duration" in commands[-1], "step: not believed again")
expect(any("duration" not in c for c in commands), "step: never in doubt")
# Accepted times are within the program's run.
for shape in ("domain", "before"):
    trace = Trace(f"{work}/{shape}.json")
    calls = [e for e in trace.of("api") if "duration" in e]
    begin, end = min(e["start"] for e in calls), max(e["start"] + e["duration"] for e in calls)
    for command in timed(shape)[1]:
        expect(begin - 1000000 <= command["start"] and command["start"] + command["duration"] <= end + 1000000,
               f"{shape}: a command outside of the run")
print("times that cannot be are not believed")
PY
