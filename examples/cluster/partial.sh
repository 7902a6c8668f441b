#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# partial.sh TRACES PARTS [local]: one process of many reads its share of the traces in the folder TRACES and writes one partial
# into the folder PARTS. Start it with any launcher that numbers its processes:
#
#     srun                  examples/cluster/partial.sh /scratch/traces parts
#     mpirun -n 64          examples/cluster/partial.sh /scratch/traces parts
#     torchrun --no-python --nproc-per-node 8 examples/cluster/partial.sh /scratch/traces parts
#
# and then, in one process:  tracesmith analyze parts/*.part
#
# With `local` TRACES is on each host's own disk, so the processes of a host share its traces among them; without, all
# processes share one folder. PARTS is on a disk that all hosts see. A partial that is there already is kept, so a job that was
# killed is continued by starting it again.
set -eu
traces=${1:?usage: partial.sh TRACES PARTS [local]} parts=${2:?usage: partial.sh TRACES PARTS [local]} place=${3-shared}
tracesmith=${TRACESMITH:-tracesmith}

# The numbers of this process, by Open MPI, MPICH, Slurm, torchrun; alone without a launcher.
if [ "$place" = local ]; then
    rank=${OMPI_COMM_WORLD_LOCAL_RANK-${MPI_LOCALRANKID-${SLURM_LOCALID-${LOCAL_RANK-0}}}}
    size=${OMPI_COMM_WORLD_LOCAL_SIZE-${MPI_LOCALNRANKS-${LOCAL_WORLD_SIZE-1}}}
    [ -z "${SLURM_LOCALID-}" ] || size=${SLURM_NTASKS_PER_NODE:?start srun with --ntasks-per-node}
    name=$(hostname)-$rank
else
    rank=${OMPI_COMM_WORLD_RANK-${PMI_RANK-${SLURM_PROCID-${RANK-0}}}}
    size=${OMPI_COMM_WORLD_SIZE-${PMI_SIZE-${SLURM_NTASKS-${WORLD_SIZE-1}}}}
    name=$rank-of-$size
fi
part=$parts/$name.part
[ ! -e "$part" ] || exit 0
mkdir -p "$parts"

# Every size-th trace, beginning with the rank-th. They become the arguments of the command.
next=0
set --
for trace in "$traces"/*; do
    [ -f "$trace" ] || continue
    [ $((next % size)) -ne "$rank" ] || set -- "$@" "$trace"
    next=$((next + 1))
done
[ $# -gt 0 ] || exit 0 # more processes than traces

# The partial has its name once it is complete. Exit code 3: a trace is damaged; the partial says which.
code=0
"$tracesmith" analyze --partial -o "$part.new" "$@" || code=$?
[ "$code" -eq 0 ] || [ "$code" -eq 3 ] || exit "$code"
mv "$part.new" "$part"
exit "$code"
