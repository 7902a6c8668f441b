#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a trace does not have is not 0 in an export, nor in 'view --stats': tests/export/check_unknown.py.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_SOURCE_DIR:?}"
command -v python3 >/dev/null || {
    echo "skipped: no python3 to judge with"
    exit 77
}
exec python3 -B "$TRACESMITH_SOURCE_DIR/tests/export/check_unknown.py"
