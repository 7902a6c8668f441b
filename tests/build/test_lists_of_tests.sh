#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every row of the lists of tests (tests/long.txt, tests/plain_only.txt, .ci/once, .ci/skips) names a test that is there: a row of a test that was
# renamed or removed would say nothing, without a sign of it.
set -eu
cd "${TRACESMITH_SOURCE_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ROOM.NAME of every test, and the forms that tests/CMakeLists.txt makes of it.
for test in tests/*/test_*.c tests/*/test_*.sh; do
    room=${test#tests/}
    room=${room%%/*}
    name=${test##*/test_}
    for form in '' .all .soak .rusticl .intel; do
        echo "$room.${name%.*}$form"
    done
done >"$work/tests"
[ "$(wc -l <"$work/tests")" -ge 1000 ] || {
    echo "the tests were not found"
    exit 1
}

# stale FILE: the first columns (regular expressions in .ci/skips) that are no test's name.
stale() {
    sed -n 's/^\([a-z][^| ]*\) *|.*/\1/p' "$1" | while read -r name; do
        grep -qxE -- "$name" "$work/tests" || echo "$1: no test is called $name"
    done
}
printf '# TEST | SECONDS\nbuild.lists_of_tests | 1\nroom.gone | 1\n' >"$work/list"
[ "$(stale "$work/list")" = "$work/list: no test is called room.gone" ] || {
    echo "self-test: a stale row was not found, or a good one was refused"
    exit 1
}
for list in tests/long.txt tests/plain_only.txt .ci/once .ci/skips; do
    stale "$list"
done >"$work/stale"
[ ! -s "$work/stale" ] || {
    cat "$work/stale"
    exit 1
}
