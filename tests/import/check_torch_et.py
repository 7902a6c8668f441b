# SPDX-License-Identifier: Apache-2.0
"""Execution traces of PyTorch: Python's json module reads the same files (made ones, and real ones where there is a corpus)."""
import glob
import gzip
import json
import os
import subprocess
import sys
import tempfile

SOURCE = os.environ["TRACESMITH_SOURCE_DIR"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "cli"))
from support import check, run  # noqa: E402

FOLDER = tempfile.mkdtemp()
LISTS = ("inputs", "input_shapes", "input_types", "outputs", "output_shapes", "output_types")


def open_any(path):
    return gzip.open(path, "rt") if path.endswith(".gz") else open(path)


def reference(path):
    """Nodes in the order of the file, in the form of the older schema."""
    with open_any(path) as file:
        trace = json.load(file)
    nodes = []
    for node in trace["nodes"]:
        if "id" not in node:
            continue
        flat = {key: value for key, value in node.items() if key not in ("attrs", "inputs", "outputs", "ctrl_deps")}
        for attribute in node.get("attrs", []):
            flat[attribute["name"]] = attribute["value"]
        for side in ("inputs", "outputs"):
            data = node.get(side)
            if isinstance(data, dict):
                for key, value in data.items():
                    flat[side if key == "values" else "%s_%s" % (side[:-1], key)] = value
            elif data is not None:
                flat[side] = data
        if "ctrl_deps" in node:
            flat["parent"] = node["ctrl_deps"]
        nodes.append(flat)
    return trace, nodes


def rows(path, sql):
    # Of one name and several types there are several columns: the second is NAME_2.
    return json.loads(run("query", "--json", "--no-cache", path, sql).stdout)["results"][0]["rows"]


def check_file(path, damaged=0):
    trace, nodes = reference(path)
    done = run("query", "--json", "--no-cache", path, "SELECT * FROM events WHERE kind = 'range'", code=None)
    found = json.loads(done.stdout)["results"][0]["rows"]
    check(len(found) == len(nodes), "%s: %d rows, %d nodes" % (path, len(found), len(nodes)))
    by_id = {}
    for row in found:
        by_id.setdefault(row["et_id"], []).append(row)
    for node in nodes:
        row = by_id[node["id"]].pop(0)
        check(row["name"] == node["name"] and row["certainty"] == "untimed" and row["duration"] is None, str(node))
        for key, value in node.items():
            if key == "name":
                continue
            got = [row[name] for name in ("et_" + key, "et_%s_2" % key, "et_%s_3" % key) if row.get(name) is not None]
            if isinstance(value, (list, dict)):
                got = [json.loads(text) for text in got]
            check(got == ([] if value in ("", None) else [value]), "%s: %s: %r, read as %r" % (path, key, value, got))
    info = json.loads(run("info", "--json", path, code=None).stdout)
    check(info["events"] == len(nodes) + (1 if damaged else 0), "events of info: %s" % info["events"])
    pids = {row["pid"] for row in rows(path, "SELECT pid FROM processes")}
    check(pids == {trace["pid"]}, "processes: %s" % pids)
    lost = rows(path, "SELECT coalesce(sum(lost), 0) AS n FROM loss")[0]["n"]
    check(lost == damaged, "%s: %s lost" % (path, lost))


def made(nodes, **more):
    path = os.path.join(FOLDER, "made%d.json" % made.count)
    made.count += 1
    with open(path, "w") as file:
        json.dump(dict({"schema": "1.0.1", "pid": 12}, nodes=nodes, **more), file)
    return path


made.count = 0


def check_made():
    check_file(os.path.join(SOURCE, "fuzz", "corpus", "import_et", "old"))
    check_file(os.path.join(SOURCE, "fuzz", "corpus", "import_et", "new"), damaged=1)
    # More than a window at first holds, with texts that look like structure.
    nodes = [{"name": "op } ] \" \\ %d \u00e4" % i, "id": i, "rf_id": i * 3, "tid": i % 3, "seq_id": -1, "big": 1 << 62,
              "small": -(1 << 62), "f": 0.1 * i, "inputs": [[i, "a,b]"], {"x": [1, 2]}], "flag": i % 2 == 0, "none": None}
             for i in range(20000)]
    check_file(made(nodes, finish_ts=3))
    path = made(nodes[:100])
    whole = open(path, "rb").read()
    for end in range(len(whole) - 400, len(whole), 9):
        cut = os.path.join(FOLDER, "cut.json")
        with open(cut, "wb") as file:
            file.write(whole[:end])
        done = run("query", "--json", "--no-cache", cut, "SELECT count(*) AS n FROM range", code=3)
        count = json.loads(done.stdout)["results"][0]["rows"][0]["n"]
        complete = whole[:end].count(b"\"none\": null}")
        check(count == complete, "cut at %d: %d nodes of %d" % (end, count, complete))
        check(b"at byte" in done.stderr and b"cut.json" in done.stderr, done.stderr.decode())


check_made()
for path in glob.glob(os.path.join(os.environ.get("TRACESMITH_CORPUS", "/nowhere"), "et", "*_et.json.gz")):
    check_file(path)
