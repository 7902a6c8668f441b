# SPDX-License-Identifier: Apache-2.0
"""examples/python/run_tests.py, and what the examples say."""
import importlib.util
import os
import subprocess
import sys
import unittest

EXAMPLES = os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "examples")
HAS_ARRAYS = importlib.util.find_spec("numpy") or importlib.util.find_spec("torch")


def run(script, *arguments):
    return subprocess.run([sys.executable, "-B", os.path.join(EXAMPLES, script), *arguments], capture_output=True, text=True)


class Examples(unittest.TestCase):
    def test_list(self):
        done = run("run_tests.py", "--list")
        self.assertEqual((done.returncode, [line.split()[0] for line in done.stdout.splitlines()]),
                         (0, ["basic", "realtime", "pytorch", "triton"]), done.stderr)

    @unittest.skipUnless(HAS_ARRAYS, "neither NumPy nor PyTorch")
    def test_all_devices(self):
        done = run("run_tests.py", "--all-devices", "-v")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("basic on cpu: passed", done.stdout)
        self.assertIn("matmul: 5 times", done.stdout)
        self.assertIn("6000 events emitted by 4 threads, 0 dropped", done.stdout)
        self.assertIn("request: 2000 times", done.stdout)
        wanted = "passed" if importlib.util.find_spec("torch") else "skipped"
        self.assertIn(f"pytorch on cpu: {wanted}", done.stdout)
        for line in done.stdout.splitlines():
            if ": skipped: " in line:
                print(line.replace(": skipped: ", " is\nskipped: "))

    @unittest.skipUnless(HAS_ARRAYS, "neither NumPy nor PyTorch")
    def test_one_and_wrong_ones(self):
        done = run("run_tests.py", "--test", "realtime")
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (0, "1 passed, 0 failed, 0 skipped"), done.stdout)
        self.assertEqual(run("run_tests.py", "--test", "no such test").returncode, 2)
        done = run("basic_usage.py", "--device", "cuda", "-o", "basic.sbt")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue("no device cuda here" in done.stderr or "(cuda:0)" in done.stdout)


if __name__ == "__main__":
    unittest.main()
