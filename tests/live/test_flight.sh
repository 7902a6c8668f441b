#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `profile --flight`: every slow step of an OpenCL program gets a file, which is a whole trace of the time before it.
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
exec python3 "$TRACESMITH_SOURCE_DIR/tests/live/check_flight.py" "$programs" "$work"
