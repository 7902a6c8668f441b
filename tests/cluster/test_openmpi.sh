#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranks that mpirun of Debian's openmpi starts.
set -eu
command -v mpirun.openmpi >/dev/null || { echo "skipped: no mpirun.openmpi"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$TRACESMITH_SOURCE_DIR/tests/cli \
    exec python3 "$TRACESMITH_SOURCE_DIR/tests/cluster/check_mpi.py" mpirun.openmpi libmpi.so.40 openmpi
