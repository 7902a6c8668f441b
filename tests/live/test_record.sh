#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `tracesmith record` of an armed OpenCL program: exactly what it did meanwhile is in the file.
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
exec python3 "$TRACESMITH_SOURCE_DIR/tests/live/check_record.py" "$programs" "$work"
