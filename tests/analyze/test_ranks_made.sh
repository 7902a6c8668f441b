#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Eight ranks of a made run of which is known who is late, when and by how much.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
exec python3 -B "$TRACESMITH_SOURCE_DIR/tests/analyze/check_ranks.py"
