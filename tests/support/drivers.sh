# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The OpenCL drivers that tests compare; sourced. Each is a folder of build/tests/drivers with its .icd file
# (tests/CMakeLists.txt); ./dev drivers installs those that Debian does not bring along.
: "${TRACESMITH_BUILD_DIR:?}"
# Not everything that a driver does to its own heap is right: builds with a sanitizer use one.
# shellcheck disable=SC2034 # for the script that sources this
drivers="pocl rusticl intel"
# shellcheck disable=SC2034
[ -z "${TRACESMITH_SANITIZE-}" ] || drivers=pocl

# on_driver NAME COMMAND...: runs it with this driver alone.
on_driver() {
    on_driver_name=$1
    shift
    # Mesa switches its device on only where it is named.
    env OCL_ICD_VENDORS="$TRACESMITH_BUILD_DIR/tests/drivers/$on_driver_name" RUSTICL_ENABLE=llvmpipe "$@"
}

# driver_here NAME: whether it is installed. One that is and does not work is a failure, not a skip.
driver_here() {
    [ -e "$TRACESMITH_BUILD_DIR/tests/drivers/$1/$1.icd" ] || return 1
    driver_library=$(head -n 1 "$TRACESMITH_BUILD_DIR/tests/drivers/$1/$1.icd")
    case $driver_library in
    /*) [ -e "$driver_library" ] ;;
    *) ldconfig -p 2>/dev/null | grep -q "${driver_library%%.so*}\.so" || /sbin/ldconfig -p | grep -q "${driver_library%%.so*}\.so" ;;
    esac
}
