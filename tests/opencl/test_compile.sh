#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and first launches. PoCL compiles a kernel for a work-group size when it is first launched with it, and keeps
# each result as one .so in its cache: in a run with an empty cache there is one first_launch event for every .so, right
# before the launch; in a run with a full one there is none.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

# A launch that a busy machine keeps waiting looks like one that is compiled: of a few runs with a full cache, one without
# any will do.
tries=0
again() {
    tries=$((tries + 1))
    [ "$tries" -lt 8 ] || fail "first launches in every run with a full cache"
}

set -- cold warm
while [ $# -gt 0 ]; do
    cache=$1
    shift
    code=0
    record "$cache" env POCL_CACHE_DIR="$work/cache" "$programs/cl_threads" -t 4 -n 20 --share queue
    [ "$status" -eq 0 ] || fail "$cache: ended with $status"
    [ -d "$work/cache" ] || skip "the OpenCL device keeps no cache: it is not PoCL"
    find "$work/cache" -name '*.so' | sed 's|.*/||; s|\.so$||' | sort >"$work/compiled"
    python3 - "$work/$cache.json" "$work/compiled" "$cache" <<'PY' || code=$?
import json
import os
import re
import subprocess
import sys
from trace import Trace, expect

trace = Trace(sys.argv[1])
compiled = sorted(line.strip() for line in open(sys.argv[2]))
builds = [e for e in trace.of("compile") if e["operation"] == "build"]
first = [e for e in trace.of("compile") if e["operation"] == "first_launch"]
calls = {c["start"]: c for c in trace.calls("clBuildProgram")}
expect(len(builds) == len(calls) == 1, f"{len(builds)} builds, {len(calls)} calls")
for build in builds:
    expect(build["result"] == 0 and calls[build["start"]]["duration"] == build["duration"], str(build))
expect(compiled, "PoCL compiled nothing")
names = sorted(e["name"] for e in first)
if sys.argv[3] == "cold":
    expect(names == compiled, f"{names}, PoCL compiled {compiled}")
elif names:
    sys.exit(3)
launches = {k["correlation"]: k for k in trace.of("kernel")}
for event in first:
    launch = launches[event["correlation"]]
    expect(event["certainty"] == "inferred" and event["name"] == launch["name"] and event["track"] == launch["track"], str(event))
    expect(launch["submitted"] <= event["start"], f"{event} before {launch}")
    expect(event["start"] + event["duration"] == launch["start"], f"{event} is not right before {launch}")
# A wait that a first launch covers reports that, and not that nothing ran.
stats = json.loads(subprocess.run([os.environ["TRACESMITH"], "view", "--stats", "-f", "json", sys.argv[1].removesuffix(".json") + ".sbt"],
                                  stdout=subprocess.PIPE, check=True).stdout)
named = sum(cause["ns"] for wait in stats["waits"] for cause in wait["for"] if cause["kind"] == "compile")
alone = 0  # of waits for a queue, while a kernel was compiled there and no command ran
commands = [e for e in trace.of("kernel", "memcpy", "memset") if "duration" in e]
for wait in trace.of("sync"):
    for event in first:
        if wait.get("queue_track") != event["track"]:
            continue
        begin = max(wait["start"], event["start"])
        end = min(wait["start"] + wait["duration"], event["start"] + event["duration"])
        for c in commands:
            if c["track"] == event["track"] and c["start"] < end and c["start"] + c["duration"] > begin:
                end = begin  # not alone
        alone += max(0, end - begin)
expect(named >= alone, f"compile is named for {named} ns of waits, {alone} ns of them had nothing else")
# On the critical path a compilation is called so, and is no work of a device.
answer = json.loads(subprocess.run([os.environ["TRACESMITH"], "analyze", "--only", "critical_path", "--json",
                                    sys.argv[1].removesuffix(".json") + ".sbt"], stdout=subprocess.PIPE, check=True).stdout)
report = answer["traces"][0]["reports"][0]
parts = {row["what"]: row["share"] for row in report["tables"]["path"]}
ran = sum(parts.get(what, 0) for what in ("compute", "communication", "copy"))
said = float(re.search(r"critical path takes .*?; ([0-9.]+)% of it is work of a device", report["finding"])[1])
expect(abs(said - 100 * ran) < 0.06, f"{ran} of {report['finding']}")
waits = {row["name"] for row in report["tables"]["names"] if row["what"] == "control"}
expect(not waits & set(compiled), f"control: {waits}")
trace.check_order()
print(f"{named} ns of waits were compiling; {alone} ns had nothing else; {sys.argv[3]}: {len(first)} first launches, {len(compiled)} kernels in the cache")
PY
    case $code in
    0) ;;
    3) again && set -- warm ;;
    *) exit "$code" ;;
    esac
done

# A compilation waits for the call that launches it: the critical path of one thread goes from its first call to its last end.
record single env POCL_CACHE_DIR="$work/single" "$programs/cl_launch_loop" -n 3
"$TRACESMITH" analyze --only critical_path --json "$work/single.sbt" >"$work/single.path"
python3 - "$work/single.json" "$work/single.path" <<'PY'
import json
import sys
from trace import Trace, expect

trace = Trace(sys.argv[1])
expect(trace.of("compile"), "nothing was compiled")
(report,) = json.load(open(sys.argv[2]))["traces"][0]["reports"]
parts = {row["what"]: row["time_ns"] for row in report["tables"]["path"]}
spans = [(e["start"], e["start"] + e["duration"]) for e in trace.calls() + trace.commands() if "duration" in e]
whole = max(end for _, end in spans) - min(start for start, _ in spans)
expect(parts.get("compile"), f"no compilation on the path: {parts}")
expect(0.99 * whole <= sum(parts.values()) <= whole, f"{parts} of {whole} ns")
expect(not any("The path begins" in note for note in report["notes"]), report["notes"])
PY

record failing "$programs/cl_errors" --json
python3 - "$work/failing.json" <<'PY'
import sys
from trace import Trace, expect

trace = Trace(sys.argv[1])
results = [e["result"] for e in trace.of("compile") if e["operation"] == "build"]
calls = [c["result"] for c in trace.calls("clBuildProgram")]
expect(sorted(results) == sorted(calls) and any(results), f"builds {results}, calls {calls}")
failed = [c for c in trace.calls() if c["result"] < 0]
expect(failed, "no failed call is recorded")
numbers = {c["correlation"] for c in failed if "correlation" in c}
expect(not [k for k in trace.commands() if k["correlation"] in numbers], "a command of a call that failed")
print(f"{len(failed)} calls failed")
PY
