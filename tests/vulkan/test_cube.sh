#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# vkcube of Debian on Mesa's driver for CPUs, with a display that is only memory: each frame that it draws is one submission, one
# render pass with one draw, and one present. Khronos's validation has nothing to say of what the layer adds.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
here=$TRACESMITH_SOURCE_DIR/tests/vulkan
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || :; rm -rf "$work"' EXIT
# shellcheck source=tests/vulkan/common.sh
. "$here/common.sh"
command -v vkcube >/dev/null || skip "no vkcube (Debian: apt install vulkan-tools)"
command -v Xvfb >/dev/null || skip "no display to draw on (Debian: apt install xvfb)"

# The server chooses a number and writes it when it is ready.
mkfifo "$work/display"
Xvfb -displayfd 3 -screen 0 640x480x24 -nolisten tcp 3>"$work/display" >"$work/server.log" 2>&1 &
server=$!
read -r number <"$work/display" || fail "Xvfb does not start: $(cat "$work/server.log")"
export DISPLAY=":$number"
frames=100

# cube NAME OPTION...
cube() {
    name=$1
    shift
    "$TRACESMITH" profile -o "$work/$name.sbt" "$@" -- vkcube --c $frames --width 100 --height 100 >"$work/$name.out" 2>"$work/$name.err" ||
        fail "$name: exit status $?: $(cat "$work/$name.err")"
    "$TRACESMITH" view --json "$work/$name.sbt" >"$work/$name.json" || fail "$name: no trace"
    "$TRACESMITH" analyze --json --only frames "$work/$name.sbt" >"$work/$name.frames" || fail "$name: no answer"
    "$TRACESMITH" view --json --frame $frames "$work/$name.sbt" >"$work/$name.last" || fail "$name: no last frame"
}
vkcube --c $frames --width 100 --height 100 >"$work/alone.out" || fail "vkcube alone"
cube cube
cmp -s "$work/alone.out" "$work/cube.out" || fail "vkcube prints something else: $(cat "$work/cube.out")"

if [ -f /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ]; then
    # vkcube itself is not without faults: what validation finds of it alone is compared. Handles differ from run to run.
    findings() {
        grep -o 'VUID-[A-Za-z0-9-]*' "$work/$1.out" "$work/$1.err" | sed 's/.*://' | sort -u >"$work/$1.found" || :
    }
    VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation vkcube --c $frames --width 100 --height 100 >"$work/judged.out" 2>"$work/judged.err" ||
        fail "vkcube with validation"
    findings judged
    export VK_INSTANCE_LAYERS=VK_LAYER_TRACESMITH_profile:VK_LAYER_KHRONOS_validation
    cube validated --api vulkan
    findings validated
    diff "$work/judged.found" "$work/validated.found" || fail "validation finds fault with what the layer adds"
fi

python3 - "$work" $frames <<'PYTHON'
import json, os, sys
from collections import Counter

work, frames = sys.argv[1], int(sys.argv[2])
for name in ("cube", "validated"):
    path = f"{work}/{name}.json"
    if not os.path.exists(path):
        continue
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["events"]
    calls = Counter(e["name"] for e in events if e["kind"] == "api")
    assert calls["vkQueuePresentKHR"] == frames and calls["vkQueueSubmit"] == frames + 1, calls
    shown = [e for e in events if e["kind"] == "frame"]
    assert len(shown) == frames, len(shown)
    for before, after in zip(shown, shown[1:]):
        assert before["start"] + before["duration"] <= after["start"] + 1, (before, after)
    with open(f"{work}/{name}.frames", encoding="utf-8") as file:
        (report,) = json.load(file)["traces"][0]["reports"]
    rows = {row["frame"]: row for row in report["tables"]["frames"]}
    assert sorted(rows) == list(range(1, frames + 1)), sorted(rows)
    assert all(row["kernels"] == 1 for row in rows.values()), rows
    ends = [e["start"] + e["duration"] for e in shown]
    assert all(abs(rows[n + 2]["time_ns"] - (ends[n + 1] - ends[n])) <= 1 for n in range(frames - 1))
    with open(f"{work}/{name}.last", encoding="utf-8") as file:
        last = json.load(file)["events"]
    assert Counter(e["name"] for e in last if e["kind"] == "api")["vkQueuePresentKHR"] == 1, last
    assert [e["kind"] for e in last].count("kernel") == 1, last
    passes = [e for e in events if e["kind"] == "kernel"]
    assert len(passes) == frames, len(passes)
    assert all(e["args"]["draws"] == 1 for e in passes), passes[0]
    assert {e["name"] for e in passes} == {"render pass 100x100"}
    # vkcube's command buffers may be pending twice, if a present does not wait for them: such a pass has no times, and is counted.
    lost = Counter()
    for event in events:
        if event["kind"] == "loss":
            lost[event["reason"]] += event["lost"]
    untimed = sum(e.get("certainty") == "untimed" for e in passes)
    assert untimed < frames and all(e["duration"] > 0 for e in passes if "duration" in e), untimed
    assert lost == (Counter({"no_timing": untimed}) if untimed else Counter()), lost
    submits = {e["correlation"] for e in events if e["kind"] == "api" and e["name"] == "vkQueueSubmit"}
    assert {e["correlation"] for e in passes} <= submits
PYTHON
