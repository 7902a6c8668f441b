# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of the MPI agent share; sourced. `each_mpi COMMAND` calls it once for each MPI that is installed, with $mpi set to its
# name; `mpi_compile` and `mpi_run` use that one. Skips if there is none.
api=mpi
# shellcheck source=tests/support/agent.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/support/agent.sh"
# Open MPI refuses root, more processes than processors, and a TMPDIR with a long name (it makes sockets there).
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_base_warn_component_unused=0
# This machine only: no search for networks.
export OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1 UCX_TLS=self,sm,tcp UCX_NET_DEVICES=lo HYDRA_IFACE=lo
unset OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK PMI_SIZE

mpi_compile() {
    "mpicc.$mpi" -w -O1 "$@"
}

# mpi_run RANKS COMMAND...
mpi_run() {
    mpi_ranks=$1
    shift
    timeout -k 5 "${MPI_TIMEOUT:-240}" "mpirun.$mpi" -n "$mpi_ranks" "$@"
}

# Two ranks that meet, without the agent: an MPI that cannot do that here (no shared memory, no loopback) is not tested.
printf '#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); MPI_Barrier(MPI_COMM_WORLD); return MPI_Finalize(); }\n' >"$work/meet.c"
mpis=
why='(Debian: apt install openmpi-bin libopenmpi-dev mpich libmpich-dev)'
for mpi in openmpi mpich; do
    if ! command -v "mpicc.$mpi" >/dev/null || ! command -v "mpirun.$mpi" >/dev/null; then
        continue
    elif mpi_compile -o "$work/meet" "$work/meet.c" && mpi_run 2 "$work/meet" >"$work/meet.log" 2>&1; then
        mpis="$mpis $mpi"
    else
        why="that two ranks can use here: $mpi says $(tail -n 1 "$work/meet.log")"
        echo "skipped: $mpi does not run here: $(tail -n 1 "$work/meet.log")"
    fi
done
[ -n "$mpis" ] || skip "no MPI $why"

each_mpi() {
    for mpi in $mpis; do
        "$@"
    done
}

# Of a process that mpirun started: its rank. In single quotes, for sh -c.
# shellcheck disable=SC2016,SC2034 # the inner shell expands it; the tests use it
rank_of='${OMPI_COMM_WORLD_RANK:-$PMI_RANK}'
