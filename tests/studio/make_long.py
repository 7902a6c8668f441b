# SPDX-License-Identifier: Apache-2.0
"""A Chrome trace that is more than 1 MiB as SBT (by random numbers in its arguments): nested calls of two threads, kernels of two streams that overlap, and annotations,
in bursts.  usage: make_long.py OUT"""
import json
import random
import sys

random.seed(5)
events = []
for burst in range(60):
    for track in range(4):
        at = burst * 9000.0 + random.uniform(0, 900)
        for i in range(500):
            length = random.uniform(1, 14)
            kind = {"ph": "X", "pid": 0, "tid": track, "ts": round(at, 3), "dur": round(length, 3), "name": "name %d" % random.randrange(60)}
            if track < 2:
                events.append(dict(kind, cat="kernel", args={"device": 0, "stream": track, "Bytes": random.getrandbits(50)}))
                at += length * random.uniform(0.4, 2)
                if i % 40 == 0:
                    events.append(dict(kind, cat="gpu_user_annotation", dur=400.0, name="step", args={"device": 0, "stream": track}))
            else:
                events.append(dict(kind, cat="cpu_op", args={"Bytes": random.getrandbits(50)}))
                events.append(dict(kind, cat="cuda_runtime", ts=round(at + length / 4, 3), dur=round(length / 2, 3), name="inner"))
                at += length * random.uniform(1, 2)
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump({"traceEvents": events}, file)
