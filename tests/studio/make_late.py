# SPDX-License-Identifier: Apache-2.0
"""A trace whose second track begins after 100 s and has 6,000 events of 2 ns, so that numbers of its buckets need more than 32 bits.
usage: make_late.py OUT"""
import json
import sys

EVENTS = [{"ph": "X", "pid": 1, "tid": 1, "name": "early", "ts": 0, "dur": 1}]
EVENTS += [{"ph": "X", "pid": 1, "tid": 2, "name": "late %d" % (number % 5), "ts": 100000000 + number * 4 / 1000, "dur": 0.002}
           for number in range(6000)]
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump({"displayTimeUnit": "ns", "traceEvents": EVENTS}, file)
