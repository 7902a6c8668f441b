#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The second reader, written from docs/sbt-format.md alone, still reads every golden file as NAME.json (and
# test_golden.c holds the library to the same), and the files together use everything the format has.
set -eu
source=${TRACESMITH_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
reader=$source/tests/sbt/sbt_reader.py
golden=$source/tests/sbt/golden
if ! command -v python3 >/dev/null 2>&1; then
    echo "skipped: no python3"
    exit 77
fi
said=$(mktemp)
trap 'rm -f "$said"' EXIT
for file in "$golden"/*.sbt; do
    status=0
    python3 "$reader" "$file" >"$said" 2>/dev/null || status=$?
    case $status in
    0 | 3) ;;
    *) echo "$file: the reader failed with $status"; exit 1 ;;
    esac
    if ! cmp -s "$said" "${file%.sbt}.json"; then
        echo "$file: not what ${file%.sbt}.json says"
        exit 1
    fi
done
uses=$(python3 "$reader" --uses "$golden"/*.sbt)
for use in 'packing 0' 'packing 1' 'packing 2' 'packing 3' 'packing 4' 'packing 5' 'packing 6' 'plane 0' 'plane 1' \
    'plane 2' 'transform 0' 'transform 1' 'transform 2' 'transform 3' 'transform 16' 'transform 17' 'validity 0' \
    'validity 1' 'validity 2' 'validity 3' 'validity 4' exceptions 'zigzag planes' end reference 'packing 7' 'packing 8' \
    'transform 4' 'transform 5' 'transform 32' 'transform 64' 'transform 65' 'transform 68' 'bundles of 2' \
    'bundles of 4' 'bundles of 8' 'zigzag log' loose; do
    if ! printf '%s\n' "$uses" | grep -qx "$use"; then
        echo "no golden file uses: $use"
        exit 1
    fi
done
echo "$(find "$golden" -maxdepth 1 -name "*.sbt" | wc -l) golden files agree"
