#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `query --partial` and its reduction against a second computation of the same numbers, in any order and tree; what it refuses; damage.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
exec python3 -B "$TRACESMITH_SOURCE_DIR/tests/query/check_partial.py"
