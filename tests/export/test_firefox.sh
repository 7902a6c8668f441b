#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Profiles for the Firefox Profiler have the paths of the folded stacks, every event as a marker, and as weights the device time that SQL
# adds up; their tables and indices are as the profiler's documents require.
set -eu
# shellcheck source=tests/support/traces.sh
. "$(dirname "$0")/../support/traces.sh"
here=$source/tests/export

check() {
    for format in folded firefox; do
        "$TRACESMITH" export "$folder/trace.sbt" -f $format -o "$folder/trace.$format" 2>/dev/null
    done
}

make() {
    rm -f "$folder/trace.sbt"
    "$TRACESMITH_BUILD_DIR/tests/programs/sbt_make" "$folder/trace.sbt"
}

for made in 'make_stacks.py 1' 'make_stacks.py 2'; do
    # shellcheck disable=SC2086 # several words
    python3 -B "$here"/$made | make
    check
    total=$("$TRACESMITH" query --csv "$folder/trace.sbt" \
        "SELECT sum(duration) FROM events WHERE kind IN ('kernel', 'memcpy', 'memset', 'collective')" 2>/dev/null | tail -n 1 | tr -d '\r')
    python3 -B "$here/check_firefox.py" "$folder/trace.sbt" "$folder/trace.folded" "$folder/trace.firefox" "$total"
done
for made in 'make_awkward.py 41' 'make_awkward.py 42 perfetto' 'make_nested.py 3' 'make_launches.py 4'; do
    # shellcheck disable=SC2086 # several words
    python3 -B "$here"/$made | make
    check
    python3 -B "$here/check_firefox.py" "$folder/trace.sbt" "$folder/trace.folded" "$folder/trace.firefox"
done
echo 'process 1 empty' | make # no event
check
python3 -B "$here/check_firefox.py" "$folder/trace.sbt" "$folder/trace.folded" "$folder/trace.firefox" 0
for trace in "${TRACESMITH_CORPUS:-$folder/none}"/*.json.gz; do
    if [ -f "$trace" ] && [ "$(wc -c <"$trace")" -lt 300000 ]; then
        echo "$trace"
        rm "$folder/trace.sbt"
        "$TRACESMITH" import "$trace" -o "$folder/trace.sbt" >/dev/null 2>&1
        check
        python3 -B "$here/check_firefox.py" "$folder/trace.sbt" "$folder/trace.folded" "$folder/trace.firefox"
    fi
done
"$TRACESMITH" export "$folder/trace.sbt" -o "$folder/named.firefox.json" 2>/dev/null
cmp "$folder/trace.firefox" "$folder/named.firefox.json"
