#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a launch costs the calling thread on the simulated device of tests/level_zero: by the loader alone, by the tracing layer with
# a tracer that does nothing, by one that only has each launch timed, and with TraceSmith. Usage: bench/bench_level_zero.sh [BUILD [LAUNCHES]]
set -eu
build=${1:-build}
launches=${2:-200000}
here=$(cd "$(dirname "$0")/../tests/level_zero" && pwd)
skip() {
    echo "skipped: $*"
    exit 0
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/level_zero/common.sh
. "$here/common.sh"
"${CC:-cc}" -O2 -shared -fPIC -o "$work/null_tracer.so" "$here/null_tracer.c" -lze_loader
export LISTS_TIMES=1

# line WHAT COMMAND...: the best of three
line() {
    what=$1
    shift
    for _ in 1 2 3; do
        "$@" 2>&1 >/dev/null | sed -n 's/ ns a call$//p'
    done | sort -n | head -n 1 | sed "s/^/$what: /; s/\$/ ns/"
}
profile() {
    "$build/bin/tracesmith" profile -o "$work/run.sbt" --api level-zero "$@" -- "$work/lists" many "$launches"
}
line "loader" "$work/lists" many "$launches"
line "tracing layer, a tracer that does nothing" \
    env ZE_ENABLE_TRACING_LAYER=1 LD_PRELOAD="$work/null_tracer.so" "$work/lists" many "$launches"
line "the same, a tracer that only asks for each launch's times" \
    env NULL_TRACER_TIMES=1 ZE_ENABLE_TRACING_LAYER=1 LD_PRELOAD="$work/null_tracer.so" "$work/lists" many "$launches"
line "profile" profile
line "profile, program-events (no device times)" profile --agent-option level-zero.program-events
