# SPDX-License-Identifier: Apache-2.0
"""CSV and JSON: exact in files, without control characters on a terminal; no text is a formula to a spreadsheet unless
--exact is given, and every text comes back."""
import csv
import io
import json
import os
import pty
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "cli"))
from support import TRACESMITH, Trace, check, run  # noqa: E402

NAMES = ["=1+1", "+1-2", "-x", "@SUM(A1)", "\tb", "'=quoted", "plain", "-12.5", "+3e4", 'a "b", c', '="x",y', "=a\nb",
         "esc\x1b[31mred", "\u202etxt", "csi\u009b31m", "zero\u200bwidth", "\U000e0041tag"]
BAD = "\x1b\x7f\u009b\u202e\u200b\U000e0041"


def on_terminal(*args):
    """What the command writes to a terminal."""
    main, other = pty.openpty()
    pid = os.fork()
    if pid == 0:
        os.dup2(other, 1)
        os.execv(TRACESMITH, [TRACESMITH, *args])
    os.close(other)
    read = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        read += piece
    os.close(main)
    check(os.waitpid(pid, 0)[1] == 0, "the command on a terminal ends well: %s" % (args,))
    return read.decode()


def cells(text, column):
    rows = [row for row in csv.reader(io.StringIO(text.decode(), newline=""))]
    return [row[rows[0].index(column)] for row in rows[1:]]


def main():
    trace = Trace()
    trace.process(1, "program")
    trace.device("device")
    queue = trace.track("queue", "queue", 1, 1)
    for i, name in enumerate(NAMES):
        trace.event(queue, "kernel", 100 * i, duration=50, name=name)
    with tempfile.TemporaryDirectory() as folder:
        path = trace.write(os.path.join(folder, "trace.sbt"))
        answers = {"query": (("query", path, "SELECT name FROM kernel ORDER BY start"), "--csv", "name"),
                   "analyze": (("analyze", path, "--only", "kernels"), "--csv", "kernel"),
                   "view": (("view", path), "--format=csv", "name")}
        for what, (command, form, column) in answers.items():
            exact = cells(run(*command, form, "--exact").stdout, column)
            check(sorted(exact) == sorted(NAMES), "%s --exact: %s" % (what, exact))
            safe = cells(run(*command, form).stdout, column)
            formulas = [cell for cell in safe if cell[:1] in ("=", "+", "-", "@", "\t", "\r") and cell not in ("-12.5", "+3e4")]
            check(not formulas, "%s: no formulas, but %s" % (what, formulas))
            check(sorted(cell[1:] if cell[:1] == "'" else cell for cell in safe) == sorted(NAMES),
                  "%s: every text comes back: %s" % (what, safe))
            for form in (form, "--json" if what != "view" else "--format=json"):
                shown = on_terminal(*command, form)
                check(not [c for c in shown if c in BAD], "%s %s on a terminal: %r" % (what, form, shown))
            if what == "query":
                rows = json.loads(shown)["results"][0]["rows"]
                check([row["name"] for row in rows] == NAMES, "JSON on a terminal is the same JSON: %s" % rows)
        shown = on_terminal("analyze", path, "--only", "kernels")
        check(not [c for c in shown.replace("\x1b[1m", "").replace("\x1b[0m", "") if c in BAD], "analyze: %r" % shown)
        piped = run("analyze", path, "--only", "kernels").stdout.decode()
        check(not [c for c in piped if c in BAD], "tables in text: %r" % piped)


main()
