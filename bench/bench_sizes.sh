#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How small other profilers' traces become, with everything that was in them: every .json.gz and .sqlite in
# TRACESMITH_CORPUS is imported (LEVEL, or what `tracesmith import` uses), and a table of Markdown has the results.
set -eu
command=${TRACESMITH:-tracesmith}
if [ ! -d "${TRACESMITH_CORPUS-}" ]; then
    echo "skipped: TRACESMITH_CORPUS names no folder of traces"
    exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo '| file | events | plain bytes | gz bytes | SBT bytes | bytes per event | plain : SBT | gz : SBT |'
echo '|---|---|---|---|---|---|---|---|'
for file in "$TRACESMITH_CORPUS"/*.json.gz "$TRACESMITH_CORPUS"/*.sqlite; do
    [ -f "$file" ] || continue
    "$command" import ${LEVEL:+--level "$LEVEL"} "$file" -o "$folder/a.sbt" >/dev/null 2>&1 || {
        echo "| $(basename "$file") | not imported | | | | | | |"
        continue
    }
    events=$("$command" info --json "$folder/a.sbt" | sed -n 's/.*"events":\([0-9]*\).*/\1/p' | head -n 1)
    case $file in
    *.gz) plain=$(gzip -dc "$file" | wc -c) packed=$(wc -c <"$file") ;;
    *) plain=$(wc -c <"$file") packed=$(gzip -c "$file" | wc -c) ;;
    esac
    awk -v name="$(basename "$file" | cut -c 1-36)" -v events="$events" -v plain="$plain" -v packed="$packed" \
        -v made="$(wc -c <"$folder/a.sbt")" 'BEGIN {
        printf "| %s | %d | %d | %d | %d | %.2f | %.0f | %.1f |\n", name, events, plain, packed, made, made / events,
            plain / made, packed / made }'
    rm -f "$folder/a.sbt"
done
