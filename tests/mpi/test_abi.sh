#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the agent declares of the binary interface of Open MPI and MPICH is what their headers say: constants, the status, and the
# parameters of every function of its table.
set -eu
# shellcheck source=tests/mpi/common.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/mpi/common.sh"

cat >"$work/table.c" <<'C'
#include "agents/mpi/calls.h"
#define ROW(name, class, params, args, ...) ROW_(name, class, params, args)
#define ROW_(name, class, params, args) row MPI_##name params class args;
#define ROW_C(name, class, params, args, ...) ROW_C_(name, class, params, args)
#define ROW_C_(name, class, params, args) row MPI_##name##_c params class args;
#define COUNT int
MPI_COUNTED(ROW)
#undef COUNT
#define COUNT int64_t
MPI_COUNTED(ROW_C)
MPI_OTHERS(ROW)
C

check_abi() {
    mpi_compile "-DOF_$(echo "$mpi" | tr '[:lower:]' '[:upper:]')" -I"$TRACESMITH_SOURCE_DIR" -o "$work/abi" "$here/abi.c"
    mpi_run 1 "$work/abi" "$(echo "$mpi" | tr '[:lower:]' '[:upper:]')" || fail "agents/mpi/abi.h is not what the header of $mpi says"
    echo '#include <mpi.h>' >"$work/header.c"
    "mpicc.$mpi" -E -P "$work/header.c" >"$work/header.i"
    "mpicc.$mpi" -E -P -I"$TRACESMITH_SOURCE_DIR" "$work/table.c" >"$work/table.i"
    python3 "$here/check_prototypes.py" "$work/header.i" "$work/table.i" "$mpi"
    # `devices` names the MPIs of this machine, in their own words.
    "$TRACESMITH" devices --json >"$work/devices" 2>/dev/null || :
    case $mpi in openmpi) words='Open MPI v' ;; *) words='MPICH Version' ;; esac
    grep -q "\"library.mpi\".*$words" "$work/devices" || fail "devices does not name $mpi: $(cat "$work/devices")"
}
each_mpi check_abi
