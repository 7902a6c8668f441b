#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Attachments that fail in the program: each finds its session gone. What an earlier one prepared is used again, and the program does not grow.
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
exec python3 "$TRACESMITH_SOURCE_DIR/tests/live/check_attach_given_up.py" "$TRACESMITH_BUILD_DIR/lib/tracesmith/libtracesmith-opencl.so" "$work/gone"
