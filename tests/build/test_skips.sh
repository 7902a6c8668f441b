#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/skips.py judges skips by the rules in its head: one that is listed passes, and one that is not listed fails,
# as does one that is listed for another reason, a test that gives no reason, and results without a test.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
command -v python3 >/dev/null || {
    echo "skipped: no python3"
    exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
judge="python3 $TRACESMITH_SOURCE_DIR/tests/skips.py"
fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# result NAME STATUS OUTPUT: one test as ctest writes it.
result() {
    mark=
    [ "$2" = run ] || mark='<skipped message="SKIP_RETURN_CODE=77"/>'
    printf '<testcase name="%s" status="%s">%s<system-out>%s</system-out></testcase>\n' "$1" "$2" "$mark" "$3"
}
results() { printf '<testsuite>\n%s\n</testsuite>\n' "$1" >"$folder/tests.xml"; }
echo 'room\.one | no such tool | a tool that no package has' >"$folder/allowed"

# want CODE WORDS: the judge's answer for the results with the list.
want() {
    code=0
    $judge "$folder/tests.xml" --allowed "$folder/allowed" >"$folder/out" 2>&1 || code=$?
    [ "$code" -eq "$1" ] || fail "exit $code instead of $1: $(cat "$folder/out")"
    grep -q "$2" "$folder/out" || fail "'$2' is missing: $(cat "$folder/out")"
}
results "$(result room.one notrun 'skipped: no such tool')"
want 0 '^skipped  room.one  *no such tool'
results "$(result room.one notrun 'skipped: another reason')"
want 1 '^REFUSED  room.one  *another reason'
results "$(result room.other notrun 'skipped: no such tool')"
want 1 '^REFUSED  room.other'
results "$(result room.one notrun '')"
want 1 'no reason given'
results "$(result room.two run 'half
skipped: no second driver')"
want 0 '^in part  room.two  *no second driver'
results ''
want 1 'no test ran'
results "$(result room.other notrun 'skipped: no such tool')"
$judge "$folder/tests.xml" >"$folder/out" || fail "without a list a skip is a failure"
# The project's own list can be read.
$judge "$folder/tests.xml" --allowed "$TRACESMITH_SOURCE_DIR/.ci/skips" >"$folder/out" 2>&1 && fail "the list takes any skip"
grep -q '^REFUSED  room.other' "$folder/out" || fail "the project's list cannot be read: $(cat "$folder/out")"

# Tests that must run: one that does not, in whole or in part, and one that is not there, are failures.
printf '# comment\nroom.one | 3\nroom.two | 4\n' >"$folder/needed"
# need CODE WORDS
need() {
    code=0
    $judge "$folder/tests.xml" --must-run "$folder/needed" >"$folder/out" 2>&1 || code=$?
    [ "$code" -eq "$1" ] || fail "exit $code instead of $1: $(cat "$folder/out")"
    grep -q "$2" "$folder/out" || fail "'$2' is missing: $(cat "$folder/out")"
}
# One that skips for a listed reason may.
results "$(result room.one notrun 'skipped: no such tool') $(result room.two run 'done') $(result room.other notrun 'skipped: x')"
$judge "$folder/tests.xml" --must-run "$folder/needed" --allowed "$folder/allowed" >"$folder/out" 2>&1 || fail "$(cat "$folder/out")"
one=$(result room.one run 'done') two=$(result room.two run 'done')
results "$one $two $(result room.other notrun 'skipped: no such tool')"
need 0 '^skipped  room.other'
results "$one $(result room.two run 'skipped: no second driver')"
need 1 'did not run in whole: room.two$'
results "$(result room.one notrun 'skipped: no such tool') $two"
need 1 'did not run in whole: room.one$'
results "$two"
need 1 'did not run in whole: room.one$'
