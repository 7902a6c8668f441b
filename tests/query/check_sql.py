# SPDX-License-Identifier: Apache-2.0
"""query: answers against Python over the events themselves, with and without what goes down into the scan; what a
statement may not do; where an error is."""
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "cli"))
from support import KIND, TRACESMITH, Trace, check, run  # noqa: E402

NAMES = ["blur", "Blur", "a,b", 'say "hi"', "it's", "\u00fc", "zz", ""]
TRACKS = ["queue", "queue", "thread \u00e9", "", "other"]


def make(rng, count):
    trace = Trace()
    trace.process(100, "program")
    trace.device("device")
    trace.lines.append("field depth 2 levels")
    trace.lines.append("field Name 7 x")
    for i, name in enumerate(TRACKS):
        trace.track("queue" if i % 2 else "thread", name, 1, i % 2)
    kinds = ["kernel", "kernel", "api", "range", "memcpy", "sync"]
    for _ in range(count):
        fields = {}
        if rng.random() < 0.9:
            fields["duration"] = rng.randrange(0, 300)
        if rng.random() < 0.9:
            fields["name"] = rng.choice(NAMES)
        if rng.random() < 0.8:
            fields["correlation"] = rng.randrange(1, count // 2)
        if rng.random() < 0.2:
            fields["object"] = rng.randrange(1 << 63, 1 << 64)
        if rng.random() < 0.3:
            fields["waits"] = [rng.randrange(1 << 60) for _ in range(rng.randrange(1, 4))]
        if rng.random() < 0.3:
            fields["value"] = rng.choice([0.1, -1e300, 3.5, 1 / 3])
        if rng.random() < 0.3:
            fields["blocking"] = rng.random() < 0.5
        if rng.random() < 0.5:
            fields["operation"] = rng.choice(["read", "write", "copy"])
        if rng.random() < 0.3:
            fields["host_track"] = rng.randrange(1, len(TRACKS) + 1)
        if rng.random() < 0.3:
            fields["4097"] = rng.randrange(-5, 5)
        trace.event(rng.randrange(1, len(TRACKS) + 1), rng.choice(kinds), 10**12 + rng.randrange(20000), **fields)
        if rng.random() < 0.01:
            trace.flush()
    return trace


def called(track):
    """A queue of a device that has no name is called by its number."""
    return TRACKS[track - 1] or ("queue 0" if track % 2 == 0 else None)


def row_of(event):
    """An event as SQL shows it."""
    row = {key: value for key, value in event.items() if key != "4097"}
    row["depth"] = event.get("4097")
    row["end"] = event["start"] + event["duration"] if "duration" in event else None
    row["track_name"] = called(event["track"])
    if "host_track" in event:
        row["host_track_name"] = called(event["host_track"])
    if "object" in event:
        row["object"] = event["object"] - (1 << 64)
    if "waits" in event:
        row["waits"] = json.dumps(event["waits"], separators=(",", ":"))
    if "blocking" in event:
        row["blocking"] = int(event["blocking"])
    return {key: value for key, value in row.items() if value is not None}


def ask(path, *statements):
    """The rows of each statement, as lists."""
    text = ";\n".join(statements)
    done = run("query", path, "-", "--json", input=text.encode())
    results = json.loads(done.stdout)["results"]
    check(len(results) == len(statements), "a result per statement")
    return [[[row[column] for column in row] for row in result["rows"]] for result in results]


def sort_key(value):
    """SQL's order: NULL, numbers, text by its bytes."""
    if value is None:
        return (0,)
    return (2, value.encode()) if isinstance(value, str) else (1, value)


def row_key(row):
    return [sort_key(value) for value in row]


def same(got, expected, what):
    if got != expected:
        print("not the same:", what)
        print("got     ", got[:10])
        print("expected", expected[:10])
        sys.exit(1)


def check_all(path, rows):
    done = json.loads(run("query", path, "SELECT * FROM events ORDER BY start", "--json").stdout)["results"][0]
    hidden = {"name_id", "category_id", "text_id"}
    check(not hidden & set(done["columns"]), "numbers of names are hidden")
    got = [{key: value for key, value in row.items() if value is not None} for row in done["rows"]]
    key = lambda row: json.dumps(row, sort_keys=True)  # noqa: E731
    same(sorted(map(key, got)), sorted(map(key, rows)), "every field of every event")
    for kind in KIND:
        of_kind = [row for row in rows if row["kind"] == kind]
        durations = [row["duration"] for row in of_kind if "duration" in row]
        expected = [len(of_kind), sum(durations) if durations else None,
                    min((row["start"] for row in of_kind), default=None),
                    max((row["end"] for row in of_kind if "end" in row), default=None)]
        same(ask(path, "SELECT count(*), sum(duration), min(start), max(end) FROM " + kind)[0], [expected], kind)


def check_groups(path, rows):
    """GROUP BY and ORDER BY of what comes grouped and of what does not: the same groups, in SQL's order."""
    cases = [["name"], ["track_name"], ["track"], ["kind"], ["operation"], ["blocking"], ["name", "track"],
             ["kind", "operation", "name"], ["host_track_name", "name"], ["correlation"], ["depth"]]
    for columns in cases:
        groups = {}
        for row in rows:
            group = groups.setdefault(tuple(row.get(column) for column in columns), [0, None, 0])
            group[0] += 1
            if "duration" in row:
                group[1] = (group[1] or 0) + row["duration"]
            group[2] = max(group[2], row["start"])
        expected = [list(group) + groups[group] for group in sorted(groups, key=row_key)]
        names = ", ".join(columns)
        defeated = ", ".join("+" + column for column in columns)
        select = "SELECT %s, count(*), sum(duration), max(start) FROM events " % names
        plain, ordered, other, down = ask(path, select + "GROUP BY " + names,
                                          select + "GROUP BY %s ORDER BY %s" % (names, names),
                                          select + "GROUP BY %s ORDER BY %s" % (defeated, defeated),
                                          select + "GROUP BY %s ORDER BY %s" %
                                          (names, ", ".join(column + " DESC" for column in columns)))
        same(sorted(plain, key=row_key), expected, "GROUP BY " + names)
        same(ordered, expected, "GROUP BY and ORDER BY " + names)
        same(other, expected, "GROUP BY " + defeated)
        same(down, expected[::-1], "ORDER BY DESC " + names)
        listed, distinct = ask(path, "SELECT %s FROM events ORDER BY %s" % (names, names),
                               "SELECT DISTINCT %s FROM events" % names)
        same(listed, sorted(([row.get(column) for column in columns] for row in rows), key=row_key),
             "ORDER BY " + names)
        same(sorted(distinct, key=row_key), [line[:len(columns)] for line in expected], "DISTINCT " + names)
    folded = {}
    for row in rows:
        name = row.get("name")
        folded.setdefault(name.replace("B", "b") if name is not None else None, []).append(row)
    got = ask(path, "SELECT count(*) FROM events GROUP BY name COLLATE NOCASE ORDER BY 1")[0]
    same(got, sorted([len(group)] for group in folded.values()), "GROUP BY COLLATE NOCASE")


def literal(value):
    return "'%s'" % value.replace("'", "''") if isinstance(value, str) else repr(value)


def condition(rng):
    """A condition of one column, and the same in Python."""
    compare = {"=": lambda a, b: a == b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
               ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}
    column = rng.choice(["start", "end", "start", "end", "name", "track", "track_name", "kind", "correlation",
                         "duration", "object", "blocking", "depth", "host_track"])
    if column in ("start", "end"):
        op, value = rng.choice(list(compare)), 10**12 + rng.randrange(-10, 20300)
        value += rng.choice([0, 0, 0.5])
    else:
        op = "="
        value = {"name": rng.choice(NAMES + ["unknown"]), "track": rng.randrange(0, 8),
                 "track_name": rng.choice(TRACKS[:3]), "kind": rng.choice(["kernel", "api", "range", "flow", "x"]),
                 "correlation": rng.randrange(1, 400), "duration": rng.randrange(300), "object": 5,
                 "blocking": rng.randrange(2), "depth": rng.randrange(-5, 5),
                 "host_track": rng.randrange(1, 6)}[column]
    holds = lambda row: column in row and compare[op](row[column], value)  # noqa: E731
    return column, op, literal(value), holds


def check_conditions(path, rows, rng, count):
    """Random conditions: pushed down, and kept from it by a +."""
    statements, expected = [], []
    for _ in range(count):
        terms = [condition(rng) for _ in range(rng.randrange(1, 5))]
        join = rng.choice([" AND ", " AND ", " OR "])
        table = rng.choice(["events", "events", "kernel", "api"])
        holds = all if join == " AND " else any
        of_table = [row for row in rows if table == "events" or row["kind"] == table]
        kept = [row for row in of_table if holds(term[3](row) for term in terms)]
        durations = [row["duration"] for row in kept if "duration" in row]
        answer = [len(kept), sum(durations) if durations else None, min((row["start"] for row in kept), default=None)]
        for plus in ("", "+"):
            where = join.join("%s%s %s %s" % (plus, term[0], term[1], term[2]) for term in terms)
            statements.append("SELECT count(*), sum(duration), min(start) FROM %s WHERE %s" % (table, where))
            expected.append([answer])
    for statement, got, want in zip(statements, ask(path, *statements), expected):
        same(got, want, statement)


def check_joins(path, rows):
    kernels = [row for row in rows if row["kind"] == "kernel"]
    calls = [row for row in rows if row["kind"] == "api"]
    ranges = [row for row in rows if row["kind"] == "range"]
    pairs = [(k, a) for k in kernels for a in calls
             if "correlation" in k and k["correlation"] == a.get("correlation")]
    within = sum(r["start"] <= k["start"] <= r["end"] for k in kernels for r in ranges if "end" in r)
    named = sum(k["name"] == a["name"] for k in kernels for a in calls if "name" in k and "name" in a)
    either = sum(("correlation" in k and k["correlation"] == a.get("correlation")) or
                 ("name" in k and k["name"] == a.get("name")) for k in kernels for a in calls)
    mixed = sum(k["track"] == a["track"] and k["start"] < a["start"] for k in kernels for a in calls)
    per_call = sorted([a["start"], sum(k.get("correlation") == a["correlation"] for k in kernels)]
                      for a in calls if "correlation" in a)
    on_queue = sum(row.get("host_track_name") == "queue" for row in rows)
    expected = [[[len(pairs), sum(k["start"] - a["start"] for k, a in pairs) if pairs else None]]] * 2
    expected += [[[within]], [[within]], [[named]], [[either]], [[mixed]], per_call, [[on_queue]], [[len(rows)]]]
    waits = [(value, row["start"]) for row in rows for value in json.loads(row.get("waits", "[]"))]
    least = min(waits)[0]
    expected += [[[len(waits), max(start for _, start in waits)]], [[sum(value == least for value, _ in waits)]]]
    join = "SELECT count(*), sum(k.start - a.start) FROM kernel k JOIN api a ON %s"
    between = "SELECT count(*) FROM kernel k, range r WHERE %s"
    got = ask(path, join % "a.correlation = k.correlation", join % "+a.correlation = +k.correlation",
              between % "k.start BETWEEN r.start AND r.end", between % "+k.start BETWEEN +r.start AND +r.end",
              "SELECT count(*) FROM kernel k JOIN api a ON a.name = k.name",
              "SELECT count(*) FROM kernel k JOIN api a ON a.correlation = k.correlation OR a.name = k.name",
              "SELECT count(*) FROM kernel k JOIN api a ON a.track = k.track AND k.start < a.start",
              "SELECT start, (SELECT count(*) FROM kernel k WHERE k.correlation = a.correlation) FROM api a "
              "WHERE correlation IS NOT NULL ORDER BY 1, 2",
              "SELECT count(*) FROM events e JOIN tracks t ON t.id = e.host_track WHERE t.name = 'queue'",
              "SELECT count(DISTINCT rowid) FROM events",
              "SELECT count(*), max(e.start) FROM events e, json_each(e.waits)",
              "SELECT count(*) FROM events e, (SELECT min(w.value) AS least FROM events, json_each(waits) w) m, "
              "json_each(e.waits) j WHERE j.value = m.least")
    for number, (answer, want) in enumerate(zip(got, expected)):
        same(answer, want, "join %d" % number)


def check_types(path, rows):
    """Values of another type than the column's compare by SQL's rules."""
    correlation = next(row["correlation"] for row in rows if "correlation" in row)
    number = sum(row.get("correlation") == correlation for row in rows)
    got = ask(path, "SELECT count(*) FROM events WHERE correlation = '%d'" % correlation,
              "SELECT count(*) FROM events WHERE correlation = %d.0" % correlation,
              "SELECT count(*) FROM events WHERE start > NULL", "SELECT count(*) FROM events WHERE start < 'x'",
              "SELECT count(*) FROM events WHERE name = X'00'", "SELECT count(*) FROM events WHERE name = 5",
              "SELECT count(*) FROM events WHERE name = 'BLUR' COLLATE NOCASE",
              "SELECT count(*) FROM events WHERE start = 1e300",
              "SELECT count(*) FROM events e, (VALUES('%d'), (%d), (NULL)) v WHERE e.correlation = v.column1" %
              (correlation, correlation))
    blur = sum(row.get("name") in ("blur", "Blur") for row in rows)
    same([answer[0][0] for answer in got],
         [number, number, 0, len(rows), 0, 0, blur, 0, 2 * number], "values of other types")


def check_quotients(folder):
    """A bandwidth that is just bytes / duration is not stored as a number, and is one here. It has the column of the others."""
    path, name = os.path.join(folder, "bandwidth.json"), "memory bandwidth (GB/s)"
    rates = [8 / 3000, 2.5, None, 8 / 7000, 12, 1, 8 / 3000]
    durations = [3, 3, 3, 7, 5, 4, 3]
    events = [{"ph": "X", "cat": "gpu_memset", "name": "fill", "pid": 0, "tid": 7, "ts": 10 * i, "dur": duration,
               "args": {"correlation": i + 1, "stream": 7, "bytes": 8, **({} if rate is None else {name: rate})}}
              for i, (rate, duration) in enumerate(zip(rates, durations))]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "traceEvents": events}, file)
    got = ask(path, f'SELECT "{name}" FROM memset ORDER BY correlation', f'SELECT "{name}" FROM events ORDER BY "{name}"',
              f'SELECT "{name}", count(*) FROM memset GROUP BY 1 ORDER BY 1',
              f'SELECT count(*) FROM memset WHERE "{name}" = 1', f'SELECT count(*) FROM memset WHERE "{name}" < 0.01',
              f'SELECT a.correlation, b."{name}" FROM memset a JOIN memset b ON a.correlation = b.correlation ORDER BY 1')
    known = sorted(rate for rate in rates if rate is not None)
    want = [[[rate] for rate in rates], [[None]] + [[rate] for rate in known],
            [[rate, rates.count(rate)] for rate in [None] + sorted(set(known))], [[1]], [[3]],
            [[i + 1, rate] for i, rate in enumerate(rates)]]
    for number, (answer, expected) in enumerate(zip(got, want)):
        same(answer, expected, "quotients %d" % number)
    with open(path, "w", encoding="utf-8") as file:  # all of them are such quotients
        json.dump({"schemaVersion": 1, "traceEvents": [events[0], events[3]]}, file)
    same(ask(path, f'SELECT typeof("{name}"), "{name}" FROM memset WHERE "{name}" = 8 / 7000.0', f'SELECT max("{name}") FROM memset'),
         [[["real", 8 / 7000]], [[8 / 3000]]], "quotients only")


def check_output(path, rows):
    done = run("query", path, "SELECT 9223372036854775807 AS a, -9223372036854775807 - 1 AS a, 'x\"' || char(10) AS b, "
               "X'00ff' AS c, 0.1 AS d, NULL AS e", "--json")
    result = json.loads(done.stdout)["results"][0]
    same(result["rows"], [{"a": 2**63 - 1, "a_2": -2**63, "b": 'x"\n', "c": "00ff", "d": 0.1, "e": None}], "JSON")
    done = run("query", path, "SELECT 1 AS \"a,b\", 'it''s, \"quoted\"' AS t, NULL AS n; SELECT 2", "--csv")
    same(done.stdout.decode(), '"a,b",t,n\r\n1,"it\'s, ""quoted""",\r\n\r\n2\r\n2\r\n', "CSV")
    lines = run("query", path, "SELECT name, count(*) AS n FROM events GROUP BY name").stdout.decode().splitlines()
    check(len({line.rstrip()[-1].isdigit() and len(line) for line in lines[2:]}) == 1, "numbers end in one column")
    tables = json.loads(run("query", path, ".tables", "--json").stdout)["results"][0]["rows"]
    check({row["table"] for row in tables} >= set(KIND) | {"events", "tracks", "strings", "states"}, ".tables")
    counts = ask(path, *["SELECT count(*) FROM " + row["table"] for row in tables])
    by_name = {row["table"]: answer[0][0] for row, answer in zip(tables, counts)}
    same([by_name["tracks"], by_name["processes"], by_name["devices"]], [len(TRACKS), 1, 1], "rows of lists")
    schema = json.loads(run("query", path, ".schema", "--json").stdout)["results"][0]["rows"]
    for row in tables:
        columns = {line["column"] for line in schema if line["table"] == row["table"]}
        described = json.loads(run("query", path, "PRAGMA table_xinfo(%s)" % row["table"], "--json").stdout)
        same(columns, {line["name"] for line in described["results"][0]["rows"]}, ".schema " + row["table"])
    check(any(line["column"] == "Name_2" for line in schema), "a field called like a column gets a name of its own")
    window = [row["end"] - row["start"] for row in rows if "end" in row]
    check(window, "there are durations")
    totals = ask(path, "SELECT sum(duration) FROM states GROUP BY scope, track, device")[0]
    check(len({total[0] for total in totals}) == 1, "the states of every queue and device add up to the same")
    names = ask(path, "SELECT kind, name, count, total FROM aggregates")[0]
    check(sum(row[2] for row in names) == len(rows), "aggregates count every event")


def fails(path, sql, *words, code=2):
    done = run("query", path, sql, code=code)
    for word in words:
        check(word in done.stderr.decode(), "%s: says %r and not %r" % (sql, word, done.stderr))
    return done


def check_refusals(path, folder):
    inside = os.path.join(folder, "written")
    for sql in ["ATTACH '%s' AS x" % inside, "VACUUM INTO '%s'" % inside, "CREATE TABLE x(a)",
                "INSERT INTO kernel(start) VALUES(1)", "DELETE FROM kernel", "UPDATE sqlite_master SET sql = ''",
                "DELETE FROM sqlite_master", "UPDATE tracks SET name = 1",
                "DROP TABLE kernel", "PRAGMA journal_mode = WAL", "PRAGMA writable_schema = 1",
                "PRAGMA temp_store_directory = '%s'" % folder, "CREATE VIRTUAL TABLE temp.x USING fts5(a)",
                "CREATE TEMP TRIGGER t INSERT ON sqlite_schema BEGIN SELECT 1; END", "BEGIN", "ANALYZE",
                "ALTER TABLE kernel RENAME TO x", "SELECT load_extension('x')", "DETACH main"]:
        fails(path, sql)
        check(not os.path.exists(inside), sql + " writes nothing")
    temporary = ask(path, "SELECT 1", "SELECT 2")
    same(temporary, [[[1]], [[2]]], "several statements")
    done = run("query", path, "CREATE TEMP TABLE t AS SELECT name, duration FROM kernel; CREATE TEMP VIEW v AS "
               "SELECT name FROM kernel; SELECT (SELECT count(*) FROM t) = count(*) FROM v; DROP TABLE t", "--csv")
    check(done.stdout.decode().splitlines()[1] == "1", "temporary tables and views")
    error = fails(path, "SELECT name\nFROM kernel WHERE foo = 1", "no such column: foo").stderr.decode().splitlines()
    check(error[1].index("foo") == error[2].index("^"), "the error is pointed at")
    error = fails(path, "SELECT 1; SELEC 2", "near \"SELEC\"").stderr.decode().splitlines()
    check(error[1].index("SELEC 2") == error[2].index("^"), "in the second statement, too")
    fails(path, 'SELECT count(*) FROM kernel WHERE name = "blur"', "blur")
    fails(path, "SELECT zeroblob(900000000)", "too big")
    for call in ("printf('%.*c', 2000000000, 'x')", "printf('%2000000000s', 'x')", "format('%.2000000000c', 'x')",
                 "printf('%*d', -2000000000, 1)", "printf('%d%.*c', 1, 2147483647, 'x')", "printf('%099999999999999999999d', 1)",
                 "printf('" + "%.60000000c" * 40 + "', 1)"):
        fails(path, "SELECT " + call, "too big")
    formats = ["'%5d|%-8s|%.3f|%%|%*d|%c', 42, 'ab', 3.14159, 6, 7, 'xyz'", "'%d'", "NULL", "'%s', NULL", "'%', 1", "'%.2', 1",
               "'%,d|%+d|% d|%05d|%x|%#X|%o', 1234567, 3, 4, 5, 255, 255, 8", "'%lld %ls', 9223372036854775807, 'l'",
               "'%*.*f', 9, 2, 1.005", "'%-*s|', 6, 'ab'", "'%q %Q %w', 'it''s', 'it''s', 'a\"b'", "'%n%d', 5", "5, 6", "x'25 64', 7"]
    plain = sqlite3.connect(":memory:")
    for text in formats:
        text = text.replace("x'25 64'", "x'2564'")
        for name in ("printf",) + (("format",) if sqlite3.sqlite_version_info >= (3, 38) else ()):
            call = "SELECT %s(%s)" % (name, text)
            got, want = ask(path, call)[0][0], list(plain.execute(call).fetchone())
            check(got == want, "%s: %r, not %r" % (call, got, want))
    check(run("query", path, "SELECT 9e999 AS x, -9e999 AS y").stdout.decode().split()[-2:] == ["Inf", "-Inf"], "infinity")
    fails(path, ".nothing", ".nothing")
    fails(path, ".schema nothing", "nothing")
    fails(path, ".schema kernel; SELECT 1", "must be .tables")
    fails(path, "SELECT sum(9223372036854775807) FROM events", "integer overflow")
    fails("/nonexistent.sbt", "SELECT 1", code=3)
    fails("SELECT 1", path, "the file comes before the SQL")
    check(b"SCAN" in run("query", path, "EXPLAIN QUERY PLAN SELECT 1 FROM kernel").stdout, "EXPLAIN QUERY PLAN")
    check(b"VFilter" in run("query", path, "EXPLAIN SELECT 1 FROM kernel").stdout, "EXPLAIN")


def check_interrupt(path):
    endless = "WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
    process = subprocess.Popen([TRACESMITH, "query", path, endless, "--csv"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    check(process.stdout.readline() == b"x\r\n", "it has begun")
    process.send_signal(signal.SIGINT)
    error = process.communicate(timeout=200)[1]
    check(process.returncode == 1 and b"interrupted" in error, "Ctrl-C ends the statement and says so")


def main():
    rng = random.Random(20)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.sbt")
        trace = make(rng, 900)
        trace.write(path)
        rows = [row_of(event) for event in trace.events]
        check_all(path, rows)
        check_groups(path, rows)
        check_conditions(path, rows, rng, 400)
        check_joins(path, rows)
        check_types(path, rows)
        check_quotients(folder)
        check_output(path, rows)
        check_refusals(path, folder)
        check_interrupt(path)
        empty = os.path.join(folder, "empty.sbt")
        Trace().write(empty)
        same(ask(empty, "SELECT count(*) FROM events", "SELECT name FROM kernel GROUP BY name",
                 "SELECT count(*) FROM states"), [[[0]], [], [[0]]], "a trace without events")


main()
