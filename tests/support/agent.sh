# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of agents share; sourced by the common.sh of a room: a folder $work that is removed at the end, and `record`. The
# room sets $api, and PYTHONPATH is that of its Python files and of agent_run.py.
# shellcheck disable=SC2154 # $api is the caller's
: "${TRACESMITH:?}" "${TRACESMITH_SOURCE_DIR:?}"
here=$TRACESMITH_SOURCE_DIR/tests/$(printf '%s' "$api" | tr - _)
PYTHONPATH=$here:$TRACESMITH_SOURCE_DIR/tests/support
PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE
unset TRACESMITH_SESSION LD_PRELOAD

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

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# mocks FOLDER: programs load the mock libraries of the folder.
mocks() {
    mocks=$1
    LD_LIBRARY_PATH=$mocks${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
}

# record NAME COMMAND...: runs it under the profiler; its output in NAME.out, the profiler's messages in NAME.err, the
# trace in NAME.sbt, NAME.json and NAME.info. Sets `status` to the exit code.
# shellcheck disable=SC2086,SC2034 # options, if the test has any; status is the tests'
record() {
    name=$1
    shift
    status=0
    "$TRACESMITH" profile -o "$work/$name.sbt" -b 64M --api "$api" ${options:-} "$@" >"$work/$name.out" 2>"$work/$name.err" || status=$?
    "$TRACESMITH" view -f json "$work/$name.sbt" >"$work/$name.json" ||
        fail "$name: the trace cannot be read: $(cat "$work/$name.err")"
    "$TRACESMITH" info --json "$work/$name.sbt" >"$work/$name.info" || fail "$name: no info"
}
