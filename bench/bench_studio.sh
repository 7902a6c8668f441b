#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of `tracesmith studio` in Chromium with software GL, and the sizes of reports. What is measured: studio.py.
#
#     bench/bench_studio.sh [EVENTS]      100,000,000 without; a file of 4 bytes per event is written and removed
set -eu
: "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH:?}"
# shellcheck source=tests/support/python.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/support/python.sh"
"$python" -c 'import playwright' 2>/dev/null || {
    echo "no Playwright; ./dev python --install gets it" >&2
    exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$TRACESMITH_BUILD_DIR/bench/bench_sbt" "${1:-100000000}" "$work/large.sbt" >/dev/null
"$TRACESMITH_BUILD_DIR/bench/bench_sbt" 10000000 "$work/ten.sbt" >/dev/null
"$TRACESMITH" profile -o "$work/demo.sbt" -- "$TRACESMITH_BUILD_DIR/examples/image_pipeline" >/dev/null 2>&1
"$python" -B "$TRACESMITH_SOURCE_DIR/bench/studio.py" "$work"
