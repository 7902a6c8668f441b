#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_columns.py: the description (for sbt_make) of a trace that fills columns in every way: batches that do not divide the blocks
of an export, columns that begin, end and resume within a block, texts of 64 KB, lists with and without elements, every
pattern of unknown values."""
import random

rng = random.Random(5)
I64, U64, F64, STRING, BOOL, LIST = 2, 3, 6, 7, 13, 14
FIRST_FIELD = 4097
LONG = "x%c3%28" * 8000 + "%f0%9f%98%80"
print("process 1 columns")
for track in range(1, 4):
    print("track 2", f"queue{track}", 1, 0)
for name, kind in (("sparse", I64), ("ratio", F64), ("note", STRING), ("flag", BOOL), ("list", LIST), ("huge", U64)):
    print("field", name, kind, "%")
time = 0
for part, size in enumerate([1, 63, 64, 65, 40000, 3, 30000, 500, 1, 66000, 127]):
    for row in range(size):
        time += rng.randrange(0, 3000)
        words = [f"event {part % 3 + 1} {1 if part % 4 else 6} {time} duration={rng.randrange(3) * 500}"]
        if part != 5:
            words.append(f"name=kernel_{rng.randrange(40) if row % 1000 else part * 1000 + row}")
        if part in (2, 4, 9) and row % 3:
            words.append(f"{FIRST_FIELD}={row * (-1) ** row * 2 ** (row % 40)}")
        if row % 7 == 0:
            words.append(f"{FIRST_FIELD + 1}={rng.choice(['0', '-0', 'nan', 'inf', '1e-300', '0.1'])}")
        if part in (1, 8) and row == 0:
            words.append(f"{FIRST_FIELD + 2}={LONG}")
        if part in (3, 6):
            words.append(f"{FIRST_FIELD + 3}={row // 9 % 2}")
        if part != 9 and rng.random() < 0.2:
            words.append(f"{FIRST_FIELD + 4}={','.join(str(rng.getrandbits(64)) for _ in range(rng.randrange(4)))}")
        if part == 9:
            words.append(f"{FIRST_FIELD + 5}={rng.getrandbits(64)} correlation={row * 3} global_x={1 << row % 20}")
        print(*words)
    print("flush")
