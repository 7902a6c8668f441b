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


def check_labels(directory):
    """Labels that are too long can be told apart; a cut one says so."""
    trace = Trace()
    for pid in (111, 112):
        trace.process(pid, "python3")
    for name in ("GPU 0", "GPU 1"):
        trace.device(name)
    for i in range(2):
        trace.event(trace.track("thread", "python3", 1 + i), "api", 0, duration=500, name="launch")
        for stream in (7 + 8 * i, 22 + 8 * i, 26 + 8 * i):
            trace.event(trace.track("queue", "stream %d" % stream, 1 + i, 1 + i), "kernel", stream, duration=400, name="k")
    _, rows = draw(trace.write(os.path.join(directory, "labels.sbt")), 80)
    streams = [name for name in rows if name.startswith("stream")]
    check(streams == ["stream %d" % stream for stream in (7, 22, 26, 15, 30, 34)], streams)
    trace = Trace()
    trace.process(1, "program")
    trace.device("GPU")
    names = ["%s queue with a name of many words and %d" % (kind, i) for kind in ("one", "other") for i in (1, 2)]
    for name in names:
        trace.event(trace.track("queue", name, 1, 1), "kernel", 5, duration=400, name="k")
    _, rows = draw(trace.write(os.path.join(directory, "labels.sbt")), 80)
    shown = [name for name in rows if name != "at once"]
    check(len(shown) == len(names) and all("~" in name for name in shown), shown)
    for name in shown:
        head, tail = name.split("~")
        check(any(whole.startswith(head) and whole.endswith(tail) for whole in names), name)


def check_legend(directory):
    """All that a cell can be, at 80 columns; and a trace in which nothing takes time has no picture."""
    trace = Trace()
    trace.process(1, "program")
    trace.device("GPU")
    queue, thread = trace.track("queue", "q", 1, 1), trace.track("thread", "main", 1)
    for i, kind in enumerate(("kernel", "memcpy", "collective")):
        trace.event(queue, kind, 1000 * i, duration=900)
    for i, kind in enumerate(("api", "sync", "compile", "range")):
        trace.event(thread, kind, 1000 * i, duration=900)
    lines, _ = draw(trace.write(os.path.join(directory, "all.sbt")), 80)
    for name in ("range", "kernel", "collective", "transfer", "API call", "compile", "host waits"):
        check(any(re.search(r"^ {20}.*\b[a-z] " + name, line) for line in lines), "the legend has " + name)
    trace = Trace()
    trace.process(1, "program")
    track = trace.track("process", "program", 1)
    trace.event(track, "process", 0, operation="process_start")
    trace.event(track, "process", 5000, operation="process_exit")
    done = run("view", trace.write(os.path.join(directory, "instants.sbt")), "--timeline", code=1)
    check(b"nothing in it takes time" in done.stderr, done.stderr)


def check_losses(directory):
    """A lost event is drawn, and not an event that lacks its stack."""
    for reason, drawn in (("ring_full", True), ("no_stack", False), ("partial_stack", False)):
        trace = Trace()
        trace.process(1, "program")
        trace.event(trace.track("thread", "main", 1), "api", 0, duration=5000, name="call")
        trace.event(trace.track("loss", "losses", 1), "loss", 0, duration=900, lost=3, reason=reason)
        lines, rows = draw(trace.write(os.path.join(directory, "lost.sbt")), 80)
        check(any("!" in line for line in lines) == drawn and "main" in rows, "%s: %s" % (reason, lines))


def main():
    rng = random.Random(11)
    with tempfile.TemporaryDirectory() as directory:
        check_labels(directory)
        check_legend(directory)
        check_losses(directory)
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
