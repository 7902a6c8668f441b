#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Frames of made traces: presents, waits and ranges of two processes in any order, compared with a second implementation that looks
# at every event for every frame. `analyze frames` and `view --frame` give the same frames.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
exec python3 -B "$TRACESMITH_SOURCE_DIR/tests/analyze/check_frames.py"
