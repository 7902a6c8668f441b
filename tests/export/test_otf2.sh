#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the OTF2 exporter writes is what the trace holds, as otf2-print and check_otf2.py read it: traces that are hard to
# write, and those of the corpus. And what it does with directories that are there.
set -eu
source=${TRACESMITH_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
here=$source/tests/export
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
make() {
    # shellcheck disable=SC2086 # two words
    python3 "$here/make_awkward.py" $1 >"$folder/description"
    "$TRACESMITH_BUILD_DIR/tests/programs/sbt_make" "$folder/trace.sbt" <"$folder/description"
}
code_of() {
    code=0
    "$@" >/dev/null 2>"$folder/said" || code=$?
    echo "$code"
}
if ! command -v python3 >/dev/null 2>&1; then
    echo "skipped: no python3"
    exit 77
fi

make 1
if [ "$(code_of "$TRACESMITH" export "$folder/trace.sbt" -f otf2 -o "$folder/out")" = 4 ] &&
    grep -q "libopen-trace-format2-dev" "$folder/said"; then
    [ ! -e "$folder/out" ]
    echo "skipped: built without libotf2, and says so"
    exit 77
fi

# No other user can read it, and the next one replaces it; a file that is not an archive is not changed.
[ -z "$(find "$folder/out" -type f ! -perm 600 -o -type d ! -perm 700)" ]
touch "$folder/out/mine"
"$TRACESMITH" export "$folder/trace.sbt" -f otf2 -o "$folder/out"
[ -e "$folder/out/mine" ] && [ -e "$folder/out/traces.otf2" ]
mkdir "$folder/other"
touch "$folder/other/mine"
[ "$(code_of "$TRACESMITH" export "$folder/trace.sbt" -f otf2 -o "$folder/other")" = 4 ]
grep -q "no OTF2 archive" "$folder/said"
[ "$(ls "$folder/other")" = mine ]
[ "$(code_of "$TRACESMITH" export "$folder/trace.sbt" -f otf2 -o "$folder/description")" = 4 ]
[ -s "$folder/description" ]
[ "$(code_of "$TRACESMITH" export "$folder/trace.sbt" -f otf2 -o -)" = 4 ]
[ "$(code_of "$TRACESMITH" export "$folder/trace.sbt" -f otf2 -z -o "$folder/new")" = 4 ]
[ ! -e "$folder/new" ]

if ! command -v otf2-print >/dev/null 2>&1; then
    echo "skipped: no otf2-print"
    exit 77
fi
for awkward in 1 2 '3 perfetto' '4 nsys-sqlite' '5 chrome-json'; do
    make "$awkward"
    "$TRACESMITH" export "$folder/trace.sbt" -o "$folder/trace.otf2"
    python3 "$here/check_otf2.py" "$folder/trace.sbt" "$folder/trace.otf2"
done
for trace in "${TRACESMITH_CORPUS:-$folder/none}"/*.json.gz; do
    if [ -f "$trace" ] && [ "$(wc -c <"$trace")" -lt 500000 ]; then
        echo "$trace"
        "$TRACESMITH" import "$trace" -o "$folder/trace.sbt" >/dev/null 2>&1
        "$TRACESMITH" export "$folder/trace.sbt" -o "$folder/trace.otf2"
        python3 "$here/check_otf2.py" "$folder/trace.sbt" "$folder/trace.otf2"
    fi
done
