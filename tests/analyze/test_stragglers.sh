#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Made runs of 32 ranks with known faults: each is named, none is invented, and partials give the same answer in any order.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
exec python3 -B "$TRACESMITH_SOURCE_DIR/tests/analyze/check_stragglers.py"
