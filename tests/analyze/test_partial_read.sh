#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a partial has of Kineto traces, of which only some arguments are read, against that of the same traces imported whole.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
exec python3 -B "$TRACESMITH_SOURCE_DIR/tests/analyze/check_partial_read.py"
