#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A training-like program of Python and OpenCL that was started without TraceSmith: it is attached to with a flight recorder, shown in `top`, its slow
# steps are caught, and the files say why they were slow. It is not restarted, and its results are right.
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/live/attach.sh"
[ -x /usr/bin/python3 ] || skip "no /usr/bin/python3"
exec python3 "$TRACESMITH_SOURCE_DIR/tests/live/check_started_before.py" "$programs" "$work"
