#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# profile --capture=key:F12 with vkcube on a display that is only memory: the frame after the key is pressed is captured, once while it
# is held, and only if the window has the focus, which without a window manager is where the pointer is.
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
command -v xdotool >/dev/null || skip "no xdotool to press keys (Debian: apt install xdotool)"
export XDG_STATE_HOME="$work/state"
# Without -noreset the keyboard is reset when the last client leaves.
mkfifo "$work/display"
Xvfb -displayfd 3 -screen 0 640x480x24 -nolisten tcp -noreset 3>"$work/display" >"$work/server.log" 2>&1 &
server=$!
read -r number <"$work/display" || fail "Xvfb does not start: $(cat "$work/server.log")"
export DISPLAY=":$number"

# cube NAME: ten frames in a window of 300x300 in or near the corner
cube() {
    "$TRACESMITH" profile --api vulkan --capture=key:F12 -o "$work/$1.sbt" -- vkcube --c 10 --width 300 --height 300 >"$work/out" 2>"$work/err" ||
        fail "$1: exit status $?: $(cat "$work/err")"
    status=0
    "$TRACESMITH" replay --json "$work/$1.sbt" >"$work/$1.json" 2>"$work/err" || status=$?
}
# none NAME WHY
none() {
    cube "$1"
    if [ $status != 4 ] || ! grep -q '"commands":0,' "$work/$1.json"; then
        fail "$2: replay ends with $status: $(cat "$work/$1.json" "$work/err")"
    fi
}

xdotool mousemove 200 200
none loose "a frame was captured and no key was pressed"
xdotool keydown F11
none other "a frame was captured and another key was pressed"
xdotool keyup F11
# It is down when the program first presents: the second frame is captured, and no other, though it is held.
xdotool keydown F12
cube held
[ $status = 0 ] || fail "held: replay ends with $status: $(cat "$work/held.json" "$work/err")"
"$TRACESMITH" replay --json --range frame:2 --frames present "$work/held.sbt" >"$work/second.json" 2>"$work/err" ||
    fail "the second frame: $(cat "$work/second.json" "$work/err")"
python3 - "$work" <<'PYTHON'
import json, sys

answers = []
for name in ("held", "second"):
    with open(f"{sys.argv[1]}/{name}.json", encoding="utf-8") as file:
        answers.append(json.load(file))
for answer in answers:
    assert [r["verdict"] for r in answer["results"]] == ["exact", "exact"], answer
    assert answer["recording"]["commands"] == 1, answer
PYTHON
# The pointer is on the background.
xdotool mousemove 600 400
none outside "a frame was captured and the window did not have the focus"
xdotool keyup F12

# What is not a key, and what presents nothing.
for range in key key:F13 key:F0 key:X key:F12x; do
    code=0
    "$TRACESMITH" profile --api vulkan --capture=$range -o "$work/no.sbt" -- true >"$work/out" 2>&1 || code=$?
    [ $code = 2 ] || fail "--capture=$range: exit status $code: $(cat "$work/out")"
done
code=0
"$TRACESMITH" profile --api opencl --capture=key:F12 -o "$work/no.sbt" -- true >"$work/out" 2>&1 || code=$?
grep -q 'captures frames of Vulkan' "$work/out" || fail "key without Vulkan: exit status $code: $(cat "$work/out")"
