#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page and the report where there is no network, and by keys alone (check_cut.py, check_keyboard.py).
set -eu
: "${TRACESMITH:?}"
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/traces.sh"
. "$here/needs.sh"
needs_server
needs_browser

record "$folder/run.sbt" -- "$TRACESMITH_BUILD_DIR/examples/image_pipeline"
"$python" "$here/check_keyboard.py" "$folder/run.sbt"
"$TRACESMITH" report "$folder/run.sbt" -o "$folder/report.html" >"$folder/out"
unshare --user --map-root-user --net ip link set lo up 2>"$folder/err" || {
    echo "skipped: no network namespace: $(head -n 1 "$folder/err")"
    exit 77
}
unshare --user --map-root-user --net sh -c 'ip link set lo up && exec "$@"' sh "$python" "$here/check_cut.py" "$folder/run.sbt" "$folder/report.html"
