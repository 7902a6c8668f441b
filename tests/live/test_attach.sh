#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `tracesmith attach`: programs that were started without TraceSmith, what is in the file, and what is refused.
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "programs that are not armed can be attached to on x86-64 only"
exec python3 "$TRACESMITH_SOURCE_DIR/tests/live/check_attach.py" "$programs" "$work"
