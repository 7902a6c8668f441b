#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `tracesmith attach` to a CUDA program, over mocks of the driver and of CUPTI.
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/live/attach.sh"
LD_LIBRARY_PATH=$TRACESMITH_BUILD_DIR/tests/cuda/mock${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
[ -z "${TRACESMITH_SOAK-}" ] || export TRACESMITH_ATTACH_CYCLES="${TRACESMITH_ATTACH_CYCLES:-1000}"
exec python3 "$TRACESMITH_SOURCE_DIR/tests/live/check_attach_cuda.py" "$programs" "$work"
