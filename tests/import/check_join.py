# SPDX-License-Identifier: Apache-2.0
"""import --join: metrics and operators come to the events that they are of, and to no other. The made files say which those are."""
import csv
import glob
import gzip
import json
import os
import random
import sys
import tempfile

SOURCE = os.environ["TRACESMITH_SOURCE_DIR"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "cli"))
from support import check, run  # noqa: E402

FOLDER = tempfile.mkdtemp()
HEAD = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC", "m.sum", "word"]


def path_of(name):
    return os.path.join(FOLDER, name)


def rows(path, sql):
    return json.loads(run("query", "--json", "--no-cache", path, sql).stdout)["results"][0]["rows"]


def join(trace, other, code=0):
    out = path_of("joined.sbt")
    if os.path.exists(out):
        os.remove(out)
    done = run("import", "--json", trace, "--join", other, "-o", out, code=code)
    return out, json.loads(done.stdout)["join"] if code == 0 else done.stderr.decode()


# ---- launches


def kineto(launches, pids=None, sizes=True, correlated=True):
    """launches: (name, block). Their starts are not in the order of their launch: streams run side by side."""
    path = path_of("kernels.json")
    rng = random.Random(len(launches))
    events = []
    for i, (name, block) in enumerate(launches):
        pid = pids[i] if pids else 0
        args = {"device": 0, "stream": 7 + i % 2, "launch": i}
        if correlated:
            args["correlation"] = 100 + i
        if sizes:
            args.update(grid=[4, 1, 1], block=[block, 1, 1])
        start = 1000 + i * 10 + (rng.randrange(0, 200) if correlated else 0)
        events.append({"ph": "X", "cat": "kernel", "name": name, "pid": pid, "tid": 7 + i % 2, "ts": start, "dur": 5, "args": args})
    with open(path, "w") as file:
        json.dump({"schemaVersion": 1, "traceEvents": events}, file)
    return path


def ncu(launches, name="ncu.csv", pids=None, first=0):
    """launches: (name, block, metric)"""
    path = path_of(name)
    with open(path, "w", newline="") as file:
        table = csv.writer(file, quoting=csv.QUOTE_ALL)
        table.writerow(HEAD)
        table.writerow([""] * 11 + ["byte", ""])
        for i, (kernel, block, metric) in enumerate(launches):
            table.writerow([first + i, pids[i] if pids else 1, "app", "h", kernel, 1, 7, "(%d, 1, 1)" % block, "(4, 1, 1)", 0, "8.0", metric, "w%d" % metric])
    return path


def check_launches(trace, other, expected, ambiguous, missing):
    """expected: numbers of launches of the trace to their metric."""
    out, result = join(trace, other)
    got = {r["launch"]: (r["m.sum"], r["word"]) for r in rows(out, "SELECT * FROM kernel") if r.get("m.sum") is not None}
    check(got == {k: (float(v), "w%d" % v) for k, v in expected.items()}, "joined %s instead of %s" % (got, expected))
    check((result["joined"], result["ambiguous"], result["missing"]) == (len(expected), ambiguous, missing), str(result))
    before = rows(trace, "SELECT start, duration, name, track FROM events ORDER BY 1, 2, 3, 4")
    check(before == rows(out, "SELECT start, duration, name, track FROM events ORDER BY 1, 2, 3, 4"), "the events stay as they are")


def check_ncu():
    rng = random.Random(3)
    long = "void at::native::vec_kernel<4, at::native::F(int)>(int, at::native::F)"
    other = "void (anonymous namespace)::other<float>(float *)"
    names = [(rng.choice([long, other, "mul"]), rng.choice([32, 64])) for _ in range(300)]
    trace = kineto(names)
    # All of them, and a part (--launch-skip 50 --launch-count 40).
    check_launches(trace, ncu([(n, b, i) for i, (n, b) in enumerate(names)]), {i: i for i in range(300)}, 0, 0)
    part = {i: 7 * i for i in range(50, 90)}
    check_launches(trace, ncu([(*names[i], v) for i, v in part.items()]), part, 0, 0)
    # One kernel only (--kernel-name mul), and with the names of functions alone.
    mul = [i for i, (n, b) in enumerate(names) if n == "mul"]
    check_launches(trace, ncu([(*names[i], i) for i in mul[10:]]), {i: i for i in mul[10:]}, 0, 0)
    base = {long: "vec_kernel", other: "other", "mul": "mul"}
    check_launches(trace, ncu([(base[names[i][0]], names[i][1], i) for i in range(120, 200)]), {i: i for i in range(120, 200)}, 0, 0)
    # Too few to say which; kernels that are not there.
    check_launches(trace, ncu([("mul", 32, 1)]), {}, 1, 0)
    check_launches(trace, ncu([("nowhere", 32, 1), ("nothing", 64, 2)]), {}, 0, 2)
    # Another order, with as many of each: the n-th is the n-th. With one less, that kernel is not joined.
    shuffled = sorted(range(300), key=lambda i: (names[i], i))
    check_launches(trace, ncu([(*names[i], i) for i in shuffled]), {i: i for i in range(300)}, 0, 0)
    kind = names[0]
    of_kind = [i for i in range(300) if names[i] == kind]
    rest = [i for i in shuffled if i != of_kind[0]]
    check_launches(trace, ncu([(*names[i], i) for i in rest]), {i: i for i in rest if names[i] != kind}, len(of_kind) - 1, 0)
    # Without sizes, and without correlations, in the trace.
    plain = kineto(names, sizes=False, correlated=False)
    check_launches(plain, ncu([(*names[i], i) for i in range(300)]), {i: i for i in range(300)}, 0, 0)
    # Two processes: the launches of one are found in one. Two with the same launches are not told apart.
    two = kineto(names, pids=[i // 150 for i in range(300)])
    check_launches(two, ncu([(*names[i], i) for i in range(160, 260)]), {i: i for i in range(160, 260)}, 0, 0)
    same = kineto(names[:20] * 2, pids=[i // 20 for i in range(40)])
    check_launches(same, ncu([(*n, i) for i, n in enumerate(names[:20])]), {}, 20, 0)
    twice = kineto(names[:20])
    check_launches(twice, ncu([(*n, i) for i, n in enumerate(names[:20] * 2)], pids=[i // 20 for i in range(40)]), {}, 40, 0)


# ---- operators


def made_pair(shift=0, record=True):
    nodes, events = [], []
    rng = random.Random(1)
    for i in range(1, 400):
        name = "aten::op%d" % rng.randrange(20)
        nodes.append({"id": i + 1000, "name": name, "rf_id": i if i % 9 else 0, "tid": 1, "inputs": [i], "seq_id": -i})
        args = {"External id": i + shift}
        if record:
            args["Record function id"] = i
        if i % 5 == 0:
            name = "renamed"
        events.append({"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": i * 10, "dur": 5, "args": args})
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": i * 10 + 1, "dur": 1,
                       "args": {"External id": i + shift, "correlation": i}})
    et, trace = path_of("et.json"), path_of("trace.json")
    with open(et, "w") as file:
        json.dump({"schema": "1.0.1", "pid": 1, "nodes": nodes}, file)
    with open(trace, "w") as file:
        json.dump({"schemaVersion": 1, "traceEvents": events}, file)
    return trace, et


def open_any(path):
    return gzip.open(path, "rt") if path.endswith(".gz") else open(path)


def check_pair(trace, et, shift=0):
    with open_any(et) as file:
        nodes = json.load(file)["nodes"]
    with open_any(trace) as file:
        events = json.load(file)["traceEvents"]
    of = {}
    for node in nodes:
        flat = dict(node, **{a["name"]: a["value"] for a in node.get("attrs", [])})
        of[flat["rf_id"]] = flat
    of.pop(0, None)
    has_record = any("Record function id" in e.get("args", {}) for e in events)
    key = "Record function id" if has_record else "External id"
    expected = sorted((of[n]["id"], of[n]["seq_id"], e["name"]) for e in events for n in [e.get("args", {}).get(key, 0) - shift]
                      if e.get("ph") == "X" and n in of and of[n]["name"] == e["name"])
    check(len(expected) > 10, "%s: %d pairs" % (trace, len(expected)))
    out, result = join(trace, et)
    got = [(r["et_id"], r["et_seq_id"], r["name"]) for r in rows(out, "SELECT et_id, et_seq_id, name FROM events WHERE et_id IS NOT NULL")]
    check(sorted(got) == expected, "%s: %d joined instead of %d" % (trace, len(got), len(expected)))
    check(result["joined"] == len(expected) and result["missing"] == len(nodes) - len(expected), str(result))


check_ncu()
check_pair(*made_pair())
for shift in (0, 3, -2):
    check_pair(*made_pair(shift, record=False), shift=shift)
text = join(made_pair()[0], made_pair()[0], code=3)[1]
check("cannot be joined" in text, text)
for et in glob.glob(os.path.join(os.environ.get("TRACESMITH_CORPUS", "/nowhere"), "et", "*_et.json.gz")):
    check_pair(et.replace("_et.json", "_trace.json"), et)
