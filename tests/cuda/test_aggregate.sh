#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `profile --aggregate` of a CUDA program, on mocks (simulated): the sums are those of the events of a run without it, whose launches take as
# long in the mock, and the counts are the program's own.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

run_work() {
    "$TRACESMITH" profile --api cuda -b 16M -o "$work/$1.sbt" ${2:+--aggregate "$2"} -- "$programs/cu_work" launches=300 threads=2 graphs=10 >"$work/$1.out" 2>"$work/$1.err" ||
        fail "$1: $(cat "$work/$1.err")"
}
run_work events ""
run_work sums 50ms
cat >"$work/events.sql" <<'SQL'
SELECT name, count(*) AS count, sum(duration) AS total, min(duration) AS shortest, max(duration) AS longest FROM kernel GROUP BY 1 ORDER BY 1
SQL
cat >"$work/sums.sql" <<'SQL'
SELECT name, sum(count) AS count, sum(total) AS total, min(shortest) AS shortest, max(longest) AS longest FROM sum WHERE summed = 'kernel' GROUP BY 1 ORDER BY 1
SQL
for name in events sums; do
    "$TRACESMITH" query --json "$work/$name.sbt" "$(cat "$work/$name.sql")" >"$work/$name.rows" || fail "$name: no answer"
done
python3 - "$work" <<'PY'
import json
import sys

work = sys.argv[1]
events, sums = (json.load(open(f"{work}/{name}.rows"))["results"][0]["rows"] for name in ("events", "sums"))
assert events == sums and events, f"{sums}, with events {events}"
words = open(f"{work}/sums.out").read().split()
truth = dict(zip(words[::2], words[1::2]))
launched = sum(row["count"] for row in sums if not row["name"].startswith("graph_node"))
assert launched == int(truth["launches"]), f"{launched} launches of {truth}"
PY
"$TRACESMITH" query "$work/sums.sbt" "SELECT count(*) AS n FROM events WHERE kind IN ('kernel', 'memcpy', 'memset', 'api', 'sync')" --json | grep -q '"n":0' ||
    fail "events of the kinds that are in sums"
