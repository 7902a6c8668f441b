#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What recording costs the program of ./dev demo: the time in which it develops its frames, bare and recorded in turn.
# Prints every pair's ratio in order and the median, because two processors that run both the device and the program
# scatter by far more than what is measured.
# usage: bench_demo.sh [PAIRS] (15)
set -eu
: "${TRACESMITH:?run it by bench/run}" "${TRACESMITH_BUILD_DIR:?}"
pairs=${1:-15}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
program=$TRACESMITH_BUILD_DIR/examples/image_pipeline
# Without a GPU, PoCL: two devices, as in the demo.
POCL_DEVICES=${POCL_DEVICES:-pthread pthread}
export POCL_DEVICES

frames_ms() { sed -n 's/.*"frames_ms":\([0-9.]*\).*/\1/p' "$1"; }

"$program" --verify 0 --json >"$work/out" # builds the driver's cache
pair=0
while [ "$pair" -lt "$pairs" ]; do
    "$program" --verify 0 --json >"$work/out"
    bare=$(frames_ms "$work/out")
    "$TRACESMITH" profile -o "$work/demo.sbt" -- "$program" --verify 0 --json >"$work/out" 2>"$work/err"
    recorded=$(frames_ms "$work/out")
    echo "$bare $recorded"
    pair=$((pair + 1))
done >"$work/pairs"

median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
bare=$(awk '{ print $1 }' "$work/pairs" | median)
recorded=$(awk '{ print $2 }' "$work/pairs" | median)
ratio=$(awk '{ print $2 / $1 }' "$work/pairs" | median)
awk '{ printf "%.3f\n", $2 / $1 }' "$work/pairs" | sort -n | paste -sd ' ' | sed 's/^/ratios              /'
awk -v bare="$bare" -v recorded="$recorded" -v ratio="$ratio" 'BEGIN {
    printf "frames, bare        %8.1f ms (median)\n", bare
    printf "frames, recorded    %8.1f ms (median)\n", recorded
    printf "recorded / bare     %+8.2f %% (median of the pairs)\n", (ratio - 1) * 100 }'
