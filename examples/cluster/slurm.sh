#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=tracesmith
#SBATCH --nodes=16
#SBATCH --ntasks-per-node=8
#SBATCH --cpus-per-task=1
#SBATCH --time=00:10:00
# Compares the ranks of a run by the traces that each host has on its own disk, on the hosts of the run:
#
#     cd tracesmith/examples/cluster && sbatch --nodelist "$NODES_OF_THE_RUN" slurm.sh /local/traces
set -u
traces=${1:?usage: sbatch slurm.sh TRACES}
parts=$PWD/tracesmith-${SLURM_JOB_ID:?this is a job for sbatch}
# A host that fails takes only its traces with it: the answer names the ranks without a trace.
# Slurm runs a copy of this file, so its folder is that of the submission.
srun --kill-on-bad-exit=0 "${SLURM_SUBMIT_DIR:?}/partial.sh" "$traces" "$parts" local
exec tracesmith analyze "$parts"/*.part --html "$parts.html"
