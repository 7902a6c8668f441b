# SPDX-License-Identifier: Apache-2.0
import asyncio
import contextlib
import os
import subprocess
import sys
import threading
import unittest

import tracesmith as ts


def events(path, kind, *columns):
    with ts.open(path) as trace:
        return sorted(trace.events(kind, columns=columns or ["start", "end", "name"]))


class Record(unittest.TestCase):
    def setUp(self):
        self.path = f"{self.id().rsplit('.', 1)[1]}.sbt"

    def test_nested_ranges_marks_and_counters(self):
        with ts.session(self.path) as session:
            with ts.range("outer", flops=1.5e9, bytes=4096):
                ts.mark("begin")
                with ts.range("inner"):
                    ts.counter("loss", 0.25)
                ts.mark("end")
        (outer, inner) = events(self.path, "range")
        begin, end = [start for start, _ in events(self.path, "marker", "start", "name")]
        (counted,) = events(self.path, "counter", "start", "name", "value")
        self.assertEqual((outer[2], inner[2], counted[1:]), ("outer", "inner", ("loss", 0.25)))
        moments = [outer[0], begin, inner[0], counted[0], inner[1], end, outer[1]]
        self.assertEqual(moments, sorted(moments))
        self.assertEqual(events(self.path, "range", "name", "flops", "bytes"),
                         sorted([("outer", 1.5e9, 4096), ("inner", None, None)], key=lambda row: row[0]))
        self.assertEqual((session.statistics["emitted"], session.statistics["kept"], session.statistics["dropped"],
                          session.statistics["open_ranges"]), (5, 5, 0, 0))
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o600)

    def test_the_rank_is_in_the_name(self):
        program = ("import tracesmith as ts\nwith ts.session('rank.%r.%%.sbt') as session:\n    ts.mark('here')\nprint(session.path)")
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI", "MPI_", "SLURM_", "FLUX_", "TORCHELASTIC_"))}
        done = subprocess.run([sys.executable, "-c", program], env=dict(variables, RANK="3", WORLD_SIZE="8"), capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "rank.3.%.sbt\n")
        self.assertEqual(events("rank.3.%.sbt", "marker", "name"), [("here",)])
        variables.pop("WORLD_SIZE", None)
        done = subprocess.run([sys.executable, "-c", program], env=variables, capture_output=True, text=True)
        self.assertIn("ArgumentError", done.stderr)
        self.assertIn("rank (%r) is not known", done.stderr)
        with ts.session("100%.sbt") as session:  # without %r nothing is replaced
            ts.mark("here")
        self.assertEqual((session.path, os.path.exists("100%.sbt")), ("100%.sbt", True))

    def test_nothing_without_a_session(self):
        with ts.range("before"):
            ts.mark("before")
            ts.counter("before", 1)
        late = ts.range("over the beginning")
        with late:
            with ts.session(self.path):
                pass
        self.assertEqual(events(self.path, "range") + events(self.path, "marker"), [])

    def test_exception_passes_and_is_recorded(self):
        error = KeyError("from inside")
        with self.assertRaises(KeyError) as caught:
            with ts.session(self.path):
                with ts.range("outer"), ts.range("inner"):
                    raise error
        self.assertIs(caught.exception, error)
        self.assertEqual([name for _, _, name in events(self.path, "range")], ["outer", "inner"])

    def test_wrong_arguments_fail_with_and_without_a_session(self):
        def check():
            for wrong in (lambda: ts.range(), lambda: ts.range(1), lambda: ts.range("x", 1), lambda: ts.mark(1),
                          lambda: ts.range("x", speed=1), lambda: ts.range("x", flops="many"),
                          lambda: ts.range("x", bytes=1.5), lambda: ts.counter("x"), lambda: ts.counter("x", "y"),
                          lambda: ts.range("x")(3)):
                self.assertRaises(TypeError, wrong)
            for wrong in (-1, 2**64):
                self.assertRaises(OverflowError, lambda: ts.range("x", bytes=wrong))
            again = ts.range("x")
            with again:
                self.assertRaises(RuntimeError, again.__enter__)

        check()
        with ts.session(self.path):
            check()

    def test_any_name_will_do(self):
        names = ["", "größe", "\U0001f680", "a\0b", "\udcff", "x" * 10000]
        with ts.session(self.path):
            for name in names:
                with ts.range(name):
                    pass
        wanted = ["", "größe", "\U0001f680", "a?b", "\\udcff", "x" * 10000]
        self.assertEqual([name or "" for _, _, name in events(self.path, "range")], wanted)

    def test_range_is_used_again(self):
        once = ts.range("again")
        with ts.session(self.path):
            for _ in range(1000):
                with once:
                    pass
        self.assertEqual(len(events(self.path, "range")), 1000)

    def test_range_that_never_ends_is_in_the_ledger(self):
        with ts.session(self.path) as session:
            left = ts.range("left open")
            left.__enter__()
            ts.range("lost").__enter__()
            with ts.range("whole"):
                pass
        left.__exit__(None, None, None)
        self.assertEqual([name for _, _, name in events(self.path, "range")], ["whole"])
        self.assertEqual(session.statistics["open_ranges"], 2)
        with ts.open(self.path) as trace:
            self.assertEqual(trace.info["lost"], {"unmatched": 2})
            self.assertEqual([(row["lost"], row["reason"]) for row in trace.loss.dicts()], [(2, "unmatched")])

    def test_range_of_one_session_ends_in_another(self):
        over = ts.range("over")
        with ts.session("first.sbt"):
            over.__enter__()
        with ts.session(self.path) as session:
            over.__exit__(None, None, None)
        self.assertEqual(events(self.path, "range"), [])
        self.assertEqual(session.statistics["open_ranges"], 0)

    def test_decorators(self):
        class Model:
            @ts.range("method")
            def method(self):
                return "method"

            @ts.range("class method")
            @classmethod
            def of_class(cls):
                return cls

            @staticmethod
            @ts.range("static")
            def of_none(value):
                return value

        @ts.range("function", flops=2, bytes=3)
        def function(a, *, b):
            """Documentation."""
            return a + b

        @ts.range("recursive")
        def recursive(depth):
            return 0 if depth == 0 else 1 + recursive(depth - 1)

        self.assertEqual((function.__name__, function.__doc__), ("function", "Documentation."))
        with ts.session(self.path):
            self.assertEqual((Model().method(), Model.of_class(), Model.of_none(4)), ("method", Model, 4))
            self.assertEqual((function(1, b=2), recursive(5)), (3, 5))
        names = [name for _, _, name in events(self.path, "range")]
        self.assertEqual(sorted(names), sorted(["method", "class method", "static", "function"] + ["recursive"] * 6))
        self.assertIn(("function", 2.0, 3), events(self.path, "range", "name", "flops", "bytes"))

    def test_decorated_generator(self):
        seen = []

        @ts.range("generator")
        def generate():
            try:
                seen.append((yield 1))
                yield 2
            except KeyError:
                yield "thrown"
            finally:
                seen.append("closed")

        with ts.session(self.path):
            generator = generate()
            self.assertEqual((next(generator), generator.send("sent"), generator.throw(KeyError())), (1, 2, "thrown"))
            ts.mark("suspended")
            generator.close()
        self.assertEqual(seen, ["sent", "closed"])
        ((start, end, _),) = events(self.path, "range")
        ((moment, _),) = events(self.path, "marker", "start", "name")
        self.assertTrue(start <= moment <= end)

    def test_coroutines_that_interleave(self):
        async def main():
            began, may_end = asyncio.Event(), asyncio.Event()

            @ts.range("first to begin, first to end")
            async def first():
                began.set()
                await may_end.wait()
                return "first"

            @ts.range("second")
            async def second():
                await began.wait()
                may_end.set()
                await others
                return "second"

            others = asyncio.ensure_future(first())
            self.assertEqual((await second(), await others), ("second", "first"))

        with ts.session(self.path):
            asyncio.run(main())
        ranges = {name: (start, end) for start, end, name in events(self.path, "range")}
        second, first = ranges["second"], ranges["first to begin, first to end"]
        # Each has its own begin and end: they overlap, and second, which waited, ends last.
        self.assertTrue(max(first[0], second[0]) <= first[1] <= second[1], ranges)

    def test_decorated_async_generator(self):
        async def main():
            @ts.range("async generator")
            async def generate():
                sent = yield 1
                try:
                    yield sent
                except KeyError:
                    yield "thrown"

            generator = generate()
            got = [await generator.__anext__(), await generator.asend("sent"), await generator.athrow(KeyError())]
            self.assertEqual(got, [1, "sent", "thrown"])
            with self.assertRaises(StopAsyncIteration):
                await generator.__anext__()
            self.assertEqual([item async for item in generate()], [1, None])
            closed = generate()
            await closed.__anext__()
            await closed.aclose()

        with ts.session(self.path) as session:
            asyncio.run(main())
        self.assertEqual(len(events(self.path, "range")), 3)
        self.assertEqual(session.statistics["open_ranges"], 0)

    def test_threads(self):
        def work(number):
            for _ in range(500):
                with ts.range(f"thread {number}"):
                    ts.counter("count", number)

        with ts.session(self.path) as session:
            threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        with ts.open(self.path) as trace:
            rows = list(trace.sql("SELECT name, count(*), count(DISTINCT track) FROM range GROUP BY name ORDER BY name"))
            self.assertEqual(rows, [(f"thread {number}", 500, 1) for number in range(4)])
            (tracks,) = next(iter(trace.sql("SELECT count(DISTINCT track) FROM range")))
        self.assertEqual((tracks, session.statistics["dropped"]), (4, 0))

    def test_threads_that_outlive_the_session(self):
        stopped, running = threading.Event(), threading.Event()

        def work():
            while not stopped.is_set():
                with ts.range("work"):
                    ts.mark("mark")
                running.set()

        def stop():  # a thread that runs on would keep the interpreter from exiting
            stopped.set()
            if thread.ident is not None:
                thread.join()

        thread = threading.Thread(target=work)
        self.addCleanup(stop)
        for number in range(20):
            with ts.session(f"{number}.sbt") as session:
                if number == 0:
                    thread.start()
                running.clear()
                while not running.wait(1):
                    self.assertTrue(thread.is_alive())
            figures = session.statistics
            with ts.open(f"{number}.sbt") as trace:
                kinds = trace.info["kinds"]
            self.assertEqual(figures["emitted"], figures["kept"] + figures["dropped"])
            self.assertEqual(kinds.get("range", 0) + kinds.get("marker", 0) + bool(figures["open_ranges"]),
                             figures["kept"])

    def test_one_session_at_a_time(self):
        with ts.session(self.path) as session:
            with self.assertRaises(ts.StateError):
                ts.session("second.sbt").start()
            self.assertFalse(os.path.exists("second.sbt"))
            with open("kept.sbt", "w", encoding="utf-8") as file:
                file.write("an older trace")
            self.assertRaises(ts.StateError, ts.session("kept.sbt").start)
            with open("kept.sbt", encoding="utf-8") as file:
                self.assertEqual(file.read(), "an older trace")
            with self.assertRaises(ts.StateError):
                session.start()
            ts.mark("still there")
        self.assertEqual(len(events(self.path, "marker")), 1)
        self.assertEqual(session.stop(), session.statistics)
        with self.assertRaises(ts.StateError):
            session.start()
        self.assertIsNone(ts.session("never started").stop())

    def test_session_that_cannot_begin(self):
        with self.assertRaises(ts.NotFoundError) as caught:
            ts.session("no such folder/x.sbt").start()
        self.assertEqual(caught.exception.path, "no such folder/x.sbt")
        self.assertRaises(ValueError, ts.session("x.sbt", overflow="explode").start)
        with ts.session(self.path):
            ts.mark("after that")
        self.assertEqual(len(events(self.path, "marker")), 1)

    def test_fork(self):
        with ts.session(self.path) as session:
            with ts.range("parent before"):
                pass
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    with ts.range("child"):
                        pass
                    status = 0 if session.stop() is None else 2
                finally:
                    os._exit(status)
            _, status = os.waitpid(child, 0)
            with ts.range("parent after"):
                pass
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)
        names = [name for _, _, name in events(self.path, "range")]
        self.assertEqual(names, ["parent before", "child", "parent after"])
        with ts.open(self.path) as trace:
            (processes,) = next(iter(trace.sql("SELECT count(*) FROM processes")))
        self.assertEqual(processes, 2)


class RangeObject(unittest.TestCase):
    """A range is its own __enter__ and __exit__, and the object of one that is gone is used again."""

    def test_ways_to_call(self):
        with ts.session("ways.sbt") as session:
            with contextlib.ExitStack() as stack:
                self.assertEqual(stack.enter_context(ts.range("stack")).name, "stack")
            span = ts.range("by hand")
            self.assertIs(span.__enter__(), span)
            self.assertIs(span.__exit__(None, None, None), False)
            self.assertIs(type(span).__enter__(span), span)
            self.assertIs(type(span).__exit__(span, None, None, None), False)
        self.assertEqual((session.statistics["kept"], session.statistics["open_ranges"]), (3, 0))
        self.assertEqual(sorted(name for name, in events("ways.sbt", "range", "name")), ["by hand", "by hand", "stack"])

    def test_wrong_calls(self):
        span = ts.range("x")
        for wrong in (lambda: span(1, 2), lambda: span(1, 2, 3, 4), lambda: span(function=print), lambda: span.__exit__(1),
                      lambda: type(span).__enter__(), lambda: type(span).__enter__(3), lambda: type(span).__exit__(span),
                      lambda: type(span).__enter__(span, 1, 2), lambda: type(type(span).__dict__["__enter__"])(), lambda: span(3)):
            self.assertRaises((TypeError, RuntimeError), wrong)

    def test_one_after_the_other(self):
        with ts.session("reused.sbt"):
            with ts.range("first", flops=1.0, bytes=2):
                pass
            with ts.range("second"):
                with ts.range("third", bytes=3):
                    pass
            for depth in (1, 20):  # deeper than the objects that are kept
                with contextlib.ExitStack() as stack:
                    spans = [stack.enter_context(ts.range(f"{depth} {number}")) for number in range(depth)]
                    self.assertEqual(len({id(span) for span in spans}), depth)
                del spans, stack
        found = {name: (flops, size) for name, flops, size in events("reused.sbt", "range", "name", "flops", "bytes")}
        self.assertEqual((found["first"], found["second"], found["third"]), ((1.0, 2), (None, None), (None, 3)))
        self.assertEqual(len(found), 3 + 1 + 20)

    def test_one_that_never_ends_is_not_the_next(self):
        with ts.session("dropped.sbt") as session:
            ts.range("dropped").__enter__()
            for _ in range(20):
                with ts.range("later"):
                    pass
        self.assertEqual((session.statistics["open_ranges"], len(events("dropped.sbt", "range"))), (1, 20))


class Exit(unittest.TestCase):
    """How an interpreter may end while a session is open."""

    def run_to_the_end(self, code, status=0):
        path = f"{self.id().rsplit('.', 1)[1]}.sbt"
        # Python 3.12 warns of every fork of a process with threads.
        done = subprocess.run([sys.executable, "-W", "ignore:This process:DeprecationWarning", "-c", f"import tracesmith as ts\npath = {path!r}\n{code}"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return path, done.stderr

    def whole(self, path, names):
        with ts.open(path) as trace:
            self.assertTrue(trace.info["complete"])
        self.assertEqual([name for _, _, name in events(path, "range")], names)

    def test_open_session(self):
        path, said = self.run_to_the_end("ts.session(path).start()\nwith ts.range('last'): pass")
        self.assertEqual(said, "")
        self.whole(path, ["last"])

    def test_uncaught_exception(self):
        path, said = self.run_to_the_end("with ts.session(path):\n with ts.range('last'): raise KeyError('mine')", 1)
        self.assertIn("KeyError: 'mine'", said)
        self.whole(path, ["last"])

    def test_system_exit(self):
        path, _ = self.run_to_the_end(
            "import sys\nts.session(path).start()\nwith ts.range('last'): pass\nsys.exit(3)", 3)
        self.whole(path, ["last"])

    def test_forked_child_that_exits(self):
        code = ("import os, sys\nts.session(path).start()\nwith ts.range('parent'): pass\n"
                "child = os.fork()\nif child == 0: sys.exit(0)\n"
                "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))")
        path, said = self.run_to_the_end(code)
        self.assertEqual(said, "")
        self.whole(path, ["parent"])

    def test_open_trace_and_answers(self):
        path, _ = self.run_to_the_end("with ts.session(path):\n with ts.range('last'): pass\n"
                                      "t = ts.open(path)\nr = iter(t.events())\nnext(r)\nc = t.sql('SELECT 1')\n"
                                      "k = t.events().__arrow_c_stream__()")
        self.whole(path, ["last"])


if __name__ == "__main__":
    unittest.main()
