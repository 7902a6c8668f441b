#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Predictions of `tracesmith simulate` against the change really made, on five small programs (tests/programs/cl_what_if.c).
set -eu
command -v python3 >/dev/null || { echo "bench_what_if: no python3" >&2; exit 1; }
exec python3 "$TRACESMITH_SOURCE_DIR/bench/what_if.py" "$@"
