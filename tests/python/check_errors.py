# SPDX-License-Identifier: Apache-2.0
import gzip
import os
import random
import unittest
import warnings

import made
import tracesmith as ts


def make_sbt(path, ranges):
    with ts.session(path):
        for number in range(ranges):
            with ts.range(f"range {number % 7}"):
                ts.counter("number", number)


class Errors(unittest.TestCase):
    def fails(self, kind, function, *arguments, **keywords):
        with self.assertRaises(kind) as caught:
            function(*arguments, **keywords)
        self.assertIsInstance(caught.exception, ts.Error)
        self.assertTrue(str(caught.exception))
        return caught.exception

    def test_missing_file(self):
        error = self.fails(FileNotFoundError, ts.open, "no such file")
        self.assertEqual((type(error), error.path, error.status), (ts.NotFoundError, "no such file", "ERROR_NOT_FOUND"))
        self.assertIn("no such file", str(error))

    def test_file_of_another_format(self):
        with open("words.txt", "w", encoding="utf-8") as file:
            file.write("no trace\n")
        error = self.fails(ts.FormatError, ts.open, "words.txt")
        self.assertEqual((error.path, error.offset), ("words.txt", 0))
        self.fails(ts.FormatError, ts.open, ".")
        open("empty", "w").close()
        self.fails(ts.Error, ts.open, "empty")

    def test_path_that_is_none(self):
        for wrong in (None, 3, ["a"]):
            self.assertRaises(TypeError, ts.open, wrong)
        self.assertRaises(ValueError, ts.open, "zero\0byte")

    def test_path_that_is_no_utf8(self):
        path = b"not-utf8-\xff.json"
        made.write_kineto(path, [("k", 1000, 10, None)])
        with ts.open(path) as trace:
            self.assertEqual(os.fsencode(trace.info["path"]), path)

    def test_statements(self):
        made.write_kineto("made.json", [("k", 1000, 10, None)])
        with ts.open("made.json") as trace:
            self.assertEqual(self.fails(ts.ArgumentError, trace.sql, "SELECT 1 FROM nowhere").status,
                             "ERROR_INVALID_ARGUMENT")
            self.assertEqual(self.fails(ts.ArgumentError, trace.sql, "SELECT wrong(").path, "made.json")
            self.assertEqual(self.fails(ts.ArgumentError, trace.sql, "SELECT 1; SELECT 2").offset, 9)
            for wrong in ("", " -- nothing\n", ";", "DROP TABLE kernel", "ATTACH 'x' AS y", "SELECT 1;;SELECT 2"):
                self.fails(ts.Error, trace.sql, wrong)
            for right in ("SELECT 1;", "SELECT 1 -- one", "SELECT 1; -- one\n", "/* one */ SELECT 1"):
                self.assertEqual(list(trace.sql(right)), [(1,)])
            for wrong in (None, 1, b"SELECT 1"):
                self.assertRaises(TypeError, trace.sql, wrong)
            self.assertRaises(UnicodeEncodeError, trace.sql, "SELECT '\udcff'")

    def test_statement_that_fails_while_it_runs(self):
        made.write_kineto("made.json", [("k", 1000, 10, None)])
        with ts.open("made.json") as trace:
            result = trace.sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 70000) "
                               "SELECT CASE WHEN i < 70000 THEN i ELSE 'text' END AS mixed FROM n")
            self.assertIn("mixed", str(self.fails(ts.Error, list, result)))
            self.fails(ts.Error, result.buffer, "mixed")

    def test_names_that_are_not_there(self):
        made.write_kineto("made.json", [("k", 1000, 10, None)])
        with ts.open("made.json") as trace:
            for kind in ("no such kind", "devices", "events", "kernel; DROP"):
                self.fails(ts.ArgumentError, trace.events, kind)
            for columns in (["no such column"], ['start" FROM kernel --'], []):
                self.fails(ts.ArgumentError, trace.events, columns=columns)
            self.assertRaises(TypeError, trace.events, start="1; DROP TABLE kernel")
            self.assertRaises(TypeError, trace.events, start=1.5)
            self.assertRaises(KeyError, trace.sql("SELECT 1 AS a").buffer, "b")

    def test_closed_trace(self):
        made.write_kineto("made.json", [("k", 1000, 10, None)] * 3)
        trace = ts.open("made.json")
        unread, begun = trace.sql("SELECT * FROM kernel"), iter(trace.events("kernel"))
        next(begun)
        capsule = trace.sql("SELECT * FROM kernel").__arrow_c_stream__()
        trace.close()
        trace.close()
        self.assertTrue(trace.closed)
        for use in (lambda: trace.info, lambda: trace.sql("SELECT 1"), lambda: trace.loss, lambda: list(unread),
                    lambda: unread.buffer("start"), lambda: trace.events("kernel")):
            self.assertEqual(self.fails(ts.StateError, use).status, "ERROR_STATE")
        self.assertEqual(len([next(begun), next(begun)]), 2)  # of the batch that was read before
        self.fails(ts.StateError, next, begun)
        del capsule

    def test_closed_in_the_middle(self):
        make_sbt("many.sbt", 10)
        trace = ts.open("many.sbt")
        rows = iter(trace.sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) "
                              "SELECT i FROM n"))
        next(rows)
        trace.close()
        self.fails(ts.StateError, list, rows)

    def test_trace_that_ends_early_is_said_to(self):
        made.write_kineto("whole.json", [(f"k{i}", 1000 * i, 10, None) for i in range(1, 2000)])
        with open("whole.json", "rb") as file:
            whole = file.read()
        with open("cut.json", "wb") as file:
            file.write(whole[: len(whole) // 2])
        with gzip.open("cut.gz", "wb") as file:
            file.write(whole)
        with open("cut.gz", "rb+") as file:
            file.truncate(os.path.getsize("cut.gz") // 2)
        for path in ("cut.json", "cut.gz"):
            with self.assertWarns(ts.IncompleteTraceWarning) as caught:
                trace = ts.open(path)
            self.assertIn(path, str(caught.warning))
            self.assertEqual(caught.filename, __file__)
            self.assertFalse(trace.info["complete"])
            self.assertTrue(trace.info["incomplete_because"])
            count = len(list(trace.events("kernel")))
            self.assertTrue(0 < count < 1999, count)
            trace.close()

    @staticmethod
    def flipped(content, at, bits):
        content = bytearray(content)
        content[at] ^= bits
        return content

    def test_damaged_sbt(self):
        """What is read of damaged files is what was written, or it is said that it is not whole."""
        make_sbt("whole.sbt", 2000)
        with open("whole.sbt", "rb") as file:
            whole = file.read()
        with ts.open("whole.sbt") as trace:
            wanted = set(trace.events(columns=["start", "name"]))
        damages = [whole[: len(whole) // 2], whole]  # not left to chance: one that is not complete, one that is
        chance = random.Random(16)
        for _ in range(200):
            damaged = self.flipped(whole, chance.randrange(len(whole)), 1 << chance.randrange(8))
            if chance.random() < 0.5:
                del damaged[chance.randrange(len(damaged)):]
            damages.append(damaged)
        read = said = 0
        for damaged in damages:
            with open("damaged.sbt", "wb") as file:
                file.write(damaged)
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                try:
                    with ts.open("damaged.sbt") as trace:
                        got = set(trace.events(columns=["start", "name"]))
                        complete = trace.info["complete"]
                except ts.Error:
                    continue
            read += 1
            said += bool(warned) or not complete
            self.assertTrue(got == wanted or warned or not complete)
        self.assertGreater(said, 0)
        self.assertLess(said, read)

    def test_types_that_nobody_makes(self):
        from tracesmith import _native

        self.assertRaises(TypeError, _native.Stream)
        self.assertRaises(TypeError, _native.Range, "x")
        self.assertRaises(TypeError, _native.Trace)
        self.assertRaises(TypeError, _native.Session)
        stream = _native.Trace(os.fsencode("made.json")).sql("SELECT 1")
        stream.__arrow_c_stream__()
        self.fails(ts.StateError, stream.rows)
        self.fails(ts.StateError, stream.__arrow_c_schema__)
        self.fails(ts.StateError, stream.columns)

    def test_files_are_closed(self):
        made.write_kineto("made.json", [("k", 1000, 10, None)])
        make_sbt("made.sbt", 3)
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(30 if made.SANITIZED else 300):
            for path in ("made.json", "made.sbt"):
                list(ts.open(path).events())
            self.assertRaises(ts.Error, ts.open, "no such file")
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)


if __name__ == "__main__":
    unittest.main()
