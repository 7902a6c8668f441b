#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One recording of several ranks, split into a file for each; the launcher is a shell script.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$TRACESMITH_SOURCE_DIR/tests/cli \
    exec python3 "$TRACESMITH_SOURCE_DIR/tests/cluster/check_split.py"
