# SPDX-License-Identifier: Apache-2.0
"""The panels Ranks and Diff: what they draw is what the commands print as JSON, of simulated ranks of which is known who is late,
and of made traces whose kernels are aligned by hand.  usage: check_compare.py FOLDER (empty; SCREENSHOTS: a folder for pictures)"""
import json
import os
import subprocess
import sys

from browser import opened

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "analyze"))
from check_ranks import RANKS, REDUCE, STEPS, Run  # noqa: E402

PANEL = ".panel:not([hidden]) "
CELLS = """(rank) => [...document.querySelectorAll('.heat tbody tr')].find((row) => row.querySelector('th').textContent === String(rank))
    .querySelectorAll('td').length"""
SHADES = """(column) => [...document.querySelectorAll('.heat tbody tr')].map((row) => [row.querySelector('th').textContent,
    Number(/([0-9.]+)\\)$/.exec(row.querySelectorAll('td')[column].style.backgroundColor.replace(/^rgb\\(.*/, 'rgba(0,0,0,1)') || '0)')?.[1] ?? 0)])"""


def answer(*words):
    return json.loads(subprocess.run([os.environ["TRACESMITH"], words[0], "--json", *words[1:]], check=True, stdout=subprocess.PIPE).stdout)


def picture(page, name):
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        page.see("() => document.querySelector('.splitter').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowUp' }))")
        page.page.screenshot(path=os.path.join(folder, name + ".png"))


def check_ranks(folder):
    late = 5
    paths = sorted(Run(1, {late: 9000}, (3, 2, 150000)).write(folder))
    tables = answer("analyze", "--ranks", *paths)["tables"]
    with opened(*paths, size=(1400, 1300)) as page:
        page.see("() => new Promise((done) => { const look = () => studio.traces.every((one) => one.state === 'ready') ? done() : requestAnimationFrame(look); look(); })")
        page.show("ranks")
        collectives = {(row["collective"], row["group"]) for row in tables["lateness"]}
        assert page.see(CELLS, late) == len(collectives)
        columns = page.see("() => [...document.querySelectorAll('.heat th.tall, .heat th.level')].map((one) => one.title)")
        shades = dict(page.see(SHADES, columns.index(REDUCE + " (0)")))
        mean = {row["rank"]: row["late_mean_ns"] for row in tables["lateness"] if row["collective"] == REDUCE}
        most = max(row["late_mean_ns"] for row in tables["lateness"])
        assert all(abs(shades[str(rank)] - 0.8 * time / most) < 0.005 for rank, time in mean.items()), (shades, mean)
        names = page.see("() => [...document.querySelectorAll('.stragglers .name')].map((one) => one.textContent)")
        delays = {row["rank"]: row["delay_ns"] for row in tables["ranks"] if row["delay_ns"]}
        assert names == ["rank %d" % rank for rank in sorted(delays, key=delays.get, reverse=True)], (names, delays)
        worst = tables["occurrences"][0]
        group = [row for row in tables["occurrences"] if (row["collective"], row["group"], row["number"]) == (worst["collective"], worst["group"], worst["number"])]
        assert page.see("() => document.querySelectorAll('.occurrences rect').length") == len(group)
        picture(page, "ranks")
        row = group[-1]
        page.see("(label) => [...document.querySelectorAll('.occurrences button')].find((one) => one.textContent === label).click()", "Show on rank %d" % row["rank"])
        page.see("(end) => new Promise((done) => { const look = () => studio.overview && studio.overview.path.endsWith(end) ? done() : requestAnimationFrame(look); look(); })",
                 "rank%d.json.gz" % row["rank"])
        page.settle()
        view = page.see("() => studio.view")
        assert view["from"] <= row["at_ns"] and view["to"] >= row["at_ns"] + row["length_ns"], (view, row)
        check_sides(page, paths)
    return len(collectives)


def check_sides(page, paths):
    """Two runs of each side have intervals; steps are aligned by their names."""
    page.show("diff")
    set_side = "([at, side]) => { const one = document.querySelectorAll('.sides select')[at]; one.value = side; one.dispatchEvent(new Event('change')); }"
    for at, side in enumerate(["before", "before", "after", "after"]):
        page.see(set_side, [at, side])
    text = page.show("diff")
    report = answer("diff", *paths[:2], "--", *paths[2:4])["diff"]
    assert report["finding"] in text, (report["finding"], text[:500])
    changes = [row for row in report["tables"]["kernels"] if row["change_ns"]][:16] + [row for row in report["tables"]["times"] if row["change_ns"]][:16]
    assert page.see("() => document.querySelectorAll('.ribbon .interval').length") == sum(row["low_ns"] is not None for row in changes) > 0
    assert "aligned by the profiler's steps: %d pairs" % STEPS in text, text[:900]
    picture(page, "diff")


def made(folder, name, kernels, ranges=()):
    events = [{"ph": "X", "cat": "kernel", "name": one, "pid": 0, "tid": 7, "ts": 100 * at, "dur": length, "args": {"stream": 7, "device": 0}}
              for at, (one, length) in enumerate(kernels)]
    events += [{"ph": "X", "cat": "user_annotation", "name": one, "pid": 1, "tid": 1, "ts": at, "dur": length} for one, at, length in ranges]
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file)
    return path


def check_aligned(folder):
    before = made(folder, "before.json", [("load", 10), ("gemm", 50), ("norm", 5), ("gemm", 50), ("store", 10)])
    after = made(folder, "after.json", [("load", 10), ("gemm", 80), ("gemm", 50), ("softmax", 9), ("store", 4)])
    with opened(before, after) as page:
        text = page.show("diff")
        assert "longest common sequence of kernels" in text and ": 4 pairs" in text and "1 before and 1 after have no partner" in text, text[:900]
        rows = page.see("() => [...document.querySelectorAll('.aligned tbody tr')].map((row) => [...row.children].slice(0, 4).map((one) => one.textContent))")
        assert rows[:2] == [["gemm", "50 us", "80 us", "30 us"], ["store", "10 us", "4 us", "-6 us"]], rows
        picture(page, "sequence")
    steps = [("load", 10), ("gemm", 50)]
    before = made(folder, "before.json", steps, [("epoch", 0, 100), ("epoch", 200, 100)])
    after = made(folder, "after.json", steps, [("epoch", 0, 150), ("epoch", 200, 100), ("other", 0, 1)])
    with opened(before, after) as page:
        text = page.show("diff")
        assert "aligned by ranges named epoch: 2 pairs" in text, text[:900]


if __name__ == "__main__":
    print("%d collectives on %d ranks" % (check_ranks(sys.argv[1]), RANKS))
    check_aligned(sys.argv[1])
