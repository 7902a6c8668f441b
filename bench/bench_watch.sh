#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What profile --sched and --probe cost a program, in processor time of its own: the least of several runs in turns,
# with and without.
#   - a round trip of a byte between two threads on one processor (two switches, two wake-ups)
#   - a call of a probed function, compared with the cost that was printed before
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}"
switches=$TRACESMITH_BUILD_DIR/tests/programs/switches
runs=${TRACESMITH_BENCH_RUNS:-9}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -x "$switches" ] || { echo "the programs of the tests are not built"; exit 1; }
"$TRACESMITH" profile --sched -o "$work/try.sbt" -- true 2>"$work/err" || { cat "$work/err"; exit 0; }

# least FILE: the least of its numbers.
least() { sort -n "$1" | head -n 1; }
number() { sed 's/.*:\([0-9.]*\).*/\1/'; }
i=0
while [ $i -lt "$runs" ]; do
    "$switches" -n 100000 | number >>"$work/bare"
    "$TRACESMITH" profile -o "$work/p.sbt" -- "$switches" -n 100000 2>/dev/null | number >>"$work/profile"
    "$TRACESMITH" profile --sched -o "$work/s.sbt" -- "$switches" -n 100000 2>"$work/err" | number >>"$work/sched"
    "$switches" --calls 10000000 | number >>"$work/calls"
    "$TRACESMITH" profile --probe "$switches:switches_called" -o "$work/c.sbt" -- "$switches" --calls 20000 2>"$work/said" |
        number >>"$work/probed"
    i=$((i + 1))
done
bare=$(least "$work/bare")
sched=$(least "$work/sched")
events=$("$TRACESMITH" info --json "$work/s.sbt" | tr ',{' '\n' | sed -n 's/"off_cpu":\([0-9]*\).*/\1/p' | head -n 1)
bytes=$(wc -c <"$work/s.sbt")
printf 'round trip, ns: bare %s, profile %s, profile --sched %s\n' "$bare" "$(least "$work/profile")" "$sched"
awk -v bare="$bare" -v sched="$sched" 'BEGIN { printf "a time off the processor (two of them a round trip) costs %.0f ns\n", (sched - bare) / 2 }'
printf 'in the trace: %s events, %s bytes\n' "${events:-?}" "$bytes"
printf 'call of a probed function, ns: bare %s, probed %s\n' "$(least "$work/calls")" "$(least "$work/probed")"
grep -- "--probe" "$work/said"
