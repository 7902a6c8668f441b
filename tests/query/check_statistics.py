# SPDX-License-Identifier: Apache-2.0
"""median, percentile and stddev of random durations, against Python's statistics module."""
import json
import math
import os
import random
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "cli"))
from support import Trace, check, run  # noqa: E402


def ask(path, sql):
    return json.loads(run("query", path, sql, "--json").stdout)["results"][0]["rows"]


def percentile(values, percent):
    """By statistics.quantiles, which cuts into n parts: percents with three decimals at most."""
    if len(values) == 1 or percent == 0:
        return min(values)
    if percent == 100:
        return max(values)
    return statistics.quantiles(values, n=100000, method="inclusive")[round(percent * 1000) - 1]


def close(got, wanted):
    return got == wanted or (got is not None and wanted is not None and math.isclose(got, wanted, rel_tol=1e-12))


def main():
    chance = random.Random(11)
    groups = {"one": [7], "two": [5, 8], "same": [9] * 6, "many": [chance.randrange(1, 10**9) for _ in range(501)],
              "few": [chance.randrange(1, 1000) for _ in range(12)],
              "long": [10**17 + chance.randrange(0, 1000) for _ in range(30)]}
    trace = Trace()
    trace.process(1, "program")
    trace.device("device")
    queue = trace.track("queue", "queue", 1, 1)
    for name, durations in groups.items():
        for i, duration in enumerate(durations):
            trace.event(queue, "kernel", 10 * i, duration=duration, name=name)
    trace.event(queue, "kernel", 5, name="untimed")
    with tempfile.TemporaryDirectory() as folder:
        path = trace.write(os.path.join(folder, "trace.sbt"))
        for percent in (0, 0.5, 12.5, 50, 90, 99.9, 100):
            rows = ask(path, "SELECT name, median(duration) m, percentile(duration, %s) p, stddev(duration) s, "
                             "percentile(duration / 2.0, %s) half FROM kernel GROUP BY name" % (percent, percent))
            for row in rows:
                values = groups.get(row["name"])
                wanted = [None] * 4 if values is None else [
                    statistics.median(values), percentile(values, percent),
                    statistics.stdev(values) if len(values) > 1 else None, percentile([v / 2 for v in values], percent)]
                got = [row["m"], row["p"], row["s"], row["half"]]
                check(all(map(close, got, wanted)), "%s, %s %%: %s, not %s" % (row["name"], percent, got, wanted))
        none = ask(path, "SELECT median(duration) m, percentile(duration, 50) p, stddev(duration) s FROM kernel WHERE 0")
        check(none == [{"m": None, "p": None, "s": None}], "of no rows NULL: %s" % none)
        exact = ask(path, "SELECT median(x) m FROM (SELECT 9007199254740993 AS x UNION ALL SELECT 9007199254740993)")
        check(exact == [{"m": 9007199254740993}], "an integer stays one: %s" % exact)
        for wrong in ("percentile(duration, 101)", "percentile(duration, -1)", "percentile(duration, NULL)", "median(name)",
                      "stddev(name)", "percentile(duration, duration)", "median(9e999)"):
            run("query", path, "SELECT %s FROM kernel" % wrong, code=2)


main()
