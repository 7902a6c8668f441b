#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_awkward.py SEED [FORMAT]: the description (for sbt_make) of a trace that is hard to write for others.

Slices that overlap in every way and come in any order, instants, counters, times before 0 and at the end of the clock,
names and categories that are those of kinds, fields of the trace's own with names of the vocabulary, lists, texts that
are no UTF-8. FORMAT: as which it says to have been imported.
"""
import random
import sys

THREAD, QUEUE, COUNTER = 1, 2, 4
KERNEL, MEMCPY, API, MARKER, RANGE, COUNTER_KIND, LOSS = 1, 2, 6, 9, 10, 12, 19
I64, U64, F64, STRING, BOOL, LIST = 2, 3, 6, 7, 13, 14
NAMES = ["%", "kernel", "range", "marker", "a%20b", "%ff%00%22%5c", "%e2%82%ac", "gemm"]
FIELDS = [("own", I64, "%"), ("own", F64, "%"), ("bytes", STRING, "%"), ("own", STRING, "unit"),
          ("flag", BOOL, "%"), ("list", LIST, "%"), ("own", U64, "%")]
FLOWS = [("flow_ids", LIST, "flow"), ("terminating_flow_ids", LIST, "flow")]
FIRST_FIELD = 4097


def fields_of(rng):
    out = []
    for number, (_, kind, unit) in enumerate(FIELDS, FIRST_FIELD):
        if rng.random() < 0.7:
            continue
        value = {I64: rng.choice([0, -1, -2**63, 2**63 - 1, 77]), U64: rng.choice([0, 2**64 - 1]),
                 F64: rng.choice(["0.5", "-0", "inf", "nan", "1e300"]), STRING: rng.choice(NAMES),
                 BOOL: rng.randrange(2), LIST: ",".join(str(rng.getrandbits(64)) for _ in range(rng.randrange(unit == "flow", 4)))}
        out.append(f"{number}={value[kind]}")
    return out


def event(rng, track, span):
    kind = rng.choice([KERNEL, MEMCPY, API, MARKER, RANGE, RANGE, LOSS])
    start = rng.randrange(span)
    words = []
    if rng.random() < 0.8:
        # Few different times: many begin or end together.
        words.append(f"duration={rng.choice([0, 1, 2, 5, 10, 50, rng.randrange(span)])}")
    if rng.random() < 0.02:
        start = rng.choice([-1, -2**63, 2**63 - 1, 2**63 - 100])
    if rng.random() < 0.01:
        words[:] = [f"duration={rng.choice([-1, -2**63, 2**63 - 1])}"]
    if rng.random() < 0.8:
        words.append("name=" + rng.choice(NAMES))
    if rng.random() < 0.3:
        words.append("category=" + rng.choice(NAMES + ["cuda_runtime", "gpu_memcpy"]))
    if kind in (KERNEL, API) and rng.random() < 0.9:
        words.append(f"correlation={rng.choice([0, rng.randrange(1, 500), 2**64 - 1])}")
    if rng.random() < 0.3:
        words += [f"bytes={rng.choice([0, 1, 2**64 - 1])}", "direction=1", "operation=1", "queued=-5",
                  "host_track=1", "blocking=1", "priority=-3", "stack=9", "waits=1,2,18446744073709551615"]
    return f"event {track} {kind} {start} " + " ".join(words + fields_of(rng))


def main(seed, imported=None):
    rng = random.Random(int(seed))
    if imported:
        print("attribute import.format", imported)
        FIELDS.extend(FLOWS)
    print("attribute command ./a.out%20x")
    print("attribute empty %")
    for pid, name in ((100, "first"), (0, "%"), (2**31, "third")):
        print(f"process {pid} {name}")
    print("device GPU%200 opencl gpu")
    tracks = [(THREAD, "main", 1, 0), (QUEUE, "queue", 1, 1), (THREAD, "%", 2, 0), (QUEUE, "no%20device", 3, 0),
              (COUNTER, "counters", 1, 0), (QUEUE, "%ff", 0, 1)]
    for track in tracks:
        print("track", *track)
    for name, kind, unit in FIELDS:
        print("field", name, kind, unit)
    for _ in range(60):
        for _ in range(rng.randrange(1, 40)):
            track = rng.randrange(1, len(tracks) + 1)
            if tracks[track - 1][0] == COUNTER:
                value = [] if rng.random() < 0.1 else ["value=" + rng.choice(["0", "-1.5", "nan", "1e18"])]
                print(f"event {track} {COUNTER_KIND} {rng.randrange(5000)} name={rng.choice(NAMES)}", *value,
                      *fields_of(rng))
            else:
                print(event(rng, track, rng.choice([60, 5000])))
        print("flush")


if __name__ == "__main__":
    main(*sys.argv[1:])
