#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/analyze/sentences.txt has a line for each sentence of the answers, none for another, and names tests that exist.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
exec python3 -B "$TRACESMITH_SOURCE_DIR/tests/analyze/sentences.py"
