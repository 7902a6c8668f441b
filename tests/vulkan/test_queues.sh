#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A device with two queues of one family, which a layer makes of lavapipe's one (queues_layer.c): each queue has its track with its
# commands, a submission names the one on the other queue that it waits for, and times lie within the program's own.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
here=$TRACESMITH_SOURCE_DIR/tests/vulkan
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/vulkan/common.sh
. "$here/common.sh"
build compute
layer queues
# Loaders put layers in the order in which they find them: the one of the last folder is the nearest to the driver.
export VK_ADD_LAYER_PATH="$TRACESMITH_BUILD_DIR/lib/tracesmith/vulkan:$work/layers"
shader=$work/step.comp.spv
executions=20
VK_INSTANCE_LAYERS=VK_LAYER_TESTS_queues "$work/compute" "$shader" "$work/alone.stamps" queues $executions >"$work/alone" || fail "alone: $?"
export VK_INSTANCE_LAYERS=VK_LAYER_TRACESMITH_profile:VK_LAYER_TESTS_queues
"$TRACESMITH" profile -o "$work/queues.sbt" --api vulkan -- "$work/compute" "$shader" "$work/queues.stamps" queues $executions >"$work/out" 2>"$work/err" ||
    fail "exit status $?: $(cat "$work/err")"
cmp -s "$work/alone" "$work/out" || fail "the program prints something else: $(cat "$work/out")"
"$TRACESMITH" view --json "$work/queues.sbt" >"$work/queues.json.trace" || fail "no trace"

python3 - "$work" $executions <<'PY'
import json
import sys
from collections import Counter, defaultdict

work, executions = sys.argv[1], int(sys.argv[2])
with open(f"{work}/queues.json.trace", encoding="utf-8") as file:
    trace = json.load(file)
events = trace["events"]
assert not trace["lost"]["total"], trace["lost"]
submits = sorted((e for e in events if e["kind"] == "api" and e["name"] == "vkQueueSubmit"), key=lambda e: e["start"])
assert len(submits) == 2 * executions, len(submits)
by_call = defaultdict(list)
for event in events:
    if event["kind"] in ("kernel", "memcpy", "memset"):
        by_call[event["correlation"]].append(event)
tracks = []
firsts = []
for i, call in enumerate(submits):
    commands = sorted(by_call.pop(call["correlation"]), key=lambda e: e["start"])
    assert [e["kind"] for e in commands] == ["memset", "kernel", "kernel", "memcpy"], commands
    assert len({e["track"] for e in commands}) == 1, commands
    tracks.append(commands[0]["track"])
    wanted = [submits[i - 1]["correlation"]] if i else []
    assert commands[0].get("waits", []) == wanted, (commands[0], wanted)
    firsts.append(commands[1])
assert not by_call, by_call
assert tracks[0] != tracks[1] and tracks == tracks[:2] * executions, tracks
queues = {t["id"]: t for t in trace["tracks"] if t["kind"] == "queue"}
assert len({queues[t]["name"] for t in tracks[:2]}) == 2, queues
with open(f"{work}/queues.stamps", encoding="utf-8") as file:
    own = [tuple(int(word) for word in line.split()) for line in file]
assert len(own) == 2 * executions
for (begin, end), kernel in zip(own, firsts):
    assert 0 <= kernel["duration"] <= end - begin + 1, (begin, end, kernel)
print("ok")
PY
