#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Comparing 1,000 simulated ranks: partials of all traces, the join of 1,000 partials, and the same answer by three ways of
# joining. Where TRACESMITH_CORPUS has the H100 trace: the rate at which a Kineto file becomes a partial (best of 5).
set -eu
: "${TRACESMITH:?}"
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/traces" "$work/parts"
python3 -B "$here/ranks.py" "$work/traces" 1000
TIMEFORMAT='%3R s, of the processor %3U s'

printf 'partial of 1,000 traces (%s MB as JSON): ' \
    "$(gzip -dc "$work"/traces/*.gz | wc -c | awk '{ printf "%.0f", $1 / 1e6 }')"
time "$TRACESMITH" analyze --partial -o "$work/all.part" "$work"/traces/*.json.gz
printf 'bytes of it per rank: %s\n' $(($(stat -c %s "$work/all.part") / 1000))
for trace in "$work"/traces/*.json.gz; do
    "$TRACESMITH" analyze --partial -o "$work/parts/$(basename "$trace").part" "$trace"
done
printf 'answer of 1,000 partials: '
time "$TRACESMITH" analyze --json "$work"/parts/*.part >"$work/answer.json"
"$TRACESMITH" analyze --json "$work/all.part" | cmp - "$work/answer.json"
"$TRACESMITH" analyze --ranks --json "$work"/traces/*.json.gz | cmp - "$work/answer.json"
python3 - "$work/answer.json" <<'EOF'
import json, sys
tables = json.load(open(sys.argv[1]))["tables"]
print("stragglers found:", *[row["rank"] for row in tables["stragglers"]], "links:", len(tables["links"]))
EOF

trace=$(ls "${TRACESMITH_CORPUS:-/nonexistent}"/traces_h100_google_owlv2*.json.gz 2>/dev/null || true)
[ -n "$trace" ] || exit 0
gzip -dc "$trace" >"$work/large.json"
bytes=$(stat -c %s "$work/large.json")
best=
for _ in 1 2 3 4 5; do
    before=$(date +%s%N)
    "$TRACESMITH" analyze --partial -o "$work/large.part" "$work/large.json"
    took=$(($(date +%s%N) - before))
    [ -n "$best" ] && [ "$best" -le "$took" ] || best=$took
done
printf 'H100 trace, %s bytes: %s MB/s\n' "$bytes" $((bytes * 1000 / best))
