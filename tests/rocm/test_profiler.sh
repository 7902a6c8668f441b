#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A HIP program that profiles itself has what it launched between start and stop, and nothing else; `devices` lists the GPUs and not the
# processors that the SDK knows: simulated.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

# Of every SDK; one of 1.0 with streams ends programs that use a stream which it did not see being made.
self=$TRACESMITH_BUILD_DIR/tests/programs/sbt_hip_profiler
"$self" >"$work/out" 2>"$work/err" || fail "exit status $?: $(cat "$work/err")"
MOCK_ROCM=version=10000 "$self" streams >"$work/out.old" 2>"$work/err" || fail "exit status $?: $(cat "$work/err")"
for out in "$work/out" "$work/out.old"; do
    printf '300 300\n900 900\n1800 1800\n3000 3000\n' | cmp -s - "$out" || fail "wanted and seen: $(cat "$out")"
done

"$TRACESMITH" devices --json >"$work/devices.json" 2>"$work/err" || fail "devices: $(cat "$work/err")"
python3 - "$work" <<'PY'
import json
import sys

with open(f"{sys.argv[1]}/devices.json", encoding="utf-8") as file:
    answer = json.load(file)
devices = [d for d in answer["devices"] if d["api"] == "rocm"]
found = [(d["name"], d["vendor"], d["compute_units"], d["memory_bytes"], d["clock_mhz"]) for d in devices]
assert found == [("Mock Instinct", "AMD", 304, 192 << 30, 2100)] * 2, devices
assert [f["text"] for f in answer["facts"] if f["of"].endswith("architecture")] == ["gfx942"] * 2, answer["facts"]
PY
