#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Frames trigger a flight recorder: every Nth that vkcube presents, each that took longer than 1 ns, none that took an hour.
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
mkfifo "$work/display"
Xvfb -displayfd 3 -screen 0 640x480x24 -nolisten tcp -noreset 3>"$work/display" >"$work/server.log" 2>&1 &
server=$!
read -r number <"$work/display" || fail "Xvfb does not start: $(cat "$work/server.log")"
export DISPLAY=":$number"

# flies TRIGGER COUNT: so many triggers in 50 frames.
flies() {
    "$TRACESMITH" profile --flight --trigger "$1" --cool-down 0s --max-files 2 --json --api vulkan -o "$work/fly.sbt" -- \
        vkcube --c 50 --width 100 --height 100 >"$work/out" 2>"$work/err" || fail "$1: $(cat "$work/err")"
    python3 -c 'import json, sys
flight = json.loads(sys.stdin.read().splitlines()[-1])["flight"]
sys.exit(0 if flight["triggers"] == int(sys.argv[1]) and flight["written"] == min(2, flight["triggers"]) else str(flight))' \
        "$2" <"$work/err" || fail "$1"
}
flies frame:/20 2
flies frame:1ns 50
flies frame:1h 0
for wrong in frame frame:/0 frame:/ frame:x frame:p20 'frame:p99*'; do
    code=0
    "$TRACESMITH" profile --flight --trigger "$wrong" -o "$work/fly.sbt" -- true 2>"$work/err" || code=$?
    [ $code -eq 2 ] || fail "$wrong gave $code"
done
