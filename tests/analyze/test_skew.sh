#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Clocks of devices that disagree with the host's, in real traces: check_skew.py.
# TRACESMITH_CORPUS names a folder of traces.
set -eu
[ -n "${TRACESMITH_CORPUS:-}" ] || { echo "skipped: TRACESMITH_CORPUS names no folder of traces"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
check() {
    python3 -B "$TRACESMITH_SOURCE_DIR/tests/analyze/check_skew.py" "$TRACESMITH" "$@"
}
check "$TRACESMITH_CORPUS/nsysai_mfu_2gpu_after.sqlite" "$folder" PATH
check "$TRACESMITH_CORPUS/nsysai_h100_2gpu_1s.sqlite" "$folder"
