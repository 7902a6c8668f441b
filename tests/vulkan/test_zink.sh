#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# OpenGL over Vulkan (Mesa's zink on lavapipe): frames of a program of OpenGL are captured and replayed exactly, what the last one draws is what
# the program itself reads back, and a device that leaves out half of each draw diverges.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
here=$TRACESMITH_SOURCE_DIR/tests/vulkan
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || :; rm -rf "$work"' EXIT
export XDG_STATE_HOME="$work/state" XDG_RUNTIME_DIR="$work"
# shellcheck source=tests/vulkan/common.sh
. "$here/common.sh"
export MESA_LOADER_DRIVER_OVERRIDE=zink GALLIUM_DRIVER=zink LIBGL_ALWAYS_SOFTWARE=1 MESA_SHADER_CACHE_DISABLE=true
# shellcheck disable=SC2086 # words
"${CC:-cc}" -O1 $sanitize -o "$work/gl" "$here/gl.c" -lEGL -lGL 2>"$work/err" ||
    skip "no EGL and OpenGL to build with (Debian: apt install libegl-dev libgl-dev): $(head -n 1 "$work/err")"
code=0
timeout 60 "$work/gl" 3 "$work/alone" >"$work/out" 2>"$work/err" || code=$?
[ $code != 77 ] || skip "no OpenGL without a window: $(cat "$work/out")"
[ $code = 0 ] || fail "alone: exit status $code: $(cat "$work/out" "$work/err")"
case $(cat "$work/out") in
zink*) ;;
*) skip "no zink (Debian: apt install libgl1-mesa-dri): the renderer is $(cat "$work/out")" ;;
esac

# capture NAME
capture() {
    name=$1
    timeout 60 "$TRACESMITH" profile --api vulkan --capture=frames-every:1 -o "$work/$name.sbt" -- "$work/gl" 3 "$work/pixels" >"$work/out" 2>"$work/err" ||
        fail "$name: exit status $?: $(cat "$work/err")"
    cmp "$work/alone" "$work/pixels" || fail "$name: the program draws something else"
}
# replay NAME STATUS OPTION...
replay() {
    name=$1 expected=$2 code=0
    shift 2
    timeout 60 "$TRACESMITH" replay --json "$@" "$work/$name.sbt" >"$work/$name.json" 2>"$work/err" || code=$?
    [ $code = "$expected" ] || fail "$name: replay ends with $code: $(cat "$work/$name.json" "$work/err")"
}
capture frames
replay frames 0 --all --save-results "$work/saved"
"$TRACESMITH" view --json --frame 3 --frames wait "$work/frames.sbt" >"$work/third.json" || fail "no state"
python3 - "$work" <<'PYTHON' || fail "the replay"
import glob, json, sys

work = sys.argv[1]
with open(f"{work}/frames.json", encoding="utf-8") as file:
    answer = json.load(file)
verdicts = {r["verdict"] for r in answer["results"]}
assert verdicts == {"exact"} and answer["recording"]["commands"] >= 3, answer
with open(f"{work}/alone", "rb") as file:
    pixels = file.read()
assert len(set(zip(*[iter(pixels)] * 4))) > 50
saved = []
for path in glob.glob(f"{work}/saved/*.replayed.u8"):
    with open(path, "rb") as file:
        saved.append(file.read())
assert pixels in saved, len(saved)
# Each of the three parts of a frame is a draw.
with open(f"{work}/third.json", encoding="utf-8") as file:
    commands = [c["command"].split("(")[0] for c in json.load(file)["commands"]]
assert sum(c in ("vkCmdDraw", "vkCmdDrawIndexed") for c in commands) >= 3, commands
PYTHON

# A window: a layout of an image of the swapchain is kept until it is cleared. A sanitized agent cannot be in a program of others.
if [ -z "$sanitize" ] && command -v glmark2 >/dev/null && command -v Xvfb >/dev/null; then
    mkfifo "$work/display"
    Xvfb -displayfd 3 -screen 0 200x200x24 -nolisten tcp 3>"$work/display" >"$work/server.log" 2>&1 &
    server=$!
    read -r number <"$work/display" || fail "Xvfb does not start: $(cat "$work/server.log")"
    code=0
    DISPLAY=":$number" timeout 60 "$TRACESMITH" profile --api vulkan --frames=present --capture=frames:3+1 -o "$work/window.sbt" -- \
        glmark2 -b build:nframes=5 --size 100x100 >"$work/out" 2>"$work/err" || code=$?
    [ $code = 0 ] || fail "glmark2: exit status $code: $(cat "$work/out" "$work/err")"
    replay window 0 --all
    grep -q '"verdict":"exact"' "$work/window.json" || fail "glmark2: $(cat "$work/window.json")"
    ! grep -q '"verdict":"[du]' "$work/window.json" || fail "glmark2: $(cat "$work/window.json")"
fi

layer faulty -DFAULTY
export VK_ADD_LAYER_PATH="$work/layers" VK_INSTANCE_LAYERS=VK_LAYER_TESTS_faulty
replay frames 1
unset VK_ADD_LAYER_PATH VK_INSTANCE_LAYERS
grep -q '"diverged"' "$work/frames.json" || fail "a faulty device: $(cat "$work/frames.json")"
