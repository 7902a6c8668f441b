#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The server of `tracesmith studio` on a recording that still runs (check_live_server.py): a real OpenCL program, which goes on when the test tells it to.
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
PYTHONPATH=$TRACESMITH_SOURCE_DIR/tests/studio
[ -x "$TRACESMITH_BUILD_DIR/libexec/tracesmith/tracesmith-studio" ] || skip "tracesmith-studio is not built (libmicrohttpd, TypeScript, esbuild)"
exec python3 "$TRACESMITH_SOURCE_DIR/tests/studio/check_live_server.py" "$programs/cl_on_request" "$work"
