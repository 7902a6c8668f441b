#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CUPTI's records from its buffers to the file: agent, channel, collector, encoder and disk, on the doubles of CUPTI and the
# driver. The mix is a framework's: per launch a call of the runtime, one of the driver and a kernel, some copies and
# waits; all are joined with their launches. The buffers are filled by the program itself, which is no work of ours: it
# is timed apart ("fed N nanoseconds": only what the agent takes).
#   - records a second by the clock, from the first buffer to the finished file, the time of a run without records taken off
#   - processor time per record: of the agent, and of the tracesmith process
# The least of several runs. TRACESMITH_BENCH_PEER: another build, in turns with this one.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}"
command -v python3 >/dev/null || { echo "no python3 to measure with"; exit 1; }
[ -x "$TRACESMITH_BUILD_DIR/tests/programs/cu_work" ] || { echo "the programs of the tests are not built"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH="$TRACESMITH_BUILD_DIR/tests/cuda/double" DOUBLE_CUPTI=mix
exec python3 - "$work" "$TRACESMITH_BUILD_DIR" "$TRACESMITH" ${TRACESMITH_BENCH_PEER:+"$TRACESMITH_BENCH_PEER"} <<'PY'
import json
import os
import re
import resource
import subprocess
import sys
import time

work, build, commands = sys.argv[1], sys.argv[2], sys.argv[3:]
launches = int(os.environ.get("TRACESMITH_BENCH_LAUNCHES", 2000000))
runs = int(os.environ.get("TRACESMITH_BENCH_RUNS", 7))
program = [build + "/tests/programs/cu_work", "launches=1", "callbacks=131072"]


def run(command, feed):
    """Wall time, processor time of tracesmith alone, that of the program, the agent's time, as seconds."""
    start = time.monotonic()
    timed = ["bash", "-c", 'TIMEFORMAT="program %U %S"; time "$@"', "-"] + program + (["feed=%d" % feed] if feed else [])
    process = subprocess.Popen([command, "profile", "--api", "cuda", "--overflow", "block", "-o", work + "/t.sbt", "--"] + timed,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, said = (text.decode() for text in process.communicate())
    wall = time.monotonic() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert process.returncode == 0, said
    own = sum(map(float, re.search(r"program (\S+) (\S+)", said).groups()))
    fed = re.search(r"fed \d+ nanoseconds (\d+)", out)
    return wall, used.ru_utime + used.ru_stime, own, int(fed.group(1)) / 1e9 if fed else 0


best = {}
before = 0.0
for _ in range(runs):
    for command in commands:
        for feed in (0, launches):
            wall, total, own, agent = run(command, feed)
            total, before = total - before, total
            values = (wall, total - own, own, agent)
            known = best.get((command, feed), values)
            best[command, feed] = tuple(map(min, known, values))
info = json.loads(subprocess.run([commands[0], "info", "--json", work + "/t.sbt"], check=True, capture_output=True).stdout)
records = info["events"] if isinstance(info["events"], int) else sum(info["kinds"].values())
assert info["kinds"]["kernel"] == launches + 1 and info["lost"]["total"] == 0, info["lost"]
for command in commands:
    idle, busy = best[command, 0], best[command, launches]
    print("%s: %d records, %.1f M/s by the clock" % (command, records, records / (busy[0] - idle[0]) / 1e6))
    print("  ns per record: agent %.1f by the clock; tracesmith %.1f, program %.1f of processor time" %
          (busy[3] / records * 1e9, (busy[1] - idle[1]) / records * 1e9, (busy[2] - idle[2]) / records * 1e9))
PY
