#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `profile --api toy` loads the agent into the program, and each launch that the program counts is a kernel in the trace.
# TOY_PROGRAM is the program of examples/new_agent.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$TRACESMITH" profile --api toy -o "$work/toy.sbt" -- "$TOY_PROGRAM" 40 >"$work/counts"
"$TRACESMITH" query --csv "$work/toy.sbt" "SELECT count(*) FROM kernel" | tr -d '\r' | tail -n 1 >"$work/kernels"
awk '{ for (i = 1; i <= NF; i++) sum += $i } END { print sum }' "$work/counts" | cmp - "$work/kernels"
[ "$(cat "$work/kernels")" -ge 40 ]
