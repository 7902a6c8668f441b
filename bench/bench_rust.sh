#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the Rust crate costs, and what C costs in the same run: a range of an enabled and of a disabled session, and reading two columns of
# 10,000,001 ranges. Processor time of the thread, median of 9 runs; programs: tests/rust/cost.c and the example cost of the crate.
set -eu
# shellcheck source=tests/rust/prepare.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/rust/prepare.sh"
work=$(mktemp -d "${TMPDIR:-/dev/shm}/bench-rust-XXXXXX")
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -O2 -o "$work/c" "$TRACESMITH_SOURCE_DIR/tests/rust/cost.c" -I"$TRACESMITH_SOURCE_DIR/include" \
    -L"$TRACESMITH_LIB_DIR" -ltracesmith
cargo build --offline --locked --quiet --release --example cost
ln -s "$CARGO_TARGET_DIR/release/examples/cost" "$work/rust"
# In turns, so that both meet the same load.
for mode in on off on off; do
    printf 'range, %-3s  C %7s ns, Rust %7s ns\n' "$mode" "$("$work/c" $mode 5000000 "$work/c.sbt" timed)" "$("$work/rust" $mode 5000000 "$work/rust.sbt" timed)"
done
"$work/rust" on 10000000 "$work/many.sbt"
for _ in 1 2 3; do
    c=$("$work/c" read 0 "$work/many.sbt" timed)
    rust=$("$work/rust" read 0 "$work/many.sbt" timed)
    echo "$c $rust" | awk '{ printf "reading two columns of 10,000,001 ranges  C %.1f ms, Rust %.1f ms: %.1f %% of the rate of C\n", $1 / 1e6, $2 / 1e6, 100 * $1 / $2 }'
done
