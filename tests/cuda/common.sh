# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of the CUDA agent share; sourced. They run against mocks of NVIDIA's driver and of CUPTI, never
# against a GPU: a machine that has one runs tests/gpu.
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck disable=SC2034 # of those that source this
programs=$TRACESMITH_BUILD_DIR/tests/programs
mocks=$TRACESMITH_BUILD_DIR/tests/cuda/mock
PYTHONPATH=$TRACESMITH_SOURCE_DIR/tests/cuda
PYTHONDONTWRITEBYTECODE=1
LD_LIBRARY_PATH=$mocks${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PYTHONPATH PYTHONDONTWRITEBYTECODE LD_LIBRARY_PATH
unset CUDA_INJECTION64_PATH TRACESMITH_SESSION TRACESMITH_CUPTI TRACESMITH_CUDA MOCK_CUPTI MOCK_DEVICES LD_PRELOAD

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

# Programs that crash or leak do so on purpose here.
[ -z "${TRACESMITH_SANITIZE:-}" ] || export ASAN_OPTIONS=detect_leaks=0:handle_segv=0:handle_abort=0:verify_asan_link_order=0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# record NAME COMMAND...: runs it under the profiler; its output in NAME.out, the profiler's messages in NAME.err, the
# trace in NAME.sbt, NAME.json and NAME.info. Sets `status` to the exit code.
# shellcheck disable=SC2086,SC2034 # options, if the test has any; status is the tests'
record() {
    name=$1
    shift
    status=0
    "$TRACESMITH" profile -o "$work/$name.sbt" -b 64M --api cuda ${options:-} "$@" >"$work/$name.out" 2>"$work/$name.err" || status=$?
    "$TRACESMITH" view -f json "$work/$name.sbt" >"$work/$name.json" ||
        fail "$name: the trace cannot be read: $(cat "$work/$name.err")"
    "$TRACESMITH" info --json "$work/$name.sbt" >"$work/$name.info" || fail "$name: no info"
}
