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
Xvfb -displayfd 3 -screen 0 640x480x24 -nolisten tcp -noreset 3>"$work/display" >"$work/server.log" 2>&1 &
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

# A captured frame is drawn again: the same picture, which has the cube's colors. Its resources and commands are listed.
export XDG_STATE_HOME="$work/state"
cube captured --api vulkan --frames=present --capture=frames:40+1
cmp -s "$work/alone.out" "$work/captured.out" || fail "vkcube prints something else when it is captured"
"$TRACESMITH" replay --json --range frame:40 --all --save-results "$work/saved" "$work/captured.sbt" >"$work/replay.json" ||
    fail "the replay of a frame: $(cat "$work/replay.json")"
"$TRACESMITH" view --json --frame 40 "$work/captured.sbt" >"$work/state.json" || fail "no state"
python3 - "$work" <<'PYTHON'
import glob, json, re, struct, sys, zlib

work = sys.argv[1]


def pixels(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", path
    at, rows, size = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0], kind
        if kind == b"IHDR":
            size = struct.unpack(">II", body[:8])
        rows += body if kind == b"IDAT" else b""
        at += 12 + length
    rows, stride = zlib.decompress(rows), 1 + 3 * size[0]
    assert len(rows) == stride * size[1], path
    return size, [rows[y * stride + 1 + 3 * x :][:3] for y in range(size[1]) for x in range(size[0])]


with open(f"{work}/replay.json", encoding="utf-8") as file:
    results = json.load(file)["results"]
assert [r["verdict"] for r in results] == ["exact", "exact"], results
pictures = {path: pixels(path) for path in glob.glob(f"{work}/saved/*.png")}
assert len(pictures) == 6 and {size for size, _ in pictures.values()} == {(100, 100)}, pictures.keys()
for path, (_, picture) in pictures.items():
    if "difference" in path:
        assert set(picture) == {b"\0\0\0"}, path
# The color buffer has the cube before a plain background, the depth buffer its distances, of which a picture has the high byte: several
# values in the middle, one in the corners.
for path in glob.glob(f"{work}/saved/*.replayed.png"):
    picture = pictures[path][1]
    assert len(set(picture)) > 1 and len({picture[0], picture[99], picture[-1], picture[-100]}) == 1, path
assert max(len(set(picture)) for _, picture in pictures.values()) > 10
with open(f"{work}/state.json", encoding="utf-8") as file:
    state = json.load(file)
commands = [c["command"].split("(")[0] for c in state["commands"]]
assert commands == ["vkCmdBeginRenderPass", "vkCmdBindPipeline", "vkCmdBindDescriptorSets", "vkCmdSetViewport", "vkCmdSetScissor",
                    "vkCmdDraw", "vkCmdEndRenderPass"], commands
kinds = [r["kind"] for r in state["resources"]]
assert {"image", "buffer", "shader module", "pipeline", "render pass", "framebuffer", "descriptor set", "sampler"} <= set(kinds), kinds
# What the program binds to memory is bound, and its content is there: the texture and the uniform buffers, not the depth buffer.
buffers = [r for r in state["resources"] if r["kind"] == "buffer"]
images = {r["object"]: r for r in state["resources"] if r["kind"] == "image"}
assert {"D16_UNORM", "R8G8B8A8_UNORM"} <= {r["format_name"] for r in images.values()}, images
assert all(r["samples"] == 1 for r in images.values()), images
views = [r for r in state["resources"] if r["kind"] == "image view"]
assert views and all(images[r["of"]]["format_name"] == r["format_name"] for r in views), views
assert buffers and all(r["memory"] and len(r["hash"]) == 32 for r in buffers), buffers
# The draw has a pipeline and a set, in which are the uniform buffer and the texture, as vkcube's shaders name them.
(draw,) = [c for c in state["commands"] if c["command"].startswith("vkCmdDraw")]
pipeline, bound = re.fullmatch(r"pipeline #(\d+), set 0 #(\d+)", draw["bound"]).groups()
objects = {r["object"]: r for r in state["resources"]}
assert objects[int(pipeline)]["kind"] == "pipeline" and objects[int(bound)]["kind"] == "descriptor set", draw
uniform, texture = sorted((d for d in state["descriptors"] if d["set"] == int(bound)), key=lambda d: d["binding"])
assert (uniform["binding"], uniform["type"], texture["binding"], texture["type"]) == (0, "uniform buffer", 1, "combined image sampler")
assert objects[uniform["object"]]["kind"] == "buffer" and uniform["bytes"] <= objects[uniform["object"]]["bytes"], uniform
assert objects[texture["view"]]["of"] == texture["object"] and texture["object"] in images, texture
assert objects[texture["sampler"]]["kind"] == "sampler", texture
PYTHON

# A device that leaves out half of what is drawn: the picture differs, where the missing triangles are and nowhere else.
layer faulty -DFAULTY
code=0
VK_ADD_LAYER_PATH="$work/layers" VK_INSTANCE_LAYERS=VK_LAYER_TESTS_faulty "$TRACESMITH" replay --json --save-results "$work/wrong" \
    "$work/captured.sbt" >"$work/wrong.json" || code=$?
[ $code = 1 ] || fail "a faulty device gives $code: $(cat "$work/wrong.json")"
python3 - "$work" <<'PYTHON'
import glob, json, sys

work = sys.argv[1]
with open(f"{work}/wrong.json", encoding="utf-8") as file:
    results = json.load(file)["results"]
# The pass does not store the depths: what differs there is undefined.
assert sorted(r["verdict"] for r in results) == ["diverged", "uncomparable"], results
for result in results:
    if result["verdict"] != "diverged":
        continue
    (name,) = glob.glob(f"{work}/wrong/*-buffer-{result['buffer']}.recorded.u8")
    sides = []
    for side in ("recorded", "replayed"):
        with open(name.replace("recorded", side), "rb") as file:
            sides.append(file.read())
    assert result["different"] == sum(a != b for a, b in zip(*sides)) > 0, result
assert glob.glob(f"{work}/wrong/*.difference.png")
PYTHON

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
    export VK_INSTANCE_LAYERS=VK_LAYER_TRACESMITH_profile:VK_LAYER_TRACESMITH_record:VK_LAYER_KHRONOS_validation
    cube judged_capture --api vulkan --frames=present --capture=frames:40+2
    findings judged_capture
    diff "$work/judged.found" "$work/judged_capture.found" || fail "validation finds fault with the capture"
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
