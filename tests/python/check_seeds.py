# SPDX-License-Identifier: Apache-2.0
"""Snippets and command lines of the earlier package's documents (seeds.py) run as they are written there.

TRACESMITH_SEEDS: a folder with these documents. Then their statements and lines must be those of seeds.py.
"""
import ast
import glob
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import unittest

import opencl
import seeds
import tracesmith as ts

SOURCE = os.environ["TRACESMITH_SOURCE_DIR"]
SCRIPTS = sysconfig.get_path("scripts")
HAS_DEVICE = opencl.fill(0)


def run(code, **options):
    return subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, **options)


class Snippets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        # The snippets stand in the root of a checkout.
        os.symlink(os.path.join(SOURCE, "examples"), os.path.join(self.folder, "examples"))

    def run_snippet(self, name):
        code, refusal = {one: rest for one, *rest in seeds.SNIPPETS}[name]
        done = run(code, cwd=self.folder)
        if refusal:
            self.assertIn(f"UnsupportedError: {refusal}", done.stderr)
        else:
            self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def open(self, name):
        return ts.open(os.path.join(self.folder, name))

    def test_profiler(self):
        count = int(re.search(r"Captured (\d+) events", self.run_snippet("profiler")).group(1))
        with self.open("trace.sbt") as trace:
            self.assertEqual(trace.info["events"] - trace.info["kinds"].get("process", 0), count)
        with self.open("trace.json") as trace:
            self.assertEqual(trace.info["format"], "chrome-json")

    def test_session(self):
        self.assertIn("Events: 3 emitted, 0 dropped", self.run_snippet("session"))
        with self.open("realtime_trace.perfetto-trace") as trace:
            self.assertIn("perfetto", trace.info["format"])
            self.assertEqual(list(trace.sql("SELECT tid, grid_dim FROM marker JOIN tracks t ON t.id = track WHERE marker.name = 'my_kernel'")),
                             [(12345, "256x256x1")])
            self.assertEqual(sorted(value for value, in trace.sql("SELECT value FROM counter")), [85.2, 1024.5])

    def test_capture(self):
        self.assertIn("GPU Utilization: nan%", self.run_snippet("capture"))  # nothing used a GPU, and nothing is made up
        self.assertIn("Replay success: False", self.run_snippet("capture by keyword"))

    def test_what_this_system_cannot_do(self):
        self.assertEqual(self.run_snippet("maca"), "")  # no device is printed, and a warning says what is not recorded
        with self.open("metax_trace.sbt") as trace:
            self.assertEqual(trace.info["events"] - trace.info["kinds"].get("process", 0), 0)
        self.assertEqual(self.run_snippet("xctrace"), "")

    def test_devices(self):
        if not (importlib.util.find_spec("numpy") or importlib.util.find_spec("torch")):
            print("skipped: neither NumPy nor PyTorch for the snippet of DeviceManager")
            return
        out = self.run_snippet("devices")
        self.assertRegex(out, r"(?m)^Using: .+\)$")
        self.assertGreater(float(re.search(r"Mean: ([\d.]+) ms", out).group(1)), 0)
        self.assertIn("Memory: 7.6 MB", out)  # two arrays of 1000 x 1000 numbers of 4 bytes; a GPU may have more


class Commands(unittest.TestCase):
    def test_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("train.py", "inference.py", "benchmark.py", "mps_benchmark.py"):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write("import sys; print('ran', sys.argv[1:])\n")
            with open(os.path.join(folder, "my_maca_app"), "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n")
            os.chmod(os.path.join(folder, "my_maca_app"), 0o700)
            path = os.pathsep.join((SCRIPTS, os.path.dirname(sys.executable), os.environ["PATH"]))
            for line, status, words in seeds.COMMANDS:
                line = line.replace("-d 5", "-d 0.2").replace("-n 10000", "-n 100").replace("10000", "100")
                if not HAS_DEVICE and ("record" in line or "real-gpu" in line):
                    continue
                done = subprocess.run(shlex.split(line), cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True)
                text = done.stdout + done.stderr
                if "--mctracer" in line and "mcTracer was found neither" not in text:
                    continue  # the MACA SDK is installed
                if "--nsys" in line and "nsys was found neither" not in text:
                    continue  # Nsight Systems is installed
                self.assertEqual(done.returncode, status, (line, text))
                self.assertIn(words.replace("10000", "100"), text, line)
                if status == 0 and " -- " in line:
                    self.assertIn(f"ran {['--epochs', '10'] if '--epochs' in line else []}", done.stdout)
            with ts.open(os.path.join(folder, "trace.perfetto-trace")) as trace:
                self.assertIn("perfetto", trace.info["format"])

    @unittest.skipUnless(HAS_DEVICE, "no OpenCL device")
    def test_record_is_of_a_device(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.sbt")
            subprocess.run([os.path.join(SCRIPTS, "tracesmith-cli"), "record", "-o", path, "-d", "0.1"], check=True, capture_output=True)
            with ts.open(path) as trace:
                kernels = trace.info["kinds"]["kernel"]
                self.assertEqual(kernels % 10001, 0)  # with the first launch of each run
                self.assertGreater(kernels, 0)
                self.assertEqual(len(list(trace.sql("SELECT 1 FROM devices"))), 1)

    def test_wrong_lines(self):
        for line, status, words in (("record -d x", 2, "'x'"), ("record -p cuda", 4, "cuda"), ("info /nonexistent", 3, "/nonexistent")):
            done = subprocess.run([os.path.join(SCRIPTS, "tracesmith-cli"), *line.split()], capture_output=True, text=True)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(words, done.stderr)


def statements(code):
    return [ast.unparse(node) for node in ast.parse(code).body]


def compiles(lines):
    try:
        ast.parse("\n".join(lines))
    except SyntaxError:
        return False
    return True


def ends_with_words(lines):
    """Whether the last statement is prose that happens to be an expression, as "C++ API" is."""
    body = ast.parse("\n".join(lines)).body
    return bool(body) and isinstance(body[-1], ast.Expr) and not isinstance(body[-1].value, ast.Call)


def snippets(text):
    """Python snippets of a document. In some the lines have lost their fences and their indentation."""
    lines = text.splitlines()
    for begin, line in enumerate(lines):
        if not re.match(r"(import tracesmith as ts|from tracesmith\.xctrace import|from examples\.device_utils import)", line):
            continue
        taken, found, indent = [], [], ""
        for line in lines[begin: begin + 60]:
            if line.startswith("```") or (taken and line.startswith("import tracesmith as ts")):
                break
            taken.append(line if line.startswith(" ") else indent + line)
            indent = "    " if line.rstrip().endswith(":") and line.startswith(("if ", "for ", "with ")) else ""
            if compiles(taken) and not ends_with_words(taken):
                found = list(taken)
        yield "\n".join(found)


@unittest.skipUnless(os.environ.get("TRACESMITH_SEEDS"), "TRACESMITH_SEEDS names no folder")
class Documents(unittest.TestCase):
    def texts(self):
        for path in sorted(glob.glob(os.path.join(os.environ["TRACESMITH_SEEDS"], "*"))):
            with open(path, encoding="utf-8") as file:
                yield file.read()

    def test_every_statement_is_in_the_list(self):
        known = {statement for _, code, _ in seeds.SNIPPETS for statement in statements(code)}
        found = [code for text in self.texts() for code in snippets(text)]
        self.assertGreater(len(found), 6)
        for code in found:
            self.assertLessEqual(set(statements(code)) - known, set(), code)

    def test_every_snippet_runs(self):
        refusals = [refusal for _, _, refusal in seeds.SNIPPETS if refusal]
        for text in self.texts():
            for code in snippets(text):
                with tempfile.TemporaryDirectory() as folder:
                    os.symlink(os.path.join(SOURCE, "examples"), os.path.join(folder, "examples"))
                    done = run(code, cwd=folder)
                if done.returncode:
                    self.assertTrue(any(f"UnsupportedError: {refusal}" in done.stderr for refusal in refusals), (code, done.stderr))

    def test_every_line_is_in_the_list(self):
        known = {line for line, _, _ in seeds.COMMANDS}
        found = set()
        for text in self.texts():
            found |= {match.group(1).split("  #")[0].strip() for match in re.finditer(r"(?m)^(?:\S*/)?(tracesmith-cli [a-z].*)$", text)}
        self.assertGreater(len(found), 15)
        self.assertLessEqual(found, known)


if __name__ == "__main__":
    if not os.environ.get("TRACESMITH_SEEDS"):
        print("skipped: TRACESMITH_SEEDS names no folder with the documents themselves")
    if not HAS_DEVICE:
        print("skipped: commands that record, without an OpenCL device")
    unittest.main()
