# SPDX-License-Identifier: Apache-2.0
"""view --timeline against brute force: every cell, every share, how many commands ran at once, and the idle time."""
import itertools
import os
import random
import re
import tempfile

from made_samples import FUNCTIONS, make_samples
from support import Trace, check, run

LETTER = {"kernel": "k", "api": "a", "sync": "w"}


def union(intervals):
    out = []
    for start, end in sorted(intervals):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        elif end > start:
            out.append([start, end])
    return out


def length(intervals, low, high):
    return sum(max(0, min(end, high) - max(start, low)) for start, end in intervals)


def depth_most(intervals, low, high):
    inside = [(s, e) for s, e in intervals if s < high and e > low]
    times = [low] + [s for s, _ in inside if s > low]
    return max(sum(s <= t < e for s, e in inside) for t in times)


def borders(low, high, columns):
    """Where each column begins and ends; with fewer ns than columns, a ns is several columns."""
    slots = min(columns, high - low)
    starts = [low + (high - low) * slot // slots for slot in range(slots + 1)]
    return [(starts[c * slots // columns], starts[c * slots // columns + 1]) for c in range(columns)]


def draw(path, width, *options):
    out = run("view", path, "--timeline", *options, env={"LC_ALL": "C", "COLUMNS": str(width)}).stdout.decode()
    lines = out.splitlines()
    check(all(len(line) <= width for line in lines), "nothing is wider than the terminal: %r" % max(lines, key=len))
    rows = {}
    for line in lines:
        found = re.match(r"  (\S.*?) *\|(.*)\|\s*([\d.]+)%?$", line)
        if found:
            rows[found.group(1)] = (found.group(2), float(found.group(3)))
    return lines, rows


def check_picture(path, width, events, low, high, *options):
    lines, rows = draw(path, width, *options)
    columns = len(rows["at once"][0])
    cells = borders(low, high, columns)
    for name in sorted({e["track"] for e in events}):
        drawn, share = rows[name]
        mine = [e for e in events if e["track"] == name and e["start"] < high and e["end"] > low]
        kinds = {kind: union([(e["start"], e["end"]) for e in mine if e["kind"] == kind]) for kind in LETTER}
        busy = kinds["kernel"] or kinds["api"] or kinds["sync"]  # work is not hidden by a wait at the same time
        expected = ""
        for start, end in cells:
            cell = " "
            for kind in ("kernel", "api", "sync"):
                time = length(kinds[kind], start, end)
                if time and cell == " ":
                    cell = LETTER[kind].upper() if 2 * time >= end - start else LETTER[kind]
            expected += cell
        check(drawn == expected, "%s:\n%s and not\n%s" % (name, drawn, expected))
        check(abs(share - 100 * length(busy, low, high) / (high - low)) < 0.051, "the share of " + name)
    work = [(max(e["start"], low), min(e["end"], high)) for e in events if e["kind"] == "kernel" and e["start"] < high and e["end"] > low]
    most = [depth_most(work, start, end) for start, end in cells]
    expected = "".join("." if not m else "+" if m > 9 else str(m) for m in most)
    check(rows["at once"] == (expected, max(most)), "at once:\n%s and not\n%s" % (rows["at once"], expected))
    busy = union(work)
    total = length(busy, low, high)
    heading = next(line for line in lines if line.startswith("device "))
    found = re.search(r"busy ([\d.]+)%, idle ([\d.]+)%", heading)
    check(abs(float(found.group(1)) - 100 * total / (high - low)) < 0.051, heading)
    check(abs(float(found.group(1)) + float(found.group(2)) - 100) < 0.11, heading)
    gaps = [(b[0] - a[1], a[1]) for a, b in zip(busy, busy[1:])]
    if "longest" in heading:
        number, unit = re.search(r"longest ([\d.]+) (\w+) at", heading).groups()
        check(abs(float(number) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit] - max(gaps)[0]) <= max(gaps)[0] / 1000, heading)
    return lines


def make(rng, directory, queues, count, span):
    trace = Trace()
    trace.process(1, "program")
    trace.device("GPU")
    events = []
    names = ["queue %d" % i for i in range(queues)] + ["main"]
    for name in names:
        trace.track("thread" if name == "main" else "queue", name, 1, 0 if name == "main" else 1)
    for i in range(count):
        at = rng.randrange(len(names))
        start = 10**12 + rng.randrange(span)
        duration = rng.randrange(1, max(2, span // rng.choice([5, 50, 500])))
        kind = "api" if names[at] == "main" else "sync" if rng.random() < 0.2 else "kernel"
        trace.event(at + 1, kind, start, duration=duration, name="e")
        events.append({"track": names[at], "kind": kind, "start": start, "end": start + duration})
    return trace.write(os.path.join(directory, "t%d.sbt" % span)), events


PART = 14  # columns


def expected_samples(samples, cells, low, high):
    """The cells, the share, and the functions of a thread, by the rules of docs/live.md."""
    drawn, columns = "", len(cells)
    for start, end in cells:
        time = {kind: sum(max(0, min(s["time"], end) - max(s["time"] - s["period"], low, start)) for s in samples if s["category"] == kind)
                for kind in ("user", "kernel")}
        letter = "s" if time["kernel"] > time["user"] else "u"
        there = sum(time.values()) or any(start <= s["time"] < end for s in samples)
        drawn += (letter.upper() if sum(time.values()) >= (end - start) / 2 else letter) if there else " "
    share = 100 * sum(min(s["period"], s["time"] - low) for s in samples) / (high - low)
    parts = columns // PART
    names = []
    for part in range(parts):
        begin, end = cells[part * PART][0], cells[columns - 1 if part == parts - 1 else part * PART + PART - 1][1]
        counts = [sum(s["function"] == i and begin <= s["time"] < end for s in samples) for i in range(len(FUNCTIONS))]
        names.append([function or "libx.so" for function, count in zip(FUNCTIONS, counts) if count == max(counts)])
    lines = set()
    for chosen in itertools.product(*names):  # of equally frequent ones any is right
        line = ""
        for part, name in enumerate(chosen):
            width = PART if part < parts - 1 else columns - part * PART
            line += (("|" if line else "") + name if not part or chosen[part - 1] != name else "").ljust(width)
        lines.add(line)
    return drawn, share, lines


def check_samples(path, width, samples, low, high, *options):
    lines, _ = draw(path, width, *options)
    found = [re.match(r"    (CPU time|  in) *\|(.*)\|(?:\s*([\d.]+)%)?$", line) for line in lines]
    found = [one for one in found if one]
    check([one.group(1) for one in found] == ["CPU time", "  in"] * 2, "two lines for each thread")
    for thread in range(2):
        time, names = found[2 * thread : 2 * thread + 2]
        mine = [s for s in samples if s["track"] == thread and low <= s["time"] < high]
        drawn, share, allowed = expected_samples(mine, borders(low, high, len(time.group(2))), low, high)
        check(time.group(2) == drawn, "CPU time of %d:\n%s and not\n%s" % (thread, time.group(2), drawn))
        check(abs(float(time.group(3)) - share) < 0.051, "the share of thread %d: %s and not %f" % (thread, time.group(3), share))
        check(names.group(2) in allowed, "functions of %d:\n%s and not\n%s" % (thread, names.group(2), allowed))


def main():
    rng = random.Random(11)
    with tempfile.TemporaryDirectory() as directory:
        path, samples, low, high = make_samples(random.Random(12), directory, 2001, 10**9)
        for width in (80, 160):
            check_samples(path, width, samples, low, high)
        check_samples(path, 100, samples, low, high, "-t", "sample,api")
        check_samples(path, 80, samples, low + 10**8, low + 6 * 10**8, "--from", "100ms", "--to", "600ms")
        check("CPU time" not in run("view", path, "--timeline", "-t", "api").stdout.decode(), "no samples where they were not asked for")
    with tempfile.TemporaryDirectory() as directory:
        for queues, count, span in ((3, 60, 10**6), (14, 400, 10**9), (2, 40, 30), (2, 8, 5)):
            path, events = make(rng, directory, queues, count, span)
            low, high = min(e["start"] for e in events), max(e["end"] for e in events)
            for width in (80, 160):
                lines = check_picture(path, width, events, low, high)
            check("%d events" % count in lines[0], "the count: " + lines[0])
            if span < 1000:
                continue
            one, two = (high - low) // 3, (high - low) // 2
            lines = check_picture(path, 80, events, low + one, low + two, "--from", "%dns" % one, "--to", "%dns" % two)
            inside = sum(e["start"] < low + two and e["end"] > low + one for e in events)
            check("%d of %d events" % (inside, count) in lines[0], "the count of the window: " + lines[0])
            lines, rows = draw(path, 80, "-t", "kernel")
            kernels = sum(e["kind"] == "kernel" for e in events)
            check("%d of %d events" % (kernels, count) in lines[0], "the count of the kind: " + lines[0])
            check("main" not in rows and "queue 0" in rows, "only what was asked for")
        run("view", path, "--timeline", "-t", "memset", code=1)


main()
