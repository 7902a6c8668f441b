#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranks by the variables of launchers that Debian does not have: files named by rank, what traces state, and files of other ranks.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$TRACESMITH_SOURCE_DIR/tests/cli \
    exec python3 "$TRACESMITH_SOURCE_DIR/tests/cluster/check_environment.py"
