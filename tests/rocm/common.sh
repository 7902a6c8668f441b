# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of the ROCm agent share; sourced. They run against mocks of HIP and of rocprofiler-sdk, never against a GPU.
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck disable=SC2034 # of those that source this
program=$TRACESMITH_BUILD_DIR/tests/programs/hip_work
mocks=$TRACESMITH_BUILD_DIR/tests/rocm/mock
PYTHONPATH=$TRACESMITH_SOURCE_DIR/tests/rocm
PYTHONDONTWRITEBYTECODE=1
LD_LIBRARY_PATH=$mocks${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PYTHONPATH PYTHONDONTWRITEBYTECODE LD_LIBRARY_PATH
unset ROCP_TOOL_LIBRARIES TRACESMITH_SESSION MOCK_ROCM MOCK_KERNEL_NS LD_PRELOAD

skip() {
    echo "skipped: $*"
    exit 77
}

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

[ -x "$TRACESMITH" ] || skip "the tracesmith command is not built"
command -v python3 >/dev/null || skip "no python3 to judge with"

[ -z "${TRACESMITH_SANITIZE:-}" ] || export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# record NAME COMMAND...: runs it under the profiler; its output in NAME.out, the profiler's messages in NAME.err, the
# trace in NAME.json and NAME.info. Sets `status` to the exit code.
# shellcheck disable=SC2086,SC2034 # options, if the test has any; status is the tests'
record() {
    name=$1
    shift
    status=0
    "$TRACESMITH" profile -o "$work/$name.sbt" -b 64M --api rocm ${options:-} "$@" >"$work/$name.out" 2>"$work/$name.err" || status=$?
    "$TRACESMITH" view -f json "$work/$name.sbt" >"$work/$name.json" ||
        fail "$name: the trace cannot be read: $(cat "$work/$name.err")"
    "$TRACESMITH" info --json "$work/$name.sbt" >"$work/$name.info" || fail "$name: no info"
}
