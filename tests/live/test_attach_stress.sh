#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `tracesmith attach` to a program with 64 threads that allocate, load libraries, fork and launch. TRACESMITH_SOAK: 10,000 tries
# instead of 5, none of which may take longer than 2 seconds (TRACESMITH_TRIES: another number).
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/live/attach.sh"
tries=${TRACESMITH_TRIES:-5} limit=
[ -z "${TRACESMITH_SOAK-}" ] || tries=${TRACESMITH_TRIES:-10000} limit=2
exec python3 "$TRACESMITH_SOURCE_DIR/tests/live/check_attach_stress.py" "$programs" "$work" "$tries" ${limit:+"$limit"}
