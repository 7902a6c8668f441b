#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --max-overhead with MPI: of a program with more calls than the share allows, calls are left out. Each is counted, what is recorded is
# whole, and the ranks record the same collectives.
set -eu
# shellcheck source=tests/mpi/common.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/mpi/common.sh"

# throttled NAME P
throttled() {
    "$TRACESMITH" profile --overflow block --max-overhead "$2" -o "$work/$1.sbt" -- "mpirun.$mpi" -n 2 "$work/many_calls" 300 \
        >"$work/$1.out" 2>"$work/$1.err" || fail "$mpi, $1: $(cat "$work/$1.err")"
    "$TRACESMITH" view -f json "$work/$1.sbt" >"$work/$1.json"
    "$TRACESMITH" info "$work/$1.sbt" >"$work/$1.info"
    [ "$(grep -c '^cost  *process [0-9]* (mpi): [0-9]*\.[0-9]* % of a thread.*1 call in [0-9]* recorded' "$work/$1.info")" -eq 2 ] ||
        fail "$mpi, $1: info does not say the cost of two processes: $(cat "$work/$1.info")"
    python3 "$here/check_max_overhead.py" "$work" "$1" "$mpi"
}

check_mpi() {
    mpi_compile -o "$work/many_calls" "$here/many_calls.c"
    throttled thinned 0.0001
    throttled some 1
}
each_mpi check_mpi
