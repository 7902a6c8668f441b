# SPDX-License-Identifier: Apache-2.0
"""Timelines against a union of the intervals computed here, and what a notebook shows, read by Python's own parsers."""
import html.parser
import importlib.util
import json
import random
import unittest
import xml.etree.ElementTree as xml

import made
import tracesmith as ts
from tracesmith import Timeline

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "\u202egnp.exe", "&amp;", "]]>", "k" * 65536, "\x1b[2J"]


def union_in(intervals, low, high):
    """ns of [low, high) in at least one interval, by sweeping over their ends."""
    covered, at = 0.0, low
    for start, end in sorted((max(start, low), min(end, high)) for start, end in intervals if end > low and start < high):
        if end > at:
            covered += end - max(start, at)
            at = end
    return covered


def write_streams(path, kernels, names=None):
    """`kernels`: (stream, start, duration) in us."""
    events = [{"ph": "X", "cat": "kernel", "name": names[i % len(names)] if names else "k", "pid": 0, "tid": stream, "ts": start,
               "dur": length, "args": {"stream": stream, "device": 0, "correlation": i + 1}}
              for i, (stream, start, length) in enumerate(kernels)]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "traceEvents": events}, file)
    return path


class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data):
        self.text.append(data)


class Timelines(unittest.TestCase):
    def check(self, trace, timeline, delta=1e-6):
        intervals = {}
        for name, start, duration in trace.sql("SELECT track_name, start, duration FROM events WHERE kind IN ('kernel', 'memcpy', 'memset')"):
            if duration is not None:
                intervals.setdefault(name, []).append((start, start + duration))
        length = (timeline.end - timeline.start) / timeline.buckets
        seen = {queue.name: queue for queue in timeline.queues}
        for name, queue in seen.items():
            whole = union_in(intervals.get(name, []), timeline.start, timeline.end)
            self.assertLessEqual(abs(queue.busy - whole), 1 + delta * whole, name)
            for i, share in enumerate(queue.shares):
                low = timeline.start + i * length
                wanted = union_in(intervals.get(name, []), low, low + length) / length
                self.assertAlmostEqual(share, wanted, delta=delta, msg=(name, i))

    def test_shares_are_those_of_the_union(self):
        rng = random.Random(5)
        kernels = [(rng.randrange(3), rng.randrange(10000), rng.randrange(1, 300)) for _ in range(200)]
        with ts.open(write_streams("made.json", kernels)) as trace:
            self.check(trace, trace.timeline(buckets=7))
            self.check(trace, trace.timeline())
            first = trace.info["first_start"]
            part = trace.timeline(start=first + 2000_000, end=first + 3000_000, buckets=11)
            self.assertEqual((part.start, part.end, part.buckets), (first + 2000_000, first + 3000_000, 11))
            self.check(trace, part)
            columns = part.to_dict()
            self.assertEqual({len(values) for values in columns.values()}, {3 * 11})
            self.assertEqual(columns["start"][:11], [part.start + 1000_000 * i // 11 for i in range(11)])

    def test_real_traces(self):
        for path in made.corpus():
            with ts.open(path) as trace:
                timeline = trace.timeline(buckets=50)
                if len({queue.device for queue in timeline.queues}) == 1:
                    self.check(trace, timeline, 1e-3)  # clocks of device and host are placed where causes allow it

    def test_picture_shows_the_shares(self):
        with ts.open(write_streams("made.json", [(7, 0, 100), (7, 150, 50), (9, 100, 100)])) as trace:
            timeline = trace.timeline(buckets=4)
        root = xml.fromstring(timeline.svg())
        space = "{http://www.w3.org/2000/svg}"
        groups = root.findall(space + "g")
        self.assertEqual(len(groups), 2)
        for queue, group in zip(timeline.queues, groups):
            drawn = group.findall(space + "rect")[1:]  # behind the background
            tall = [float(one.get("height")) / float(group.find(space + "rect").get("height")) for one in drawn]
            self.assertEqual([round(one, 2) for one in tall], [round(one, 2) for one in queue.shares if one > 0])
        self.assertEqual([queue.shares for queue in timeline.queues], [[1, 1, 0, 1], [0, 0, 1, 1]])

    def test_missing_events_are_drawn(self):
        with ts.session("short.sbt", buffer_bytes=65536, overflow="drop-newest"):
            for _ in range(100000):
                ts.mark("m")
        with ts.open("short.sbt") as trace:
            timeline = trace.timeline()
            lost = sum(trace.info["lost"].values())
            self.assertEqual(sum(many for _, _, _, many in timeline.missing), lost)
            rows = {(start, reason) for start, reason in trace.sql("SELECT start, reason FROM loss")}
            self.assertEqual({(start, reason) for start, _, reason, _ in timeline.missing}, rows)
            self.assertIn("no queue of a device", trace._repr_html_())
        # Of a window of 100 ns events are missing from 10 to 30: a fifth of the row is hatched.
        shares = [[0.5] * 4, [0.0] * 4, [0.0] * 4, [0.5] * 4]
        root = xml.fromstring(Timeline((0, 100, [("queue", "device", 1, 50, shares)], [(10, 30, "ring_full", 5)])).svg())
        (hatched,) = [one for one in root.iter() if one.get("fill") == "url(#tracesmith-missing)"]
        background = root.find("{*}g").find("{*}rect")
        self.assertAlmostEqual(float(hatched.get("width")) / float(background.get("width")), 0.2, places=3)
        self.assertAlmostEqual((float(hatched.get("x")) - float(background.get("x"))) / float(background.get("width")), 0.1, places=3)
        self.assertEqual(hatched.find("{*}title").text, "5 events missing: ring_full")

    def test_hostile_names_stay_text(self):
        kernels = [(7, 1000 * i, 900) for i in range(len(HOSTILE))]
        with ts.open(write_streams("hostile.json", kernels, HOSTILE)) as trace:
            shown = trace._repr_html_()
            reader = Reader()
            reader.feed(shown)
            for tag in ("script", "img", "iframe", "a"):
                self.assertNotIn(tag, reader.tags)
            self.assertFalse([name for name in reader.attributes if name.startswith("on")])
            self.assertNotIn("\u202e", shown)
            self.assertNotIn("\x1b", shown)
            self.assertLess(len(shown), 60000)
            xml.fromstring(trace.timeline().svg())
        trace.close()
        self.assertIn("closed", trace._repr_html_())

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "no matplotlib")
    def test_plot_has_the_numbers_of_the_timeline(self):
        with ts.open(write_streams("plot.json", [(7, 0, 1000), (7, 3000, 1000), (9, 1000, 500)], ["a$x_{$"] * 3)) as trace:
            timeline = trace.timeline(buckets=4)
        figure = timeline.plot()
        figure.savefig("plot.png")
        with open("plot.png", "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
        self.assertEqual(len(figure.axes), len(timeline.queues))
        for axes, queue in zip(figure.axes, timeline.queues):
            self.assertEqual(axes.get_ylabel(), queue.name)
            heights = [bar.get_height() for bar in axes.patches]
            self.assertEqual(heights, queue.compute + queue.communication + queue.copy)
            self.assertGreater(sum(heights), 0)

    def test_what_is_wrong(self):
        with ts.open(write_streams("made.json", [(7, 0, 100)])) as trace:
            for wrong in ({"buckets": 0}, {"buckets": 10**9}, {"start": 10, "end": 10}, {"start": 10, "end": 5}):
                self.assertRaises(ValueError, trace.timeline, **wrong)
            self.assertRaises(TypeError, trace.timeline, buckets="3")
            self.assertRaises(TypeError, trace.timeline, start="3")
        self.assertRaises(ts.StateError, trace.timeline)


if __name__ == "__main__":
    unittest.main()
