# SPDX-License-Identifier: Apache-2.0
"""CPU samples of threads: what the server answers against a count by hand, the flame graph of them, of a part of the trace too, against
SQL; and, with a browser, the rows that the page draws and the panel that follows the range.
usage: check_samples.py FOLDER [browser]"""
import json
import os
import random
import sys
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
from made_samples import FUNCTIONS, make_samples  # noqa: E402
from server import Server  # noqa: E402

SPAN = 10**9


def check_columns(server, samples, low, high, columns, part):
    """`low` and `high` are since the beginning, which is that of the first sample."""
    answer = server.json("/api/0/samples?from=%d&to=%d&columns=%d" % (low, high, columns))
    assert (answer["from"], answer["to"], answer["columns"]) == (low, high, columns), answer
    tracks = {s["track"] + 1 for s in samples if low <= s["time"] - 10**12 < high}
    assert answer["part_columns"] == part and {one["track"] for one in answer["threads"]} == tracks, answer
    starts = [low + (high - low) * i // columns for i in range(columns + 1)]
    for thread in answer["threads"]:
        mine = [dict(s, time=s["time"] - 10**12) for s in samples if s["track"] + 1 == thread["track"]]
        mine = [s for s in mine if low <= s["time"] < high]
        assert thread["samples"] == len(mine)
        assert thread["cpu_ns"] == sum(min(s["period"], s["time"] - low) for s in mine)
        for i, (start, end) in enumerate(zip(starts, starts[1:])):
            assert thread["count"][i] == sum(start <= s["time"] < end for s in mine), (thread["track"], i)
            for kind in ("user", "kernel"):
                time = sum(max(0, min(s["time"], end) - max(s["time"] - s["period"], low, start)) for s in mine if s["category"] == kind)
                assert abs(thread[kind][i] - 1000 * min(time / (end - start), 1)) <= 0.5, (thread["track"], kind, i)
        assert len(thread["functions"]) == columns // part
        for i, name in enumerate(thread["functions"]):
            end = starts[-1] if i == columns // part - 1 else starts[(i + 1) * part]
            counts = Counter(FUNCTIONS[s["function"]] or "libx.so" for s in mine if starts[i * part] <= s["time"] < end)
            assert counts[name] == max(counts.values()) if counts else name is None, (i, name, counts)


def folded(text):
    """CPU time by the innermost function of the program; what is outside of all functions is the process and its threads."""
    sums = Counter()
    for line in text.splitlines():
        path, value = line.rsplit(" ", 1)
        sums[path.split(";main;")[1].split(";")[0]] += int(value)
    return sums


def in_functions(samples, low, high):
    sums = Counter()
    for s in samples:
        if low <= s["time"] - 10**12 < high:
            name = FUNCTIONS[s["function"]]
            sums[name or "libx.so[+%x]" % (4096 * 5)] += s["period"]
    return sums


def check_folded(server, samples):
    for low, high, query in ((0, 2 * SPAN, ""), (SPAN // 3, SPAN // 2, "&from=%d&to=%d" % (SPAN // 3, SPAN // 2))):
        status, _, content = server.ask("/api/0/folded?cpu=1" + query)
        assert status == 200 and folded(content.decode()) == in_functions(samples, low, high), (query, content[:300])
    for path in ("samples?from=x", "samples?columns=0", "samples?columns=5000", "samples?from=9&to=9", "folded?from=-1", "folded?cpu=1&to=1s"):
        status, _, content = server.ask("/api/0/" + path)
        assert status == 400 and "error" in json.loads(content), (path, status, content[:200])


# The colors of places of a row of samples: of the lowest pixel of the bars.
PIXELS = """([track, times]) => { const row = timeline.rows.find((one) => one.sampled?.id === track);
    const scale = timeline.upper.width / timeline.width, y = Math.floor((timeline.yOf(row) + row.height - 17) * scale);
    const line = timeline.upper.getContext("2d").getImageData(0, y, timeline.upper.width, 1).data;
    return times.map((time) => { const x = 4 * Math.floor((timeline.xOf(time) + 0.5) * scale); return [...line.slice(x, x + 4)]; }); }"""


def check_page(path, samples):
    from browser import opened
    with opened(path, size=(1400, 900)) as page:
        labels = page.see("() => timeline.rows.map((row) => row.label)")
        assert labels[-4:] == ["one", "CPU time", "two", "CPU time"], labels
        page.view(SPAN / 2, SPAN / 2 + SPAN / 50)
        mine = [s for s in samples if s["track"] == 0]
        columns = int(page.see("() => timeline.width")) // 3
        answer = page.see("(columns) => fetch(`/api/0/samples?from=%d&to=%d&columns=${columns}`).then((got) => got.json())" % (SPAN // 2, SPAN // 2 + SPAN // 50), columns)
        thread = next(one for one in answer["threads"] if one["track"] == 1)
        assert mine and len(thread["count"]) == columns
        places = range(3, columns - 3)
        pixels = page.see(PIXELS, [1, [answer["from"] + (answer["to"] - answer["from"]) * (i + 0.4) / columns for i in places]])
        for i, pixel in zip(places, pixels):
            drawn = pixel[3] > 128 and pixel[:3] in ([110, 140, 160], [213, 94, 0])
            nothing = not thread["count"][i] and not thread["user"][i] and not thread["kernel"][i]
            assert drawn != nothing, (i, pixel, thread["count"][i], thread["user"][i], thread["kernel"][i])
        text = page.show("flame")
        assert "libx.so" in text and "CPU samples" in text, text
        page.see("(range) => studio.selectRange(range)", {"from": SPAN // 3, "to": SPAN // 2})
        page.page.get_by_role("button", name="Only the range").click()
        total = sum(in_functions(samples, SPAN // 3, SPAN // 2).values())
        page.page.wait_for_function("(text) => document.querySelector('.panel:not([hidden]) .note').textContent.includes(text)",
                                    arg=", 100.0 % of " + duration(total))


def duration(ns):
    """As the page writes it."""
    value, unit = next((ns / size, name) for size, name in ((10**9, "s"), (10**6, "ms")) if ns >= size)
    return "%.*f %s" % (0 if value >= 100 or value == int(value) else 1 if value >= 10 else 2, value, unit)


def main(folder, with_browser):
    path, samples, _, _ = make_samples(random.Random(12), folder, 2001, SPAN)
    server = Server(path)
    try:
        server.enter().wait()
        assert server.json("/api/0/overview")["samples"] == len(samples)
        check_columns(server, samples, 0, SPAN, 64, 8)
        check_columns(server, samples, SPAN // 3, SPAN // 2, 133, 8)
        check_columns(server, samples, samples[9]["time"] - 10**12 - 4, samples[9]["time"] - 10**12 + 6, 9, 8)
        check_folded(server, samples)
    finally:
        server.stop()
    if with_browser:
        check_page(path, samples)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] == ["browser"])
