#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranks that mpirun of Debian's mpich starts.
set -eu
command -v mpirun.mpich >/dev/null || { echo "skipped: no mpirun.mpich"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$TRACESMITH_SOURCE_DIR/tests/cli \
    exec python3 "$TRACESMITH_SOURCE_DIR/tests/cluster/check_mpi.py" mpirun.mpich libmpich.so.12 hydra
