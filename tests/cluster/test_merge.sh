#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Traces of several ranks, merged into one.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$TRACESMITH_SOURCE_DIR/tests/cli \
    exec python3 "$TRACESMITH_SOURCE_DIR/tests/cluster/check_merge.py"
