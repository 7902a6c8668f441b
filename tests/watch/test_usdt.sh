#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Static probes in our libraries: readelf knows them, each place is one instruction that does nothing, and one that is
# watched is passed as often as the program launches.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
command -v readelf >/dev/null || skip "no readelf"
[ "$(uname -m)" = x86_64 ] || skip "which instruction it is, is said here for x86-64 only"

# place FILE NAME: the file has a probe tracesmith:NAME, which is a nop of five bytes.
place() {
    readelf -n "$1" 2>/dev/null | grep -A 5 "stapsdt" >"$work/notes" || fail "$1 has no static probes"
    python3 - "$1" "$2" "$work/notes" <<'PY' || fail "$1: $2"
import re, subprocess, sys
notes = open(sys.argv[3]).read()
found = re.findall(r"Provider: (\w+)\s+Name: (\w+)\s+Location: 0x([0-9a-f]+)", notes)
places = [int(place, 16) for provider, name, place in found if (provider, name) == ("tracesmith", sys.argv[2])]
assert places, (found, notes)
# From the address to the place in the file, by the segments.
segments = re.findall(r"LOAD\s+0x([0-9a-f]+) 0x([0-9a-f]+) 0x[0-9a-f]+\s+0x([0-9a-f]+)",
                      subprocess.run(["readelf", "-lW", sys.argv[1]], stdout=subprocess.PIPE, check=True).stdout.decode())
content = open(sys.argv[1], "rb").read()
for place in places:
    offset = [int(at, 16) + place - int(address, 16) for at, address, size in segments
              if int(address, 16) <= place < int(address, 16) + int(size, 16)]
    assert len(offset) == 1 and content[offset[0]:offset[0] + 5] == b"\x0f\x1f\x44\x00\x00", (hex(place), offset)
PY
}
place "$agents/libtracesmith-opencl.so" launch
place "$TRACESMITH_BUILD_DIR/lib/libtracesmith.so" batch

[ -f "$agents/libtracesmith-bpf.so" ] || skip "built without libbpf: only looked at"
code=0
"$TRACESMITH" profile --probe "$agents/libtracesmith-opencl.so:@launch" -o "$work/run.sbt" -- \
    "$programs/cl_launch_loop" -n 250 >"$work/said.json" 2>"$work/err" || code=$?
[ "$code" -ne 4 ] || skip "$(cat "$work/err")"
[ "$code" -eq 0 ] || fail "recording: $(cat "$work/err")"
"$TRACESMITH" view -f json "$work/run.sbt" >"$work/run.json" || fail "the trace cannot be read"
"$TRACESMITH" info --json "$work/run.sbt" >"$work/run.info" || fail "nothing is known of the trace"
python3 - "$work/run.json" "$work/said.json" "$work/run.info" <<'PY' || fail "it was not passed as often as was launched"
import json, sys
trace, said, info = (json.load(open(path)) for path in sys.argv[1:4])
passed = sorted(e["start"] for e in trace["events"] if e["kind"] == "marker" and e["name"] == "launch")
calls = sorted((e["start"], e["start"] + e["duration"]) for e in trace["events"]
               if e["kind"] == "api" and e["name"] == "clEnqueueNDRangeKernel")
assert len(passed) == len(calls) == said["launches"], (len(passed), len(calls), said)
# Right after each call and before the next one, within the errors of the kernel's clock and the agent's that the
# trace states. A slope between two comparisons that holds until the distance has doubled errs by at most three times
# what they err by.
known = {clock["name"]: clock["error_ns"]["most"] for clock in info["clocks"] if not clock["device"]}
error = 3 * (known.get("tsc", 0) + known["CLOCK_MONOTONIC"])
for i, at in enumerate(passed):
    assert calls[i][1] <= at + error and (i + 1 == len(calls) or at <= calls[i + 1][0] + error), (i, at, calls[i:i + 2], known)
PY
code=0
"$TRACESMITH" profile --probe "$agents/libtracesmith-opencl.so:@nowhere" -o "$work/no.sbt" -- true 2>"$work/err" || code=$?
{ [ "$code" -eq 2 ] && grep -q "readelf -n" "$work/err"; } || fail "a probe that is not there gave $code: $(cat "$work/err")"
