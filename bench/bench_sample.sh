#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What profile --sample (999 Hz) costs a program that computes in 21 nested functions: wall time and processor time with those of the
# recorder, and what the program itself measures of its computation, the least and the median of several runs in turns; and perf record with
# the same rate in turns with it, without stacks and with copies of 16 KiB of stack, as profile --sample takes them. TRACESMITH_BENCH_RUNS: the
# number of runs; TRACESMITH_BENCH_ROUNDS: of the program, which takes about 2 us for each.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_SOURCE_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -O2 -g -o "$work/nested" "$TRACESMITH_SOURCE_DIR/bench/nested.c"
"$TRACESMITH" profile --sample -o "$work/try.sbt" -- true 2>"$work/err" || { cat "$work/err"; exit 0; }
exec python3 -B "$TRACESMITH_SOURCE_DIR/bench/sample.py" "$work" "${TRACESMITH_BENCH_RUNS:-7}"
