#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CUPTI's records from its buffers to the file: agent, channel, collector, encoder and disk, on the mocks of CUPTI and the
# driver. Two mixes: a call of the driver and its kernel, of one stream; and a framework's, on four streams: per launch a
# call of the runtime, one of the driver and a kernel, some with shared memory, copies and waits among them, all joined
# with their launches. The buffers are filled by the program itself, which is no work of ours: what the agent takes is
# timed apart.
#   - records a second by the clock, from the first buffer to the finished file, the time of a run without records taken off
#   - processor time per record: of the agent, and of the tracesmith process
# The least of several runs. TRACESMITH_BENCH_PEER: another build, in turns with this one.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}"
command -v python3 >/dev/null || { echo "no python3 to measure with"; exit 1; }
[ -x "$TRACESMITH_BUILD_DIR/tests/programs/cu_work" ] || { echo "the programs of the tests are not built"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH="$TRACESMITH_BUILD_DIR/tests/cuda/mock"
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
program = [build + "/tests/programs/cu_work", "launches=1"]


def run(command, feed, mix):
    """Wall time, processor time of tracesmith alone, that of the program, the agent's time, as seconds."""
    start = time.monotonic()
    timed = ["bash", "-c", 'TIMEFORMAT="program %U %S"; time "$@"', "-"] + program
    timed += (["callbacks=131072"] if mix else []) + ["feed=%d" % feed]
    process = subprocess.Popen([command, "profile", "--api", "cuda", "--overflow", "block", "-o", work + "/t.sbt", "--"] + timed,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, said = (text.decode() for text in process.communicate())
    wall = time.monotonic() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert process.returncode == 0, said
    own = sum(map(float, re.search(r"program (\S+) (\S+)", said).groups()))
    fed = re.search(r"fed \d+ nanoseconds (\d+)", out)
    return wall, used.ru_utime + used.ru_stime, own, int(fed.group(1)) / 1e9 if fed else 0


def measure(mix):
    os.environ["MOCK_CUPTI"] = mix
    best = {}
    for _ in range(runs):
        for command in commands:
            for feed in (1, launches):
                before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
                wall, total, own, agent = run(command, feed, mix)
                values = (wall, total - before - own, own, agent)
                best[command, feed] = tuple(map(min, best.get((command, feed), values), values))
    info = json.loads(subprocess.run([commands[0], "info", "--json", work + "/t.sbt"], check=True, capture_output=True).stdout)
    records = info["events"]
    assert info["kinds"]["kernel"] == launches + 1 and info["lost"]["total"] == 0, info["lost"]
    for command in commands:
        idle, busy = best[command, 1], best[command, launches]
        print("%s, %s: %d records, %.1f M/s by the clock" % (mix or "pairs", command, records, records / (busy[0] - idle[0]) / 1e6))
        print("  ns per record: agent %.1f by the clock; tracesmith %.1f, program %.1f of processor time" %
              (busy[3] / records * 1e9, (busy[1] - idle[1]) / records * 1e9, (busy[2] - idle[2]) / records * 1e9))


measure("")
measure("mix")
PY
