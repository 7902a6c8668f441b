# SPDX-License-Identifier: Apache-2.0
"""docs/query.md: its tables are those of the command, and its questions have answers. With --write, writes the tables."""
import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "cli"))
from support import KIND, Trace, check, run  # noqa: E402

DOCS = os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "docs", "query.md")
BEGIN = "## Tables\n"


def make(path):
    """A trace in which every question of the documentation has an answer. Two processes count their correlations from 1,
    and each launch is two calls of one correlation, as it is of CUDA."""
    trace = Trace()
    trace.device("device")
    trace.lines += ["module /bin/program % 1 0", "frame 1 0 4096", "stack 0 1", "symbol 1 main % 0"]
    for process in (1, 2):
        trace.process(process, "program")
        thread = trace.track("thread", "main", process)
        queue = trace.track("queue", "queue 1", process, 1)
        if process == 1:
            trace.event(thread, "range", 1000, duration=900, name="step")
        for i in range(1, 4):
            at = 1000 + 200 * i + 10 * process
            trace.event(thread, "api", at, duration=50, name="launch", correlation=i, stack=1)
            trace.event(thread, "api", at + 5, duration=40, name="driver's launch", correlation=i, stack=1)
            trace.event(queue, "kernel", at + 100, duration=40, name="blur", correlation=i, host_track=thread)
    trace.event(queue, "memcpy", 2500, duration=100, name="copy", bytes=4096, direction="h2d")
    for at in (2599, 2600, 2605, 2610, 2611):
        trace.event(thread, "marker", at, name="mark")
    trace.event(thread, "loss", 2600, duration=10, lost=7, reason="ring_full")
    trace.write(path)


def tables(path):
    """The generated part."""
    listed = json.loads(run("query", path, ".tables", "--json").stdout)["results"][0]["rows"]
    columns = json.loads(run("query", path, ".schema", "--json").stdout)["results"][0]["rows"]
    text = [BEGIN, "Written by `tests/query/check_docs.py --write`; a test compares.\n"]
    for table in listed:
        name = table["table"]
        own = [column for column in columns if column["table"] == name]
        text.append("### %s\n\n%s%s.\n" % (name, table["what it has"][0].upper(), table["what it has"][1:]))
        if name in KIND:
            shown = ["`%s`" % column["column"] for column in own if not column["in *"]]
            text.append("Columns: %s; hidden: all others of `events`.\n" % ", ".join(shown))
            continue
        text.append("| column | type | unit | |\n|---|---|---|---|")
        for column in own:
            what = column["what it is"] + (" (hidden)" if column["in *"] else "")
            text.append("| `%s` | %s | %s | %s |" % (column["column"], column["type"], column["unit"], what))
        text.append("")
    return "\n".join(text).rstrip("\n") + "\n"


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.sbt")
        make(path)
        with open(DOCS, encoding="utf-8") as file:
            written = file.read().split(BEGIN)[0]
        generated = written + tables(path)
        if sys.argv[1:] == ["--write"]:
            with open(DOCS, "w", encoding="utf-8") as file:
                file.write(generated)
        with open(DOCS, encoding="utf-8") as file:
            check(file.read() == generated, "docs/query.md has the tables there are (check_docs.py --write)")
        questions = re.findall(r"```sql\n(.*?)```", written, re.S)
        check(len(questions) == 12, "twelve questions")
        known = {"launch latency": ("start - enqueued", [{"call": "launch", "kernel": "blur", "delay": 100}] * 6),
                 "ranges": ("range r", [{"name": "step", "kernels": 3, "device_time": 120}]),
                 "coverage": ("recorded + lost", [{"start": 2600, "end": 2610, "reason": "ring_full", "lost": 7, "recorded": 3,
                                                   "percent": 30.0}]),
                 "paths": ("JOIN stacks", [{"path": "main", "kernels": 6, "device_time": 240}])}
        for name, (words, rows) in known.items():
            (question,) = [question for question in questions if words in question]
            got = json.loads(run("query", path, question, "--json").stdout)["results"][0]["rows"]
            check(got == rows, "%s: %s" % (name, got))
        for question in questions:
            answer = json.loads(run("query", path, question, "--json").stdout)["results"][0]
            check(answer["rows"], "an answer to: " + question)
            check(all(any(row[column] is not None for row in answer["rows"]) for column in answer["columns"]),
                  "a value in every column of: " + question)


main()
