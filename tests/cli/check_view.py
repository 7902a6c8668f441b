# SPDX-License-Identifier: Apache-2.0
"""view: every event once, in order, with every field, in every format; filters against brute force."""
import csv
import io
import json
import os
import random
import sys
import tempfile

from support import KIND, Trace, check, run


def key(event):
    # A double that is whole is written without a point.
    return json.dumps(dict(event, value=float(event["value"])) if "value" in event else event, sort_keys=True)


def random_trace(rng, tracks, count, span):
    trace = Trace()
    trace.process(100, "program")
    trace.device("device")
    for i in range(tracks):
        trace.track("queue" if i % 2 else "thread", "track %d" % i, 1, i % 2)
    kinds = [k for k in KIND if k not in ("loss", "process")]
    for _ in range(count):
        fields = {}
        if rng.random() < 0.8:
            fields["duration"] = rng.randrange(0, span // 10 + 1)
        if rng.random() < 0.9:
            fields["name"] = rng.choice(["blur", "a,b", 'say "hi"', "ü", "line\nbreak", "tab\t", "=1+1"])
        if rng.random() < 0.5:
            fields["correlation"] = rng.randrange(1 << 64)
        if rng.random() < 0.3:
            fields["waits"] = [rng.randrange(1 << 60) for _ in range(rng.randrange(1, 4))]
        if rng.random() < 0.3:
            fields["value"] = rng.choice([0.1, -1e300, 3.0, 1 / 3])
        if rng.random() < 0.3:
            fields["result"] = rng.randrange(-(1 << 63), 1 << 63)
        if rng.random() < 0.3:
            fields["blocking"] = rng.random() < 0.5
        if rng.random() < 0.3:
            fields["operation"] = "read"
            fields["direction"] = "d2h"
        trace.event(rng.randrange(1, tracks + 1), rng.choice(kinds), 10**12 + rng.randrange(span), **fields)
        if rng.random() < 0.02:
            trace.flush()
    return trace


def view_json(path, *options):
    return json.loads(run("view", path, "-f", "json", *options).stdout)


def check_same_events(got, expected, what):
    check(sorted(map(key, got)) == sorted(map(key, expected)), what)
    starts = [event["start"] for event in got]
    check(starts == sorted(starts), what + ": in order")


def check_csv(path, expected):
    data = run("view", path, "-f", "csv", "--exact").stdout.decode()
    rows = list(csv.DictReader(io.StringIO(data, newline="")))
    check(len(rows) == len(expected), "csv: as many rows as events")
    for row, event in zip(rows, expected):
        for name, text in row.items():
            value = event.get(name)
            if name == "track_name":
                check(text == "track %d" % (event["track"] - 1), "csv: track_name")
            elif value is None:
                check(text == "", "csv: %s is empty" % name)
            elif isinstance(value, list):
                check(text.split() == list(map(str, value)), "csv: list")
            elif isinstance(value, bool):
                check(text == str(value).lower(), "csv: boolean")
            elif isinstance(value, float):
                check(float(text) == value, "csv: double")
            else:
                check(text == str(value), "csv: %s is %r and not %r" % (name, value, text))


def check_filters(rng, path, events, first):
    last = max(event["start"] for event in events) - first
    for _ in range(8):
        kinds = rng.sample(sorted(KIND), 3)
        low = rng.randrange(last)
        high = low + 1 + rng.randrange(last)
        count = rng.randrange(1, len(events))

        def wanted(event):
            start = event["start"] - first
            end = start + event.get("duration", 0)
            return event["kind"] in kinds and start < high and (start >= low or end > low)

        options = ["-t", ",".join(kinds), "--from", "%dns" % low, "--to", "%dns" % high]
        everything = [event for event in events if wanted(event)]
        check_same_events(view_json(path, *options)["events"], everything, "filtered")
        some = view_json(path, *options, "-n", count)["events"]
        check([key(e) for e in some] == [key(e) for e in view_json(path, *options)["events"][:count]], "-n")
        text = run("view", path, *options).stdout.decode()
        check(text.count("\n") == len(everything) + 1, "text: one line per event and a head")


def shown_duration(ns):
    """Four digits, rounded half up; in the largest unit of which it is at least one after rounding."""
    for unit, size in ((" s", 10**9), (" ms", 10**6), (" us", 10**3)):
        if ns * 20000 < size * 19999:
            continue
        for decimals in (3, 2, 1, 0):
            steps = (ns * 10**decimals * 2 + size) // (2 * size)
            if steps < 10**4 or (decimals == 1 and steps < 10**5) or decimals == 0:
                whole, rest = divmod(steps, 10**decimals)
                return "%d.%0*d%s" % (whole, decimals, rest, unit) if decimals else "%d%s" % (whole, unit)
    return "%d ns" % ns


def check_text(directory):
    """The text form: times and durations as a person reads them."""
    durations = [0, 1, 999, 1000, 1001, 9994, 9995, 99944, 99945, 99994, 99995, 123456, 999900, 10**6, 1234567,
                 9999499, 9999500, 99994999, 99995000, 999899999, 10**9, 12345678901, 10**13]
    trace = Trace()
    track = trace.track("thread", "main")
    for i, duration in enumerate(durations):
        trace.event(track, "range", 10**12 + i * 1001, duration=duration, name="n%d" % i)
    path = trace.write(os.path.join(directory, "text.sbt"))
    lines = run("view", path).stdout.decode().splitlines()[1:]
    for i, (line, duration) in enumerate(zip(lines, durations)):
        time, number, unit, name, kind, what = line.split()
        check(time == "0.%06d" % (i * 1001), "time: " + line)
        check(number + " " + unit == shown_duration(duration), "%s is %s" % (line, shown_duration(duration)))
        check((name, kind, what) == ("main", "range", "n%d" % i), line)


def main():
    rng = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    with tempfile.TemporaryDirectory() as directory:
        check_text(directory)
        path = os.path.join(directory, "t.sbt")
        for tracks, count, span in ((1, 50, 1000), (7, 3000, 10**6), (300, 5000, 40), (40, 5000, 10**15)):
            trace = random_trace(rng, tracks, count, span)
            trace.write(path)
            answer = view_json(path)
            check(answer["complete"] is True, "complete")
            check(answer["event_count"] == count, "event_count")
            check(answer["first_start"] == min(e["start"] for e in trace.events), "first_start")
            check(answer["last_end"] == max(e["start"] + e.get("duration", 0) for e in trace.events), "last_end")
            check(len(answer["tracks"]) == tracks, "tracks")
            check(all(track["context"] == 0 for track in answer["tracks"]), "the context of a track")
            check_same_events(answer["events"], trace.events, "%d tracks" % tracks)
            check_csv(path, answer["events"])
            check_filters(rng, path, trace.events, answer["first_start"])


main()
