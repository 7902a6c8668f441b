#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a killed `tracesmith profile` had written and what it had not are one trace, with every launch once.
# 12 recordings; 400 with TRACESMITH_SOAK.
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
exec python3 "$TRACESMITH_SOURCE_DIR/tests/opencl/killed.py"
