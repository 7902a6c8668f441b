#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_stacks.py SEED: the description (for sbt_make) of a trace with call stacks: commands below the stacks of the calls that
launched them, below their own, and without any; lists of losses."""
import random
import sys

KERNEL, MEMCPY, API, RANGE, LOSS = 1, 2, 6, 10, 19


def main(seed):
    rng = random.Random(int(seed))
    print("process 100 program\ndevice GPU cuda gpu\ntrack 1 main 1 0\ntrack 2 queue 1 1\nmodule ./program % 1 0")
    for frame in range(1, 13):
        print(f"frame 1 0 {frame * 256}\nsymbol {frame} function%20{frame % 9} file.c {frame}")
    for stack in range(1, 25):
        print(f"stack {rng.randrange(stack)} {rng.randrange(1, 13)}")
    at = 1000
    for number in range(400):
        at += rng.randrange(50)
        kind = rng.choice([KERNEL, KERNEL, MEMCPY])
        own = f" stack={rng.randrange(1, 25)}" if rng.random() < 0.2 else ""
        call = f" stack={rng.randrange(1, 25)}" if rng.random() < 0.8 else ""
        print(f"event 1 {API} {at} duration=20 name=launch correlation={number + 1}{call}")
        print(f"event 2 {kind} {at + 30} duration={rng.randrange(1000)} name=k{number % 7} correlation={number + 1}"
              f"{' bytes=4096' if kind == MEMCPY else ''}{own}")
    print(f"event 1 {RANGE} 1000 duration=5000 name=step\nevent 1 {LOSS} 1000 duration=10 lost=5 reason=1")
    print(f"event 1 {LOSS} 2000\nevent 1 {RANGE} 3000")


main(*sys.argv[1:])
