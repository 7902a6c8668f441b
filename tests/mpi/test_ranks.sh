#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `analyze --ranks` on the traces of an MPI job in which one rank comes late: it names the rank; its tables are those that a second
# implementation makes of the events, by communicator and number; and partials of the traces give the same answer.
set -eu
# shellcheck source=tests/mpi/common.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/mpi/common.sh"

check_ranks() {
    echo "== $mpi"
    mpi_compile -o "$work/late" "$here/late.c"
    rm -f "$work"/r?.sbt "$work"/*.part
    # shellcheck disable=SC2016 # the inner shell expands it
    mpi_run 3 sh -c 'exec "$0" profile -o "$2/r'"$rank_of"'.sbt" -- "$1"' "$TRACESMITH" "$work/late" "$work" \
        >"$work/out" 2>"$work/err" || fail "$mpi: $(cat "$work/err")"
    grep -qx 'sum 15' "$work/out" || fail "$mpi: the program prints something else"
    "$TRACESMITH" analyze --ranks "$work"/r?.sbt >"$work/text"
    "$TRACESMITH" analyze --ranks --json "$work"/r?.sbt >"$work/ranks.json"
    for rank in 0 1 2; do
        "$TRACESMITH" view -f json "$work/r$rank.sbt" >"$work/r$rank.json"
        "$TRACESMITH" analyze --partial -o "$work/$rank.part" "$work/r$rank.sbt"
    done
    "$TRACESMITH" analyze --ranks --json "$work"/?.part >"$work/partials.json"
    cmp "$work/ranks.json" "$work/partials.json" || fail "$mpi: partials have another answer"
    grep -q 'Rank 2 costs most' "$work/text" || fail "$mpi: another rank is said to be late: $(cat "$work/text")"
    python3 "$here/check_ranks.py" "$work" 3
}
each_mpi check_ranks
