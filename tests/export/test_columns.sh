#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The exports to Arrow IPC and Parquet have exactly the columns and events of the trace, as readers written from the
# specifications read them.
set -eu
# shellcheck source=tests/support/traces.sh
. "$(dirname "$0")/../support/traces.sh"
here=$source/tests/export
formats='arrow arrows parquet'

check() {
    set --
    for format in $formats; do
        rm -f "$folder/trace.$format"
        "$TRACESMITH" export "$folder/trace.sbt" -o "$folder/trace.$format" 2>/dev/null
        set -- "$@" "$folder/trace.$format"
    done
    python3 -B "$here/check_columns.py" "$folder/trace.sbt" "$@"
}

make() {
    rm -f "$folder/trace.sbt"
    "$TRACESMITH_BUILD_DIR/tests/programs/sbt_make" "$folder/trace.sbt"
}

for made in 'make_awkward.py 31' 'make_awkward.py 32 perfetto' 'make_nested.py 1' 'make_launches.py 2'; do
    # shellcheck disable=SC2086 # several words
    python3 -B "$here"/$made | make
    check
done
python3 -B "$here/make_columns.py" | make
check
echo 'process 1 empty' | make # no event
check
for trace in "${TRACESMITH_CORPUS:-$folder/none}"/*.json.gz; do
    if [ -f "$trace" ] && [ "$(wc -c <"$trace")" -lt 300000 ]; then
        echo "$trace"
        rm "$folder/trace.sbt"
        "$TRACESMITH" import "$trace" -o "$folder/trace.sbt" >/dev/null 2>&1
        check
        # A trace of another format has the same table without an SBT file in between, though all its fields are not known before.
        for format in $formats; do
            "$TRACESMITH" export "$trace" -o "$folder/direct.$format" 2>/dev/null
            cmp "$folder/trace.$format" "$folder/direct.$format"
        done
    fi
done

# Groups of bounded size, however long the trace is: what is in memory at a time.
parts=4
[ -z "${TRACESMITH_SOAK-}" ] || parts=200
python3 -c '
import sys
print("process 1 long\ntrack 2 queue 1 0")
for part in range(int(sys.argv[1])):
    sys.stdout.write("".join(f"event 1 1 {(part * 50000 + row) * 10} duration=5 correlation={row}\n" for row in range(50000)))
    print("flush")' "$parts" | make
for format in arrow parquet; do
    "$TRACESMITH" export "$folder/trace.sbt" -o "$folder/long.$format"
done
python3 -B "$here/check_groups.py" "$((parts * 50000))" "$folder/long.arrow" "$folder/long.parquet"
