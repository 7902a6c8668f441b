# SPDX-License-Identifier: Apache-2.0
"""Traces of other profilers: every command takes them as they are, and says the same of what import makes of them."""
import gzip
import json
import os
import tempfile

from support import EVERY, check, run

CORPUS = os.environ["TRACESMITH_CORPUS"]


def answer(path):
    (trace,) = json.loads(run("analyze", path, "--json").stdout)["traces"]
    return trace


def kernel_durations(path):
    """Of a Kineto trace, by its own categories; in ns, as it says them."""
    with gzip.open(path, "rt", errors="surrogateescape") as f:
        document = json.load(f, parse_float=str, parse_int=str, strict=False)
    if not isinstance(document, dict) or "traceEvents" not in document:
        return None
    total = {}
    for event in document["traceEvents"]:
        if event.get("ph") == "X" and event.get("cat", "").lower() == "kernel" and "dur" in event:
            whole, _, part = event["dur"].partition(".")
            duration = int(whole) * 1000 + int((part + "000")[:3])
            name = event["name"]
            count, time = total.get(name, (0, 0))
            total[name] = (count + 1, time + duration)
    return total


def check_file(path, directory):
    name = os.path.basename(path)
    sbt = os.path.join(directory, "t.sbt")
    summary = json.loads(run("info", "--json", path).stdout)
    check(summary["events"] > 0 and summary["format"] != "sbt", name + ": info")
    run("import", path, "-o", sbt)
    check(json.loads(run("info", "--json", sbt).stdout)["events"] == summary["events"], name + ": import")
    ours, imported = answer(path), answer(sbt)
    check(ours["reports"] == imported["reports"], name + ": analyze says the same of the .sbt")
    text = run("analyze", path).stdout.decode()
    advice = next(r for r in ours["reports"] if r["report"] == "advice")["tables"]["advice"]
    for row in advice[:3]:
        check("%d. %s:" % (row["rank"], row["problem"]) in text, name + ": what to fix first")
    for width in (80, 160):
        done = run("view", path, "--timeline", env={"COLUMNS": str(width), "LC_ALL": "C.UTF-8"}, code=None)
        check(done.returncode in (0, 1), name + ": timeline")
        lines = done.stdout.decode().splitlines()[1:]
        check(all(len(line) <= width for line in lines), name + ": the timeline fits: %r" % max(lines, key=len))
    check(json.loads(run("export", path, "-f", "chrome").stdout)["traceEvents"], name + ": export")
    kernels = kernel_durations(path) if path.endswith(".json.gz") else None
    if kernels and summary["format"] == "chrome-json":
        table = next(r for r in ours["reports"] if r["report"] == "kernels")["tables"]["kernels"]
        got = {r["kernel"]: (r["count"], r["total_ns"]) for r in table}
        # What a trace calls a kernel may be a collective or a copy for us: what we call one must agree.
        for kernel, total in got.items():
            check(kernels.get(kernel) == total, "%s: %s: %s and not %s" % (name, kernel, total, kernels.get(kernel)))
        check(sum(t[0] for t in got.values()) > 0.9 * sum(t[0] for t in kernels.values()), name + ": and are there")
    return bool(kernels)


def main():
    names = [n for n in sorted(os.listdir(CORPUS)) if n.endswith((".json.gz", ".sqlite"))]
    # Sanitized, the large files take minutes, in the code that the small ones run.
    if EVERY > 1:
        names = sorted(names, key=lambda name: os.path.getsize(os.path.join(CORPUS, name)))[:len(names) // 2]
    check(names, "the corpus has traces")
    with tempfile.TemporaryDirectory() as directory:
        compared = sum(check_file(os.path.join(CORPUS, name), directory) for name in names)
    check(compared > 3, "kernels were compared")


main()
