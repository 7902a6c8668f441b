#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A foreign program: ffmpeg mirrors pictures by a shader. What it writes is the same when it is recorded and when all of its
# submissions are captured, and a replay computes what was recorded. Khronos's validation finds nothing that it does not find without.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
here=$TRACESMITH_SOURCE_DIR/tests/vulkan
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_STATE_HOME="$work/state"
# shellcheck source=tests/vulkan/common.sh
. "$here/common.sh"
[ -z "$sanitize" ] || skip "ffmpeg is not built with the sanitizer"
command -v ffmpeg >/dev/null || skip "no ffmpeg (Debian: apt install ffmpeg)"
ffmpeg -hide_banner -filters 2>/dev/null | grep -q ' hflip_vulkan ' || skip "an ffmpeg without filters of Vulkan"
pictures=3
# mirror OUT
mirror() {
    cat <<SH
exec ffmpeg -hide_banner -loglevel error -y -init_hw_device vulkan=v:0 -filter_hw_device v -f lavfi -i testsrc=size=64x48:rate=$pictures:duration=1 \
    -vf format=rgba,hwupload,hflip_vulkan,hwdownload,format=rgba -f rawvideo "$1"
SH
}
mirror "$work/alone" >"$work/alone.sh"
sh "$work/alone.sh" >"$work/log" 2>&1 || skip "ffmpeg does not run on this driver: $(cat "$work/log")"
[ "$(wc -c <"$work/alone")" = $((pictures * 64 * 48 * 4)) ] || fail "ffmpeg alone writes $(wc -c <"$work/alone") bytes"
# recorded NAME OPTION...
recorded() {
    name=$1
    shift
    mirror "$work/$name" >"$work/$name.sh"
    "$TRACESMITH" profile --api vulkan -o "$work/$name.sbt" "$@" -- sh "$work/$name.sh" >"$work/$name.log" 2>&1 ||
        fail "$name: exit status $?: $(cat "$work/$name.log")"
    cmp -s "$work/alone" "$work/$name" || fail "$name: ffmpeg writes other pictures"
    ! grep 'VUID' "$work/$name.log" || fail "$name: validation finds fault"
}
recorded plain
if [ -f /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ]; then
    export VK_INSTANCE_LAYERS=VK_LAYER_TRACESMITH_profile:VK_LAYER_TRACESMITH_record:VK_LAYER_KHRONOS_validation
fi
recorded captured --capture=frames-every:1
unset VK_INSTANCE_LAYERS
"$TRACESMITH" view --json "$work/plain.sbt" >"$work/plain.json"
# ffmpeg imports memory of its own into buffers, where it writes while they are compared: those may be uncomparable.
"$TRACESMITH" replay --json "$work/captured.sbt" >"$work/replay.json" 2>"$work/err" || fail "replay: $? $(cat "$work/replay.json" "$work/err")"
python3 - "$work" $pictures <<'PYTHON'
import json, sys
from collections import Counter

work, pictures = sys.argv[1], int(sys.argv[2])
with open(f"{work}/plain.json", encoding="utf-8") as file:
    events = json.load(file)["events"]
kernels = [e for e in events if e["kind"] == "kernel"]
assert kernels and len(kernels) % pictures == 0, len(kernels)
assert Counter(e["name"] for e in events if e["kind"] == "loss") == Counter(), "events are lost"
with open(f"{work}/replay.json", encoding="utf-8") as file:
    answer = json.load(file)
verdicts = Counter(r["verdict"] for r in answer["results"])
assert set(verdicts) <= {"exact", "uncomparable"} and verdicts["exact"] >= 2 * pictures, verdicts
assert sum(verdicts.values()) == 3 * pictures, verdicts  # an upload, the filter and a download of each
PYTHON
