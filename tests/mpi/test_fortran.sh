#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A Fortran program with calls of every class, by mpif.h, by the module mpi and by mpi_f08, on Open MPI and on MPICH: the trace has the
# calls that the program counts, once each, with their bytes, peers and tags. And every function of the table is one that the
# bindings call by a name that the agent defines.
set -eu
# shellcheck source=tests/mpi/common.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/mpi/common.sh"

command -v gfortran >/dev/null || skip "no gfortran (Debian: apt install gfortran)"
agent=$TRACESMITH_BUILD_DIR/lib/tracesmith/libtracesmith-mpi.so
tested=

# check_binding NAME: mpifh, module or f08
check_binding() {
    if ! "mpifort.$mpi" -w -O0 -fallow-argument-mismatch "-D$(echo "$1" | tr '[:lower:]' '[:upper:]')" -J "$work" -o "$work/$1" \
        "$here/every_class.F90" 2>"$work/compile"; then
        echo "skipped: $mpi, $1: gfortran cannot use it here: $(grep -m 1 -i error "$work/compile")"
        return
    fi
    rm -f "$work"/log.?
    FORTRAN_LOG=$work/log "$TRACESMITH" profile -o "$work/$1.sbt" -- "mpirun.$mpi" -n 2 "$work/$1" >"$work/$1.out" 2>"$work/$1.err" ||
        fail "$mpi, $1: $(cat "$work/$1.err")"
    "$TRACESMITH" view -f json "$work/$1.sbt" >"$work/$1.json"
    "$TRACESMITH" info --json "$work/$1.sbt" >"$work/$1.info"
    ldd "$work/$1" | sed -n 's/.*=> \(.*mpi[^ ]*\) .*/\1/p' >"$work/libraries"
    python3 "$here/check_fortran.py" "$work" "$1" "$mpi" "$agent" "$work/libraries"
    tested="$tested $mpi.$1"
}

check_mpi() {
    if ! command -v "mpifort.$mpi" >/dev/null; then
        echo "skipped: $mpi has no mpifort here"
        return
    fi
    for binding in mpifh module f08; do
        check_binding "$binding"
    done
}
each_mpi check_mpi
[ -n "$tested" ] || skip "no MPI with Fortran"
echo "checked$tested"
