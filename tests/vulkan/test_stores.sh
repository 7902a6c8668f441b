#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a pass leaves in an attachment: content that it clears and stores is compared, and a device that clears to something else (a layer of
# the tests: simulated) diverges. Content that is not stored is undefined, and what a pass neither loads nor clears: it is uncomparable there. Of
# images with depths or stencils alone the operations of that aspect count.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
here=$TRACESMITH_SOURCE_DIR/tests/vulkan
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_STATE_HOME="$work/state"
# shellcheck source=tests/vulkan/common.sh
. "$here/common.sh"
build stores
layer clears -DCLEARS

# verdict NAME STATUS VERDICT: of the one image
verdict() {
    code=0
    "$TRACESMITH" replay --json "$work/$1.sbt" >"$work/$1.json" 2>"$work/err" || code=$?
    [ $code = "$2" ] || fail "$1: replay ends with $code: $(cat "$work/$1.json" "$work/err")"
    python3 -c 'import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    found = [r["verdict"] for r in json.load(file)["results"]]
sys.exit(0 if found == [sys.argv[2]] else str(found))' "$work/$1.json" "$3" || fail "$1: not $3"
}
for mode in "depth store pass" "depth forget pass" "stencil store pass" "stencil forget pass" "depth store dynamic" "depth none dynamic" "stencil forget dynamic" "depth drop pass" "stencil drop pass"; do
    name=$(echo "$mode" | tr ' ' _) code=0
    # shellcheck disable=SC2086 # words
    "$TRACESMITH" profile --api vulkan --capture=frames:2+1 -o "$work/$name.sbt" -- "$work/stores" $mode >"$work/out" 2>"$work/err" || code=$?
    [ $code != 77 ] || continue # no images of this format
    [ $code = 0 ] || fail "$mode: exit status $code: $(cat "$work/out" "$work/err")"
    verdict "$name" 0 exact
    export VK_ADD_LAYER_PATH="$work/layers" VK_INSTANCE_LAYERS=VK_LAYER_TESTS_clears
    case $mode in
    *store*) verdict "$name" 1 diverged ;;
    *) verdict "$name" 4 uncomparable ;;
    esac
    unset VK_ADD_LAYER_PATH VK_INSTANCE_LAYERS
done
