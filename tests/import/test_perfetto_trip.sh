#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A trace that is exported to Perfetto and imported again is the same, event by event, as compare_sbt.py (which reads SBT
# by its specification) sees it: traces that are hard to write, and those of the corpus (with TRACESMITH_SOAK the large
# ones, too).
set -eu
# shellcheck source=tests/support/traces.sh
. "$(dirname "$0")/../support/traces.sh"

# trip GZIP: trace.sbt there and back.
trip() {
    "$TRACESMITH" export "$folder/trace.sbt" -f perfetto ${1:+-z} -o "$folder/trace.out" 2>/dev/null
    "$TRACESMITH" import "$folder/trace.out" -o "$folder/back.sbt" >/dev/null 2>&1
    python3 "$source/tests/import/compare_sbt.py" "$folder/trace.sbt" "$folder/back.sbt"
    rm "$folder/back.sbt"
}

largest=500000
[ -z "${TRACESMITH_SOAK:-}" ] || largest=99999999
for awkward in 11 12 '13 perfetto' '14 nsys-sqlite' 15; do
    # shellcheck disable=SC2086 # two words
    python3 "$source/tests/export/make_awkward.py" $awkward >"$folder/description"
    "$TRACESMITH_BUILD_DIR/tests/programs/sbt_make" "$folder/trace.sbt" <"$folder/description"
    trip
done
for trace in "${TRACESMITH_CORPUS:-$folder/none}"/*.json.gz "${TRACESMITH_CORPUS:-$folder/none}"/*.sqlite; do
    if [ -f "$trace" ] && [ "$(wc -c <"$trace")" -lt "$largest" ]; then
        echo "$trace"
        rm "$folder/trace.sbt"
        "$TRACESMITH" import "$trace" -o "$folder/trace.sbt" >/dev/null 2>&1
        trip gzip
    fi
done
