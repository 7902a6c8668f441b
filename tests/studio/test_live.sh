#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of `tracesmith studio` in a real browser while a program is recorded (check_live.py).
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
. "$TRACESMITH_SOURCE_DIR/tests/support/python.sh"
PYTHONPATH=$TRACESMITH_SOURCE_DIR/tests/studio
[ -x "$TRACESMITH_BUILD_DIR/libexec/tracesmith/tracesmith-studio" ] || skip "tracesmith-studio is not built (libmicrohttpd, TypeScript, esbuild)"
"$python" -c 'import playwright' 2>/dev/null || skip "no Playwright; ./dev python --install gets it"
[ -x /usr/bin/chromium ] || skip "no chromium"
exec "$python" "$TRACESMITH_SOURCE_DIR/tests/studio/check_live.py" "$programs/cl_on_request" "$work"
