#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `profile --aggregate`: what the OpenCL agent added up is what the program itself added up, and what could not be written is counted.
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
exec python3 "$TRACESMITH_SOURCE_DIR/tests/live/check_aggregate.py" "$programs" "$work"
