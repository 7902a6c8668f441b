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
"$portable" info "$folder/got.sbt" >"$folder/out" || fail "info"
{ echo "format sbt" && cut -f 1,2 "$folder/expected" | tr '\t' ' '; } | sort >"$folder/expected.counts"
sort "$folder/out" | cmp - "$folder/expected.counts" || fail "info counts other events: $(cat "$folder/out")"
"$portable" analyze "$folder/rank.json" >"$folder/got" || fail "analyze"
python3 - "$folder/got" <<'CHECK' || fail "analyze prints no JSON"
import json, sys
text, count = open(sys.argv[1]).read().lstrip(), 0
while text:
    end = json.JSONDecoder().raw_decode(text)[1]
    text, count = text[end:].lstrip(), count + 1
assert count > 10, count
CHECK

# Of a file that ends early, or has a damaged part, it says so in every answer.
size=$(wc -c <"$folder/got.sbt")
head -c $((size * 3 / 4)) "$folder/got.sbt" >"$folder/short.sbt"
python3 - "$folder/got.sbt" "$folder/flipped.sbt" <<'FLIP'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[len(data) // 2] ^= 1
open(sys.argv[2], "wb").write(data)
FLIP
for trace in short flipped; do
    for verb in info analyze "export -f csv" "import -o $folder/rest.sbt" query; do
        code=0
        set --
        [ "$verb" != query ] || set -- "$sql"
        # shellcheck disable=SC2086 # words
        "$portable" $verb "$folder/$trace.sbt" "$@" >"$folder/out" 2>"$folder/err" || code=$?
        [ "$code" = 3 ] || fail "$verb of $trace.sbt ended with $code"
        grep -q "$trace.sbt" "$folder/err" || fail "$verb of $trace.sbt says: $(cat "$folder/err")"
    done
done

# It tells what was lost in the words of the whole command, which can say where to look.
for trace in "$folder/got.sbt" tests/sbt/golden/tracks.sbt fuzz/corpus/import_*/*; do
    "$TRACESMITH" export --no-cache -f csv -o "$folder/expected.csv" "$trace" 2>&1 | grep -E 'lost|recorded|missing|all kinds' |
        sed "s/: see 'tracesmith view.*//" >"$folder/expected" || true
    "$portable" export -f csv -o "$folder/got.csv" "$trace" 2>&1 | grep -E 'lost|recorded|missing|all kinds' |
        sed "s/; the events of kind 'loss' .*//" >"$folder/got" || true
    cmp "$folder/expected" "$folder/got" || fail "losses of $trace: $(cat "$folder/got")"
    cat "$folder/got" >>"$folder/losses"
done
for part in 'an unknown number of events was lost' "does not have all kinds of data" '1 event is missing or incomplete: 1 no_timing' \
    '77 events were not recorded: 77 ring_full' '12 events were not recorded: 5 corrupt (.*; 4 untraced ('; do
    grep -q "$part" "$folder/losses" || fail "no trace says: $part"
done
for verb in info analyze "import -o $folder/rest.sbt" query; do
    set --
    [ "$verb" != query ] || set -- "$sql"
    # shellcheck disable=SC2086 # words
    "$portable" $verb tests/sbt/golden/tracks.sbt "$@" >"$folder/out" 2>"$folder/err" || fail "$verb of a trace with losses"
    grep -q 'tracks.sbt: 77 events were not recorded: 77 ring_full (' "$folder/err" || fail "$verb does not tell losses: $(cat "$folder/err")"
done

# And of processes that the recording has nothing of.
cat >"$folder/made.c" <<'MADE'
#include <tracesmith/dictionary.h>
#include <tracesmith/sbt.h>
#include <tracesmith/stream.h>
int main(int count, char **words) {
    const tsmith_sbt_write_options options = {.size = sizeof options};
    tsmith_dictionary *dictionary;
    tsmith_sink *sink;
    if (count != 2 || tsmith_dictionary_create(&dictionary) || tsmith_sbt_writer_open(words[1], &options, &sink, NULL))
        return 1;
    tsmith_dictionary_set_attribute(dictionary, "unrecorded.processes", "3");
    const tsmith_status status = tsmith_sink_finish(sink, dictionary, NULL);
    tsmith_sink_destroy(sink);
    tsmith_dictionary_destroy(dictionary);
    return status != TSMITH_OK;
}
MADE
cc -std=gnu11 -Iinclude -o "$folder/made" "$folder/made.c" -L"$TRACESMITH_BUILD_DIR/lib" -ltracesmith -Wl,-rpath,"$TRACESMITH_BUILD_DIR/lib"
"$folder/made" "$folder/made.sbt" || fail "a trace cannot be made"
for program in "$TRACESMITH" "$portable"; do
    "$program" query "$folder/made.sbt" "SELECT count(*) FROM events" >"$folder/out" 2>"$folder/err" || fail "query of no events"
    grep -q "made.sbt: 3 of the program's processes could not be recorded" "$folder/err" || fail "$program says: $(cat "$folder/err")"
done

# Help and the version; packaging/windows.md has the same lines.
"$portable" --help >"$folder/help" || fail "--help"
[ "$(grep -c '^tracesmith [a-z-]* .*  ' "$folder/help")" -ge 8 ] || fail "help is short: $(cat "$folder/help")"
grep '^tracesmith [a-z-]* ' "$folder/help" | tail -n +2 | sed 's/^/    /' >"$folder/expected"
sed -n '/^    tracesmith formats/,/^$/p' packaging/windows.md | sed '/^$/d' | cmp "$folder/expected" - || fail "packaging/windows.md has other lines than help"
for word in help -h; do
    "$portable" $word | cmp - "$folder/help" || fail "$word"
done
for word in --version version; do
    [ "$("$portable" $word)" = "$("$TRACESMITH" --version)" ] || fail "$word: $("$portable" $word)"
done

# It lists what it reads and writes, which is not OTF2.
"$portable" formats >"$folder/out"
for name in sbt nsys-sqlite chrome-json ctf2 parquet speedscope; do
    grep -q "^  $name " "$folder/out" || fail "formats does not list $name"
done
! grep -qi otf2 "$folder/out" || fail "formats lists OTF2"
code=0
"$portable" export -f otf2 -o "$folder/part" "$folder/got.sbt" 2>"$folder/out" || code=$?
[ "$code" = 1 ] || fail "export to OTF2 ended with $code"
grep -q 'this build has no OTF2' "$folder/out" || fail "export to OTF2 says: $(cat "$folder/out")"
[ ! -e "$folder/part" ] || fail "export to OTF2 left a file"

# It does not write over what it reads, and leaves no part of a file.
ln "$folder/got.sbt" "$folder/link.sbt"
cp "$folder/got.sbt" "$folder/before.sbt"
for to in got.sbt link.sbt; do
    code=0
    "$portable" import -o "$folder/$to" "$folder/got.sbt" 2>"$folder/out" || code=$?
    [ "$code" = 1 ] || fail "import into its input ended with $code"
    grep -q "$to is also the input" "$folder/out" || fail "import into its input: $(cat "$folder/out")"
    cmp "$folder/got.sbt" "$folder/before.sbt" || fail "import wrote over its input"
done
# Where no file may be longer than a block of 512 bytes, as on a disk that is full.
(
    trap '' XFSZ
    ulimit -f 1
    code=0
    "$portable" export -f csv -o "$folder/part" "$folder/got.sbt" 2>&1 || code=$?
    echo "code $code"
) | cat >"$folder/out"
grep -q 'cannot be written' "$folder/out" || fail "an export that fails says: $(cat "$folder/out")"
grep -q '^code 1$' "$folder/out" || fail "an export that fails: $(cat "$folder/out")"
[ ! -e "$folder/part" ] || fail "an export that fails left a file"
code=0
"$portable" import -o "$folder/no folder/part" "$folder/got.sbt" 2>"$folder/out" || code=$?
[ "$code" = 1 ] || fail "import into no folder ended with $code"
grep -q "no folder/part cannot be created: No such file" "$folder/out" || fail "no folder: $(cat "$folder/out")"
for verb in formats "info $folder/got.sbt" "analyze $folder/got.sbt" "export -f csv $folder/got.sbt"; do
    code=0
    # shellcheck disable=SC2086 # words
    [ ! -c /dev/full ] || "$portable" $verb >/dev/full 2>"$folder/out" || code=$?
    [ ! -c /dev/full ] || [ "$code" = 1 ] || fail "$verb: written to a full device, it ended with $code"
done

# What it does not have it refuses.
for wrong in "" "no-such-verb $folder/got.sbt" "export $folder/got.sbt" "import $folder/got.sbt" "query $folder/got.sbt" "info" "info a b" \
    "--version $folder/got.sbt" "info -o $folder/part $folder/got.sbt" "import -f csv -o $folder/part $folder/got.sbt" "formats x" "info -o" "query $folder/rank.json SQL"; do
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
[ "$code" = 2 ] || fail "an unknown format ended with $code, not as the whole command"
