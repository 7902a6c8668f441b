#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# README.md's table of GPU APIs is that of tests/vendors.txt: every API of `profile --api` is in one row, every test that a row
# rests on exists, and a row that was only run over a mock library says so, as one that says so is. --update writes README.md's rows.
set -eu
cd "${TRACESMITH_SOURCE_DIR:?}"
. tests/build/readme.sh
readme_list tests/vendors.txt 6 >"$work/rows" || fail "tests/vendors.txt"
awk -F '|' '$5 != "real" && $5 != "mock" { print "not read as it is written: " $0; bad = 1 } END { exit bad }' "$work/rows" ||
    fail "tests/vendors.txt"
awk -F '|' '{ printf "| %s | %s | %s |\n", $1, $3, $4 }' "$work/rows" >"$work/table"

readme_table '| API or platform | recorded | tested with |' tests/vendors.txt "$@"

sed -n 's/.*{\.api = "\([^"]*\)".*/\1/p' src/launch/agent_table.c | sort >"$work/apis"
[ "$(wc -l <"$work/apis")" -ge 8 ] || fail "src/launch/agent_table.c is not read as it is written"
cut -d '|' -f 2 "$work/rows" | tr ' ' '\n' | sort >"$work/named"
diff "$work/apis" "$work/named" || fail "the APIs of profile --api (<) are not those of tests/vendors.txt (>)"

# By the tests, not by the words: a room whose tests run over a mock has it in a folder.
while IFS='|' read -r api _ _ tested how tests; do
    mocks=0
    for test in $tests; do
        room=${test%%.*}
        [ -f "tests/$room/test_${test#*.}.sh" ] || [ -f "tests/$room/test_${test#*.}.c" ] || fail "$api: there is no test $test"
        [ ! -d "tests/$room/mock" ] || mocks=$((mocks + 1))
    done
    case $how:$mocks:$tested in
    mock:[1-9]:*mock*) ;;
    *mock*) fail "$api: tested by $how, $mocks rooms with a mock, and README.md says: $tested" ;;
    real:0:*) ;;
    *) fail "$api: tested by $how, $mocks rooms with a mock" ;;
    esac
done <"$work/rows"
echo "$(wc -l <"$work/rows") rows"
