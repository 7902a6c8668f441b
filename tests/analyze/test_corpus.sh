#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every answer on real traces, compared with what independent scripts (tests/reference) compute from the original file.
# TRACESMITH_CORPUS names a folder of traces. A build with a sanitizer only answers: its answers are those of the plain build.
set -eu
[ -n "${TRACESMITH_CORPUS:-}" ] || { echo "skipped: TRACESMITH_CORPUS names no folder of traces"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
reports=$(mktemp)
trap 'rm -f "$reports"' EXIT
traces=0 failures=0
for trace in "$TRACESMITH_CORPUS"/*.json.gz "$TRACESMITH_CORPUS"/*.sqlite; do
    [ -e "$trace" ] || continue
    traces=$((traces + 1))
    "$TRACESMITH" analyze --json --all --frames 'range:ProfilerStep*' "$trace" >"$reports"
    [ -z "${TRACESMITH_SANITIZE-}" ] || continue
    python3 -B "$TRACESMITH_SOURCE_DIR/tests/reference/check.py" "$trace" "$reports" || failures=$((failures + 1))
done
echo "$traces traces, $failures with differences"
[ "$traces" -gt 0 ] && [ "$failures" -eq 0 ]
