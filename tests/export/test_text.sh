#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CSV and folded stacks have the content of the trace, as check_text.py reads all three; other tools recognize
# launches and device work in the Chrome JSON.
set -eu
# shellcheck source=tests/support/traces.sh
. "$(dirname "$0")/../support/traces.sh"
here=$source/tests/export

check() {
    for format in csv folded; do
        "$TRACESMITH" export "$folder/trace.sbt" -f $format -o "$folder/trace.$format"
    done
    python3 "$here/check_text.py" "$folder/trace.sbt" "$folder/trace.csv" "$folder/trace.folded"
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
