#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `profile --metrics-listen`: a scraper gets the totals of the trace; one that hangs or has no token gets nothing.
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
exec python3 "$TRACESMITH_SOURCE_DIR/tests/live/check_metrics.py" "$programs" "$work"
