#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# devices --topology on copies of /sys of three machines, whole and damaged.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
exec python3 -B "$TRACESMITH_SOURCE_DIR/tests/cli/check_topology.py"
