#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The two ranges of the sample are in SQL and in JSON as the file has them; a line that is no range is an error with its text.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sample=$TRACESMITH_SOURCE_DIR/fuzz/corpus/import_toy/sample.toy
"$TRACESMITH" query --csv "$sample" "SELECT name, start, duration FROM events ORDER BY start" | tr -d '\r' >"$work/rows"
printf 'name,start,duration\nload,100,50\nsolve,200,25\n' | cmp - "$work/rows"
"$TRACESMITH" view --json "$sample" >"$work/json"
grep -q '"name": *"solve"' "$work/json"
"$TRACESMITH" info "$sample" | grep -q toy-text
printf 'toy-trace 1\nnot a range\n' >"$work/bad.toy"
"$TRACESMITH" info "$work/bad.toy" >/dev/null 2>"$work/error" && exit 1
grep -q "'not a range' is no range" "$work/error"
