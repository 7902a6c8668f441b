#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No space for the file that a command writes its answer to (analyze, analyze --ranks, diff, report, query): an error that names
# it, and nothing under its name or another one. What was there before stays, with its mode once it is replaced. What is no
# file is written in place.
set -eu
# shellcheck source=tests/support/traces.sh
. "$(dirname "$0")/../support/traces.sh"
python3 -B "$source/tests/export/make_columns.py" | "$TRACESMITH_BUILD_DIR/tests/programs/sbt_make" "$folder/trace.sbt"
mkdir "$folder/small"
out=$folder/small/answer
fail() {
    echo "FAILED: $*"
    exit 1
}

# check ARGUMENT...: with OUT for the file.
check() {
    for before in no yes; do
        rm -f "$folder/small"/*
        [ $before = no ] || echo before >"$out"
        if errors=$( (ulimit -f 0 && trap '' XFSZ && exec "$TRACESMITH" "$@") 2>&1 >/dev/null); then
            fail "$*: no error"
        fi
        case $errors in
        *"small/answer: cannot be written: "*) ;;
        *) fail "$*: '$errors'" ;;
        esac
        [ $before = no ] || [ "$(cat "$out")" = before ] || fail "$*: the old file is gone"
        rm -f "$out"
        left=$(ls "$folder/small")
        [ -z "$left" ] || fail "$*: left $left"
    done
    echo before >"$out"
    chmod 640 "$out"
    "$TRACESMITH" "$@" >/dev/null
    [ "$(stat -c %a "$out")" = 640 ] || fail "$*: mode $(stat -c %a "$out")"
    [ "$(ls "$folder/small")" = answer ] || fail "$*: left $(ls "$folder/small")"
    [ "$(cat "$out")" != before ] || fail "$*: nothing was written"
    rm -f "$out"
    mkfifo "$out"
    cat "$out" >"$folder/read" &
    "$TRACESMITH" "$@" >/dev/null
    wait $!
    [ -p "$out" ] || fail "$*: replaced what is no file"
    [ -s "$folder/read" ] || fail "$*: wrote nothing into a pipe"
}
trace=$folder/trace.sbt
cp "$trace" "$folder/other.sbt"
check analyze "$trace" -o "$out"
check analyze "$trace" --json -o "$out"
check analyze --partial "$trace" -o "$out"
check report "$trace" -o "$out"
check diff "$trace" "$folder/other.sbt" --html "$out"
check diff "$trace" "$folder/other.sbt" --markdown "$out"
check diff "$trace" "$folder/other.sbt" --gate 'kernel_time<+3%' --junit "$out"
check query --partial -o "$out" "$trace" "SELECT name, count(*) FROM kernel GROUP BY name"
