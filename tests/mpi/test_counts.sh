#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program with four ranks that logs its own calls, on Open MPI and on MPICH: the trace of each rank has the same calls with the same
# bytes in the same order; each communicator of the log has one identity on all its ranks and shares it with no other; the program
# prints what it prints alone. Then all ranks in one trace, and ranks that are killed.
set -eu
# shellcheck source=tests/mpi/common.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/mpi/common.sh"

# check_ranks: the traces of four ranks against the program's own log.
check_ranks() {
    for rank in 0 1 2 3; do
        "$TRACESMITH" view -f json "$work/r$rank.sbt" >"$work/r$rank.json"
        "$TRACESMITH" info --json "$work/r$rank.sbt" >"$work/r$rank.info"
    done
    python3 "$here/check_calls.py" "$work" 4 "$mpi"
}

export CALLS_DATA="$work/data of all"
check_mpi() {
    echo "== $mpi"
    mpi_compile -o "$work/calls" "$here/calls.c"
    mpi_run 4 "$work/calls" 2 >"$work/alone" || fail "$mpi: the program fails alone"
    grep -q checksum "$work/alone" || fail "$mpi: no output"

    rm -f "$work"/r?.sbt
    export CALLS_LOG="$work/log"
    # shellcheck disable=SC2016 # the inner shell expands it
    mpi_run 4 sh -c 'exec "$0" profile -o "$2/r'"$rank_of"'.sbt" -- "$1" 2' "$TRACESMITH" "$work/calls" "$work" \
        >"$work/profiled" 2>"$work/err" || fail "$mpi: profiled: $? $(cat "$work/err")"
    cmp "$work/alone" "$work/profiled" || fail "$mpi: the program prints something else"
    check_ranks

    # One collector in front of the launcher, and a file per rank.
    rm -f "$work"/r?.sbt "$work"/r?.json "$work"/r?.info "$work"/log.?
    "$TRACESMITH" profile -o "$work/r%r.sbt" -- "mpirun.$mpi" -n 4 "$work/calls" 2 >"$work/profiled" 2>"$work/err" ||
        fail "$mpi: one collector: $? $(cat "$work/err")"
    cmp "$work/alone" "$work/profiled" || fail "$mpi: the program prints something else under one collector"
    grep -q ': 4 files of 4 of 4 ranks, .*nothing lost' "$work/err" || fail "$mpi: $(cat "$work/err")"
    check_ranks
    "$TRACESMITH" analyze --ranks --json "$work"/r?.sbt >"$work/ranks.json"
    grep -q 'MPI_Barrier' "$work/ranks.json" || fail "$mpi: no collective of the ranks matches"

    # As a launcher under the profiler: all processes in one trace.
    name=one
    record one -- "mpirun.$mpi" -n 2 "$work/calls" 1
    [ "$status" -eq 0 ] || fail "$mpi: one trace: $status $(cat "$work/one.err")"
    python3 "$here/check_calls.py" "$work" 2 "$mpi" one

    # Killed where it waits: what it did before is there.
    "$TRACESMITH" profile -o "$work/killed.sbt" -- sh -c "$kill_script" "$work/calls" "$work/said" >"$work/killed.out" 2>&1 || :
    "$TRACESMITH" view -f json "$work/killed.sbt" >"$work/r0.json"
    "$TRACESMITH" info --json "$work/killed.sbt" >"$work/r0.info"
    python3 "$here/check_calls.py" "$work" 1 "$mpi" killed
    unset CALLS_LOG
}

mkfifo "$work/said"
# The program alone is a job of one rank.
# shellcheck disable=SC2016 # the inner shell expands it
kill_script='"$0" 1 forever >"$1" & read -r line <"$1" && kill -KILL $! && { wait $! || :; }'
each_mpi check_mpi
