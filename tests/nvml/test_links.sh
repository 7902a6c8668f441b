#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# NVLinks in the topology, of this machine and of a trace, against a mock of libnvidia-ml (simulated).
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
exec python3 -B "$TRACESMITH_SOURCE_DIR/tests/nvml/check_links.py"
