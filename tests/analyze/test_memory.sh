#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Memory with addresses, as PyTorch and Nsight Systems write it: made traces against the reference, and one by hand.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
exec python3 -B "$TRACESMITH_SOURCE_DIR/tests/analyze/check_memory.py"
