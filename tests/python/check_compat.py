# SPDX-License-Identifier: Apache-2.0
"""Names of the package that came before this one: what they give is what was recorded or emitted, and what they cannot do they say."""
import json
import math
import os
import subprocess
import sys
import threading
import unittest
import unittest.mock

import opencl
import tracesmith as ts

# In a process of its own: an API that is in use already cannot be recorded.
RECORDED = """
import json, sys
import opencl
import tracesmith as ts
profiler = ts.create_profiler(ts.PlatformType.OpenCL)
profiler.initialize(ts.ProfilerConfig())
profiler.start_capture()
opencl.fill(5)
profiler.stop_capture()
events = profiler.get_events()
timeline = ts.build_timeline(events)
ts.export_perfetto(events, "trace.json")
ts.export_perfetto(events, "trace.pftrace")
writer = ts.SBTWriter("whole.sbt")
writer.write_events(events)
writer.finalize()
writer = ts.SBTWriter("part.sbt")
writer.write_events([event for event in events if event.type is ts.EventType.MemsetDevice])
writer.finalize()
outcome = ts.replay_trace(events)
json.dump([[e.type.name for e in events], timeline.gpu_utilization, timeline.max_concurrent_ops, outcome.success, outcome.reason],
          sys.stdout)
"""

OF_OTHERS = """
import tracesmith as ts
profiler = ts.create_profiler(ts.PlatformType.MACA)
profiler.start_capture()
profiler.stop_capture()
print(profiler.get_events())
"""


def fills(path):
    with ts.open(path) as trace:
        return len(list(trace.sql("SELECT 1 FROM events WHERE kind = 'memset' OR name = 'fill'")))


class Compat(unittest.TestCase):
    @unittest.skipUnless(opencl.fill(0), "no OpenCL device")
    def test_what_a_program_did_is_recorded(self):
        done = subprocess.run([sys.executable, "-B", "-c", RECORDED], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": os.path.dirname(opencl.__file__)})
        self.assertEqual(done.returncode, 0, done.stderr)
        kinds, utilization, most, success, reason = json.loads(done.stdout)
        self.assertEqual(kinds.count("MemsetDevice"), 5)
        self.assertTrue(0 < utilization <= 1, utilization)
        self.assertEqual(most, 1)
        self.assertEqual(success, False)
        self.assertIn("no recording", reason)
        for path in ("trace.json", "trace.pftrace", "whole.sbt", "part.sbt"):
            self.assertEqual(fills(path), 5, path)

    def test_timeline_by_hand(self):
        def work(start, duration, device=0):
            event = ts.TraceEvent(ts.EventType.KernelComplete, "k", start)
            event.duration, event.device_id = duration, device
            return event

        timeline = ts.build_timeline([work(0, 10), work(5, 10), work(30, 10), work(0, 7, 1)])
        self.assertEqual((timeline.gpu_utilization, timeline.max_concurrent_ops), ((25 / 40 + 1) / 2, 3))
        self.assertEqual(timeline.total_duration, 40)
        nothing = ts.build_timeline([])
        self.assertTrue(math.isnan(nothing.gpu_utilization))
        self.assertIsNone(nothing.total_duration)

    def test_session_keeps_or_counts_every_event(self):
        config = ts.TracingConfig()
        config.buffer_size_kb = 256  # 1,024 events
        session = ts.TracingSession()
        session.start(config)

        def emit(thread):
            for number in range(400):
                event = ts.TraceEvent()
                event.type, event.name, event.thread_id = ts.EventType.KernelLaunch, "mine", thread
                event.metadata["grid_dim"] = f"{number}x1x1"
                session.emit(event)

        threads = [threading.Thread(target=emit, args=(number,)) for number in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        session.emit_counter("memory", 7)  # no room
        session.stop()
        statistics = session.get_statistics()
        self.assertEqual((statistics.events_emitted, statistics.events_dropped), (1601, 1601 - 1024))
        self.assertGreater(statistics.duration_ms(), 0)
        for path in ("session.json", "session.perfetto-trace", "session.sbt"):
            session.export_to_file(path)
            with ts.open(path) as trace:
                self.assertEqual(list(trace.sql("SELECT count(*) FROM events WHERE name = 'mine'")), [(1024,)], path)
        self.assertRaises(ts.StateError, session.emit, ts.TraceEvent())
        self.assertRaises(ts.StateError, session.stop)

    def test_counters(self):
        session = ts.TracingSession()
        session.start()
        for value in (1.5, 2.5):
            self.assertTrue(session.emit_counter("memory", value))
        session.stop()
        session.export_to_file("counters.json")
        with open("counters.json", encoding="utf-8") as file:
            counters = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "C"]
        self.assertEqual([(one["name"], one["args"]["value"]) for one in counters], [("memory", 1.5), ("memory", 2.5)])

    def test_machine_without_a_loader_of_opencl(self):
        for status, wanted in ((4, None), (1, ts.SystemFailure)):
            with open("command", "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\nexit {status}\n")
            os.chmod("command", 0o755)
            with unittest.mock.patch("tracesmith._cli.command", lambda: os.path.abspath("command")):
                if wanted:
                    self.assertRaises(wanted, ts.detect_platform)
                else:
                    self.assertIs(ts.detect_platform(), ts.PlatformType.Unknown)

    def test_platforms(self):
        def device(*apis):
            listed = json.dumps({"devices": [{"api": api} for api in apis]})
            with open("command", "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\necho '{listed}'\n")
            os.chmod("command", 0o755)
            with unittest.mock.patch("tracesmith._cli.command", lambda: os.path.abspath("command")):
                return ts.detect_platform().name

        with unittest.mock.patch("ctypes.util.find_library", lambda name: None):
            self.assertEqual([device(), device("vulkan"), device("vulkan", "opencl"), device("opencl", "cuda"), device("rocm", "opencl")],
                             ["Unknown", "Unknown", "OpenCL", "CUDA", "ROCm"])
        for library, name in (("mcruntime", "MACA"), ("musa", "MUSA"), ("ascendcl", "CANN")):
            with unittest.mock.patch("ctypes.util.find_library", lambda wanted, has=library: has if wanted == has else None):
                self.assertEqual([device("opencl"), ts.is_maca_available()], [name, name == "MACA"])

    def test_platform_of_other_processes(self):
        done = subprocess.run([sys.executable, "-B", "-c", OF_OTHERS], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "[]\n"), done.stderr)
        self.assertIn("IncompleteRecordingWarning", done.stderr)
        self.assertIn("MACA and CANN are recorded in programs that this process starts, not in this process", done.stderr)

    def test_what_is_not_there_is_said(self):
        for platform in (ts.PlatformType.Simulation, ts.PlatformType.Metal):
            with self.assertRaises(ts.UnsupportedError) as caught:
                ts.create_profiler(platform)
            self.assertIn(platform.name, str(caught.exception))
        self.assertEqual(len(ts.EventType), 23)
        self.assertFalse(ts.replay_trace([]).success)
        self.assertEqual(ts.is_maca_available(), False)
        self.assertEqual(ts.get_maca_device_count(), 0)
        self.assertRaises(ts.StateError, ts.create_profiler(ts.PlatformType.OpenCL).get_events)
        self.assertRaises(ts.ArgumentError, ts.export_perfetto, [ts.TraceEvent()], "x.json")
        from tracesmith.xctrace import XCTraceProfiler, profile_with_xctrace

        self.assertRaises(ts.UnsupportedError, profile_with_xctrace, ["true"])
        self.assertRaises(ts.UnsupportedError, XCTraceProfiler().profile_command, ["true"])


if __name__ == "__main__":
    unittest.main()
