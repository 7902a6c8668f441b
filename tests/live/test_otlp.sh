#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `profile --otlp`: a collector gets the totals and the ranges of the trace; one that does not take them harms nothing.
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
exec python3 "$TRACESMITH_SOURCE_DIR/tests/live/check_otlp.py" "$programs" "$work"
