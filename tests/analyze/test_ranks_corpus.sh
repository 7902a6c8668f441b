#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The ranks of a real run against a reference that reads the traces itself.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
[ -n "${TRACESMITH_CORPUS:-}" ] || { echo "skipped: TRACESMITH_CORPUS names no folder of traces"; exit 77; }
set -- "$TRACESMITH_CORPUS"/trace_filter_sampled_rank-*.json.gz
[ "$#" -ge 2 ] || { echo "skipped: no two ranks in $TRACESMITH_CORPUS"; exit 77; }
report=$(mktemp)
trap 'rm -f "$report"' EXIT
"$TRACESMITH" analyze --ranks --json "$@" >"$report"
python3 -B "$TRACESMITH_SOURCE_DIR/tests/reference/ranks.py" "$report" "$@"
