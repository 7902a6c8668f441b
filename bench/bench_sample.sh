#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What profile --sample (999 Hz) costs a program that computes in 21 nested functions: wall time and processor time (user and system) with those
# of the recorder, and what the program itself measures of its computation, the least and the median of several runs in turns, and the median of
# the differences within a turn; in turns with it the program alone, with the kernel's timer at the same rate and nothing else (perf_timer.c),
# with profile alone, and with perf record, without stacks and with copies of 16 KiB of stack, as profile --sample takes them.
# TRACESMITH_BENCH_RUNS: the number of runs; TRACESMITH_BENCH_ROUNDS: of the program, which takes about 2 us for each;
# TRACESMITH_BENCH_RATES: rates in Hz besides 999, as "99 249", at which the timer and profile --sample run as well;
# TRACESMITH_BENCH_PERF=0: without perf record.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_SOURCE_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -O2 -g -o "$work/nested" "$TRACESMITH_SOURCE_DIR/bench/nested.c"
"${CC:-cc}" -O2 -o "$work/perf_timer" "$TRACESMITH_SOURCE_DIR/bench/perf_timer.c"
"$TRACESMITH" profile --sample -o "$work/try.sbt" -- true 2>"$work/err" || { cat "$work/err"; exit 0; }
exec python3 -B "$TRACESMITH_SOURCE_DIR/bench/sample.py" "$work" "${TRACESMITH_BENCH_RUNS:-7}"
