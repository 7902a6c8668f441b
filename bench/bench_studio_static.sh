#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A large trace on a static host (`tracesmith studio --export`), in Chromium. What is measured: studio_static.py.
#
#     bench/bench_studio_static.sh [EVENTS]      2,500,000,000 without: 9.8 GB, twice; written to TMPDIR and removed
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
"$TRACESMITH_BUILD_DIR/bench/bench_sbt" "${1:-2500000000}" "$work/large.sbt" >/dev/null
"$TRACESMITH" studio --export "$work/site" "$work/large.sbt" >/dev/null
"$python" -B "$TRACESMITH_SOURCE_DIR/bench/studio_static.py" "$work/site"
