# SPDX-License-Identifier: Apache-2.0
"""Partials of SQL statements against Python's arithmetic over the same traces."""
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from collections import defaultdict

TRACESMITH = os.environ["TRACESMITH"]
RANKS = 7
STATEMENT = """SELECT name, duration % 2 AS "on", count(*), COUNT(duration) AS n, sum(duration), sum(duration * 0.1) AS part, total(duration),
    avg(duration * 0.3), min(duration), max(duration - 0.5), min(name || 'x'), median(duration), percentile(duration, 90) AS p90
    -- one per kernel
    FROM kernel WHERE duration >= 300 /* ns */ AND name <> 'none' GROUP BY 1, "on";"""


def run(*words, code=0):
    done = subprocess.run([TRACESMITH, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != code:
        sys.exit(f"FAILED: {words} exits with {done.returncode}, not {code}: {done.stderr.decode()}")
    return done


def expect(right, message):
    if not right:
        sys.exit(f"FAILED: {message}")


def write_traces(draw):
    """A trace per rank, in microseconds with three decimals, so that ns are integers; the values by (name, parity)."""
    groups = defaultdict(list)
    for rank in range(RANKS):
        events, at = [], 0
        for number in range(200 if rank else 0): # one trace has no kernel
            name, stream, ns = f"kernel {number % 3}", number % 2, int(math.exp(draw.uniform(4, 18)))
            events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": at / 1000, "dur": ns / 1000,
                           "args": {"stream": stream}})
            at += ns + 1000
            if ns >= 300:
                groups[name, ns % 2].append(ns)
        events.append({"ph": "X", "cat": "cpu_op", "name": "step", "pid": 1, "tid": 1, "ts": 0, "dur": at / 1000 + 1})
        with open(f"r{rank}.json", "w", encoding="utf-8") as out:
            json.dump({"distributedInfo": {"rank": rank, "world_size": RANKS}, "traceEvents": events}, out)
    return groups


def check_values(answer, groups):
    result = json.loads(answer)["results"][0]
    names = [column if isinstance(column, str) else column["name"] for column in result["columns"]]
    expect(names == ["name", "on", "count(*)", "n", "sum(duration)", "part", "total(duration)", "avg(duration * 0.3)", "min(duration)",
                     "max(duration - 0.5)", "min(name || 'x')", "median(duration)", "p90"], names)
    rows = [row if isinstance(row, list) else list(row.values()) for row in result["rows"]]
    expect([tuple(row[:2]) for row in rows] == sorted(groups), "the groups")
    for row in rows:
        ns = sorted(groups[row[0], row[1]])
        exact = [len(ns), len(ns), sum(ns), math.fsum(x * 0.1 for x in ns), float(sum(ns)), math.fsum(x * 0.3 for x in ns) / len(ns), ns[0],
                 ns[-1] - 0.5, row[0] + "x"]
        expect(row[2:11] == exact, f"{row[:2]}: {row[2:11]}, not {exact}")
        for value, percent in zip(row[11:], (50, 90)):
            wanted = ns[int(percent / 100 * (len(ns) - 1))]
            expect(abs(value - wanted) <= wanted / 250, f"{row[:2]}: percentile {percent} is {value}, not {wanted}")


def check_trees(draw):
    """Any tree and order has the same bytes, and so has one call for all traces."""
    for rank in range(RANKS):
        run("query", "--partial", "-o", f"r{rank}.part", f"r{rank}.json", STATEMENT)
    everything = [f"r{rank}.json" for rank in range(RANKS)]
    run("query", "--partial", "-o", "all.part", *everything, STATEMENT)
    with open("all.part", "rb") as file:
        wanted = file.read()
    for tree in range(6):
        parts = [f"r{rank}.part" for rank in range(RANKS)]
        while len(parts) > 1:
            draw.shuffle(parts)
            taken = draw.randint(2, len(parts))
            run("query", "--partial", "-o", f"tree{tree}-{len(parts)}.part", *parts[:taken])
            parts = parts[taken:] + [f"tree{tree}-{len(parts)}.part"]
        with open(parts[0], "rb") as file:
            expect(file.read() == wanted, f"tree {tree} has other bytes")
    # The same statement with other spaces and letters; a trace that is given twice counts once.
    run("query", "--partial", "-o", "again.part", *everything, everything[3], STATEMENT.replace("count(*)", "Count ( * )"))
    with open("again.part", "rb") as file:
        expect(file.read() == wanted, "other spaces give other bytes")
    return wanted


REFUSED = [
    ("SELECT sum(duration) / count(*) FROM kernel", "a column must be an aggregate and nothing else, and here is sum"),
    ("SELECT stddev(duration) FROM kernel", "here is stddev"),
    ("SELECT count(DISTINCT name) FROM kernel", "it needs all values for DISTINCT"),
    ("SELECT name, count(*) FROM kernel", "a column is neither an aggregate nor an expression of GROUP BY"),
    ("SELECT count(*) FROM kernel GROUP BY name", "GROUP BY has something that is no column of the answer: name"),
    ("SELECT name FROM kernel GROUP BY name", "it has no aggregate"),
    ("SELECT name, count(*) FROM kernel GROUP BY name ORDER BY 2", "it has ORDER"),
    ("SELECT name, count(*) FROM kernel GROUP BY name HAVING count(*) > 1", "it has HAVING"),
    ("SELECT count(*) FROM kernel WHERE duration > (SELECT avg(duration) FROM kernel)", "a SELECT within it sees one trace only"),
    ("SELECT sum(duration) OVER () FROM kernel", "here is sum"),
    ("SELECT count(*) FILTER (WHERE duration > 3) FROM kernel", "here is count"),
    ("SELECT count(*) FROM kernel; SELECT 1", "it is more than one statement"),
    ("WITH a AS (SELECT 1) SELECT count(*) FROM a", "it is no SELECT"),
    ("SELECT percentile(duration, 101) FROM kernel", "these are not the arguments of percentile"),
]


def check_refused():
    for statement, why in REFUSED:
        message = run("query", "--partial", "-o", "no.part", "r1.json", statement, code=2).stderr.decode()
        expect(why in message and "without --partial" in message, f"{statement}: {message}")
    run("query", "--partial", "-o", "no.part", "r1.json", "SELECT count(*) FROM nothing", code=2)
    expect(not os.path.exists("no.part"), "a refused statement leaves a file")
    run("query", "--partial", "-o", "other.part", "r1.json", "SELECT count(*) FROM kernel")
    expect("another one" in run("query", "r2.part", "other.part", code=2).stderr.decode(), "partials of two statements are joined")
    expect("would count twice" in run("query", "all.part", "r2.part", code=2).stderr.decode(), "a trace counts twice")
    run("query", "--partial", "r1.json", STATEMENT, code=2)
    run("query", "-o", "x", "r1.part", code=2)


def check_missing():
    with open("bad.json", "w", encoding="utf-8") as out:
        out.write("no trace")
    run("query", "--partial", "-o", "bad.part", "r1.json", "bad.json", "SELECT count(*) FROM kernel", code=3)
    answer = json.loads(run("query", "--json", "bad.part", code=3).stdout)
    expect([row["trace"] for row in answer["missing"]] == ["bad.json"] and answer["trace_count"] == 1, answer)


def check_damage(good, draw):
    for _ in range(150):
        bad = bytearray(good)
        if draw.random() < 0.3:
            bad = bad[:draw.randrange(8, len(bad))]
        else:
            bad[draw.randrange(8, len(bad))] ^= 1 << draw.randrange(8)
        with open("damaged.part", "wb") as out:
            out.write(bad)
        run("query", "damaged.part", code=3)


def main():
    draw = random.Random(20)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        groups = write_traces(draw)
        good = check_trees(draw)
        check_values(run("query", "--json", "all.part").stdout, groups)
        check_refused()
        check_missing()
        check_damage(good, draw)
        os.chdir("/")
    print(f"{RANKS} traces, {len(groups)} groups, {len(REFUSED)} statements refused")


main()
