#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What Rust costs over C, in instructions, which a loaded machine does not change: a range of an enabled and of a disabled session, and
# the reading of two columns.
set -eu
# shellcheck source=tests/rust/prepare.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/rust/prepare.sh"
command -v valgrind >/dev/null 2>&1 || {
    echo "skipped: no valgrind"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -O2 -o "$work/c" "$TRACESMITH_SOURCE_DIR/tests/rust/cost.c" -I"$TRACESMITH_SOURCE_DIR/include" \
    -L"$TRACESMITH_LIB_DIR" -ltracesmith
cargo build --offline --locked --quiet --release --example cost
ln -s "$CARGO_TARGET_DIR/release/examples/cost" "$work/rust"

# instructions LANGUAGE FUNCTION ARGUMENT...: those of the function and what it calls.
instructions() {
    program=$work/$1
    inside=$2
    shift 2
    valgrind --tool=callgrind --callgrind-out-file="$work/out" --toggle-collect="$inside" --collect-atstart=no \
        "$program" "$@" >"$work/said" 2>"$work/log" || {
        cat "$work/log" >&2
        exit 1
    }
    awk '/^summary:|^totals:/ { print $2; exit }' "$work/out"
}
# per_range LANGUAGE MODE: instructions of a pair, times 100.
per_range() {
    few=$(instructions "$1" measured_ranges "$2" 1000 "$work/$1.sbt")
    many=$(instructions "$1" measured_ranges "$2" 11000 "$work/$1.sbt")
    echo $(((many - few) / 100))
}
for mode in on off; do
    c=$(per_range c $mode)
    rust=$(per_range rust $mode)
    echo "range, $mode: $((c / 100)).$((c % 100)) instructions in C, $((rust / 100)).$((rust % 100)) in Rust"
    # 2 ns are at least 6 instructions; in the loop, one is the loop's own.
    [ "$rust" -le $((c + 1200)) ]
    [ $mode = on ] || [ "$rust" -le 1500 ]
done
"$work/rust" on 300000 "$work/many.sbt"
c=$(instructions c measured_read read 0 "$work/many.sbt")
cp "$work/said" "$work/expected"
rust=$(instructions rust measured_read read 0 "$work/many.sbt")
cmp "$work/said" "$work/expected"
echo "two columns of 300,001 ranges: $c instructions in C, $rust in Rust"
[ $((rust * 95)) -le $((c * 100)) ]
