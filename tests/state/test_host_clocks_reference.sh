#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The offsets of several machines' clocks against a computation that tries everything, in exact numbers.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
PYTHONDONTWRITEBYTECODE=1 exec python3 "$TRACESMITH_SOURCE_DIR/tests/state/check_host_clocks.py" "$TRACESMITH_BUILD_DIR/tests/state/test_host_clocks"
