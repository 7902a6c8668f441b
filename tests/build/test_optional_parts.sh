#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A part whose library was missing when the build directory was made is built as soon as it is installed; ON and OFF
# are the user's and stay, and the log lists the parts left out. A missing library is simulated by letting CMake
# ignore its directory.
set -eu
: "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
headers=$(sed -n 's/^TRACESMITH_CL_HEADERS:PATH=//p' "$TRACESMITH_BUILD_DIR/CMakeCache.txt")
if [ ! -f "$headers/CL/cl_layer.h" ]; then
    echo "skipped: the OpenCL headers are not installed"
    exit 77
fi
# Required libraries are in the same directory: these must not be missing.
required=$(sed -n 's/^\(TRACESMITH_[a-z0-9]*_\(INCLUDE\|LIBRARY\)\):[A-Z]*=/-D\1=/p' "$TRACESMITH_BUILD_DIR/CMakeCache.txt" |
    tr '\n' ' ')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$*"
    cat "$work/log"
    exit 1
}

# configure OPTION...: into the same directory
configure() {
    # shellcheck disable=SC2086 # words: no directory of headers or libraries has a space
    cmake -S "$TRACESMITH_SOURCE_DIR" -B "$work/build" $required -DTRACESMITH_BUILD_TESTS=OFF -DTRACESMITH_BUILD_BENCH=OFF \
        -DTRACESMITH_BUILD_EXAMPLES=OFF -DTRACESMITH_BUILD_CLI=OFF "$@" >"$work/log" 2>&1
}

builds_agent() {
    cmake --build "$work/build" --target help >"$work/targets"
    # Make lists "... tracesmith_opencl", Ninja "tracesmith_opencl: phony".
    grep -Eq '(^|[. ])tracesmith_opencl(:|$)' "$work/targets"
}

configure "-DCMAKE_IGNORE_PATH=$headers" || fail "a machine without OpenCL headers cannot configure"
! builds_agent || fail "the headers were not ignored: this test shows nothing"
grep -q 'Not built: the OpenCL agent' "$work/log" || fail "the log does not say that the agent is left out"

configure -UCMAKE_IGNORE_PATH || fail "the second configure fails"
builds_agent || fail "the headers are installed now, and the agent is still left out"

configure -DTRACESMITH_ENABLE_OPENCL=OFF || fail "OFF fails"
configure || fail "after OFF the configure fails"
! builds_agent || fail "OFF did not stay"
grep -q 'TRACESMITH_ENABLE_OPENCL is OFF although' "$work/log" || fail "the log does not say that OFF is why"

if configure -DTRACESMITH_ENABLE_OPENCL=ON -UTRACESMITH_CL_HEADERS "-DCMAKE_IGNORE_PATH=$headers"; then
    fail "ON without the headers configures"
fi
grep -q 'opencl-headers' "$work/log" || fail "the error does not name the package"
