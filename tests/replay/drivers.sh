# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The OpenCL drivers that are here, for tests that run on each of them; sourced after tests/opencl/common.sh, which sets
# `programs`. Their folders are in tests/drivers of the build (`./dev drivers --install` brings them).
export RUSTICL_ENABLE=llvmpipe

# The folders, one a line, of drivers that run a kernel; the others are reported as left out.
drivers() {
    # Builds with a sanitizer use one, as in tests/support/drivers.sh.
    for driver in pocl ${TRACESMITH_SANITIZE:+-} rusticl intel; do
        [ "$driver" != - ] || break
        folder=$TRACESMITH_BUILD_DIR/tests/drivers/$driver
        if OCL_ICD_VENDORS=$folder "${programs:?}/cl_launch_loop" -n 1 >/dev/null 2>&1; then
            echo "$folder"
        else
            echo "left out: no driver '$driver' here" >&2
        fi
    done
}
