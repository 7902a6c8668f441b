# SPDX-License-Identifier: Apache-2.0
"""A trace of another profiler of the same run lies on the recording's clock. PyTorch and JAX where they are installed."""
import glob
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import opencl
import tracesmith as ts

OPENCL = """
import json, os, sys, threading, time
import opencl
import tracesmith as ts
with ts.profile("work.sbt", apis=["opencl"]):
    opencl.fill(5)
"""
TORCH = """
import torch
import tracesmith as ts
from torch.profiler import ProfilerActivity, profile, record_function
with ts.profile("ours.sbt"):
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as kineto:
        x = torch.randn(400, 300)
        for step in range(4):
            with ts.range(f"outer {step}"):
                with record_function(f"inner {step}"):
                    (x.T @ x).sum().item()
    kineto.export_chrome_trace("theirs.json")
"""
JAX = """
import jax, jax.numpy
import tracesmith as ts
f = jax.jit(lambda x: (x @ x).sum())
x = jax.numpy.ones((300, 300))
f(x).block_until_ready()
with ts.profile("ours.sbt"):
    jax.profiler.start_trace("log")
    for step in range(4):
        with ts.range(f"outer {step}"):
            with jax.profiler.TraceAnnotation(f"inner {step}"):
                f(x).block_until_ready()
    jax.profiler.stop_trace()
"""
SLACK = 1_000_000  # ns; how exact the other profiler compared its clock with the wall clock


def write_kineto(path, events, **top):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, **top, "traceEvents": events}, file)


def event(name, wall, duration, category="user_annotation", base=0, **more):
    return {"ph": "X", "cat": category, "name": name, "pid": os.getpid(), "tid": threading.get_native_id(), "ts": (wall - base) / 1000,
            "dur": duration / 1000, "args": more}


class Merge(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def fails(self, kind, words, *paths):
        with self.assertRaises(kind) as caught:
            ts.merge(*paths)
        self.assertIn(words, str(caught.exception))

    def record(self):
        """A recording, and two moments in it on the wall clock."""
        with ts.session("ours.sbt"):
            with ts.range("outer"):
                begin = time.time_ns()
                with ts.range("between"):
                    end = time.time_ns()
        return begin, end

    def times(self, path):
        with ts.open(path) as trace:
            return {name: (start, start + duration, track) for name, start, duration, track in
                    trace.events("range", columns=["name", "start", "duration", "track"])}

    def check_inside(self, base, top):
        begin, end = self.record()
        # JSON's numbers of microseconds since 1970 lose the last 128 ns.
        write_kineto("theirs.json", [event("theirs", begin, end - begin, base=base(begin), shape="[2,3]")], **top(begin))
        result = ts.merge("ours.sbt", "theirs.json", "both.sbt")
        self.assertEqual((result["added"], result["left_out"]), (1, 0))
        self.assertLess(result["error"], SLACK)
        times = self.times("both.sbt")
        self.assertEqual(set(times), {"outer", "between", "theirs"})
        slack = 2000 + result["error"]
        self.assertLessEqual(times["outer"][0] - slack, times["theirs"][0])
        self.assertLessEqual(times["theirs"][1], times["between"][1] + slack)
        self.assertEqual(times["theirs"][2], times["outer"][2])  # one thread
        with ts.open("both.sbt") as trace:
            self.assertTrue(trace.info["complete"])
            self.assertEqual(list(trace.sql("SELECT shape FROM range WHERE name = 'theirs'")), [("[2,3]",)])
            self.assertEqual(list(trace.sql("SELECT value FROM attributes WHERE key = 'merged'")), [("theirs.json",)])

    def test_time_since_1970(self):
        self.check_inside(lambda begin: 0, lambda begin: {})

    def test_time_since_the_base(self):
        def base(begin):
            return begin - begin % 10**9

        self.check_inside(base, lambda begin: {"baseTimeNanoseconds": base(begin)})

    def test_what_cannot_be_merged(self):
        begin, end = self.record()
        write_kineto("theirs.json", [event("theirs", begin, end - begin)])
        write_kineto("later.json", [event("theirs", begin + 10**13, end - begin)])
        write_kineto("relative.json", [event("theirs", 10**9, end - begin)])
        self.fails(ts.ArgumentError, "not recorded at the same time", "ours.sbt", "later.json", "both.sbt")
        self.fails(ts.UnsupportedError, "the start of its clock on the wall clock is unknown", "ours.sbt", "relative.json", "both.sbt")
        self.fails(ts.UnsupportedError, "the start of its clock on the wall clock is unknown", "ours.sbt", "ours.sbt", "both.sbt")
        self.fails(ts.UnsupportedError, "wall clock", "theirs.json", "theirs.json", "both.sbt")
        self.fails(ts.NotFoundError, "none.sbt", "none.sbt", "theirs.json", "both.sbt")
        self.fails(ts.NotFoundError, "none.json", "ours.sbt", "none.json", "both.sbt")
        self.fails(ts.NotFoundError, "no folder", "ours.sbt", "theirs.json", "no folder/both.sbt")
        self.assertRaises(TypeError, ts.merge, "ours.sbt", None, "both.sbt")
        self.assertFalse(os.path.exists("both.sbt"))
        ts.merge("ours.sbt", "theirs.json", "both.sbt")
        with open("both.sbt", "rb") as file:
            before = file.read()
        self.fails(ts.Error, "both.sbt", "ours.sbt", "theirs.json", "both.sbt")
        with open("both.sbt", "rb") as file:
            self.assertEqual(file.read(), before)

    def test_damaged(self):
        begin, end = self.record()
        write_kineto("whole.json", [event(f"range {number}", begin, end - begin) for number in range(100)])
        with open("whole.json", "rb") as file:
            whole = file.read()
        with open("cut.json", "wb") as file:
            file.write(whole[: len(whole) // 2])
        with self.assertWarns(ts.IncompleteTraceWarning) as caught:
            added = ts.merge("ours.sbt", "cut.json", "both.sbt")["added"]
        self.assertIn("cut.json", str(caught.warning))
        self.assertTrue(0 < added < 100, added)

    @unittest.skipUnless(opencl.fill(0), "no OpenCL device")
    def test_work_is_taken_once(self):
        begin = time.time_ns()
        subprocess.run([sys.executable, "-B", "-c", OPENCL], check=True, env={**os.environ, "PYTHONPATH": os.path.dirname(opencl.__file__)})
        end = time.time_ns()
        middle = (begin + end) // 2
        theirs = [{**event("kernel of theirs", middle, 10, "kernel", device=0, stream=7), "pid": 0, "tid": 7}, event("call", middle, 10, "cuda_runtime"),
                  event("annotation", middle, 10)]
        write_kineto("theirs.json", theirs)
        self.assertEqual({key: value for key, value in ts.merge("work.sbt", "theirs.json", "both.sbt").items() if key != "error"},
                         {"added": 1, "left_out": 2})
        with ts.open("work.sbt") as ours, ts.open("both.sbt") as both:
            wanted = sorted(ours.events(columns=["kind", "name", "start", "duration"]), key=str)
            found = sorted(both.events(columns=["kind", "name", "start", "duration"]), key=str)
        self.assertEqual([row for row in found if row[1] != "annotation"], wanted)
        self.assertEqual(len(found), len(wanted) + 1)

    def nested(self, path):
        times = self.times(path)
        for step in range(4):
            outer, inner = times[f"outer {step}"], times[f"inner {step}"]
            self.assertLess(outer[0] - SLACK, inner[0])
            self.assertLess(inner[1], outer[1] + SLACK)

    def run_with(self, package, code):
        if importlib.util.find_spec(package) is None:
            self.skipTest(f"no {package}")
        done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_pytorch(self):
        self.run_with("torch", TORCH)
        ts.merge("ours.sbt", "theirs.json", "both.sbt")
        self.nested("both.sbt")
        with ts.open("both.sbt") as both:
            shapes = {shape for shape, in both.sql("""SELECT "Input Dims" FROM range WHERE name = 'aten::mm'""")}
            self.assertEqual(shapes, {"[[300,400],[400,300]]"})
            self.assertEqual(len({track for track, in both.sql(
                "SELECT track FROM range WHERE name LIKE 'outer%' OR name = 'aten::mm'")}), 1)
            self.assertEqual(both.info["kinds"]["range"], sum(
                ts.open(path).info["kinds"]["range"] for path in ("ours.sbt", "theirs.json")))

    def test_jax(self):
        self.run_with("jax", JAX)
        (path,) = glob.glob("log/**/*.xplane.pb", recursive=True)
        with ts.open(path) as trace:
            self.assertEqual(trace.info["format"], "xplane")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ts.IncompleteTraceWarning)
            ts.merge("ours.sbt", path, "both.sbt")
        self.nested("both.sbt")


if __name__ == "__main__":
    unittest.main()
