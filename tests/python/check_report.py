# SPDX-License-Identifier: Apache-2.0
"""Trace.report: what the command writes, as text and as a file."""
import os
import stat
import subprocess
import unittest

import made
import tracesmith as ts

COMMAND = os.environ["TRACESMITH"]
KERNELS = [("<b>name</b>", i * 10, 5, None) for i in range(30)]


def command(*arguments):
    return subprocess.run([COMMAND, "report", *arguments], stdout=subprocess.PIPE, check=True).stdout.decode()


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = os.path.abspath("kernels.json")
        made.write_kineto(cls.path, KERNELS)

    def test_it_is_what_the_command_writes(self):
        with ts.open(self.path) as trace:
            self.assertEqual(trace.report(), command(self.path))
            self.assertEqual(trace.report(format="markdown"), command(self.path, "-f", "markdown"))
            self.assertEqual(trace.report(title="A <title>", rows=1), command(self.path, "--title", "A <title>", "--rows", "1"))

    def test_a_file(self):
        with ts.open(self.path) as trace:
            text = trace.report("out.html")
            self.assertEqual(open("out.html", encoding="utf-8").read(), text)
            self.assertEqual(stat.S_IMODE(os.stat("out.html").st_mode), 0o600)
            self.assertTrue(trace.report("out.md").startswith("## TraceSmith: "))
            with self.assertRaises(OSError):
                trace.report("no/such/folder/out.html")

    def test_bad_arguments(self):
        with ts.open(self.path) as trace:
            with self.assertRaises(ValueError):
                trace.report(format="pdf")
            with self.assertRaises(ValueError):
                trace.report(start=10, end=10)
        with self.assertRaises(ts.StateError):
            trace.report()


if __name__ == "__main__":
    unittest.main()
