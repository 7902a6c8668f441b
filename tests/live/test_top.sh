#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `tracesmith top` on a running OpenCL program: its last totals are those of the trace.
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
exec python3 "$TRACESMITH_SOURCE_DIR/tests/live/check_top.py" "$programs" "$work"
