# SPDX-License-Identifier: Apache-2.0
import collections
import gc
import importlib.util
import os
import subprocess
import threading
import unittest

import made
import tracesmith as ts

HAS = {name: importlib.util.find_spec(name) is not None for name in ("duckdb", "numpy", "pandas", "polars", "pyarrow")}
COUNTERS = 7_000 if made.SANITIZED else 70_000  # the latter is more than a batch of the stream
# Names that need care on the way: quotes, a name twice, other scripts, nothing, an astral character.
KERNELS = [
    ("gemm", 1_000_000, 5_000, 64),
    ("größe \U0001f680", 1_010_000, 2_000, None),
    ('a "quoted" name', 1_020_000, 1_000, 0),
    ("gemm", 1_030_000, 7_000, 2**53 + 1),
    ("relu", 1_040_000, 0, None),
]


class Made(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        made.write_kineto("made.json", KERNELS)

    def setUp(self):
        self.trace = ts.open("made.json")
        self.addCleanup(self.trace.close)

    def test_info(self):
        info = self.trace.info
        self.assertEqual((info["format"], info["complete"], info["kinds"], info["lost"]),
                         ("chrome-json", True, {"kernel": len(KERNELS)}, {}))
        self.assertEqual((info["first_start"], info["last_end"]), (1_000_000, 1_040_000))
        self.assertEqual(list(self.trace.loss), [])

    def test_rank(self):
        names = ("rank", "world_size", "local_rank", "node", "launcher", "job")
        self.assertEqual([self.trace.info[name] for name in names], [None] * len(names))
        environment = dict(os.environ, SLURM_STEP_ID="0", SLURM_PROCID="2", SLURM_NTASKS="4", SLURM_NODEID="1", SLURM_LOCALID="0", SLURM_JOB_ID="77")
        for name in ("RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK"):
            environment.pop(name, None)
        subprocess.run([os.environ["TRACESMITH"], "profile", "-o", "rank.%r.sbt", "--", "true"], env=environment, check=True, capture_output=True)
        with ts.open("rank.2.sbt") as trace:
            self.assertEqual([trace.info[name] for name in names], [2, 4, 0, 1, "slurm", "77"])

    def test_rows_are_those_of_the_file(self):
        rows = list(self.trace.events("kernel", columns=["name", "start", "duration"]))
        self.assertEqual(sorted(rows, key=lambda row: row[1]), [kernel[:3] for kernel in KERNELS])

    def test_window_has_its_begin_and_not_its_end(self):
        for start in (None, 1_009_999, 1_010_000, 1_010_001):
            for end in (None, 1_030_000, 1_030_001, 1_000_000):
                got = sorted(row[0] for row in self.trace.events("kernel", start, end, ["start"]))
                wanted = [k[1] for k in KERNELS if (start is None or k[1] >= start) and (end is None or k[1] < end)]
                self.assertEqual(got, wanted, (start, end))

    def test_kinds(self):
        count = lambda kind: len(list(self.trace.events(kind)))
        self.assertEqual((count("kernel"), count(["kernel", "memcpy"]), count(["memcpy"]), count([]), count(None)),
                         (5, 5, 0, 0, 5))

    def test_unknown_is_none_and_not_zero(self):
        column = next(name for name in self.trace.tables["kernel"]["columns"] if name in ("size", "bytes") and
                      len(list(self.trace.sql(f'SELECT 1 FROM kernel WHERE "{name}" IS NOT NULL'))) > 0)
        values = dict(self.trace.events("kernel", columns=["start", column]))
        self.assertEqual(values, {kernel[1]: kernel[3] for kernel in KERNELS})
        result = self.trace.sql(f'SELECT "{column}" AS v FROM kernel ORDER BY start')
        wanted = [kernel[3] for kernel in KERNELS]
        if HAS["pandas"]:
            frame = result.pandas()
            self.assertEqual([None if value is frame["v"].dtype.na_value else int(value) for value in frame["v"]], wanted)
        if HAS["numpy"]:
            self.assertEqual(result.numpy("v").tolist(), wanted)
        if HAS["polars"]:
            self.assertEqual(result.polars()["v"].to_list(), wanted)
        if HAS["pyarrow"]:
            self.assertEqual(result.arrow()["v"].to_pylist(), wanted)

    def test_result_is_computed_again_each_time(self):
        result = self.trace.sql("SELECT count(*) FROM kernel")
        self.assertEqual([list(result), list(result), list(result)], [[(5,)]] * 3)
        first, second = iter(self.trace.sql("SELECT name FROM kernel")), iter(self.trace.sql("SELECT start FROM kernel"))
        self.assertEqual(len(list(zip(first, second))), 5)

    def test_values_of_every_type(self):
        row = next(iter(self.trace.sql("SELECT 1, -9223372036854775808, 0.5, 'tëxt', x'00ff', NULL")))
        self.assertEqual(row, (1, -(2**63), 0.5, "tëxt", b"\x00\xff", None))

    def test_answer_without_rows_has_columns(self):
        result = self.trace.sql("SELECT name, duration FROM kernel WHERE 0")
        self.assertEqual((result.columns, list(result)), (("name", "duration"), []))
        if HAS["pandas"]:
            self.assertEqual((list(result.pandas().columns), len(result.pandas())), (["name", "duration"], 0))
        if HAS["numpy"]:
            self.assertEqual({name: len(array) for name, array in result.numpy().items()}, {"name": 0, "duration": 0})
        if HAS["pyarrow"]:
            self.assertEqual((result.arrow().column_names, result.arrow().num_rows), (["name", "duration"], 0))

    def test_more_rows_than_one_batch(self):
        result = self.trace.sql("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199999) "
                                "SELECT i, CASE WHEN i < 70000 OR i % 2 THEN i END AS odd FROM n")
        wanted = [(i, i if i < 70000 or i % 2 else None) for i in range(200000)]
        self.assertEqual(list(result), wanted)
        if HAS["numpy"]:
            self.assertEqual(result.numpy("odd").tolist(), [odd for _, odd in wanted])
        if HAS["pandas"]:
            frame = result.pandas()
            self.assertEqual((int(frame["i"].sum()), int(frame["odd"].sum()), int(frame["odd"].isna().sum())),
                             (sum(i for i, _ in wanted), sum(odd or 0 for _, odd in wanted),
                              sum(odd is None for _, odd in wanted)))
        if HAS["polars"]:
            self.assertEqual(result.polars()["odd"].null_count(), sum(odd is None for _, odd in wanted))

    def test_answer_outlives_whoever_asked(self):
        result = ts.open("made.json").sql("SELECT name FROM kernel ORDER BY start")
        gc.collect()
        self.assertEqual([name for name, in result], [kernel[0] for kernel in KERNELS])
        if HAS["pyarrow"]:
            table = ts.open("made.json").sql("SELECT name FROM kernel ORDER BY start").arrow()
            gc.collect()
            self.assertEqual(table["name"].to_pylist(), [kernel[0] for kernel in KERNELS])

    def test_threads_share_a_trace(self):
        wrong = []

        def ask(number):
            for _ in range(50):
                if list(self.trace.sql(f"SELECT sum(duration) + {number} FROM kernel")) != [(15_000 + number,)]:
                    wrong.append(number)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_answers_that_nobody_reads_are_let_go(self):
        for _ in range(50 if made.SANITIZED else 500):
            self.trace.sql("SELECT * FROM events")
            next(iter(self.trace.events("kernel")))
            self.trace.sql("SELECT 1").__arrow_c_stream__()


class Columns(unittest.TestCase):
    """Whole columns of the file, compared with SQL on the same events."""

    @classmethod
    def setUpClass(cls):
        with ts.session("mixed.sbt"):
            for number in range(COUNTERS):  # of three kinds on one track
                ts.counter(("loss", "größe")[number % 2], number)
                if number % 3 == 0:
                    ts.mark("mark")
                if number % 5 == 0:
                    with ts.range(f"range {number % 4}", bytes=number if number % 10 else None):
                        pass

    def setUp(self):
        self.trace = ts.open("mixed.sbt")
        self.addCleanup(self.trace.close)

    def same(self, kind, start, end, columns):
        fast = self.trace.events(kind, start, end, columns)
        slow = self.trace._events_by_sql([kind] if isinstance(kind, str) else kind, start, end, columns)
        self.assertEqual(fast.columns, slow.columns)
        wanted = sorted(slow, key=repr)
        self.assertEqual(sorted(fast, key=repr), wanted)
        return fast, len(wanted)

    def test_kinds_and_windows(self):
        columns = ("name", "kind", "start", "duration", "bytes", "value")
        starts = sorted(start for (start,) in self.trace.events(columns=["start"]))
        times = [None, starts[0], starts[1], starts[len(starts) // 2], starts[-1], starts[-1] + 1]
        seen = set()
        for kind in (None, "range", "marker", ["range", "counter"], ["kernel"]):
            for start, end in ((None, None), (times[3], None), (None, times[3]), (times[1], times[4]), (times[5], None),
                               (times[3], times[3]), (-10**30, 10**30), (10**30, None)):
                _, count = self.same(kind, start if start is None or abs(start) < 2**63 else None if start < 0 else 2**63 - 1,
                                     end if end is None or abs(end) < 2**63 else None, columns)
                self.assertEqual(len(list(self.trace.events(kind, start, end, ["start"]))), count)
                seen.add(count)
        self.assertGreater(len(seen), 8)

    def test_frames(self):
        fast, count = self.same("range", None, None, ("name", "start", "bytes", "kind"))
        rows = list(fast)
        if HAS["pandas"]:
            frame = fast.pandas()
            self.assertEqual([str(kind) for kind in frame.dtypes], ["category", "int64", "UInt64", "category"])
            self.assertEqual(frame["name"].tolist(), [name for name, *_ in rows])
            self.assertEqual(sorted(frame["name"].cat.categories), [f"range {number}" for number in range(4)])
            self.assertEqual(frame["bytes"].isna().sum(), sum(row[2] is None for row in rows))
            self.assertEqual(frame["bytes"].sum(), sum(row[2] or 0 for row in rows))
        if HAS["polars"]:
            self.assertEqual(list(fast.polars().iter_rows()), rows)
        if HAS["pyarrow"]:
            self.assertEqual([tuple(row.values()) for row in fast.arrow().to_pylist()], rows)
        if HAS["numpy"]:
            arrays = fast.numpy()
            self.assertEqual([tuple(row) for row in zip(*(arrays[name].tolist() for name in fast.columns))], rows)

    def test_duckdb(self):
        if not HAS["duckdb"]:
            self.skipTest("no DuckDB")
        import duckdb

        counters = self.trace.events("counter", columns=["name", "value"])
        got = duckdb.sql("SELECT name::VARCHAR, count(*), sum(value) FROM counters GROUP BY 1 ORDER BY 1").fetchall()
        wanted = self.trace.sql("SELECT name, count(*), sum(value) FROM counter GROUP BY 1 ORDER BY 1")
        self.assertEqual(got, list(wanted))

    def test_unknown_text(self):
        result = self.trace.events(["marker", "range"], columns=["text", "operation", "start"])
        self.assertEqual({row[:2] for row in result}, {(None, None)})
        if HAS["numpy"]:
            self.assertEqual(set(result.numpy("text").tolist()), {None})
        if HAS["pandas"]:
            self.assertTrue(result.pandas()["text"].isna().all())

    def test_buffers(self):
        result = self.trace.events("range", columns=["start", "bytes", "name"])
        rows = list(result)
        values, known = result.buffer("start")
        self.assertEqual((values.tolist(), known, values.format), ([row[0] for row in rows], None, "q"))
        values, known = result.buffer("bytes")
        self.assertEqual([value if there else None for value, there in zip(values, known)], [row[1] for row in rows])
        self.assertRaises(TypeError, result.buffer, "name")
        self.assertRaises(TypeError, self.trace.sql("SELECT 'text' AS t").buffer, "t")
        self.assertRaises(KeyError, result.buffer, "end")

    def test_stream_is_read_batch_by_batch(self):
        if not HAS["pyarrow"]:
            self.skipTest("no pyarrow")
        import pyarrow

        reader = pyarrow.RecordBatchReader.from_stream(self.trace.events("counter", columns=["name", "value"]))
        sizes = [batch.num_rows for batch in reader]
        self.assertEqual(sum(sizes), COUNTERS)
        self.assertEqual(len(sizes) > 1, COUNTERS > 65536)
        self.assertLessEqual(max(sizes), 65536)


class Corpus(unittest.TestCase):
    """Real traces: Python's json module reads the same file."""

    def test_kernels(self):
        if not made.corpus():
            self.skipTest("TRACESMITH_CORPUS names no folder with real traces")
        for path in made.corpus():
            with self.subTest(path), ts.open(path) as trace:
                wanted = collections.Counter()
                kernels = made.read_kernels(path)
                self.assertGreater(len(kernels), 0)
                for name, duration in kernels:
                    wanted[name] += duration
                got = dict(trace.sql("SELECT name, sum(duration) FROM kernel GROUP BY name"))
                self.assertEqual(got, dict(wanted))
                events = trace.events("kernel", columns=["name", "duration"])
                self.assertEqual(collections.Counter(events), collections.Counter(kernels))
                if HAS["pandas"]:
                    self.assertEqual(events.pandas().groupby("name")["duration"].sum().to_dict(), dict(wanted))
                if HAS["polars"]:
                    self.assertEqual(collections.Counter(events.polars().iter_rows()), collections.Counter(kernels))
                if HAS["pyarrow"]:
                    table = events.arrow()
                    rows = zip(table["name"].to_pylist(), table["duration"].to_pylist())
                    self.assertEqual(collections.Counter(rows), collections.Counter(kernels))


if __name__ == "__main__":
    absent = sorted(name for name, there in HAS.items() if not there)
    if absent:
        print(f"skipped: answers as {', '.join(absent)}, which are not installed")
    if not made.corpus():
        print("skipped: TRACESMITH_CORPUS names no folder with real traces")
    unittest.main()
