#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/drivers.txt lists for each script of the rooms opencl and replay whether it runs on each driver, with a reason
# if it does not, and names no other test; CTest has exactly the tests that it lists.
set -eu
cd "${TRACESMITH_SOURCE_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for script in tests/opencl/test_*.sh tests/replay/test_*.sh; do
    room=${script#tests/}
    name=${script##*/test_}
    for driver in rusticl intel; do
        echo "${room%%/*}.${name%.sh}|$driver"
    done
done | sort >"$work/wanted"
grep '^[a-z]' tests/drivers.txt | sed 's/ *| */|/g' >"$work/rows"
cut -d '|' -f 1,2 "$work/rows" | sort >"$work/found"
[ "$(wc -l <"$work/found")" -ge 80 ] || {
    echo "tests/drivers.txt is not read as it is written"
    exit 1
}
comm -23 "$work/wanted" "$work/found" >"$work/missing"
[ ! -s "$work/missing" ] || {
    echo "tests/drivers.txt has no line of:"
    cat "$work/missing"
    exit 1
}
comm -13 "$work/wanted" "$work/found" >"$work/other"
[ ! -s "$work/other" ] || {
    echo "tests/drivers.txt has lines of no test, or twice:"
    cat "$work/other"
    exit 1
}
awk -F '|' '
    $3 != "quick" && $3 != "long" && $3 != "itself" && $3 != "no" { print "unknown word: " $0; bad = 1 }
    ($3 == "no") != (length($4) > 10) { print "a reason stands where a test does not run, and nowhere else: " $0; bad = 1 }
    END { exit bad }' "$work/rows"
# "itself": the script goes through the drivers.
awk -F '|' '$3 == "itself" { print $1 }' "$work/rows" | sort -u | while IFS=. read -r room name; do
    grep -q 'support/drivers.sh\|replay/drivers.sh' "tests/$room/test_$name.sh" || {
        echo "$room.$name does not go through the drivers itself"
        exit 1
    }
done
command -v ctest >/dev/null || exit 0
(cd "${TRACESMITH_BUILD_DIR:?}" && ctest -N -C Drivers) | sed -n 's/^ *Test *#[0-9]*: \([a-z]*\.[a-z_]*\)\.\(rusticl\|intel\)$/\1|\2/p' | sort >"$work/tests"
awk -F '|' '$3 == "quick" || $3 == "long" { print $1 "|" $2 }' "$work/rows" | sort >"$work/run"
diff "$work/run" "$work/tests" || {
    echo "CTest has other tests than tests/drivers.txt says"
    exit 1
}
