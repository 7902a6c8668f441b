#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_nested.py SEED: the description (for sbt_make) of ranges that lie within one another, in any order."""
import random
import sys


def nest(rng, start, end, depth, out):
    out.append((start, end))
    while depth and end - start > 4 and rng.random() < 0.8:
        start = rng.randrange(start, end)
        inner = rng.randrange(start, end + 1)
        nest(rng, start, inner, depth - 1, out)
        start = inner


def main(seed):
    rng = random.Random(int(seed))
    print("process 100 prog%3bram")
    for track in (1, 2):
        print(f"track 1 thread{track} 1 0")
        slices = []
        for at in range(0, 100000, 1000):
            nest(rng, at, at + rng.randrange(1000), 12, slices)
        # What is equal must stay in order: parents first.
        batches = [[] for _ in range(4)]
        for index, one in enumerate(slices):
            batches[index % 4 if slices.count(one) == 1 else 0].append(one)
        for batch in batches:
            for start, end in batch:
                name = rng.choice(["name=a%3bb", "name=c%0ad", "name=%22e%2c%22", "name=f", ""])
                print(f"event {track} 10 {start} duration={end - start}", name)
            print("flush")


if __name__ == "__main__":
    main(*sys.argv[1:])
