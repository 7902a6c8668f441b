#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# profile --agent-option opencl.released: memory objects that are passed to OpenCL after their release are found, with both places; right programs have none.
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
cc -shared -fPIC -o "$work/keeping.so" -I"$TRACESMITH_SOURCE_DIR/tests/opencl" "$TRACESMITH_SOURCE_DIR/tests/opencl/keeping_layer.c" ||
    skip "no compiler, or no OpenCL headers"
exec python3 "$TRACESMITH_SOURCE_DIR/tests/opencl/check_released.py" "$programs" "$work"
