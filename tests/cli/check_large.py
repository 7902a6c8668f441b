# SPDX-License-Identifier: Apache-2.0
"""view: more events than are held at once, in clusters, and all at one instant: every one once, in order."""
import os
import random
import subprocess
import tempfile

from support import SBT_MAKE, TRACESMITH, check, skip

EVENTS = 540_000  # more than one window holds


def starts_of(shape, rng):
    if shape == "clusters":
        return [rng.choice([0, 10**9, 10**9 + 17, 10**14]) + int(rng.expovariate(1e-4)) for _ in range(EVENTS)]
    return [5] * EVENTS + [0, 9]


def main():
    rng = random.Random(7)
    if not os.access(SBT_MAKE, os.X_OK):
        skip("the test programs are not built")
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "t.sbt")
        for shape in ("clusters", "instant"):
            starts = starts_of(shape, rng)
            lines = ["track 1 t%d 0 0" % track for track in range(1, 6)]
            lines += ["event %d 9 %d correlation=%d" % (1 + i % 5, start, i) for i, start in enumerate(starts)]
            made = subprocess.run([SBT_MAKE, path], input="\n".join(lines).encode() + b"\n")
            check(made.returncode == 0, "sbt_make")
            shown = subprocess.run([TRACESMITH, "view", path, "-f", "csv"], stdout=subprocess.PIPE)
            check(shown.returncode == 0, shape)
            rows = shown.stdout.decode().split("\r\n")
            head = rows[0].split(",")
            start, correlation = head.index("start"), head.index("correlation")
            got = [row.split(",", max(start, correlation) + 1) for row in rows[1:-1]]
            check(len(got) == len(starts), "%s: %d of %d events" % (shape, len(got), len(starts)))
            times = [int(row[start]) for row in got]
            check(times == sorted(times), shape + ": in order")
            check({(int(row[start]), int(row[correlation])) for row in got} ==
                  {(start_, i) for i, start_ in enumerate(starts)}, shape + ": the same events")


main()
