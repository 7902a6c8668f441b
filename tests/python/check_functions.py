# SPDX-License-Identifier: Apache-2.0
import asyncio
import collections
import os
import random
import subprocess
import sys
import textwrap
import threading
import unittest

import tracesmith as ts

HERE = os.path.abspath(__file__)
calls = collections.Counter()  # the program's own count


def leaf(number):
    calls["leaf"] += 1
    return number


def branch(depth):
    calls["branch"] += 1
    return leaf(depth) if depth == 0 else branch(depth - 1) + leaf(depth)


def fails(depth):
    calls["fails"] += 1
    if depth == 0:
        raise KeyError("from inside")
    fails(depth - 1)


def catches(depth):
    calls["catches"] += 1
    try:
        fails(depth)
    except KeyError:
        return leaf(depth)


def ranges(path, *columns):
    """Of the functions of this file, without the place: (name, ...) in the order of their begins."""
    with ts.open(path) as trace:
        rows = sorted(trace.events("range", columns=["start", "duration", "track", "name"]))
    return [(start, start + duration, track, name.partition(" ")[0]) for start, duration, track, name in rows]


@unittest.skipIf(sys.version_info >= (3, 12), "this Python has sys.monitoring")
class Without(unittest.TestCase):
    def test_is_refused(self):
        with ts.session("none.sbt"):
            self.assertRaises(ts.UnsupportedError, ts.trace_functions().start)
        ts.trace_functions().stop()


@unittest.skipIf(sys.version_info < (3, 12), "no sys.monitoring before Python 3.12")
class Functions(unittest.TestCase):
    def setUp(self):
        self.path = f"{self.id().rsplit('.', 1)[1]}.sbt"
        calls.clear()

    def record(self, act):
        """Runs it; the ranges by name, and that nothing is in the loss ledger."""
        with ts.session(self.path), ts.trace_functions(only=HERE):
            act()
        with ts.open(self.path) as trace:
            self.assertEqual(trace.info["lost"], {})
        return collections.Counter(name for *_, name in ranges(self.path))

    def test_every_call_is_a_range(self):
        def act():
            chance = random.Random(16)
            for _ in range(200):
                chance.choice([branch, catches])(chance.randrange(6))

        got = self.record(act)
        self.assertEqual({name: got[name] for name in calls}, dict(calls))
        self.assertGreater(calls["fails"], 100)

    def test_ranges_nest(self):
        self.record(lambda: branch(5))
        rows = ranges(self.path)
        open_ranges = []
        for start, end, _, name in rows:
            while open_ranges and open_ranges[-1] <= start:
                open_ranges.pop()
            self.assertTrue(not open_ranges or end <= open_ranges[-1], name)
            open_ranges.append(end)
        self.assertEqual([name for *_, name in rows if name == "branch"], ["branch"] * 6)

    def test_generators_and_coroutines_run_in_parts(self):
        def generate():
            for number in range(3):
                leaf(number)
                yield number

        async def one():
            leaf(1)
            await asyncio.sleep(0)
            leaf(2)

        async def main():
            await asyncio.gather(one(), one())

        def throw():
            generator = generate()
            next(generator)
            try:
                generator.throw(KeyError())
            except KeyError:
                pass

        def act():
            list(generate())
            asyncio.run(main())
            throw()

        got = self.record(act)
        part = {name.rpartition(".")[2]: count for name, count in got.items()}
        # Three values and the end; begin and one more for each of two; first value and the throw.
        self.assertEqual((part["generate"], part["one"], part["leaf"]), (4 + 2, 4, 3 + 4 + 1))

    def test_threads(self):
        def act():
            threads = [threading.Thread(target=branch, args=(20,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        got = self.record(act)
        self.assertEqual((got["branch"], got["leaf"]), (84, 84))
        self.assertEqual(len({track for _, _, track, name in ranges(self.path) if name == "branch"}), 4)

    def test_functions_that_were_running(self):
        def outer():
            trace = ts.trace_functions(only=HERE)
            with ts.session(self.path):
                inner(trace)
                leaf(1)
                middle(trace)
                leaf(2)

        def inner(trace):
            trace.start()
            leaf(0)

        def middle(trace):
            leaf(3)
            trace.stop()
            leaf(4)

        outer()
        got = collections.Counter(name.rpartition(".")[2] for *_, name in ranges(self.path))
        self.assertEqual(got, {"leaf": 3, "middle": 1})

    def test_only_what_was_asked_for(self):
        with ts.session(self.path), ts.trace_functions(only="/nowhere/"):
            branch(3)
        self.assertEqual(ranges(self.path), [])
        with ts.session("again.sbt"), ts.trace_functions(only=HERE):
            branch(3)
        self.assertEqual(len(ranges("again.sbt")), 8)
        with ts.session("everything.sbt"), ts.trace_functions():
            textwrap.indent("a", "b")
        self.assertIn("indent", [name for *_, name in ranges("everything.sbt")])
        with ts.open("everything.sbt") as trace:
            (line,) = [name for (name,) in trace.events("range", columns=["name"]) if name.startswith("indent ")]
        self.assertRegex(line, r"^indent \(textwrap\.py:\d+\)$")

    def test_one_at_a_time_and_in_a_session(self):
        self.assertRaises(ts.StateError, ts.trace_functions().start)
        with ts.session(self.path), ts.trace_functions(only=HERE):
            self.assertRaises(ts.StateError, ts.trace_functions().start)
            leaf(1)
        self.assertRaises(TypeError, ts.trace_functions, [1])
        self.assertEqual([tool for tool in range(6) if sys.monitoring.get_tool(tool)], [])

    def test_session_that_ends_first(self):
        trace = ts.trace_functions(only=HERE)
        with ts.session(self.path):
            trace.start()
            leaf(1)
        leaf(2)
        trace.stop()
        self.assertEqual([name for *_, name in ranges(self.path)], ["leaf"])

    def test_interpreter_that_exits_meanwhile(self):
        code = ("import tracesmith as ts\nts.session('exit.sbt').start(); ts.trace_functions().start()\n"
                "def last(): pass\nlast()\n")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("last", [name for *_, name in ranges("exit.sbt")])


if __name__ == "__main__":
    if sys.version_info < (3, 12):
        print("skipped: tracing functions needs Python 3.12")
    unittest.main()
