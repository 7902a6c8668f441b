#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the Perfetto exporter writes is what the trace holds, as protoc and check_perfetto.py read it: traces that are hard
# to write, and those of the corpus.
set -eu
source=${TRACESMITH_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
here=$source/tests/export
for tool in python3 protoc; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "skipped: no $tool"
        exit 77
    fi
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for awkward in 1 2 '3 perfetto' '4 nsys-sqlite' 5; do
    # shellcheck disable=SC2086 # two words
    python3 "$here/make_awkward.py" $awkward >"$folder/description"
    "$TRACESMITH_BUILD_DIR/tests/programs/sbt_make" "$folder/trace.sbt" <"$folder/description"
    "$TRACESMITH" export "$folder/trace.sbt" -f perfetto -o "$folder/trace.pftrace"
    python3 "$here/check_perfetto.py" "$folder/trace.sbt" "$folder/trace.pftrace"
done
# Compressed it is the same.
"$TRACESMITH" export "$folder/trace.sbt" -f perfetto -z -o "$folder/trace.gz"
gzip -dc <"$folder/trace.gz" | cmp - "$folder/trace.pftrace"
for trace in "${TRACESMITH_CORPUS:-$folder/none}"/*.json.gz; do
    if [ -f "$trace" ] && [ "$(wc -c <"$trace")" -lt 500000 ]; then
        echo "$trace"
        "$TRACESMITH" import "$trace" -o "$folder/trace.sbt" >/dev/null 2>&1
        "$TRACESMITH" export "$folder/trace.sbt" -f perfetto -o "$folder/trace.pftrace"
        python3 "$here/check_perfetto.py" "$folder/trace.sbt" "$folder/trace.pftrace"
    fi
done
