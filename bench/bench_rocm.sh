#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How long the ROCm agent takes to translate a record of rocprofiler-sdk, in buffers of the mock SDK: two calls, a kernel and a copy of
# four. The wall time of a thread that is preempted says nothing: the lower quartile of the buffers counts.
set -eu
: "${TRACESMITH_BUILD_DIR:?}"
build=$TRACESMITH_BUILD_DIR
LD_LIBRARY_PATH=$build/tests/rocm/mock${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
trace=$(mktemp)
trap 'rm -f "$trace"' EXIT
MOCK_ROCM=bench=200 "$build/bin/tracesmith" profile -o "$trace" -b 64M --api rocm -- "$build/tests/programs/hip_work" launches=1
