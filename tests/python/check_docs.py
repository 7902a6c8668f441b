# SPDX-License-Identifier: Apache-2.0
"""docs/python.md (argv[1]) and README.md (argv[2]) run as they are written, and the first names what the package has."""
import contextlib
import gzip
import inspect
import io
import os
import re
import sys
import unittest

import made
import reference
import tracesmith as ts

with open(sys.argv.pop(1), encoding="utf-8") as file:
    GUIDE = file.read()
with open(sys.argv.pop(1), encoding="utf-8") as file:
    README = file.read()


class Guide(unittest.TestCase):
    def test_quick_start_runs(self):
        (code,) = re.findall(r"<!-- quick start -->\n```python\n(.*?)```", GUIDE, re.DOTALL)
        self.assertLessEqual(sum(bool(line.strip()) for line in code.splitlines()), 10)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, "docs/python.md", "exec"), {})
        name, count, total, unit = out.getvalue().split()
        self.assertEqual((name, count, unit), ("step", "3", "ns"))
        with ts.open("train.sbt") as trace:
            ranges = list(trace.events("range", columns=["duration", "flops"]))
            self.assertEqual(sum(duration for duration, _ in ranges), int(total))
            self.assertEqual([flops for _, flops in ranges], [2e9] * 3)
            self.assertEqual(sorted(value for value, in trace.sql("SELECT value FROM counter")), [1 / 3, 1 / 2, 1])

    def test_readme_runs(self):
        (code,) = re.findall(r"<!-- Python: .*?-->\n```python\n(.*?)```", README, re.DOTALL)
        self.assertLessEqual(sum(bool(line.strip()) for line in code.splitlines()), 10)
        made.write_kineto("trace.json", [("slow", 1000, 900000, None), ("fast", 950000, 1000, None)])
        with open("trace.json", "rb") as plain, gzip.open("trace.json.gz", "wb") as packed:
            packed.write(plain.read())
        trained, out = [], io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, "README.md", "exec"), {"train": lambda: trained.append(1)})
        self.assertEqual(len(trained), 1)
        self.assertRegex(out.getvalue(), r"(?m)^1\. kernel, up to 0\.900 ms.*slow")
        self.assertRegex(out.getvalue(), r"(?m)^train 1 \d+ ns$")

    def test_schedule_runs(self):
        (code,) = re.findall(r"```python\n(schedule = .*?)```", GUIDE, re.DOTALL)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, "docs/python.md", "exec"), {"ts": ts, "batches": range(11), "train": lambda batch: None})
        self.assertEqual(len(out.getvalue().splitlines()), 2)
        with ts.open("train.sbt") as trace:
            self.assertEqual(sorted(name for name, in trace.events("range", columns=["name"])),
                             [f"ProfilerStep#{step}" for step in (2, 3, 4, 7, 8, 9)])

    def test_names_are_those_of_the_module(self):
        listed = re.search(r"<!-- names:.*?-->\n(.*?)\n\n", GUIDE, re.DOTALL).group(1)
        self.assertEqual(re.findall(r"`(\w+)`", listed), sorted(ts.__all__))

    def test_reference_is_made_of_the_docstrings(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            reference.main()
        with open(os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "docs", "python-api.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), out.getvalue(), "make it again: python tests/python/reference.py > docs/python-api.md")

    def test_every_member_is_in_the_guide(self):
        for kind, prefix in ((ts.Trace, "trace"), (ts.Result, "result")):
            for name, _ in inspect.getmembers(kind, lambda thing: callable(thing) or isinstance(thing, property)):
                if not name.startswith("_"):
                    self.assertRegex(GUIDE, rf"`{prefix}\.{name}\b")
        for name in set(re.findall(r"`trace\.(\w+)", GUIDE)):
            self.assertTrue(hasattr(ts.Trace, name), name)
        for name in set(re.findall(r"`result\.(\w+)", GUIDE)):
            self.assertTrue(hasattr(ts.Result, name), name)
        for name in set(re.findall(r"\bts\.(\w+)", GUIDE)):
            self.assertIn(name, ts.__all__)

    def test_exceptions_are_as_described(self):
        rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", GUIDE, re.MULTILINE)
        self.assertEqual({name for name, _ in rows},
                         {name for name in ts.__all__ if inspect.isclass(getattr(ts, name)) and
                          issubclass(getattr(ts, name), ts.Error)} - {"Error"})
        for name, base in rows:
            self.assertTrue(issubclass(getattr(ts, name), getattr(__import__("builtins"), base)), name)


if __name__ == "__main__":
    unittest.main()
