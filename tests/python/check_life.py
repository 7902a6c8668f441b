# SPDX-License-Identifier: Apache-2.0
"""Lives of traces, answers and ranges: nothing stays behind. TRACESMITH_SOAK is the long form: a million traces are opened and
closed, and a hundred thousand answered from or failed to."""
import ctypes
import gc
import os
import subprocess
import sys
import threading
import unittest

import made
import tracesmith as ts

# Cycles of opening and closing; of questions and of failures.
CYCLES, ANSWERS = (1_000_000, 100_000) if os.environ.get("TRACESMITH_SOAK") else (3_000, 100 if made.SANITIZED else 300)


def memory_in_use():
    """Resident bytes; under AddressSanitizer, which keeps freed memory for a while, those that its allocator has given out."""
    if made.SANITIZED:
        allocated = ctypes.CDLL(None).__sanitizer_get_current_allocated_bytes
        allocated.restype = ctypes.c_size_t
        return allocated()
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def count(what):
    return len(os.listdir(f"/proc/self/{what}"))


def has_open(part):
    """Whether the name of an open file has this part."""
    for number in os.listdir("/proc/self/fd"):
        try:
            if part in os.readlink(f"/proc/self/fd/{number}"):
                return True
        except FileNotFoundError:  # closed meanwhile
            pass
    return False


class Life(unittest.TestCase):
    def stays_the_same(self, act, cycles=CYCLES, kept=100):
        """Memory, descriptors and threads after many cycles, compared with those after some: a leak of 350 bytes per cycle is seen,
        in the long form of 100. `kept`: bytes that a cycle may keep."""
        for _ in range(cycles // 3):
            act()
        gc.collect()
        memory, files, tasks, objects = memory_in_use(), count("fd"), count("task"), len(gc.get_objects())
        for _ in range(cycles):
            act()
        gc.collect()
        self.assertEqual((count("fd"), count("task")), (files, tasks))
        self.assertLessEqual(len(gc.get_objects()), objects + 50)
        self.assertLess(memory_in_use() - memory, max(kept * cycles, 1 << 20))

    @classmethod
    def setUpClass(cls):
        with ts.session("life.sbt"):
            for number in range(20):
                with ts.range(f"range {number}"):
                    ts.counter("count", number)
        made.write_kineto("life.json", [("kernel", 1000, 10, None)])

    @unittest.skipUnless(made.SANITIZED, "no sanitizer")
    def test_sanitizer_is_there(self):
        with open("/proc/self/maps", encoding="ascii", errors="replace") as file:
            self.assertIn("asan", file.read())
        self.assertNotIn("LD_PRELOAD", os.environ)
        self.assertEqual(os.environ["PYTHONMALLOC"], "malloc")

    def test_open_and_close(self):
        def cycle():
            with ts.open("life.sbt") as trace:
                trace.info

        self.stays_the_same(cycle)

    def test_answers_read_in_part_and_not_at_all(self):
        def cycle():
            trace = ts.open("life.sbt")
            list(trace.events("range", columns=["name", "start"]))
            next(iter(trace.events("counter", columns=["value"])))
            trace.events("range", columns=["start"]).__arrow_c_stream__()
            trace.sql("SELECT count(*) FROM range")
            trace.tables

        self.stays_the_same(cycle, ANSWERS)

    def test_sessions(self):
        def cycle():
            with ts.session("cycle.sbt"), ts.range("x"):
                pass

        self.stays_the_same(cycle, 100 if made.SANITIZED else 600, kept=1_000)

    def test_failures(self):
        with open("words", "w", encoding="utf-8") as file:
            file.write("no trace\n")
        trace = ts.open("life.sbt")

        def cycle():
            for wrong in (lambda: ts.open("no such file"), lambda: ts.open("words"), lambda: trace.sql("SELECT nothing"),
                          lambda: trace.events("range", columns=["no such column"]), lambda: ts.session("none/x.sbt").start()):
                self.assertRaises(ts.Error, wrong)

        self.stays_the_same(cycle, 3 * ANSWERS)
        trace.close()

    def test_ranges(self):
        def cycle():
            with ts.range("x", flops=1.0, bytes=2):
                ts.mark("m")

        self.stays_the_same(cycle, 100 * 3_000)
        with ts.session("ranges.sbt", overflow="drop-oldest", buffer_bytes=1 << 16):
            while not has_open(".rings"):  # the collector, a thread of this process, opens them when it runs
                cycle()
            self.stays_the_same(cycle, 100 * 3_000)

    def test_cycles_of_references_are_collected(self):
        class Holder:
            pass

        def cycle():
            holder = Holder()
            holder.trace = ts.open("life.sbt")
            holder.rows = iter(holder.trace.events("range"))
            next(holder.rows)
            holder.self = holder

        before = count("fd")
        for _ in range(50):
            cycle()
        gc.collect()
        self.assertEqual(count("fd"), before)

    def test_closed_by_one_thread_while_others_read(self):
        for _ in range(30):
            trace = ts.open("life.sbt")
            wrong = []

            def read():
                try:
                    while True:
                        list(trace.events("range", columns=["name"]))
                        list(trace.sql("SELECT name FROM range"))
                except ts.StateError:
                    pass
                except BaseException as error:
                    wrong.append(error)

            threads = [threading.Thread(target=read) for _ in range(3)]
            for thread in threads:
                thread.start()
            trace.info
            trace.close()
            for thread in threads:
                thread.join()
            self.assertEqual(wrong, [])

    def test_forked_child_reads_what_its_parent_opened(self):
        trace = ts.open("life.sbt")
        count = len(list(trace.events("range")))
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = 0 if len(list(trace.events("range"))) == count else 2
                trace.close()
            finally:
                os._exit(status)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertEqual(len(list(trace.events("range"))), count)
        trace.close()

    def test_subinterpreters(self):
        code = ("import tracesmith as ts\nwith ts.open('life.sbt') as t: assert len(list(t.events('range'))) == 20\n"
                "try: ts.open('none')\nexcept ts.NotFoundError: pass\n")
        whole = ("try:\n import _interpreters as interpreters\nexcept ImportError:\n import _xxsubinterpreters as interpreters\n"
                 "import tracesmith as ts\n"
                 "with ts.session('sub.sbt'):\n"
                 " with ts.range('main'):\n"
                 "  for _ in range(3):\n"
                 "   sub = interpreters.create(**({'isolated': False} if sys.version_info < (3, 13) else {}))\n"
                 f"   failed = interpreters.run_string(sub, {code!r})\n"
                 "   assert failed is None, failed\n"
                 "   interpreters.destroy(sub)\n")
        if sys.version_info >= (3, 13):
            whole = whole.replace("interpreters.create(**", "interpreters.create('legacy', **")
        done = subprocess.run([sys.executable, "-c", "import sys\n" + whole], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with ts.open("sub.sbt") as trace:
            self.assertEqual(list(trace.events("range", columns=["name"])), [("main",)])


if __name__ == "__main__":
    unittest.main()
