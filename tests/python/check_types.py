# SPDX-License-Identifier: Apache-2.0
"""Types: the package agrees with its stubs (stubtest), and programs are checked strictly. Skips without mypy."""
import importlib.util
import os
import subprocess
import sys
import unittest

CONFIG = os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "pyproject.toml")
# Names that exist for type checkers only, and a module that needs NumPy.
ALLOWED = r"""
tracesmith\._answers\.(Answers\.(info|path)|One|Traces|pandas|polars|pyarrow)
tracesmith\._trace\.(pandas|polars|pyarrow)
tracesmith\.hta\.pandas
tracesmith\._frames.*
tracesmith\.__main__
"""
RIGHT = """
import tracesmith as ts
from tracesmith.hta import TraceAnalysis

def first(path: str) -> str:
    with ts.profile(path, schedule=ts.schedule(wait=1, warmup=1, active=2)) as profile:
        with ts.range("x", flops=1.0, bytes=2) as span:
            name: str = span.name
        profile.step()
    with ts.open(path) as trace:
        for row in trace.sql("SELECT 1"):
            number: object = row[0]
        found: list[ts.Finding] = trace.analyze().findings
        if trace.diff(path).gate("kernel_time<1%"):
            return found[0].problem
    return name

@ts.range("double")
def double(number: int) -> int:
    return 2 * number

total: int = double(3)
answer = TraceAnalysis(["a.json"])
"""
WRONG = {
    'ts.open(3)': "arg-type",
    'ts.range(b"x")': "arg-type",
    'ts.range("x", flop=1)': "call-arg",
    'ts.schedule(wait=1)': "call-arg",
    'ts.open("x").sql(1)': "arg-type",
    'ts.open("x").no_such_method()': "attr-defined",
    'ts.counter("x", "y")': "arg-type",
    'text: str = ts.merge("a", "b", "c")': "assignment",
}


def mypy(*arguments):
    return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True)


@unittest.skipUnless(importlib.util.find_spec("mypy"), "no mypy")
class Types(unittest.TestCase):
    def test_stubs_are_the_package(self):
        with open("allowed", "w", encoding="utf-8") as file:
            file.write(ALLOWED)
        done = mypy("mypy.stubtest", "--mypy-config-file", CONFIG, "--allowlist", "allowed", "--ignore-unused-allowlist", "tracesmith")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_right_program(self):
        with open("right.py", "w", encoding="utf-8") as file:
            file.write(RIGHT)
        done = mypy("mypy", "--config-file", CONFIG, "--strict", "right.py")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_wrong_lines(self):
        with open("wrong.py", "w", encoding="utf-8") as file:
            file.write("import tracesmith as ts\n" + "".join(line + "\n" for line in WRONG))
        done = mypy("mypy", "--config-file", CONFIG, "wrong.py")
        errors = {line.split(":")[1]: line for line in done.stdout.splitlines() if ": error: " in line}
        for number, (line, kind) in enumerate(WRONG.items(), 2):
            self.assertIn(f"[{kind}]", errors.get(str(number), ""), line)


if __name__ == "__main__":
    unittest.main()
