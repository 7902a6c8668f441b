#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CSV and folded stacks have the content of the trace, as check_text.py reads all three; other tools recognize
# launches and device work in the Chrome JSON.
set -eu
# shellcheck source=tests/support/traces.sh
. "$(dirname "$0")/../support/traces.sh"
here=$source/tests/export

check() {
    for format in csv folded pprof speedscope; do
        "$TRACESMITH" export "$folder/trace.sbt" -f $format -o "$folder/trace.$format"
    done
    python3 "$here/check_text.py" "$folder/trace.sbt" "$folder/trace.csv" "$folder/trace.folded"
    python3 "$here/check_profiles.py" "$folder/trace.folded" "$folder/trace.pprof" "$folder/trace.speedscope"
}

for made in 'make_awkward.py 21' 'make_awkward.py 22 perfetto' 'make_nested.py 1' 'make_nested.py 2'; do
    # shellcheck disable=SC2086 # several words
    python3 "$here"/$made >"$folder/description"
    "$TRACESMITH_BUILD_DIR/tests/programs/sbt_make" "$folder/trace.sbt" <"$folder/description"
    check
done
for trace in "${TRACESMITH_CORPUS:-$folder/none}"/*.json.gz; do
    if [ -f "$trace" ] && [ "$(wc -c <"$trace")" -lt 500000 ]; then
        echo "$trace"
        rm "$folder/trace.sbt"
        "$TRACESMITH" import "$trace" -o "$folder/trace.sbt" >/dev/null 2>&1
        check
    fi
done
for seed in 1 2; do
    python3 "$here/make_launches.py" $seed | "$TRACESMITH_BUILD_DIR/tests/programs/sbt_make" "$folder/launches.sbt"
    "$TRACESMITH" export "$folder/launches.sbt" -f chrome -o "$folder/launches.json"
    python3 "$here/check_chrome.py" "$folder/launches.sbt" "$folder/launches.json"
    rm "$folder/launches.sbt"
done
# The extension is enough, the longest one that fits.
python3 "$here/make_launches.py" 3 | "$TRACESMITH_BUILD_DIR/tests/programs/sbt_make" "$folder/launches.sbt"
"$TRACESMITH" export "$folder/launches.sbt" -o "$folder/launches.speedscope.json"
grep -q 'speedscope.app/file-format-schema' "$folder/launches.speedscope.json"
"$TRACESMITH" export "$folder/launches.sbt" -o "$folder/launches.folded"
"$TRACESMITH" export "$folder/launches.sbt" -o "$folder/launches.pprof.gz"
gunzip "$folder/launches.pprof.gz"
python3 "$here/check_profiles.py" "$folder/launches.folded" "$folder/launches.pprof" "$folder/launches.speedscope.json"
