#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs of Level Zero, through the real loader and its real tracing layer, on the simulated device of mock/driver.c. What is
# recorded against the driver's own log and the program's count; the program's output, and the commands that the driver is
# sent, are the same without TraceSmith.
set -eu
# shellcheck source=tests/level_zero/common.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/level_zero/common.sh"

"${CC:-cc}" -fsyntax-only -I"$TRACESMITH_SOURCE_DIR" "$here/abi.c" || fail "abi.h is not what the headers say"

# run NAME ARGUMENT...: without TraceSmith
run() {
    name=$1
    shift
    MOCK_LOG=$work/$name.alone.log "$work/lists" "$@" >"$work/$name.alone" || fail "$name alone: $?"
}
# record NAME OPTION... -- ARGUMENT...
record() {
    name=$1
    shift
    options=
    while [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # words
    MOCK_LOG=$work/$name.log "$TRACESMITH" profile -o "$work/$name.sbt" --api level-zero $options -- "$work/lists" "$@" \
        >"$work/$name.out" 2>"$work/$name.err" || fail "$name: exit status $?: $(cat "$work/$name.err")"
    "$TRACESMITH" view --json "$work/$name.sbt" >"$work/$name.json" || fail "$name: no trace"
}

for mode in "immediate 20" "regular 20" overlap events "lists 40" refused "many 1000"; do
    name=${mode%% *}
    # shellcheck disable=SC2086 # words
    run "$name" $mode
    # shellcheck disable=SC2086 # words
    record "$name" -- $mode
    cmp -s "$work/$name.alone" "$work/$name.out" || fail "the program prints something else when it is profiled ($name)"
done
# The query of docs/memory.md.
refused=$("$TRACESMITH" query --json "$work/refused.sbt" "SELECT start, name, result, stack FROM api WHERE result <> 0 AND name LIKE '%Free%'")
[ "$(printf '%s' "$refused" | grep -o '"zeMemFree"' | wc -l)" -eq 1 ] || fail "refused frees: $refused"
record sums --aggregate 50ms -- regular 20
mkdir "$work/added"
ln -s ../regular.sbt "$work/added/events.sbt"
ln -s ../sums.sbt "$work/added/sums.sbt"
python3 "$TRACESMITH_SOURCE_DIR/tests/support/check_sums.py" "$work/added"
MOCK_WRAP_MS=30 record wrap -- overlap
record stacks --stacks -- immediate 5
record exits -- exits 7
record outlive -- outlive
record quiet --agent-option level-zero.program-events -- immediate 5

# Where the agent's thread is interrupted while it reads the clock, no command loses its times.
"${CC:-cc}" -O1 -shared -fPIC -o "$work/slow_clock.so" "$here/slow_clock.c" -ldl
# shellcheck disable=SC2016 # the inner shell expands it
MOCK_LOG=$work/slow.log "$TRACESMITH" profile -o "$work/slow.sbt" --api level-zero -- \
    sh -c 'LD_PRELOAD=$1:$LD_PRELOAD exec "$0" immediate 20' "$work/lists" "$work/slow_clock.so" >/dev/null 2>"$work/slow.err" ||
    fail "slow: $(cat "$work/slow.err")"
"$TRACESMITH" view --json "$work/slow.sbt" >"$work/slow.json" || fail "slow: no trace"

mkfifo "$work/said"
# killed NAME ARGUMENTS COMMAND: once it has printed its line and COMMAND has succeeded
killed() {
    # shellcheck disable=SC2016 # the inner shell expands it
    MOCK_LOG=$work/$1.log "$TRACESMITH" profile -o "$work/$1.sbt" --api level-zero -- sh -c \
        '"$0" $2 >"$1" & read -r line <"$1" && eval "$3" && kill -KILL $! && { wait $! || :; }' \
        "$work/lists" "$work/said" "$2" "$3" >"$work/$1.err" 2>&1 || fail "$1: $(cat "$work/$1.err")"
    "$TRACESMITH" view --json "$work/$1.sbt" >"$work/$1.json" || fail "$1: no trace"
}
killed killed "forever 7" :
# The agent resets its events after it has recorded the kernels, though the program never waits for them.
killed never "never 7" "until grep -q 'calls resets 7' $work/never.log; do sleep 0.02; done"

python3 "$here/check_lists.py" "$work"
