#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The table of the promises of the earlier package (tests/goals.txt, ./dev goals): its tests exist, it has a line for every promise of the
# documents (TRACESMITH_SEEDS), and what it says to be missing is missing.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
python3 -B "$TRACESMITH_SOURCE_DIR/tests/goals.py" --check
