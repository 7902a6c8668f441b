# SPDX-License-Identifier: Apache-2.0
"""Compares programs that run in turns, in rounds, by differences within each round. For bench_vulkan.sh and sample.py.

    paired.py --time FILE PROGRAM...        runs a program, and appends to FILE: wall time, and processor time of it and its children
    paired.py --compare FRAMES FOLDER       states for each FOLDER/NAME but `alone` what it adds to FOLDER/alone, for a frame: the
                                            median of the rounds, with two intervals that have it with 95 %: by the sign test (order
                                            statistics, no assumption about the noise) and by drawing rounds again (bootstrap)

FOLDER/NAME has a line for each round; FOLDER/NAME.start, the same of a run that draws one frame, is taken from it: what starting takes
is no part of a frame.
"""
import math
import os
import random
import sys
import time
from pathlib import Path

DRAWS = 10000


def run(file, program):
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        try:
            os.execvp(program[0], program)
        finally:
            os._exit(127)
    _, status, usage = os.wait4(child, 0)
    with open(file, "a", encoding="utf-8") as out:
        print(time.monotonic() - start, usage.ru_utime + usage.ru_stime, file=out)
    return os.waitstatus_to_exitcode(status)


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def by_signs(values):
    """The narrowest pair of values, as far from both ends, between which the median is with 95 %. None: too few rounds."""
    ordered, count = sorted(values), len(values)
    below, rank = 0.0, -1
    for i in range(count // 2):
        below += math.comb(count, i) / 2**count
        if below > 0.025:
            break
        rank = i
    return (ordered[rank], ordered[count - 1 - rank]) if rank >= 0 else None


def by_drawing(values):
    random.seed(1)
    medians = sorted(median(random.choices(values, k=len(values))) for _ in range(DRAWS))
    return medians[DRAWS // 40], medians[DRAWS - 1 - DRAWS // 40]


def rounds(path):
    def read(name):
        return [[float(word) for word in line.split()] for line in name.read_text(encoding="utf-8").splitlines()]

    whole, start = read(path), read(path.with_name(path.name + ".start"))
    return [[a - b for a, b in zip(x, y)] for x, y in zip(whole, start)]


def compare(frames, folder):
    alone = rounds(folder / "alone")
    for path in sorted(folder.iterdir()):
        if path.suffix == ".start" or path.name == "alone":
            continue
        other = rounds(path)
        for at, what in enumerate(("wall", "processor")):
            pairs = [(a[at], b[at]) for a, b in zip(alone, other)]
            base = median([a for a, _ in pairs])
            added = [(b - a) / frames * 1e6 for a, b in pairs]
            parts = [(b - a) / base * 100 for a, b in pairs]
            signs, drawn = by_signs(parts), by_drawing(parts)
            text = f"{signs[0]:+.2f} to {signs[1]:+.2f} %" if signs else "unknown: fewer than 6 rounds"
            print(
                f"{path.name:<14} {what:<10} alone {base / frames * 1e6:.1f} us per frame: {median(parts):+.2f} %, "
                f"{median(added):+.1f} us; 95 %: {text} (signs), {drawn[0]:+.2f} to {drawn[1]:+.2f} % (bootstrap), {len(parts)} rounds"
            )


if __name__ == "__main__":
    if sys.argv[1] == "--time":
        sys.exit(run(sys.argv[2], sys.argv[3:]))
    compare(int(sys.argv[2]), Path(sys.argv[3]))
