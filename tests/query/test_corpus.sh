#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TRACESMITH_CORPUS names a folder of traces.
set -eu
[ -n "${TRACESMITH_CORPUS:-}" ] || { echo "skipped: TRACESMITH_CORPUS names no folder of traces"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
exec python3 -B "$TRACESMITH_SOURCE_DIR/tests/query/check_corpus.py"
