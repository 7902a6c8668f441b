# SPDX-License-Identifier: Apache-2.0
"""check_chakra.py TRACE...: the Chakra export of each trace, as protoc reads it, against SQL: its nodes are the commands and calls of the trace with
their times; dependencies do not contradict the times, have no cycle, and have what the trace records: a launch, the order of a stream,
a wait. What comes back through the importer is the same."""
import json
import os
import sys
import tempfile

SOURCE = os.environ["TRACESMITH_SOURCE_DIR"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "cli"))
sys.path.insert(0, os.path.join(SOURCE, "tests", "export"))
import chakra_wire  # noqa: E402
from support import EVERY, check, run  # noqa: E402

FOLDER = tempfile.mkdtemp()


def rows(path, sql):
    return json.loads(run("query", "--json", "--no-cache", path, sql).stdout)["results"][0]["rows"]


def check_acyclic(nodes, where):
    left = {n["id"]: set(n["data"]) | set(n["ctrl"]) for n in nodes}
    after = {}
    for node, deps in left.items():
        for dep in deps:
            after.setdefault(dep, []).append(node)
    ready = [node for node, deps in left.items() if not deps]
    done = 0
    while ready:
        node = ready.pop()
        done += 1
        for other in after.get(node, []):
            left[other].discard(node)
            if not left[other]:
                ready.append(other)
    check(done == len(nodes), "%s: %d nodes are in cycles" % (where, len(nodes) - done))


def reaches(by_id, node, target, limit=64):
    """Whether `target` is among the dependencies of the dependencies."""
    seen, level = set(), {node}
    for _ in range(limit):
        level = {dep for n in level for dep in by_id[n]["data"]} - seen
        if target in level:
            return True
        seen |= level
    return False


def check_trace(trace):
    out = os.path.join(FOLDER, "trace.et")
    run("export", trace, "-f", "chakra", "-o", out)
    metadata, nodes = chakra_wire.read(out)
    check(metadata["version"] == "0.0.4" and metadata["attr"]["schema"] == "tracesmith", str(metadata))
    check([n["id"] for n in nodes] == list(range(len(nodes))), "numbers of nodes")
    by_id = {n["id"]: n for n in nodes}
    names = {r["name"]: r["n"] for r in rows(trace, "SELECT name, count(*) AS n FROM kernel GROUP BY name")}
    got = {}
    for node in nodes:
        if node["attr"]["kind"] == "kernel":
            got[node["name"]] = got.get(node["name"], 0) + 1
        if "duration_ns" in node["attr"]:
            check(abs(node["attr"]["duration_ns"] - 1000 * node["duration"]) <= 500, "rounded: %s" % node)
            check(node["attr"]["start_ns"] // 1000 == node["start"] or node["attr"]["start_ns"] < 0, "start: %s" % node)
    check(got == {k or "": v for k, v in names.items()}, "%s: kernels" % trace)
    times = sorted((r["start"], r["duration"]) for r in rows(trace, "SELECT start, duration FROM kernel WHERE coalesce(certainty, '') <> 'untimed'"))
    mine = sorted((n["attr"]["start_ns"], n["attr"].get("duration_ns")) for n in nodes if n["attr"]["kind"] == "kernel" and "start_ns" in n["attr"])
    check(times == mine, "%s: times of kernels" % trace)
    check_acyclic(nodes, trace)
    for node in nodes:
        check(node["id"] not in node["data"] and len(set(node["data"])) == len(node["data"]), "twice: %s" % node)
    return nodes, by_id


def check_order(trace, by_id, nodes):
    """Recorded facts: a kernel depends on its launch, and (of in-order streams) on the kernel before it."""
    launches = {}
    for r in rows(trace, "SELECT k.start AS k, k.duration AS d, a.start AS a FROM kernel k JOIN api a ON a.correlation = k.correlation "
                         "WHERE k.correlation > 0 AND a.start <= k.start"):
        launches[(r["k"], r["d"])] = r["a"]
    calls, checked = {}, 0
    for node in nodes:
        if node["attr"]["is_cpu_op"] and "start_ns" in node["attr"]:
            calls.setdefault(node["attr"]["start_ns"], set()).add(node["id"])
    for node in nodes:
        key = (node["attr"].get("start_ns"), node["attr"].get("duration_ns"))
        if node["attr"]["kind"] == "kernel" and key in launches and launches[key] in calls:
            check(calls[launches[key]] & set(node["data"]), "no launch before %s" % node)
            checked += 1
    streams = {}
    for node in nodes:
        if node["attr"]["kind"] == "kernel" and "start_ns" in node["attr"] and "duration_ns" in node["attr"]:
            streams.setdefault((node["attr"].get("pid"), node["attr"].get("device"), node["attr"]["track"]), []).append(node)
    for kernels in streams.values():
        kernels.sort(key=lambda n: n["attr"]["start_ns"])
        ends = [n["attr"]["start_ns"] + n["attr"]["duration_ns"] for n in kernels]
        if any(e > n["attr"]["start_ns"] for e, n in zip(ends, kernels[1:])):
            continue # they overlap
        for before, after in zip(kernels[:50], kernels[1:51]):
            check(reaches(by_id, after["id"], before["id"]), "no order between %s and %s" % (before, after))
            checked += 1
    return checked


def check_back(trace, nodes):
    back = os.path.join(FOLDER, "back.sbt")
    run("import", os.path.join(FOLDER, "trace.et"), "-o", back)
    found = rows(back, "SELECT correlation, name, start, duration, kind, certainty, waits FROM events WHERE kind <> 'loss' ORDER BY correlation")
    check(len(found) == len(nodes), "%d of %d nodes come back" % (len(found), len(nodes)))
    for row, node in zip(found, nodes):
        attr = node["attr"]
        timed = "start_ns" in attr
        check((row["correlation"], row["name"] or "", row["duration"], row["kind"]) ==
              (node["id"], node["name"], attr.get("duration_ns"), attr["kind"]), "%s came back as %s" % (node, row))
        check(not timed or row["start"] == attr["start_ns"], "%s came back as %s" % (node, row))
        waits = json.loads(row["waits"]) if row["waits"] else []
        check(sorted(waits) == sorted(node["data"]), "waits of %s: %s" % (node, row))


def check_made():
    """What protoc writes: every type of attribute."""
    path = os.path.join(FOLDER, "made.et")
    values = {"f64": ("1.5", 1.5), "f32": ("0.25", 0.25), "i32": ("-7", -7), "i64": (str(-(1 << 60)), -(1 << 60)), "u32": ("7", 7),
              "u64": (str(1 << 62), 1 << 62), "s32": ("-9", -9), "s64": (str(-(1 << 50)), -(1 << 50)), "x64": ("11", 11), "y32": ("-12", -12),
              "y64": ("-13", -13), "flag": ("true", 1), "text": ('"t \\303\\244"', "t \u00e4"), "raw": ('"\\001\\377"', "01ff")}
    attrs = " ".join('attr { name: "a_%s" %s: %s }' % (k, k, v[0]) for k, v in values.items())
    nodes = ['id: 5 name: "first" type: COMP_NODE start_time_micros: 100 duration_micros: 7 %s inputs { values: "[1]" shapes: "[2]" types: "[3]" }' % attrs,
             'id: 6 name: "second" type: COMM_COLL_NODE data_deps: 5 attr { name: "comm_type" i64: 2 }',
             'id: 7 name: "third" type: COMP_NODE data_deps: 5 data_deps: 6 ctrl_deps: 5 ctrl_deps: 900 duration_micros: 3 attr { name: "is_cpu_op" flag: true } attr { name: "l" i64s { values: 300 } }']
    chakra_wire.write(path, 'version: "0.0.4" attr { name: "who" text: "me" } attr { name: "n" i64: -3 }', nodes)
    first, second, third = rows(path, "SELECT * FROM events WHERE kind <> 'loss' ORDER BY correlation")
    for key, (_, value) in values.items():
        check(first["a_" + key] == value, "%s: %r instead of %r" % (key, first["a_" + key], value))
    check((first["kind"], first["start"], first["duration"], first["input_values"], first["input_shapes"], first["input_types"], first["certainty"]) ==
          ("range", 100000, 7000, "[1]", "[2]", "[3]", None), str(first))
    check((second["kind"], second["duration"], second["certainty"], json.loads(second["waits"]), second["comm_type"]) ==
          ("collective", None, "untimed", [5], 2), str(second))
    check((third["kind"], third["duration"], json.loads(third["waits"]), json.loads(third["ctrl_deps"]), third["l"]) ==
          ("range", 3000, [5, 6], [5, 900], "0a02ac02"), str(third))
    facts = {r["key"]: r["value"] for r in rows(path, "SELECT key, value FROM attributes")}
    check((facts["trace.version"], facts["trace.who"], facts["trace.n"]) == ("0.0.4", "me", "-3"), str(facts))
    whole = open(path, "rb").read()
    for end in range(1, len(whole), EVERY):
        with open(path, "wb") as file:
            file.write(whole[:end])
        done = run("query", "--json", "--no-cache", path, "SELECT count(*) AS n FROM events WHERE kind <> 'loss'", code=None)
        try:
            count = len(list(chakra_wire.messages(whole[:end]))) - 1
            check(done.returncode == 0 or count < 1, "a file that ends after a node: %d" % end)
        except (ValueError, IndexError):
            check(done.returncode == 3 and (b"made.et" in done.stderr), "cut at %d: %d, %s" % (end, done.returncode, done.stderr))


check_made()
total = 0
for trace in sys.argv[1:]:
    nodes, by_id = check_trace(trace)
    total += check_order(trace, by_id, nodes)
    check_back(trace, nodes)
check(total > 10, "dependencies that were compared: %d" % total)
real = os.path.join(os.environ.get("TRACESMITH_CORPUS", "/nowhere"), "et", "chakra.0.et")
if os.path.exists(real):
    metadata, nodes = chakra_wire.read(real)
    found = rows(real, "SELECT correlation, name, type, waits FROM events WHERE kind <> 'loss'")
    check(len(found) == len(nodes), "%d of %d nodes" % (len(found), len(nodes)))
    by_id = {n["id"]: n for n in nodes}
    for row in found:
        node = by_id[row["correlation"]]
        check((row["name"], row["type"]) == (node["name"], node["type"]), "%s is %s" % (node, row))
        check((json.loads(row["waits"]) if row["waits"] else []) == node["data"], "%s is %s" % (node, row))
