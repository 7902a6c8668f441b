#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program that was built against these headers keeps working: every function, struct, member and value of abi.txt is
# still what it was. What is new may be added, and is written down with
#     tests/build/test_symbols_abi.sh --update
# A change or a removal breaks programs: it needs a new SONAME, or, before 1.0, a line in CHANGELOG.md; then --update.
set -eu
root=${TRACESMITH_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
dump=$root/tests/build/abi.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The dump has this line above what abi.py writes.
NOTE="# SPDX-License-Identifier: Apache-2.0"
now() {
    { echo "$NOTE" && python3 "$root/tests/build/abi.py" "$1" "${CC:-cc}"; } | LC_ALL=C sort
}

machine=$(uname -m)
if [ "$machine" != x86_64 ]; then
    echo "the sizes of abi.txt are those of x86_64, this is $machine"
    exit 77
fi
now "$root/include" >"$work/now"
if [ "${1-}" = --update ]; then
    cp "$work/now" "$dump"
    exit 0
fi
LC_ALL=C comm -23 "$dump" "$work/now" >"$work/gone"
if [ -s "$work/gone" ]; then
    cat "$work/gone"
    echo "The lines above of tests/build/abi.txt no longer hold: programs that were built before break."
    echo "Undo the change, or, if it is meant, add a line to CHANGELOG.md and run tests/build/test_symbols_abi.sh --update."
    exit 1
fi
new=$(LC_ALL=C comm -13 "$dump" "$work/now" | wc -l)
[ "$new" -eq 0 ] || echo "$new lines are new: tests/build/test_symbols_abi.sh --update writes them down"

# The check itself: a member that moves, a value that changes, a function and a struct that go, a parameter of another type are all seen.
broken() {
    rm -rf "$work/include"
    cp -r "$root/include" "$work/include"
    sed -i "$2" "$work/include/tracesmith/$1"
    cmp -s "$root/include/tracesmith/$1" "$work/include/tracesmith/$1" && {
        echo "the check of $1 changes nothing"
        exit 1
    }
    now "$work/include" >"$work/other"
    [ -n "$(LC_ALL=C comm -23 "$dump" "$work/other")" ] || {
        echo "a change of $1 is not seen: $2"
        exit 1
    }
}
broken export_trace.h 's/^    int gzip;/    int before;\n    int gzip;/'
broken status.h 's/X(ERROR_IO, -3,/X(ERROR_IO, -33,/'
broken version.h '/tsmith_version(void)/d'
broken status.h '/tsmith_status_name(/s/tsmith_status status/long status/'
broken diff.h 's/tsmith_gate\b/tsmith_gate2/g'
