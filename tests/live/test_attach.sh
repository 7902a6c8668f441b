#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `tracesmith attach`: programs that were started without TraceSmith, what is in the file, and what is refused.
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/live/attach.sh"
exec python3 "$TRACESMITH_SOURCE_DIR/tests/live/check_attach.py" "$programs" "$work"
