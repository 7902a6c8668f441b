#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tutorials (docs/tutorials): their commands run and print what the pages show.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ -x "$TRACESMITH_BUILD_DIR/examples/training_step" ] || skip "the examples are not built"
PATH=${TRACESMITH%/*}:$TRACESMITH_BUILD_DIR/examples:$PATH
export PATH
# mpirun refuses to run as root, and to run more ranks than there are processors.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# Why programs of MPI cannot run here; nothing if they can.
no_mpi() {
    if ! command -v mpicc >/dev/null || ! command -v mpirun >/dev/null; then
        echo "no MPI (Debian: libopenmpi-dev openmpi-bin)"
        return
    fi
    printf '#include <mpi.h>\nint main(void) { MPI_Init(0, 0); MPI_Barrier(MPI_COMM_WORLD); return MPI_Finalize(); }\n' >"$work/probe.c"
    if ! mpicc -o "$work/probe" "$work/probe.c" >"$work/probe.out" 2>&1 || ! mpirun -n 4 "$work/probe" >"$work/probe.out" 2>&1; then
        echo "mpirun starts no program here: $(head -n 1 "$work/probe.out")"
    fi
}

for page in "$TRACESMITH_SOURCE_DIR"/docs/tutorials/*.md; do
    name=${page##*/}
    case $name in
    README.md) continue ;;
    late-rank.md)
        why=$(no_mpi)
        if [ "$why" ]; then
            echo "left out: $name: $why"
            continue
        fi
        ;;
    esac
    mkdir "$work/$name"
    python3 -B "$TRACESMITH_SOURCE_DIR/tests/cli/check_tutorials.py" "$page" "$work/$name" || fail "$name"
done
