#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Threads that call MPI at once; looks that find nothing are one event with their number; an end by MPI_Abort keeps what was before;
# a program that uses OpenCL too; one that loads MPI for itself. Programs without MPI, with MPI in their own file, and with another tool.
set -eu
# shellcheck source=tests/mpi/common.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/mpi/common.sh"

# one RANKS NAME PROGRAM...: all ranks in one trace
one() {
    ranks=$1
    name=$2
    shift 2
    options=${apis:-} # not --api: profile finds out by itself
    status=0
    "$TRACESMITH" profile -o "$work/$name.sbt" -- "mpirun.$mpi" -n "$ranks" "$@" >"$work/$name.out" 2>"$work/$name.err" || status=$?
    "$TRACESMITH" view -f json "$work/$name.sbt" >"$work/$name.json" || fail "$mpi $name: $(cat "$work/$name.err")"
    "$TRACESMITH" info --json "$work/$name.sbt" >"$work/$name.info"
}

succeeds() {
    [ "$status" -eq 0 ] || fail "$mpi $name: exit status $status: $(cat "$work/$name.err")"
}

check_manners() {
    echo "== $mpi"
    mpi_compile -o "$work/manners" "$here/manners.c" -lpthread
    one 2 threads "$work/manners" threads
    succeeds
    one 2 polls "$work/manners" polls
    succeeds
    one 2 abort "$work/manners" abort
    [ "$status" -ne 0 ] || fail "$mpi: MPI_Abort ended with success"
    opencl=
    if mpi_compile -o "$work/opencl" "$here/opencl.c" -lOpenCL 2>/dev/null && status=0 && { mpi_run 2 "$work/opencl" >"$work/alone" 2>&1 || status=$?; } &&
        [ "$status" -eq 0 ]; then
        one 2 opencl "$work/opencl"
        succeeds
        cmp "$work/alone" "$work/opencl.out" || fail "$mpi: the program with OpenCL prints something else"
        opencl=opencl
    fi
    # A library of MPI that is no one else's: RTLD_LOCAL, as Python loads it.
    mpi_compile -shared -fPIC -Dmain=run_it -o "$work/late.so" "$here/manners.c"
    "${CC:-cc}" -o "$work/opens" "$here/opens.c" -ldl
    MANNERS=$work/late.so one 2 opens "$work/opens" polls
    succeeds
    # A tool in the program's own file, and one in a library.
    mpi_compile -o "$work/own_tool" "$here/tool.c"
    one 1 own_tool "$work/own_tool"
    succeeds
    mpi_compile -DTOOL -shared -fPIC -o "$work/libtool.so" "$here/tool.c"
    mpi_compile -DPROGRAM -o "$work/shared_tool" "$here/tool.c" -Wl,--no-as-needed "$work/libtool.so" -Wl,-rpath,"$work"
    one 1 shared_tool "$work/shared_tool"
    succeeds
    # shellcheck disable=SC2086 # none, or a word
    python3 "$here/check_manners.py" "$work" threads polls abort opens own_tool shared_tool $opencl
}
each_mpi check_manners

# A program that asks with a weak symbol whether MPI is there gets the same answer.
cat >"$work/weak.c" <<'C'
#include <stdio.h>
int MPI_Init(int *, char ***) __attribute__((weak));
int main(void) { return printf("%s\n", MPI_Init ? "MPI" : "no MPI") < 0; }
C
"${CC:-cc}" -o "$work/weak" "$work/weak.c"
"$TRACESMITH" profile -o "$work/weak.sbt" -- "$work/weak" >"$work/weak.out" 2>/dev/null || :
[ "$(cat "$work/weak.out")" = 'no MPI' ] || fail "a program without MPI: $(cat "$work/weak.out")"

# One that has it in its own file is not recorded, and told so.
cat >"$work/static.c" <<'C'
int PMPI_Init(int *a, char ***b) { return a != 0 && b != 0; }
int MPI_Init(int *a, char ***b) { return PMPI_Init(a, b); }
int main(void) { return MPI_Init(0, 0); }
C
"${CC:-cc}" -o "$work/static" "$work/static.c"
"$TRACESMITH" profile -o "$work/static.sbt" -- "$work/static" >"$work/static.out" 2>"$work/static.err" || fail "static: $(cat "$work/static.err")"
grep -q 'MPI linked into its own file' "$work/static.err" || fail "static: no notice: $(cat "$work/static.err")"
