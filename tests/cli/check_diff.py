# SPDX-License-Identifier: Apache-2.0
"""diff: two sides of Kineto traces made here, their kernels compared by brute force; gates, JUnit and exit codes."""
import collections
import csv
import io
import json
import os
import random
import tempfile
import xml.etree.ElementTree

from support import check, run


def write(path, rng, names):
    kernels, events = collections.Counter(), []
    for i in range(60):
        name, duration = rng.choice(names), rng.randrange(5, 50)
        events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 3, "ts": i * 60, "dur": duration,
                       "args": {"stream": 3, "device": 0}})
        kernels[name] += duration * 1000
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"traceEvents": events}, f)
    return kernels


def answer(*arguments, code=0):
    return json.loads(run("diff", "--json", *arguments, code=code).stdout)


def main(directory):
    rng = random.Random(5)
    paths = [os.path.join(directory, "run%d.json" % i) for i in range(4)]
    runs = [write(path, rng, ["same", "gone<1>", "b"] if i < 2 else ["same", "new, one", "b"])
            for i, path in enumerate(paths)]
    rows = {row["kernel"]: row for row in answer(paths[0], paths[2])["diff"]["tables"]["kernels"]}
    check(set(rows) == set(runs[0]) | set(runs[2]), "every kernel of both")
    for name, row in rows.items():
        check((row["base_ns"], row["new_ns"]) == (runs[0][name], runs[2][name]), name)
        check(row["change_ns"] == runs[2][name] - runs[0][name] and row["low_ns"] is None, name + ": change")
    check(rows["gone<1>"]["verdict"] == "gone" and rows["new, one"]["verdict"] == "new", "gone and new")
    # One run on each side: no difference counts as more than noise, and one note says why.
    single = answer(paths[0], paths[2])["diff"]
    verdicts = {(row["verdict"], row["base_ns"] == row["new_ns"]) for row in single["tables"]["times"]}
    check(verdicts <= {("unsure", False), ("same", True), ("new", False), ("gone", False)}, "verdicts of times: %s" % verdicts)
    check({row["verdict"] for row in single["tables"]["counts"]} <= {"same", "unsure"}, "verdicts of counts")
    check(sum("may be noise" in note for note in single["notes"]) == 1, "the note: %s" % single["notes"])
    check("within the noise" not in single["finding"], single["finding"])
    several = answer(paths[0], paths[1], "--", paths[2], paths[3])
    for row in several["diff"]["tables"]["kernels"]:
        mean = (runs[0][row["kernel"]] + runs[1][row["kernel"]]) / 2
        check(abs(row["base_ns"] - mean) <= 0.5, "means of several runs")
        check(row["low_ns"] <= row["change_ns"] <= row["high_ns"], "the interval is around the change")
    listed = answer("--base", ",".join(paths[:2]), paths[2], paths[3])
    check(listed == several, "--base says the same")

    change = sum(runs[2].values()) / sum(runs[0].values()) - 1
    held, broken = "kernel_time<%+f%%" % (100 * change + 1), "kernel_time<%+f%%" % (100 * change - 1)
    junit = os.path.join(directory, "gates.xml")
    gates = answer(paths[0], paths[2], "--gate", held, "--gate", "kernel:gone<1><=0ns", "--junit", junit)["gates"]
    check([gate["passed"] for gate in gates] == [True, True], "gates that hold")
    check([gate["gate"] for gate in gates] == [held, "kernel:gone<1><=0ns"], "in their order")
    run("diff", paths[0], paths[2], "--gate", held, "--gate", broken, "--junit", junit, code=1)
    suite = xml.etree.ElementTree.parse(junit).getroot()
    check((suite.get("tests"), suite.get("failures")) == ("2", "1"), "JUnit counts")
    cases = {case.get("name"): case.find("failure") is not None for case in suite}
    check(cases == {held: False, broken: True}, "JUnit cases")

    rows = list(csv.reader(io.StringIO(run("diff", paths[0], paths[2], "--csv").stdout.decode(), newline="")))
    check(any(row[1:3] == ["kernels", "new, one"] for row in rows), "CSV has the kernels")
    text = run("diff", paths[0], paths[2]).stdout.decode()
    check("What changed" in text, "text")
    counts = [line.split() for line in text.splitlines() if line.startswith("  kernel_count")]
    check(counts and all("." not in word for word in counts[0][1:4]), "whole numbers are shown as such: %s" % counts)
    for arguments in ((), paths[:1], paths[:3], ("--base", "", paths[0]), ("--base", paths[0]),
                      (*paths[:2], "--gate", "nothing<1"), (*paths[:2], "--gate", "peak_memory<2GiB"),
                      (*paths[:2], "--gate", "kernel_time"),
                      (*paths[:2], "--json", "--csv"), (*paths[:2], "--confidence", "100"), (*paths[:2], "-n", "0")):
        check(run("diff", *arguments, code=2).stderr, "usage: %s" % (arguments,))
    run("diff", paths[0], os.path.join(directory, "none"), code=3)
    with open(paths[3], "r+", encoding="utf-8") as f:
        f.truncate(2000)
    check(b"ends early" in run("diff", paths[0], paths[3], code=3).stderr, "a cut trace is reported")


with tempfile.TemporaryDirectory() as made:
    main(made)
