#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Late senders and late receivers: a pipeline in which one rank sends late and another receives late. The table of `analyze --ranks` is
# what a second implementation makes of the events, with blocking calls and with requests; partials give the same answer.
set -eu
# shellcheck source=tests/mpi/common.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/mpi/common.sh"

check_messages() {
    echo "== $mpi"
    mpi_compile -o "$work/late" "$here/late_messages.c"
    for how in '' requests; do
        rm -f "$work"/r?.sbt "$work"/*.part
        # shellcheck disable=SC2086 # a word or none
        mpi_run 4 "$TRACESMITH" profile -o "$work/r%r.sbt" -- "$work/late" $how >"$work/out" 2>"$work/err" ||
            fail "$mpi: $(cat "$work/err")"
        grep -qx 'passed 6' "$work/out" || fail "$mpi: the program prints something else"
        "$TRACESMITH" analyze --ranks --json "$work"/r?.sbt >"$work/ranks.json"
        for rank in 0 1 2 3; do
            "$TRACESMITH" view -f json "$work/r$rank.sbt" >"$work/r$rank.json"
            "$TRACESMITH" analyze --partial -o "$work/$rank.part" "$work/r$rank.sbt"
        done
        "$TRACESMITH" analyze --ranks --json "$work"/?.part >"$work/partials.json"
        cmp "$work/ranks.json" "$work/partials.json" || fail "$mpi: partials have another answer"
        python3 "$here/check_messages.py" "$work"
    done
    # Without one of the ranks, its messages have no counterpart.
    "$TRACESMITH" analyze --ranks "$work"/r[013].sbt >"$work/text"
    grep -q 'have no counterpart in the traces' "$work/text" || fail "$mpi: nothing is missing without rank 2"
}
each_mpi check_messages
