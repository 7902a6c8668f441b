#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Reports of a recorded program, of names that want to be markup, and of real traces (TRACESMITH_CORPUS): check_page.py reads each
# page and compares it with SQL. The pages stay small, and Chromium, where it is installed, runs their script and no other.
set -eu
: "${TRACESMITH:?}"
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/traces.sh"
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# page TRACE MOST: a report of at most MOST bytes, judged.
page() {
    "$TRACESMITH" report "$1" -o "$folder/page.html" 2>"$folder/err" || fail "$1: $(cat "$folder/err")"
    python3 "$here/check_page.py" "$folder/page.html" "$1"
    bytes=$(wc -c <"$folder/page.html")
    [ "$bytes" -le "$2" ] || fail "$1: $bytes bytes, more than $2"
}

# in_browser PAGE: what Chromium makes of it: the script ran, nothing else did.
in_browser() {
    command -v chromium >/dev/null 2>&1 || return 0
    chromium --headless --no-sandbox --disable-gpu --user-data-dir="$folder/browser" --virtual-time-budget=2000 --dump-dom \
        "file://$1" >"$folder/dom" 2>"$folder/browser.err" || fail "chromium: $(tail -n 3 "$folder/browser.err")"
    grep -q '<p class="m" id="keys">' "$folder/dom" || fail "the script of the page did not run: $(tail -n 3 "$folder/browser.err")"
    ! grep -qi 'refused to\|violates' "$folder/browser.err" || fail "$(cat "$folder/browser.err")"
}

python3 "$here/make_awkward.py" "$folder/awkward.json"
page "$folder/awkward.json" 400000
! grep -q '<script>alert\|<img\|<b>GPU' "$folder/page.html" || fail "a name of the trace became markup"
[ "$(grep -c '<script>' "$folder/page.html")" -eq 1 ] || fail "more than one script"
in_browser "$folder/page.html"
"$TRACESMITH" report "$folder/awkward.json" -f markdown >"$folder/page.md"
! grep -q '<script\|<img\|@everyone\|](http' "$folder/page.md" || fail "a name of the trace became Markdown: $(cat "$folder/page.md")"
awk -F'|' '/^### Kernels/ { on = 1 } /^<details>/ { on = 0 } on && /^\|/ { gsub(/\\\|/, ""); if (split($0, cells, "|") != 6) { print; bad = 1 } } END { exit bad }' \
    "$folder/page.md" || fail "a name of the trace became cells"

# Part of a trace: the window is what the page covers. Names of formats, empty windows and files that are no trace.
"$TRACESMITH" report "$folder/awkward.json" --from 1ms --to 2ms -o "$folder/part.html"
grep -q 'Covers 100.0% of 1.00 ms' "$folder/part.html" || fail "the window is not that of --from and --to"
code=0
"$TRACESMITH" report "$folder/awkward.json" -f pdf -o "$folder/x" 2>"$folder/err" || code=$?
[ "$code" -eq 2 ] || fail "an unknown format: exit code $code"
code=0
"$TRACESMITH" report "$folder/awkward.json" --from 9s -o "$folder/x" 2>"$folder/err" || code=$?
[ "$code" -eq 2 ] || fail "an empty window: exit code $code"
code=0
"$TRACESMITH" report "$here/test_page.sh" -o "$folder/x" 2>"$folder/err" || code=$?
if [ "$code" -eq 0 ] || [ -e "$folder/x" ]; then fail "no trace: exit code $code"; fi

# The answers of diff and of ranks, as pages: they are those of JSON.
"$TRACESMITH" diff "$folder/awkward.json" "$folder/awkward.json" --html "$folder/diff.html" --markdown "$folder/diff.md" >/dev/null
"$TRACESMITH" diff "$folder/awkward.json" "$folder/awkward.json" --json >"$folder/diff.json"
python3 "$here/check_reports.py" "$folder/diff.html" "$folder/diff.json" diff
cp "$folder/awkward.json" "$folder/awkward2.json"
"$TRACESMITH" analyze --ranks "$folder/awkward.json" "$folder/awkward2.json" --json --html "$folder/ranks.html" >"$folder/ranks.json"
python3 "$here/check_reports.py" "$folder/ranks.html" "$folder/ranks.json"
! grep -q '<script\|<img\|@everyone\|](http' "$folder/diff.md" || fail "a name of the trace became Markdown"
code=0
"$TRACESMITH" analyze "$folder/awkward.json" --html "$folder/x" 2>"$folder/err" || code=$?
[ "$code" -eq 2 ] || fail "analyze --html without --ranks: exit code $code"
grep -q "tracesmith report" "$folder/err" || fail "analyze --html: $(cat "$folder/err")"
code=0
"$TRACESMITH" diff "$folder/awkward.json" "$folder/awkward.json" --html "$folder/awkward.json" >/dev/null 2>&1 || code=$?
[ "$code" -eq 2 ] || fail "a page may replace the trace that is read: exit code $code"

# A trace that ends early is reported as such.
"$TRACESMITH" import "$folder/awkward.json" -o "$folder/whole.sbt" >/dev/null 2>&1
head -c "$(($(wc -c <"$folder/whole.sbt") * 2 / 3))" "$folder/whole.sbt" >"$folder/cut.sbt"
"$TRACESMITH" report "$folder/cut.sbt" -o "$folder/cut.html" 2>/dev/null || [ $? -eq 3 ] || fail "a cut trace has no report"
grep -q 'damaged or ends early' "$folder/cut.html" || fail "the report of a cut trace does not say so"

if [ -z "${TRACESMITH_CORPUS-}" ]; then
    echo "skipped: TRACESMITH_CORPUS does not name a folder with real traces"
    exit 0
fi
for trace in "$TRACESMITH_CORPUS"/*.json.gz "$TRACESMITH_CORPUS"/*.sqlite "$TRACESMITH_CORPUS"/*.pb; do
    [ ! -f "$trace" ] || page "$trace" 700000
done
in_browser "$folder/page.html"
command -v chromium >/dev/null 2>&1 || echo "skipped: no chromium to run the page's script"
