#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A capture changes no layout that it does not know: an image of which the levels have layouts of their own is refused, also where an earlier
# submission gave them, and Khronos's validation (if it is there) has nothing to say. A wait for a query that was never begun ends as without it.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
here=$TRACESMITH_SOURCE_DIR/tests/vulkan
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_STATE_HOME="$work/state"
# shellcheck source=tests/vulkan/common.sh
. "$here/common.sh"
# shellcheck disable=SC2086 # words
"${CC:-cc}" -O1 $sanitize -o "$work/levels" "$here/levels.c" -lvulkan || fail "levels.c cannot be built"

# capture NAME: the program's mode
capture() {
    timeout 60 "$TRACESMITH" profile --api vulkan --capture=frames:3+1 -o "$work/$1.sbt" -- "$work/levels" "$1" >"$work/$1.out" 2>"$work/$1.err" ||
        fail "$1: exit status $?: $(cat "$work/$1.out" "$work/$1.err")"
}
if [ -f /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ] && [ -z "$sanitize" ]; then
    export VK_INSTANCE_LAYERS=VK_LAYER_TRACESMITH_profile:VK_LAYER_TRACESMITH_record:VK_LAYER_KHRONOS_validation
fi
capture levels
unset VK_INSTANCE_LAYERS
[ ! -s "$work/levels.out" ] || fail "validation: $(cat "$work/levels.out")"
"$TRACESMITH" replay "$work/levels.sbt" >"$work/out" 2>&1 || :
grep -q 'the content of an image cannot be copied' "$work/out" || fail "two layouts: $(cat "$work/out")"

# The bytes of a fill up to the end of a buffer of 259 bytes, from the fourth on, and of an update.
"$TRACESMITH" view --json "$work/levels.sbt" >"$work/levels.json" || fail "no trace"
python3 -c 'import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    found = [(e["name"], e["bytes"]) for e in json.load(file)["events"] if "bytes" in e and e["name"].startswith("vkCmd")]
sys.exit(0 if found == [("vkCmdFillBuffer", 252), ("vkCmdUpdateBuffer", 4)] * 3 else str(found))' "$work/levels.json" || fail "bytes"

# More buffers at once than a table of the agent has places for are no loss.
"$TRACESMITH" profile --api vulkan -o "$work/many.sbt" -- "$work/levels" many 2>"$work/err" || fail "many: $(cat "$work/err")"
! "$TRACESMITH" view --json "$work/many.sbt" 2>/dev/null | grep -o '"table_full".*' || fail "many: a table was full"

# The driver decides whether such a wait ends: this is no fault of the recorder's.
code=0
timeout 10 "$work/levels" query >"$work/alone" || code=$?
if [ $code = 0 ]; then
    capture query
    cmp "$work/alone" "$work/query.out" || fail "query: $(cat "$work/query.out")"
fi
