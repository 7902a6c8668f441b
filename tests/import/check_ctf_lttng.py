# SPDX-License-Identifier: Apache-2.0
"""Traces of LTTng-UST against babeltrace2 and the program that was traced.  usage: check_ctf_lttng.py WHOLE COUNT AGAIN LOSSY COUNT THAPI COUNT"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "cli"))
import babeltrace  # noqa: E402
from support import check, run  # noqa: E402

whole, passed, again, lossy, passed_lossy, thapi, passed_thapi = sys.argv[1:]


def rows(path, sql, code=0):
    return json.loads(run("query", "--json", "--no-cache", path, sql, code=code).stdout)["results"][0]["rows"]


for folder in (whole, again):
    check(babeltrace.compare(folder, rows, check) == int(passed), "%s: the program passed %s tracepoints" % (folder, passed))
    check(rows(folder, "SELECT count(*) AS n FROM loss") == [{"n": 0}], "nothing is lost")
    check(rows(folder, "SELECT count(*) AS n, count(DISTINCT track) AS t FROM range WHERE name = 'tracesmith_test:work'") == [{"n": int(passed) // 3, "t": 2}], "calls of two threads")
# In time, no record of a thread is before the one that it passed before.
steps = rows(whole, "SELECT track, step FROM events WHERE name = 'tracesmith_test:work_entry' ORDER BY track, start")
check([r["step"] for r in steps] == 2 * list(range(int(passed) // 6)), "the order of the records of each thread")
facts = {r["key"]: r["value"] for r in rows(whole, "SELECT key, value FROM attributes")}
check((facts["import.format"], facts["trace.env.domain"], facts["trace.env.tracer_name"]) == ("ctf1", "ust", "lttng-ust"), str(facts))
# The folder of the session is no trace; the message names the folder that is one.
said = run("info", os.path.dirname(whole), code=None)
check(said.returncode != 0 and whole.encode() in said.stderr, said.stderr.decode())
there = rows(lossy, "SELECT count(*) AS n FROM marker", code=None)[0]["n"]
lost = rows(lossy, "SELECT coalesce(sum(lost), 0) AS n FROM loss", code=None)[0]["n"]
theirs, discarded, more = babeltrace.events(lossy)
check(there == len(theirs) and (lost > discarded if more else lost == discarded), "%d records and %d lost, babeltrace2 has %d and %d" % (there, lost, len(theirs), discarded))
check(there + lost == int(passed_lossy), "%d records and %d lost of %s" % (there, lost, passed_lossy))
# THAPI: each pair of tracepoints is a call, of the function's name, on its thread; of a function within itself the inner one ends first.
check(babeltrace.compare(thapi, rows, check) == int(passed_thapi), "the program passed %s tracepoints of THAPI" % passed_thapi)
calls = rows(thapi, "SELECT category, name, count(*) AS n, count(DISTINCT track) AS t FROM events WHERE kind = 'api' GROUP BY category, name ORDER BY name")
each = int(passed_thapi) // 14
check([(c["category"], c["name"], c["n"], c["t"]) for c in calls] == [
    ("lttng_ust_opencl", "clEnqueueNDRangeKernel", each, 2), ("lttng_ust_opencl", "clFinish", each, 2), ("lttng_ust_cuda", "cuMemAlloc_v2", 3 * each, 2),
    ("lttng_ust_ze", "zeEventHostReset", each, 2), ("lttng_ust_ze", "zeMemAllocDevice", each, 2)], str(calls))
found = {(r["track"], r["start"], r["start"] + r["duration"]) for r in rows(thapi, "SELECT track, start, duration FROM events WHERE kind = 'api' AND name = 'cuMemAlloc_v2'")}
wanted, begun = set(), {}
for row in rows(thapi, "SELECT track, start, name FROM events WHERE name LIKE 'lttng_ust_cuda:cuMemAlloc_v2_%' ORDER BY start"):
    if row["name"].endswith("_entry"):
        begun.setdefault(row["track"], []).append(row["start"])
    else:
        wanted.add((row["track"], begun[row["track"]].pop(), row["start"]))
check(found == wanted, "calls within calls")
print("%s events alike twice; %d recorded and %d discarded of %s" % (passed, there, lost, passed_lossy))
