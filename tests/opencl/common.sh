# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of the OpenCL agent share; sourced. Needs the build in the environment (see tests/CMakeLists.txt).
# A test of a machine without an OpenCL device, or without Python to judge with, is skipped (77).
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
programs=$TRACESMITH_BUILD_DIR/tests/programs
agents=$TRACESMITH_BUILD_DIR/lib/tracesmith
PYTHONPATH=$TRACESMITH_SOURCE_DIR/tests/opencl
PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE
unset OPENCL_LAYERS TRACESMITH_SESSION LD_PRELOAD POCL_DEVICES POCL_TRACING POCL_TRACING_OPT

skip() {
    echo "skipped: $*"
    exit 77
}

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

[ -x "$TRACESMITH" ] || skip "the tracesmith command is not built"
[ -f "$agents/libtracesmith-opencl.so" ] || skip "the OpenCL agent is not built"
command -v python3 >/dev/null || skip "no python3 to judge with"
status=0
"$programs/cl_launch_loop" -n 1 >/dev/null 2>&1 || status=$?
[ "$status" -ne 4 ] || skip "no OpenCL device (on Debian: apt install pocl-opencl-icd)"
[ "$status" -eq 0 ] || skip "tests/programs is not built or OpenCL does not work: cl_launch_loop gave $status"

# A sanitized agent needs a sanitized program: compile with this.
sanitize=${TRACESMITH_SANITIZE:+-fsanitize=$TRACESMITH_SANITIZE}
# Programs that crash or leak do so on purpose here, and the preloaded library comes before everything.
[ -z "$sanitize" ] || export ASAN_OPTIONS=detect_leaks=0:handle_segv=0:handle_abort=0:verify_asan_link_order=0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# record NAME COMMAND...: runs it under the profiler; its output in NAME.out and NAME.err, the trace in NAME.sbt and as
# JSON in NAME.json. Sets `status` to the exit code. Room enough that nothing is dropped.
record() {
    name=$1
    shift
    status=0
    "$TRACESMITH" profile -o "$work/$name.sbt" -b 16M -- "$@" >"$work/$name.out" 2>"$work/$name.err" || status=$?
    "$TRACESMITH" view -f json "$work/$name.sbt" >"$work/$name.json" 2>/dev/null ||
        fail "$name: the trace cannot be read: $(cat "$work/$name.err")"
}

# Whether the answer of `replay --json` in FILE compared any result: else its exit code is 4.
compared() {
    ! grep -q '"verdicts":{"exact":0,"within-tolerance":0,"within-noise":0,"diverged":0,' "$1"
}
