# SPDX-License-Identifier: Apache-2.0
"""tracesmith.dask: partials are joined in every tree to the answer of tracesmith.ranks; by Dask where it is installed."""
import importlib.util
import json
import os
import unittest

import tracesmith as ts
import tracesmith.dask

RANKS = 9


def plain(rows):
    return json.loads(json.dumps(rows))


class Partials(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for rank in range(RANKS):
            with open(f"rank{rank}.json", "w", encoding="utf-8") as file:
                json.dump({"distributedInfo": {"rank": rank, "world_size": RANKS}, "traceEvents": [
                    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0, "tid": 7,
                     "ts": 1000 * step + 10 * rank, "dur": 160 - 10 * rank,
                     "args": {"stream": 7, "device": rank, "correlation": step + 1, "Collective name": "allreduce",
                              "In msg nelems": 100, "Group size": RANKS, "Process Group Name": "0"}}
                    for step in range(5)]}, file)
        cls.paths = [os.path.abspath(f"rank{rank}.json") for rank in range(RANKS)]

    def check(self, answer):
        found = ts.ranks(self.paths)
        self.assertEqual(answer["finding"], found.finding)
        for name in ("ranks", "collectives"):
            self.assertEqual(answer["tables"][name], plain(list(found[name].dicts())))
        self.assertEqual(len(answer["tables"]["ranks"]), RANKS)

    def test_trees(self):
        parts = [tracesmith.dask.partial(path) for path in self.paths]
        self.check(tracesmith.dask.answer(*parts))
        left, right = tracesmith.dask.join(parts[:4]), tracesmith.dask.join(reversed(parts[4:]))
        whole = tracesmith.dask.join([right, left])
        self.check(tracesmith.dask.answer(whole))
        self.assertEqual(whole, tracesmith.dask.partial(*self.paths))
        self.assertEqual(whole, tracesmith.dask.join([whole, left]))

    def test_a_trace_that_is_not_there(self):
        answer = tracesmith.dask.answer(tracesmith.dask.partial(*self.paths, "none.json"))
        self.assertEqual(len(answer["tables"]["ranks"]), RANKS)
        self.assertIn("none.json", str(answer["tables"]["missing"]))

    def test_what_is_wrong(self):
        with self.assertRaises(ts.Error):
            tracesmith.dask.answer(tracesmith.dask.partial(self.paths[0]))
        with self.assertRaises(ts.FormatError):
            tracesmith.dask.answer(b"no partial", b"nor this")

    @unittest.skipUnless(importlib.util.find_spec("dask"), "no Dask")
    def test_dask(self):
        for each in (2, 3, 100):
            self.check(tracesmith.dask.ranks(self.paths, each).compute(scheduler="threads"))
        self.assertRaises(ts.ArgumentError, tracesmith.dask.ranks, [])
        self.assertRaises(ts.ArgumentError, tracesmith.dask.ranks, self.paths, 1)


if __name__ == "__main__":
    unittest.main()
