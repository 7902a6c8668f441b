#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `profile --duty`: what is in the file of a program that is recorded for a part of the time.
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
exec python3 "$TRACESMITH_SOURCE_DIR/tests/live/check_duty.py" "$programs" "$work"
