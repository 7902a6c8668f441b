#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Pipelines that are linked of libraries are captured as the whole pipelines that they are: a replay is exact, and diverges on a device whose
# shaders compute something else (a layer of the tests: simulated). A feature that a device lacks is named. The program prints what it prints with a pipeline that is not linked.
# Khronos's validation has nothing to say of the replay.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
here=$TRACESMITH_SOURCE_DIR/tests/vulkan
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_STATE_HOME="$work/state"
# shellcheck source=tests/vulkan/common.sh
. "$here/common.sh"
build links
layer shades -DSHADES
layer lacks -DLACKS
code=0
"$work/links" "$work" whole >"$work/whole" || code=$?
[ $code != 77 ] || skip "the driver has no VK_EXT_graphics_pipeline_library"
[ $code = 0 ] || fail "whole: exit status $code: $(cat "$work/whole")"

# verdicts NAME STATUS VERDICT: of both resources, the image and the buffer
verdicts() {
    code=0
    "$TRACESMITH" replay --json "$work/$1.sbt" >"$work/$1.json" 2>"$work/err" || code=$?
    [ $code = "$2" ] || fail "$1: replay ends with $code: $(cat "$work/$1.json" "$work/err")"
    ! grep -q 'cannot be replayed' "$work/$1.json" "$work/err" || fail "$1: an object is not replayed: $(cat "$work/$1.json" "$work/err")"
    ! grep -q VUID "$work/$1.json" "$work/err" || fail "$1: validation: $(cat "$work/$1.json" "$work/err")"
    python3 -c 'import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    found = [r["verdict"] for r in json.load(file)["results"]]
sys.exit(0 if found == [sys.argv[2]] * 2 else str(found))' "$work/$1.json" "$3" || fail "$1: not $3"
}
for mode in fast optimized nested inline gone pass empty; do
    "$TRACESMITH" profile --api vulkan --capture=frames:2+1 -o "$work/$mode.sbt" -- "$work/links" "$work" $mode >"$work/out" 2>"$work/err" ||
        fail "$mode: exit status $?: $(cat "$work/out" "$work/err")"
    cmp -s "$work/whole" "$work/out" || fail "$mode prints something else: $(cat "$work/out")"
    verdicts $mode 0 exact
    [ $mode = fast ] || [ $mode = nested ] || continue
    export VK_ADD_LAYER_PATH="$work/layers" VK_INSTANCE_LAYERS=VK_LAYER_TESTS_shades
    verdicts $mode 1 diverged
    unset VK_ADD_LAYER_PATH VK_INSTANCE_LAYERS
done
# A feature that the program enabled, and of which nothing shows that it is used, is missing: the replay says so.
export VK_ADD_LAYER_PATH="$work/layers" VK_INSTANCE_LAYERS=VK_LAYER_TESTS_lacks
verdicts fast 0 exact
grep -q 'the program enabled the feature largePoints, which the device .* lacks' "$work/fast.json" || fail "largePoints: $(cat "$work/fast.json")"
unset VK_ADD_LAYER_PATH VK_INSTANCE_LAYERS
if [ -f /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ]; then
    export VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation
    for mode in fast pass; do
        verdicts $mode 0 exact
    done
fi
