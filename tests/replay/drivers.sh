# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The OpenCL drivers that are here, for tests that run on each of them; sourced after tests/opencl/common.sh. Those of Debian lie
# in tests/drivers of the build; TRACESMITH_DRIVERS names another folder with one folder for each driver (a file *.icd in it).
export RUSTICL_ENABLE=llvmpipe

# The folders, one a line, of drivers that run a kernel; the others are said to be left out.
drivers() {
    for driver in pocl rusticl intel; do
        found=
        for folder in "$TRACESMITH_BUILD_DIR/tests/drivers/$driver" "${TRACESMITH_DRIVERS:-/opt/opencl-drivers/icd}/$driver"; do
            if [ -z "$found" ] && [ -d "$folder" ] &&
                OCL_ICD_VENDORS=$folder "$programs/cl_launch_loop" -n 1 >/dev/null 2>&1; then
                found=$folder
            fi
        done
        [ -n "$found" ] && echo "$found" || echo "left out: no driver '$driver' here" >&2
    done
}
