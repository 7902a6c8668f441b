# SPDX-License-Identifier: Apache-2.0
"""Trace.replay says what `tracesmith replay --json` says, of a program that fills a buffer by OpenCL, and of one with another kernel."""
import json
import os
import subprocess
import unittest

import made
import opencl
import tracesmith as ts

COMMAND = os.environ["TRACESMITH"]
PROGRAM = os.path.join(os.environ["TRACESMITH_BUILD_DIR"], "tests", "programs", "cl_binary")


def recorded(path):
    done = subprocess.run([COMMAND, "profile", "--capture", "-o", path, "--", PROGRAM], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return path


@unittest.skipUnless(os.access(PROGRAM, os.X_OK) and opencl.fill(0), "no OpenCL device")
class Replays(unittest.TestCase):
    def test_verdicts_are_the_command_s(self):
        path = recorded("recorded.sbt")
        wanted = json.loads(subprocess.run([COMMAND, "replay", "--json", "--times", "2", path], capture_output=True, check=True).stdout)
        with ts.open(path) as trace:
            replay = trace.replay(times=2)
        self.assertEqual(replay.verdicts, wanted["verdicts"])
        self.assertEqual((replay.device, replay.complete), (wanted["device"], True))
        self.assertEqual([(one.verdict, one.what, one.command, one.buffer, one.size, one.writer) for one in replay.results],
                         [(one["verdict"], one["what"], one["command"], one["buffer"], one["bytes"], one["writer"])
                          for one in wanted["results"]])
        self.assertTrue(replay and replay.exact and replay.compared == len(replay.results) >= 2)

    def test_another_kernel_diverges(self):
        path = recorded("recorded.sbt")
        with open("add.cl", "w", encoding="utf-8") as file:
            file.write("__kernel void add(__global const uint *more, __global const uint *in, __global uint *out, uint by)\n"
                       "{ const uint i = get_global_id(0); out[i] = in[i] + by + 1; }\n")
        with ts.open(path) as trace:
            replay = trace.replay(source={"add": "add.cl"})
            self.assertFalse(replay or replay.exact)
            self.assertEqual({one.writer for one in replay.results if one.verdict == "diverged"}, {"add"})
            with open("add.cl", "w", encoding="utf-8") as file:
                file.write("no OpenCL")
            self.assertRaises(ts.ArgumentError, trace.replay, source={"add": "add.cl"})

    def test_what_cannot_be_replayed(self):
        made.write_kineto("made.json", [("k", 1000, 10, None)])
        with ts.open("made.json") as trace:
            self.assertRaises(ts.NotFoundError, trace.replay)
        path = recorded("recorded.sbt")
        os.rename(path, "-recorded.sbt")  # a name that looks like an option
        with ts.open("-recorded.sbt") as trace:
            self.assertTrue(trace.replay(commands=(0, 2)))
            self.assertRaises(ts.UnsupportedError, trace.replay, device="no such device of any vendor")
            self.assertRaises(ts.ArgumentError, trace.replay, kernel="add", commands=(0, 1))
            self.assertRaises(TypeError, trace.replay, times=1.5)
        self.assertRaises(ts.StateError, trace.replay)


if __name__ == "__main__":
    unittest.main()
