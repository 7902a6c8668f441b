# SPDX-License-Identifier: Apache-2.0
"""check_sums.py FOLDER [KIND...]: in FOLDER/sums.sbt (profile --aggregate) is in sums what is in events in FOLDER/events.sbt, a run of the
same program: by kind, name, operation and direction the counts and bytes, and of the named kinds, whose durations are the same in each
run, the times. Such an event is in its sum only; all others are events in both."""
import json
import os
import subprocess
import sys

folder, same = sys.argv[1], sys.argv[2:]
KINDS = "('kernel', 'memcpy', 'memset', 'api', 'sync')"


def rows(name, statement):
    answer = subprocess.run([os.environ["TRACESMITH"], "query", "--json", f"{folder}/{name}.sbt", statement],
                            check=True, capture_output=True, text=True).stdout
    return json.loads(answer)["results"][0]["rows"]


KEYS = ("kind", "name", "operation", "direction", "of_device")
TIMES = ("total", "shortest", "longest")
TRACK = "CASE WHEN t.kind = 'thread' OR t.device IS NULL THEN 0 ELSE t.device END"
events = rows("events", f"""
    SELECT e.kind AS kind, e.name AS name, operation, direction, {TRACK} AS of_device, count(*) AS count, sum(bytes) AS bytes,
           sum(e.duration) AS total, min(e.duration) AS shortest, max(e.duration) AS longest
    FROM events e JOIN tracks t ON t.id = e.track WHERE e.kind IN {KINDS} GROUP BY 1, 2, 3, 4, 5""")
sums = rows("sums", f"""
    SELECT summed AS kind, s.name AS name, operation, direction, {TRACK} AS of_device, sum(count) AS count, sum(bytes) AS bytes,
           sum(total) AS total, min(shortest) AS shortest, max(longest) AS longest
    FROM sum s JOIN tracks t ON t.id = s.track GROUP BY 1, 2, 3, 4, 5""")


def by_key(table):
    out = {}
    for row in table:
        times = tuple(row[key] for key in TIMES) if row["kind"] in same else ()
        out[tuple(row[key] for key in KEYS)] = (row["count"], row["bytes"] or 0, *times)
    return out


events, sums = by_key(events), by_key(sums)
assert events and {key[0] for key in events} >= set(same), f"the run without sums has {events}"
for key in sorted({*events, *sums}, key=str):
    assert events.get(key) == sums.get(key), f"{key}: sums {sums.get(key)}, events {events.get(key)}"
(single,) = rows("sums", f"SELECT count(*) AS n FROM events WHERE kind IN {KINDS}")
assert single["n"] == 0, f"{single['n']} events of the kinds that are in sums"
OTHERS = f"SELECT kind, count(*) AS n FROM events WHERE kind NOT IN {KINDS} AND kind NOT IN ('sum', 'process') GROUP BY 1 ORDER BY 1"
others = [rows(name, OTHERS) for name in ("events", "sums")]
assert others[0] == others[1], f"other events: {others}"
