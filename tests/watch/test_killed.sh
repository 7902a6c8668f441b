#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
command -v python3 >/dev/null || {
    echo "skipped: no python3 to judge with"
    exit 77
}
exec python3 "$TRACESMITH_SOURCE_DIR/tests/watch/check_killed.py"
