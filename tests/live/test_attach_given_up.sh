#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Attachments that fail in the program: each finds its session gone. What an earlier one prepared is used again, and the program does not grow.
# Where the agent was loaded as a layer, they change nothing: a command in a queue that is made afterwards has times.
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
check=$TRACESMITH_SOURCE_DIR/tests/live/check_attach_given_up.py
python3 "$check" "$agents/libtracesmith-opencl.so" "$work/gone"
[ -z "$sanitize" ] || exit 0 # Python is not built with it
record layer python3 "$check" "$agents/libtracesmith-opencl.so" "$work/gone" 10
[ "$status" -eq 0 ] || fail "$(cat "$work/layer.out" "$work/layer.err")"
timed=$("$TRACESMITH" query --json "$work/layer.sbt" "SELECT count(*) AS timed FROM events WHERE kind = 'memcpy' AND duration IS NOT NULL")
case $timed in
    *'"timed":1}'*) ;;
    *) fail "the command has no times: $timed" ;;
esac
