# SPDX-License-Identifier: Apache-2.0
"""check_page.py PAGE TRACE: a page of `tracesmith report`, read by a parser that knows nothing of it, against what SQL says of
the trace. The page is well-formed, loads nothing, runs only the script that its policy names, and shows names as text."""
import json
import os
import re
import subprocess
import sys

from page import WIDE, Page, expect


def sql(trace, question):
    done = subprocess.run([os.environ["TRACESMITH"], "query", "--json", trace, question], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True)
    rows = json.loads(done.stdout)["results"][0]["rows"]
    return [row if isinstance(row, list) else list(row.values()) for row in rows]


def nanoseconds(text):
    number, unit = text.split()
    return float(number) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]


def check_kernels(page, trace):
    rows = sql(trace, "SELECT name, count(*), sum(duration) FROM kernel WHERE duration > 0 GROUP BY name")
    table = page.tables.get("kernels")
    expect((table is None) == (not rows), f"kernels: {len(rows)} in SQL")
    if not rows:
        return
    wanted = {re.sub("[\x00-\x1f\x7f]", "\ufffd", name): (count, total) for name, count, total in rows}
    head = table[0]
    for row in table[1:]:
        cells = dict(zip(head, row))
        name = cells["kernel"]
        known = [key for key in wanted if key == name or (name.endswith("…") and key.startswith(name[:-1]))]
        expect(known, f"{name!r} is no kernel")
        fits = [key for key in known if str(wanted[key][0]) == cells["count"] and
                abs(nanoseconds(cells["total"]) - wanted[key][1]) <= 0.006 * wanted[key][1] + 1]
        expect(fits, f"{cells}: SQL has {[wanted[key] for key in known]}")


# What is drawn of a queue covers as much of the picture as the queue was busy; SQL adds up where nothing overlaps.
def check_pictures(page, trace):
    (whole,) = sql(trace, "SELECT max(coalesce(end, start)) - min(start) FROM events")
    busy = sorted(total for (total,) in sql(
        trace, "SELECT sum(duration) FROM states WHERE scope = 'queue' AND state = 'running' GROUP BY track"))
    rows = [picture for picture in page.pictures if picture["busy"] is not None]
    drawn = sorted(int(picture["busy"]) for picture in rows if int(picture["busy"]))
    if len(rows) < 64:
        expect(drawn == busy, f"the queues are busy {drawn}, SQL has {busy}")
    for picture in rows:
        share = int(picture["busy"]) / (whole[0] or 1)
        slack = 0.01 + 0.02 * share  # what is shorter than a pixel is drawn as one
        expect(picture["area"] >= share - slack, f"{picture['area']} of the picture is drawn, {share} busy")


# The boxes of the flame graph at the top are as wide as the functions that no other function of the table calls; a
# table of 30 rows may lack some.
def check_flame(page):
    rows = page.tables.get("paths")
    expect(bool(rows) == bool(page.boxes), f"{len(rows or [])} rows of call paths, {len(page.boxes)} boxes")
    if not rows:
        return
    top = [dict(zip(rows[0], row)) for row in rows[1:]]
    wanted = sum(float(row["share"].rstrip("%")) for row in top if row["depth"] == "0")
    drawn = sum(wide for y, _, wide in page.boxes if y == 0)
    expect(len(top) >= 30 or abs(drawn - wanted) < 1 + 0.2 * len(top), f"the boxes at the top cover {drawn}%, the table has {wanted}%")
    for y, x, wide in page.boxes:
        expect(0 <= x and x + wide <= 100.1, f"a box from {x}% to {x + wide}%")
        under = [1 for above, left, length in page.boxes if above == y - 20 and left - 0.01 <= x and x + wide <= left + length + 0.01]
        expect(y == 0 or under, f"a box at {x}%, {wide}% wide, lies under none")


def check_loss(page, trace):
    lost = sql(trace, "SELECT reason, sum(lost) FROM loss WHERE reason IS NOT NULL GROUP BY reason")
    text = "".join(page.text)
    for reason, count in lost:
        if count:
            expect(f"{count} × {reason}" in text, f"{count} {reason} are not said")
    if not lost:
        expect("Nothing is known to be missing." in text, "no word of what is missing")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    page = Page(text)
    page.check_policy()
    check_kernels(page, sys.argv[2])
    check_pictures(page, sys.argv[2])
    check_loss(page, sys.argv[2])
    check_flame(page)
    print(f"{os.path.basename(sys.argv[2])}: {len(text)} bytes, {len(page.tables)} tables, {len(page.pictures)} pictures")


main()
