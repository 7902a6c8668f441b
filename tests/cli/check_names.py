# SPDX-License-Identifier: Apache-2.0
"""Names are anything: terminals stay safe, JSON and CSV stay valid, and nothing is lost without a sign of it."""
import csv
import io
import json
import os
import pty
import re
import subprocess
import tempfile
import unicodedata

from support import TRACESMITH, Trace, check, run

NAMES = [
    bytes([b]) + b"x" for b in range(1, 256)
] + [
    b"\x1b[31mred\x1b[0m", b"\x1b]0;title\x07", b"a\r\nb", b"\xff\xfe", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf",
    "rtl \u202e evil".encode(), "wide \u4f60\u597d".encode(), "\U0001f600".encode(), b'"quoted", \\ and, comma',
    b"nul\0inside", b"x" * 1_000_000, "\u0085\u2028".encode(),
]


def expected(name):
    """Every byte that is no part of a well-formed character becomes U+FFFD of its own."""
    out, i = "", 0
    while i < len(name):
        for size in (1, 2, 3, 4):
            try:
                out += name[i:i + size].decode()
                i += size
                break
            except UnicodeDecodeError:
                continue
        else:
            out += "\ufffd"
            i += 1
    return out


def on_terminal(*arguments):
    """What a terminal gets; None where there is none to be had (a bare root)."""
    try:
        ours, theirs = pty.openpty()
    except OSError as why:
        print("no terminal, not checked:", why)
        return None
    with subprocess.Popen([TRACESMITH, *arguments], stdout=theirs, stdin=subprocess.DEVNULL) as child:
        os.close(theirs)
        out = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            out += part
    os.close(ours)
    check(child.returncode == 0 and len(out) > 1000, "an answer on a terminal")
    return out


def main():
    csv.field_size_limit(10**7)
    trace = Trace()
    track = trace.track("thread", b"track \x1b[2J\n\xff")
    for i, name in enumerate(NAMES):
        trace.event(track, "range", 100 + i, duration=1, name=name, text=name)
    with tempfile.TemporaryDirectory() as directory:
        path = trace.write(os.path.join(directory, "t.sbt"))
        answer = json.loads(run("view", path, "-f", "json").stdout.decode("utf-8", "strict"))
        for event, name in zip(answer["events"], NAMES):
            check(event["name"] == expected(name), "JSON name %r is %r" % (name[:40], event["name"][:40]))
        text = run("view", path, "-f", "csv", "--exact").stdout.decode("utf-8", "strict")
        for row, name in zip(csv.DictReader(io.StringIO(text, newline="")), NAMES):
            check(row["name"] == expected(name).replace("\0", "\ufffd"), "CSV name %r" % name[:40])
            check(row["track_name"] == "track \x1b[2J\n\ufffd", "CSV track name %r" % row["track_name"])
        check(b"\x1b" not in (on_terminal("view", path, "-f", "csv", "-n", "300") or b""), "a terminal gets no escapes from CSV")
        for options in ([], ["--stats"], ["--timeline"]):
            shown = run("view", path, *options, env={"LC_ALL": "C.UTF-8"}).stdout
            lines = shown.decode("utf-8", "strict")
            for character in lines:
                check(character == "\n" or (ord(character) >= 0x20 and not 0x7f <= ord(character) <= 0x9f),
                      "%s shows U+%04X" % (options, ord(character)))
            check("\u202e" not in lines, "text that reorders is escaped")
            check(len(shown) < 200_000, "long names are cut")
        check(run("info", path).stdout.find(b"\x1b") < 0, "info is safe")
        json.loads(run("info", "--json", path).stdout.decode("utf-8", "strict"))
        check(len(run("view", path).stdout.splitlines()) == len(NAMES) + 1, "one line per event")


def columns_of(text):
    """How many columns a terminal gives it: two to wide characters."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def check_columns():
    """Tables line up whatever writing system the names are in, at 80 columns."""
    names = ["\u4f60\u597d\u4e16\u754c\u7684\u5185\u6838" * 4, "short", "a" * 60, "\u00fcn\u00efc\u00f6d\u00e9", "\u30ab\u30fc\u30cd\u30eb<half, 4>",
             "\U0001f600" * 20, "e\u0301" * 30, "\ud55c\uad6d\uc5b4 x"]
    trace = Trace()
    trace.device("\u88c5\u7f6e")
    tracks = [trace.track("queue", "\u961f\u5217", 0, 1), trace.track("thread", "\u7ebf\u7a0b\u4e8c")]
    for i, name in enumerate(names * 3):
        trace.event(tracks[0], "kernel", 1000 * i, duration=100 + i, name=name)
        trace.event(tracks[1], "range", 1000 * i, duration=50 + i, name=name)
    with tempfile.TemporaryDirectory() as directory:
        path = trace.write(os.path.join(directory, "wide.sbt"))
        environment = {"COLUMNS": "80", "LC_ALL": "C.UTF-8"}

        def lines(*arguments):
            return run(*arguments, env=environment).stdout.decode().splitlines()

        head, *rows = lines("view", path)
        for row in rows:
            # What stands before the kind takes as many columns as before its title.
            kind = " kernel " if " kernel " in row else " range "
            check(columns_of(row[:row.index(kind)]) == columns_of(head[:head.index(" KIND")]), "%r under %r" % (row, head))
        stats, tables = lines("view", "--stats", path), 0
        for head, *rows in (table.splitlines() for table in "\n".join(stats).split("\n\n")):
            if head.startswith(("KERNELS", "RANGES")):
                tables += len(rows) == len(names)
                check({columns_of(row) for row in rows} == {len(head)} and len(head) <= 80, "%r %r" % (head, rows))
        check(tables == 2, stats)
        head, dashes, *rows = lines("query", path, "SELECT name, start FROM kernel")
        for row in rows:
            check(columns_of(row) == len(dashes) == columns_of(head), "%r under %r" % (row, head))
        for row in lines("view", "--timeline", path):
            check(columns_of(row) <= 80, "too wide: %r" % row)


def check_tables():
    """What analyze, diff and simulate say fits 80 columns, figures of many columns too."""
    trace = Trace()
    devices = ["A device with a long name (2 of 4)", "another one"]
    for pid in (101, 102):
        trace.process(pid, "a program with a name")
    for name in devices:
        trace.device(name)
    correlation = 0
    for i in (0, 1):
        queue, thread = trace.track("queue", "a queue of its own", 1 + i, 1 + i), trace.track("thread", "main", 1 + i)
        for k in range(60):
            correlation, at = correlation + 1, 1000000 * k + 7 * i
            trace.event(thread, "range", at, duration=900000, name="a_step_with_a_name_that_is_long_%d" % (k % 3))
            trace.event(thread, "api", at + 10, duration=2000 + k, name="cuLaunchKernel", correlation=correlation)
            trace.event(queue, "kernel", at + 9000, duration=500000 + k, name="k" * 80 + "%d" % (k % 4), correlation=correlation,
                        queued=at + 1000, submitted=at + 2000, global_x=1 << 20, global_y=64, local_x=256, local_y=1)
            trace.event(queue, "memcpy", at + 600000, duration=100000, operation="read", direction="d2h", bytes=1 << 20)
            trace.event(thread, "sync", at + 20000, duration=700000, operation="finish", queue_track=queue)
            trace.event(thread, "alloc", at + 5, bytes=123456789, live_bytes=123456789 * (k + 1), operation="buffer", object=k + 1)
    with tempfile.TemporaryDirectory() as directory:
        path = trace.write(os.path.join(directory, "t.sbt"))
        other = trace.write(os.path.join(directory, "u.sbt"))
        environment = {"COLUMNS": "80", "LC_ALL": "C.UTF-8"}
        for arguments in (("analyze", "t.sbt"), ("analyze", "--all", "t.sbt"), ("diff", "t.sbt", other), ("diff", "t.sbt", "--", other),
                          ("simulate", "--scale", "kernel=*:0.5", "t.sbt")):
            text = run(*arguments, env=environment, cwd=directory, code=None).stdout.decode()
            check(len(text.splitlines()) > 10, "%s: %s" % (arguments, text))
            for line in text.splitlines():
                check(columns_of(line) <= 80, "%s: %r" % (arguments, line))
        # Figures stand under their names, also those on the lines after the first.
        lines = run("analyze", "--only", "memory", "t.sbt", env=environment, cwd=directory).stdout.decode().splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("  process  "))
        head, rows = [line for line in lines[at:at + 2]], [line for line in lines[at + 2:at + 4]]
        check("live_at_end" in " ".join(head) and head[1].startswith(8 * " "), head)
        for names, figures in zip(head, rows):
            ends = [found.end() for found in re.finditer(r"\S+", names)]
            check(all(len(figures) >= end and figures[end - 1] != " " for end in ends), "%r under %r" % (figures, names))


def check_counts():
    """info shows all digits of what an import counted, and what it is; the same key means something else in a Perfetto trace."""
    counts = (("import.odd_time", "3"), ("import.field_17", "123456789012345678"), ("import.text", "no number"), ("import.no_stack", "2"),
              ("import.packets_of_field_40", "5"))
    stacks = {"chrome-json": "events whose call stack could not be made",
              "perfetto": "numbers of call stacks, or of their parts, that the file does not have"}
    for form, stack in stacks.items():
        trace = Trace()
        for key, value in (("import.format", form), *counts):
            trace.attribute(key, value)
        with tempfile.TemporaryDirectory() as directory:
            lines = run("info", trace.write(os.path.join(directory, "t.sbt"))).stdout.decode().splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("import "))
        shown = [" ".join(line.split()) for line in lines[at:at + 5]]
        check(shown[:4] == ["import 3 points in time beyond the trace clock or finer than it, kept as text", "123456789012345678 field 17",
                            "2 " + stack, "5 power rails, which are not read"], "\n".join(lines))
        check(not shown[4][:1].isdigit(), shown[4])


main()
check_columns()
check_tables()
check_counts()
