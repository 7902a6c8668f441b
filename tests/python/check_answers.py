# SPDX-License-Identifier: Apache-2.0
"""What Trace.analyze says is what `tracesmith analyze --json` says, and by SQL what it counts."""
import json
import os
import subprocess
import sys
import unittest

import made
import tracesmith as ts

COMMAND = os.environ["TRACESMITH"]


def said(path, *options):
    done = subprocess.run([COMMAND, "analyze", path, "--json", *options], capture_output=True, check=True, text=True)
    (trace,) = json.loads(done.stdout)["traces"]
    return {report["report"]: report for report in trace["reports"]}


def close(one, other):
    return one == other or (isinstance(one, float) and abs(one - other) <= 1e-8 * max(1, abs(one)))


def two_kernels():
    made.write_kineto("made.json", [("a", 1000, 100, None), ("b", 2000, 300, None), ("a", 3000, 200, None)])
    return "made.json"


class Answers(unittest.TestCase):
    def same(self, report, wanted):
        self.assertEqual((report.finding, list(report.notes), report.question),
                         (wanted["finding"], wanted["notes"], wanted["question"]))
        self.assertEqual((report.start, report.end), (wanted["window"]["from_ns"], wanted["window"]["to_ns"]))
        self.assertEqual((report.missing, report.lost), (wanted["missing_ns"], wanted["lost_events"]))
        self.assertTrue(close(report.covered, wanted["covered"]), (report.covered, wanted["covered"]))
        self.assertEqual(list(report.tables), list(wanted["tables"]))
        for table, rows in wanted["tables"].items():
            got = list(report[table].dicts())
            self.assertEqual(len(got), len(rows), (report.name, table))
            for one, other in zip(got, rows):
                self.assertEqual(one.keys(), other.keys())
                for key in one:
                    self.assertTrue(close(one[key], other[key]), (report.name, table, key, one[key], other[key]))

    def test_every_report_is_the_command_s(self):
        for path in [two_kernels(), *made.corpus()]:
            wanted = said(path, "--all")
            with ts.open(path) as trace:
                analysis = trace.analyze()
            self.assertEqual(set(analysis.names), set(wanted))
            self.assertEqual(set(analysis.names), set(ts.analyses()))
            for report in analysis:
                self.same(report, wanted[report.name])

    def test_findings_are_those_of_the_advice(self):
        for path in [two_kernels(), *made.corpus()]:
            tables = said(path, "--only", "advice")["advice"]["tables"]
            with ts.open(path) as trace:
                found = trace.analyze("advice").findings
                first = trace.info["first_start"]
            rows = tables.get("advice", [])
            self.assertEqual([(one.rank, one.problem, one.saves, one.example) for one in found],
                             [(row["rank"], row["problem"], row["saves_ns"], row["example"]) for row in rows])
            for one, row in zip(found, rows):
                self.assertEqual(one.start, None if row["at_ns"] is None else first + row["at_ns"])
                self.assertEqual(list(one.evidence),
                                 [line["evidence"] for line in tables["evidence"] if line["rank"] == one.rank])
                self.assertIn(one.fix, [line["fix"] for line in tables["fixes"] if line["rank"] == one.rank])
                self.assertEqual(json.loads(json.dumps(one.to_dict()))["problem"], one.problem)

    def test_kernels_are_counted_as_by_sql(self):
        with ts.open(two_kernels()) as trace:
            rows = {row["kernel"]: (row["count"], row["total_ns"]) for row in trace.analyze("kernels")["kernels"]["kernels"].dicts()}
            self.assertEqual(rows, {name: (count, total) for name, count, total in
                                    trace.sql("SELECT name, count(*), sum(duration) FROM kernel GROUP BY name")})
            self.assertEqual(rows, {"a": (2, 300), "b": (1, 300)})

    def test_peaks(self):
        path = two_kernels()
        wanted = said(path, "roofline", "--peak", "flops=1.5T,bytes=2T")["roofline"]
        with ts.open(path) as trace:
            self.same(trace.analyze("roofline", peak_flops=1.5e12, peak_bytes=2e12)["roofline"], wanted)
            self.assertEqual([row["ridge"] for row in wanted["tables"]["peaks"]], [0.75])
            (unknown,) = trace.analyze("roofline")["roofline"]["peaks"].dicts()
            self.assertEqual([unknown["flop_rate_flop_per_s"], unknown["byte_rate_bytes_per_s"], unknown["ridge"]], [None] * 3)
            for bad in (0, -1, float("nan"), float("inf")):
                for name in ("peak_flops", "peak_bytes"):
                    with self.assertRaises(ValueError):
                        trace.analyze("roofline", **{name: bad})

    def test_window(self):
        path = two_kernels()
        wanted = said(path, "--only", "breakdown", "--from", "1us", "--to", "1500ns")["breakdown"]
        with ts.open(path) as trace:
            first = trace.info["first_start"]
            self.same(trace.analyze("breakdown", start=first + 1000, end=first + 1500)["breakdown"], wanted)
            half = trace.analyze("breakdown", start=first + 1000)["breakdown"]
            self.assertEqual((half.start, half.end), (first + 1000, trace.info["last_end"]))

    def test_diff_is_the_command_s(self):
        base = two_kernels()
        made.write_kineto("new.json", [("a", 1000, 150, None), ("b", 2000, 300, None), ("c", 4000, 50, None)])
        pairs = [(base, "new.json"), (base, base), *zip(made.corpus(), made.corpus()[1:])]
        for old, new in pairs:
            done = subprocess.run([COMMAND, "diff", old, new, "--json"], capture_output=True, check=True, text=True)
            wanted = next(value for value in json.loads(done.stdout).values() if isinstance(value, dict) and "tables" in value)
            for found in (ts.diff(old, new), ts.open(old).diff(ts.open(new)), ts.diff([ts.open(old)], [new])):
                self.assertEqual(found.finding, wanted["finding"])
                self.assertEqual(list(found.tables), list(wanted["tables"]))
                for table, rows in wanted["tables"].items():
                    got = list(found[table].dicts())
                    self.assertEqual(len(got), len(rows))
                    for one, other in zip(got, rows):
                        self.assertTrue(all(close(one[key], other[key]) for key in other), (one, other))
        found = ts.diff(base, "new.json")
        kernels = {row["kernel"]: (row["base_ns"], row["new_ns"]) for row in found["kernels"].dicts()}
        self.assertEqual(kernels, {"a": (300, 150), "b": (300, 300), "c": (0, 50)})
        self.assertTrue(found.gate("kernel_time<+0%"))  # 600 ns, then 500
        self.assertFalse(found.gate("kernel_time<400ns"))
        self.assertIn("500", found.gate("kernel_time<400ns").message)
        self.assertRaises(ts.ArgumentError, found.gate, "kernel_time")
        self.assertRaises(ts.NotFoundError, found.gate, "kernel:unknown<1ns")
        self.assertRaises(ValueError, ts.diff, [], base)
        self.assertRaises(ts.NotFoundError, ts.diff, base, "no such file")
        closed = ts.open(base)
        closed.close()
        self.assertRaises(ts.StateError, closed.diff, base)
        self.assertRaises(ts.ArgumentError, ts.diff, base, base, confidence=2)

    def test_ranks_are_the_command_s(self):
        for rank in range(3):
            with open(f"rank{rank}.json", "w", encoding="utf-8") as file:
                json.dump({"distributedInfo": {"rank": rank, "world_size": 3}, "traceEvents": [
                    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0, "tid": 7,
                     "ts": 100 * step + 10 * rank, "dur": 60 - 10 * rank,
                     "args": {"stream": 7, "device": rank, "correlation": step + 1, "Collective name": "allreduce",
                              "In msg nelems": 100, "Group size": 3, "Process Group Name": "0"}}
                    for step in range(4)]}, file)
        paths = [f"rank{rank}.json" for rank in range(3)]
        done = subprocess.run([COMMAND, "analyze", "--ranks", *paths, "--json"], capture_output=True, check=True, text=True)
        answer = json.loads(done.stdout)
        wanted = answer["reports"][0] if "reports" in answer else answer
        found = ts.ranks(paths)
        self.assertEqual(found.finding, wanted["finding"])
        for table, rows in wanted["tables"].items():
            for one, other in zip(found[table].dicts(), rows):
                self.assertTrue(all(close(one[key], other[key]) for key in other), (table, one, other))
        self.assertEqual(len(list(found["ranks"].dicts())), 3)
        self.assertRaises(ts.StateError, ts.ranks, paths[:1])

    def test_what_is_wrong(self):
        with ts.open(two_kernels()) as trace:
            with self.assertRaises(ts.NotFoundError) as caught:
                trace.analyze("no such analysis")
            self.assertIn("no such analysis", str(caught.exception))
            for wrong in ({"skip": "text"}, {"skip": [3]}, {"start": 1.5}, {"start": "1"}):
                self.assertRaises(TypeError, trace.analyze, "kernels", **wrong)
            self.assertRaises(TypeError, trace.analyze, 3)
            analysis = trace.analyze("kernels")
            self.assertRaises(KeyError, lambda: analysis["breakdown"])
            self.assertRaises(KeyError, lambda: analysis["kernels"]["no such table"])
        self.assertRaises(ts.StateError, trace.analyze)

    def test_outlives_the_trace(self):
        with ts.open(two_kernels()) as trace:
            analysis = trace.analyze("kernels", "advice")
        trace.close()
        del trace
        for _ in range(2):  # a table may be read again
            self.assertEqual(sum(row["count"] for row in analysis["kernels"]["kernels"].dicts()), 3)
        self.assertIn("Which kernels take the time?", analysis["kernels"].text())
        self.assertIn("kernels", str(analysis))
        self.assertEqual(json.loads(json.dumps(analysis.to_dict()))["kernels"]["finding"], analysis["kernels"].finding)

    def test_text_is_the_command_s(self):
        path = two_kernels()
        shown = subprocess.run([COMMAND, "analyze", path, "--only", "kernels"], capture_output=True, check=True, text=True,
                               env={**os.environ, "COLUMNS": "100"}).stdout
        with ts.open(path) as trace:
            text = trace.analyze("kernels")["kernels"].text(width=100)
        self.assertEqual(text.split(), shown.split("\n\n", 1)[1].split())

    def test_frames(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("no pandas")
        with ts.open(two_kernels()) as trace:
            frame = trace.analyze("kernels")["kernels"].pandas()
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(frame["total_ns"].sum(), 600)


if __name__ == "__main__":
    unittest.main()
