#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `tracesmith attach`: programs that were started without TraceSmith, what is in the file, and what is refused. It attaches to one program 20
# times, 1,000 times with TRACESMITH_SOAK (./dev soak, with a time limit of its own), TRACESMITH_ATTACH_CYCLES times otherwise.
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/live/attach.sh"
[ -z "${TRACESMITH_SOAK-}" ] || export TRACESMITH_ATTACH_CYCLES="${TRACESMITH_ATTACH_CYCLES:-1000}"
exec python3 "$TRACESMITH_SOURCE_DIR/tests/live/check_attach.py" "$programs" "$work"
