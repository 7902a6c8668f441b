#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `tracesmith attach` to programs of Python: by the interpreter's own remote execution (3.14; simulated, and a real one where there is
# one), and by a borrowed thread otherwise.
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/live/attach.sh"
[ -z "${TRACESMITH_SOAK-}" ] || export TRACESMITH_ATTACH_CYCLES="${TRACESMITH_ATTACH_CYCLES:-1000}"
exec python3 "$TRACESMITH_SOURCE_DIR/tests/live/check_attach_python.py" "$programs" "$work"
