#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=tracesmith-record
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --time=00:30:00
# Records each rank of a program into a file of its own, and compares the ranks:
#
#     sbatch record-slurm.sh ./program --its-own options
#
# The folder of the traces is on a disk that all hosts see.
set -eu
[ $# -gt 0 ] || { echo "usage: sbatch record-slurm.sh PROGRAM [ARGUMENT...]" >&2; exit 2; }
traces=$PWD/traces-${SLURM_JOB_ID:?this is a job for sbatch}
mkdir -p "$traces"
status=0
srun tracesmith profile -o "$traces/run.%r.sbt" -- "$@" || status=$?
tracesmith analyze --ranks "$traces"/run.*.sbt --html "$traces/ranks.html" || echo "the ranks were not compared" >&2
exit "$status"
