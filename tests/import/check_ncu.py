# SPDX-License-Identifier: Apache-2.0
"""CSV of Nsight Compute: tables that are made here from known numbers, as locales write them, and read with Python's csv module."""
import csv
import json
import os
import random
import sys
import tempfile

SOURCE = os.environ["TRACESMITH_SOURCE_DIR"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "cli"))
from support import check, run  # noqa: E402

FOLDER = tempfile.mkdtemp()
IDS = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC"]
# decimal separator, separator of groups
LOCALES = {"en": (".", ","), "de": (",", "."), "fr": (",", "\u202f"), "ru": (",", "\u00a0"), "ch": (".", "'"), "C": (".", "")}
KERNELS = ["void add<float, 4>(float *, int)", "mul", "ns::k<ns::f(int)>(int, \"x\")"]


def written(value, locale):
    decimal, group = LOCALES[locale]
    whole, _, rest = ("%r" % value).partition(".")
    sign, whole = ("-", whole[1:]) if whole[0] == "-" else ("", whole)
    groups = []
    while len(whole) > 3 and group:
        whole, tail = whole[:-3], whole[-3:]
        groups.insert(0, tail)
    return sign + group.join([whole, *groups]) + (decimal + rest if rest else "")


def write(name, lines, noise=True):
    path = os.path.join(FOLDER, name)
    with open(path, "w", newline="") as file:
        if noise:
            file.write("==PROF== Connected to process 4711 (/app)\n\"unbalanced and no table\nrows: 1,2,3\n")
        csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\r\n" if name.endswith("crlf.csv") else "\n").writerows(lines)
        if noise:
            file.write("==PROF== Disconnected from process 4711\n")
    return path


def rows(path, sql="SELECT * FROM events WHERE kind = 'kernel'", code=0):
    return json.loads(run("query", "--json", "--no-cache", path, sql, code=code).stdout)["results"][0]["rows"]


def launch(i):
    return [str(i), "4711", "app", "host", KERNELS[i % 3], "1", str(7 + i % 2), "(%d, 1, 1)" % (32 * (1 + i % 4)),
            "(%d, 2, 1)" % (i + 1), "0", "8.0"]


def check_launch(row, i, path):
    expected = launch(i)
    check((row["name"], row["ncu_id"], row["ncu_compute_capability"], row["certainty"], row["duration"]) ==
          (expected[4], i, "8.0", "untimed", None), "%s: launch %d is %s" % (path, i, row))
    check((row["local_x"], row["global_x"], row["global_y"]) == (32 * (1 + i % 4), 32 * (1 + i % 4) * (i + 1), 2), "sizes of %d" % i)


def check_raw(locale, rng):
    names = ["gpu__time_duration.sum", "sm__throughput.avg.pct", "dram__bytes.sum", "all,\"odd\" name"]
    units = ["nsecond", "%", "byte", ""]
    values = [[float(rng.randrange(1, 10 ** rng.randrange(1, 12))) if rng.random() < 0.5 else round(rng.uniform(-1e6, 1e6), rng.randrange(1, 8))
               for _ in names] for _ in range(300)]
    lines = [IDS + names, [""] * len(IDS) + units]
    for i, numbers in enumerate(values):
        texts = [written(int(v) if v == int(v) else v, locale) for v in numbers]
        if i % 10 == 3:
            texts[1] = "n/a"
        if i % 10 == 4:
            texts[2] = ""
        lines.append(launch(i) + texts)
    for name in ("raw_%s.csv" % locale, "raw_%s_crlf.csv" % locale):
        path = write(name, lines, noise=not name.endswith("crlf.csv"))
        found = rows(path)
        check(len(found) == len(values), "%s: %d launches" % (path, len(found)))
        for row in found:
            i = row["ncu_id"]
            check_launch(row, i, path)
            for column, name_ in enumerate(names):
                known = values[i][column]
                if (column == 1 and i % 10 == 3) or (column == 2 and i % 10 == 4):
                    known = "n/a" if column == 1 else None
                check(row[name_] == known, "%s: launch %d, %s: %r instead of %r (%s)" %
                      (path, i, name_, row[name_], known, lines[i + 2][len(IDS) + column]))
        check(rows(path, "SELECT count(*) AS n FROM loss") == [{"n": 0}], "%s: losses" % path)
        fields = {r["column"]: r["unit"] or "" for r in rows(path, ".schema kernel")}
        check([fields[n] for n in names] == units, "units: %s" % fields)


def check_details(rng):
    head = IDS + ["Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name", "Rule Type", "Rule Description"]
    lines, known = [head], []
    for i in range(200):
        unit = rng.choice(["us", "ns"])
        duration, share = round(rng.uniform(1, 5000), 2), round(rng.uniform(0, 100), 2)
        lines.append(launch(i) + ["Speed", "Duration", unit, written(duration, "de"), "", "", ""])
        lines.append(launch(i) + ["Memory", "Duration", "%", written(share, "de"), "", "", ""])
        lines.append(launch(i) + ["Speed", "", "", "", "Bottleneck", "OPT", "line one\nline, \"two\" %d" % (i % 7)])
        known.append((unit, duration, share))
    path = write("details_de.csv", lines)
    found = rows(path)
    check(len(found) == len(known), "%d launches of the page details" % len(found))
    for row in found:
        i = row["ncu_id"]
        check_launch(row, i, path)
        unit, duration, share = known[i]
        other = "ns" if unit == "us" else "us"
        check((row["Speed: Duration [%s]" % unit], row["Speed: Duration [%s]" % other], row["Memory: Duration [%]"],
               row["Speed: Bottleneck"]) == (duration, None, share, "line one\nline, \"two\" %d" % (i % 7)), "details of %d: %s" % (i, row))


def check_damage():
    lines = [IDS + ["m"], [""] * len(IDS) + ["ns"]] + [launch(i) + [str(i)] for i in range(5)]
    lines[4] = lines[4][:-3]
    path = write("short.csv", lines, noise=False)
    check(sorted(row["ncu_id"] for row in rows(path, code=None)) == [0, 1, 3, 4], "a short line is left out")
    check(rows(path, "SELECT lost FROM loss", code=None) == [{"lost": 1}], "and counted")
    # Only numbers with three digits behind their separator: nothing shows the locale, and the C locale is taken.
    path = write("plain.csv", [IDS + ["m"], [""] * len(IDS) + [""], launch(0) + ["2,848"]])
    check(rows(path)[0]["m"] == 2848, "2,848 is a number with a group")
    # What is no number of the locale is a text.
    path = write("mixed.csv", [IDS + ["m", "n", "o"], [""] * len(IDS) + ["", "", ""], launch(0) + ["1.5", "1,50,000", "36028797018963969"]])
    row = rows(path)[0]
    check((row["m"], row["n"], row["o"]) == (1.5, "1,50,000", "36028797018963969"), "what a double does not hold stays a text: %s" % row)


for locale in LOCALES:
    check_raw(locale, random.Random(locale))
check_details(random.Random(5))
check_damage()
