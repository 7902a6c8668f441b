#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What recording costs an MPI call: instructions, which callgrind counts and load does not change, and ns, of calls of one rank to itself
# (MPI_COMM_SELF) with Open MPI and with MPICH. Instructions are the difference of a run of 3,000 rounds and one of 1,000, divided by
# their difference; ns are the minimum of five runs in turn.
set -eu
: "${TRACESMITH:?}"
here=$(cd "$(dirname "$0")" && pwd)
tracesmith=$TRACESMITH
command -v valgrind >/dev/null || { echo "no valgrind to count with"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1 UCX_TLS=self,sm

# instructions WITH KIND ROUNDS: of the whole program
instructions() {
    rm -f "$work"/out.*
    set -- "$1" valgrind --tool=callgrind "--callgrind-out-file=$work/out.%p" "$work/calls" "$2" "$3"
    if [ "$1" = with ]; then
        shift
        "$tracesmith" profile -o "$work/x.sbt" -- "$@" >"$work/log" 2>&1
    else
        shift
        "$@" >"$work/log" 2>&1
    fi
    awk '/^(summary|totals):/ && $2 > most { most = $2 } END { print most }' "$work"/out.*
}

# rate WITH KIND: instructions of a round
rate() {
    many=$(instructions "$1" "$2" 3000)
    few=$(instructions "$1" "$2" 1000)
    echo $(((many - few) / 2000))
}

# nanoseconds WITH KIND: of a round
nanoseconds() {
    least=
    for _ in 1 2 3 4 5; do
        if [ "$1" = with ]; then
            ns=$("$tracesmith" profile -b 256M -o "$work/x.sbt" -- "$work/calls" "$2" 200000 2>/dev/null)
        else
            ns=$("$work/calls" "$2" 200000)
        fi
        least=$(printf '%s\n%s\n' "$ns" "${least:-$ns}" | sort -n | head -n 1)
    done
    echo "$least"
}

printf '%-8s %-8s %5s %28s %22s\n' MPI round calls 'instructions (added, a call)' 'ns (added, a call)'
for mpi in openmpi mpich; do
    command -v "mpicc.$mpi" >/dev/null || continue
    "mpicc.$mpi" -w -O2 -o "$work/calls" "$here/mpi_calls.c"
    for kind in barrier:1 iprobe:1 send:3; do
        calls=${kind#*:}
        kind=${kind%:*}
        plain=$(rate without "$kind") recorded=$(rate with "$kind")
        plain_ns=$(nanoseconds without "$kind") recorded_ns=$(nanoseconds with "$kind")
        printf '%-8s %-8s %5d %6d -> %6d (%6d) %8d -> %5d (%5d)\n' "$mpi" "$kind" "$calls" "$plain" "$recorded" \
            $(((recorded - plain) / calls)) "$plain_ns" "$recorded_ns" $(((recorded_ns - plain_ns) / calls))
    done
done
