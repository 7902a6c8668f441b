#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `tracesmith attach` to a program with 64 threads that allocate, load libraries, fork and launch. TRACESMITH_SOAK: 10,000 tries
# instead of 5, none of which may take longer than 2 seconds (TRACESMITH_TRIES: another number; TRACESMITH_REST: how many us a thread of the
# program rests between two rounds, 1,000 if it is not given: then two processors are busy with it alone).
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/live/attach.sh"
tries=${TRACESMITH_TRIES:-5} limit=
[ -z "${TRACESMITH_SOAK-}" ] || tries=${TRACESMITH_TRIES:-10000} limit=2
exec python3 "$TRACESMITH_SOURCE_DIR/tests/live/check_attach_stress.py" "$programs" "$work" "$tries" ${limit:+"$limit"}
