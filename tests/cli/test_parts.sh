#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A part that is not built: each command that needs it names the command that builds it. And ./dev demo builds every part.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# refused WORD... -- COMMAND...: it fails, and the message states how the missing part is built.
refused() {
    status=0
    "$@" >"$work/out" 2>&1 || status=$?
    [ "$status" -ne 0 ] || fail "nothing is missing for: $*"
    grep -q '\./dev build' "$work/out" || fail "$*: not said how to build what is missing: $(cat "$work/out")"
}

mkdir "$work/agents" "$work/bin"
for agent in "$TRACESMITH_BUILD_DIR"/lib/tracesmith/*.so; do
    case $agent in
    *-opencl-record.so) ;;
    *) ln -s "$agent" "$work/agents/" ;;
    esac
done
export TRACESMITH_AGENT_DIR="$work/agents"
refused "$TRACESMITH" profile --capture -o "$work/a.sbt" -- true
rm -f "$work/agents/libtracesmith-opencl.so" "$work/agents/libtracesmith-bpf.so"
refused "$TRACESMITH" profile --api opencl -o "$work/a.sbt" -- true
refused "$TRACESMITH" profile --sched -o "$work/a.sbt" -- true
unset TRACESMITH_AGENT_DIR
# The command alone: the launch loop is searched next to it.
cp "$TRACESMITH" "$work/bin/tracesmith"
export LD_LIBRARY_PATH="$TRACESMITH_BUILD_DIR/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
refused "$work/bin/tracesmith" benchmark

grep -q 'build_release --target tracesmith_parts ' "$TRACESMITH_SOURCE_DIR/dev" || fail "./dev demo does not build every part"
if [ -f "$TRACESMITH_BUILD_DIR/build.ninja" ] && command -v ninja >/dev/null; then
    ninja -C "$TRACESMITH_BUILD_DIR" -t query tracesmith_parts >"$work/parts"
    ninja -C "$TRACESMITH_BUILD_DIR" -t inputs tracesmith_parts >>"$work/parts" 2>&1 || true
    for part in "$TRACESMITH_BUILD_DIR"/lib/tracesmith/*.so "$TRACESMITH_BUILD_DIR"/bin/tracesmith; do
        grep -q "${part##*/}" "$work/parts" || fail "tracesmith_parts lacks ${part##*/}"
    done
fi
echo "missing parts name what builds them"
