#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `tracesmith studio --export`: the folder that it writes and what it refuses, and the page of it in a real browser (check_static.py).
set -eu
: "${TRACESMITH:?}"
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/traces.sh"
. "$here/needs.sh"
needs_server
needs_reader

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

record "$folder/run.sbt" -- "$TRACESMITH_BUILD_DIR/examples/image_pipeline"
record "$folder/lossy.sbt" -b 64K -- "$TRACESMITH_BUILD_DIR/tests/programs/cl_launch_loop" -n 20000
python3 "$here/../report/make_awkward.py" "$folder/awkward.json"

"$TRACESMITH" studio --export "$folder/site" "$folder/run.sbt" "$folder/awkward.json" >"$folder/out" 2>"$folder/err" || fail "$(cat "$folder/err")"
for name in index.html studio.js studio.css icon.svg reader.js reader.wasm traces.json 0/run.sbt 1/awkward.json.sbt 0/detail.sbt 1/detail.sbt; do
    [ -s "$folder/site/$name" ] || fail "$name is missing"
done
cmp "$folder/run.sbt" "$folder/site/0/run.sbt"
# The page does not reveal where the traces were.
! grep -rF "$folder" "$folder/site" || fail "the page names a folder of this machine"
# refused WORDS DIR FILE
refused() {
    if "$TRACESMITH" studio --export "$2" "$3" >"$folder/out" 2>"$folder/err"; then fail "$3 was exported to $2"; fi
    grep -q "$1" "$folder/err" || fail "$3 to $2: $(cat "$folder/err")"
}
refused 'cannot export to' "$folder/site" "$folder/run.sbt"
refused 'cannot be imported' "$folder/other" "$here/test_static.sh"

needs_browser
viewports=6
[ -z "${TRACESMITH_SOAK:-}" ] || viewports=250
clang=$(sed -n 's/^TRACESMITH_WASM_CLANG:FILEPATH=//p' "$TRACESMITH_BUILD_DIR/CMakeCache.txt")
"$python" "$here/check_static.py" "$viewports" "$clang" "$folder" "$folder/lossy.sbt" "$folder/run.sbt" "$folder/awkward.json"
