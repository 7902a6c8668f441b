#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Our declarations against NCCL's own headers for profiler plugins: plugins/profiler/example/nccl of its sources, in
# the path NCCL_PROFILER_HEADERS.
set -eu
[ -n "${NCCL_PROFILER_HEADERS-}" ] || { echo "skipped: NCCL_PROFILER_HEADERS names no folder of NCCL's headers"; exit 77; }
"${CC:-cc}" -fsyntax-only -w -I "$NCCL_PROFILER_HEADERS" -I "$TRACESMITH_SOURCE_DIR/agents/nccl" \
    "$TRACESMITH_SOURCE_DIR/tests/nccl/abi.c"
