#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_chrome.py TRACE.sbt TRACE.json: whether Perfetto and readers of PyTorch's traces take Chrome JSON of a recording
for what it is, by their rules: Perfetto's numbers of processes and threads have 32 bits and an arrow's id is a number or
hexadecimal; work of a GPU is what has a stream, of the categories that Kineto writes. What the recording has is read by
tests/sbt/sbt_reader.py."""
import json
import os
import sys
from collections import Counter, defaultdict

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_perfetto import ENUMS, fail, sbt_reader  # noqa: E402

CATEGORIES = {b"kernel": "kernel", b"memcpy": "gpu_memcpy", b"memset": "gpu_memset"}
QUEUE = 2


def want_of(path):
    """By track: the work of devices there."""
    with open(path, "rb") as file:
        _, dictionary, events, _ = sbt_reader.read_trace(file.read())
    kinds = ENUMS[sbt_reader.KIND]
    work = defaultdict(Counter)
    for frame, batch in events:
        for row in range(batch.count):
            category = CATEGORIES.get(kinds.get(batch.columns[3][row]))
            if category:
                work[frame.track][category] += 1
    return dictionary.tables[4], work


def flow_number(value):
    number = int(value, 16) if isinstance(value, str) else value
    if not 0 <= number < 1 << (64 if isinstance(value, str) else 53):
        fail("no number of an arrow", value)
    return number


FIRST_LANE = (1 << 30) + (1 << 29)


def thread_of(events):
    """Lanes are the thread they stand after: where each place belongs."""
    order = sorted((event["args"]["sort_index"], (event["pid"], event["tid"])) for event in events
                   if event["name"] == "thread_sort_index")
    base, threads = None, {}
    for _, place in order:
        base = place if place[1] < FIRST_LANE else base
        threads[place] = base
    return threads


def items(by_track):
    return sorted(sorted(counts.items()) for counts in by_track.values())


def main(sbt_path, json_path):
    tracks, work = want_of(sbt_path)
    with open(json_path, encoding="utf-8", errors="surrogateescape") as file:
        events = json.load(file)["traceEvents"]
    threads = thread_of(events)
    have = defaultdict(Counter)
    streams = defaultdict(set)
    starts, ends = Counter(), Counter()
    for event in events:
        for key in ("pid", "tid"):
            if not 0 <= event[key] < 1 << 32:
                fail("Perfetto takes this for no number", key, event)
        place, category = (event["pid"], event["tid"]), event.get("cat")
        place = threads.get(place, place)
        if category in CATEGORIES.values():
            have[place][category] += 1
            if "stream" in event.get("args", {}):
                streams[place].add((event["args"]["device"], event["args"]["stream"]))
        if event["ph"] in "sf":
            (starts if event["ph"] == "s" else ends)[flow_number(event["id"])] += 1
    if items(have) != items(work):
        fail("work of devices by track", dict(have), dict(work))
    launches = sum(sum(counts.values()) for counts in work.values())
    if starts != ends or set(starts.values()) != {1} or len(starts) != launches:
        fail("one arrow from each call to its work", len(starts), len(ends), launches)
    queues = [id for id in work if tracks[id][0] == QUEUE and tracks[id][4]]
    with_stream = [place for place, seen in streams.items() if len(seen) == 1]
    if len(with_stream) != len(queues):
        fail("each queue of a device is a stream", len(queues), dict(streams))
    print(f"{launches} launches on {len(have)} tracks, {len(with_stream)} streams")


if __name__ == "__main__":
    main(*sys.argv[1:])
