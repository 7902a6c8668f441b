#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cli/portable, the command of systems where nothing is recorded, built for this one: its answers are those of the whole command. What
# it is on Windows tests/platform/windows.sh checks.
set -eu
: "${TRACESMITH:?}"
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/traces.sh"
cd "$source"
command -v cc >/dev/null 2>&1 || {
    echo "skipped: no C compiler"
    exit 77
}
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
portable=$folder/portable
cc -std=gnu11 -Wall -Wextra -Werror -Iinclude -o "$portable" cli/portable/portable.c -L"$TRACESMITH_BUILD_DIR/lib" -ltracesmith \
    -Wl,-rpath,"$TRACESMITH_BUILD_DIR/lib" || fail "it does not compile"
cp tests/stability/inputs/rank0.json "$folder/rank.json"

"$TRACESMITH" import "$folder/rank.json" -o "$folder/expected.sbt" >"$folder/out"
"$portable" import -o "$folder/got.sbt" "$folder/rank.json" || fail "import"
cmp "$folder/expected.sbt" "$folder/got.sbt" || fail "import writes another file"
for format in chrome csv parquet; do
    "$TRACESMITH" export -f "$format" -o "$folder/expected" "$folder/rank.json" >"$folder/out"
    "$portable" export -f "$format" "$folder/rank.json" >"$folder/got" || fail "export -f $format"
    cmp "$folder/expected" "$folder/got" || fail "export -f $format writes another file"
    rm "$folder/expected"
done
sql="SELECT kind, count(*), sum(duration) FROM events GROUP BY kind ORDER BY kind"
"$TRACESMITH" query --csv "$folder/got.sbt" "$sql" | tail -n +2 | tr -d '\r' | tr , '\t' >"$folder/expected"
"$portable" query "$folder/got.sbt" "$sql" >"$folder/got" || fail "query"
[ -s "$folder/got" ] || fail "query has no rows"
cmp "$folder/expected" "$folder/got" || fail "query has another answer"
"$portable" analyze "$folder/rank.json" >"$folder/got" || fail "analyze"
python3 - "$folder/got" <<'CHECK' || fail "analyze prints no JSON"
import json, sys
text, count = open(sys.argv[1]).read().lstrip(), 0
while text:
    end = json.JSONDecoder().raw_decode(text)[1]
    text, count = text[end:].lstrip(), count + 1
assert count > 10, count
CHECK

# What it does not have it refuses.
for wrong in "" "no-such-verb $folder/got.sbt" "export $folder/got.sbt" "import $folder/got.sbt" "query $folder/got.sbt" "info" "info a b" \
    "info -o" "query $folder/rank.json SQL"; do
    code=0
    # shellcheck disable=SC2086 # words
    "$portable" $wrong >"$folder/out" 2>&1 || code=$?
    [ "$code" = 2 ] || fail "'$wrong' ended with $code: $(cat "$folder/out")"
done
code=0
"$portable" info "$folder/none" >"$folder/out" 2>&1 || code=$?
[ "$code" = 1 ] || fail "a file that is not there ended with $code"
grep -q "$folder/none" "$folder/out" || fail "the missing file is not named: $(cat "$folder/out")"
code=0
"$portable" export -f otf3 "$folder/got.sbt" >"$folder/out" 2>&1 || code=$?
[ "$code" = 1 ] || fail "an unknown format ended with $code"
