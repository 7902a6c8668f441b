#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_lanes.py TRACE.sbt TRACE.json [some|none]: whether the complete events of each thread of a Chrome trace lie within
one another or apart, whatever overlaps in the recording; whether all of them are there, each as often as the recording
(read by tests/sbt/sbt_reader.py) has it, with the process, the name, the times that it has there; and whether arrows begin
and end at a slice of their thread. Lanes of a track are called after it and stand after it. "some" or "none": whether there
have to be lanes."""
import json
import os
import sys
from collections import Counter, defaultdict
from decimal import Decimal

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_perfetto import ENUMS, fail, sbt_reader  # noqa: E402

START, DURATION, KIND, NAME = 1, 2, 3, 4
NOT_SLICES = (b"marker", b"counter")
FIRST_LANE = (1 << 30) + (1 << 29)
LAST = 2**63 - 1


def want_of(path):
    """The slices: how often a process has one of that name, start and duration."""
    with open(path, "rb") as file:
        _, dictionary, events, _ = sbt_reader.read_trace(file.read())
    strings, processes, tracks = dictionary.strings, dictionary.tables[2], dictionary.tables[4]
    kinds = ENUMS[sbt_reader.KIND]
    slices = Counter()
    for frame, batch in events:
        nothing = [None] * batch.count
        columns = [batch.columns.get(field, nothing) for field in (START, DURATION, KIND, NAME)]
        process = tracks[frame.track][3]
        pid = processes[process][0] if process else 0
        for start, duration, kind, name in zip(*columns):
            word = kinds.get(kind, b"event")
            if word not in NOT_SLICES and duration is not None:
                text = (strings[name] if name is not None else word).decode("utf-8", "surrogateescape")
                slices[(pid, text, start, duration)] += 1
    return slices


def nanoseconds(text):
    value = Decimal(text) * 1000
    if value != int(value):
        fail("more than nanoseconds", text)
    return int(value)


def check_nesting(place, slices):
    """`slices`: (start, end) of one thread. One pass with a stack, the longer first."""
    open_ends = []
    for start, end in sorted(slices, key=lambda it: (it[0], -it[1])):
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        if open_ends and open_ends[-1] < end:
            fail("a slice crosses another of its thread", place, start, end, open_ends[-1])
        open_ends.append(end)


def check_names(events, threads):
    """Every lane has the name of a thread of its process, numbered from 2 on, and stands right after the one before."""
    names, order = {}, {}
    for event in events:
        place = (event["pid"], event["tid"])
        if event["name"] == "thread_name":
            names[place] = event["args"]["name"]
        elif event["name"] == "thread_sort_index":
            order[place] = event["args"]["sort_index"]
    lanes = [place for place in threads if place[1] >= FIRST_LANE]
    if lanes and (set(order) != set(names) or len(set(order.values())) != len(order)):
        fail("an order of all threads", len(order), len(names))
    by_order = {index: place for place, index in order.items()}
    for place in lanes:
        before = by_order[order[place] - 1]
        name, number = names[place].rsplit(" (", 1)
        first = int(number[:-1]) == 2
        if names[before] != (name if first else f"{name} ({int(number[:-1]) - 1})") or before[0] != place[0] or \
                (before[1] < FIRST_LANE) != first:
            fail("a lane after another", names[before], names[place])
    return lanes


def main(sbt_path, json_path, expected=None):
    want = want_of(sbt_path)
    with open(json_path, encoding="utf-8", errors="surrogateescape") as file:
        events = json.load(file, parse_float=str, parse_int=str)["traceEvents"]
    have, threads, arrows = Counter(), defaultdict(list), []
    metadata = []
    for event in events:
        event["pid"], event["tid"] = int(event["pid"]), int(event["tid"])
        place = (event["pid"], event["tid"])
        if event["ph"] == "X":
            start, duration = nanoseconds(event["ts"]), nanoseconds(event["dur"])
            have[(event["pid"], event["name"], start, duration)] += 1
            threads[place].append((start, min(LAST, start + max(0, duration))))
        elif event["ph"] in "sf":
            arrows.append((place, nanoseconds(event["ts"])))
        elif event["ph"] == "M":
            metadata.append({**event, "args": {key: int(value) if key == "sort_index" else value
                                               for key, value in event["args"].items()}})
    if have != want:
        fail("the slices of the recording", list((have - want).items())[:5], list((want - have).items())[:5])
    for place, slices in threads.items():
        check_nesting(place, slices)
    starts = {(place, start) for place, slices in threads.items() for start, _ in slices}
    for arrow in arrows:
        if arrow not in starts:
            fail("an arrow at no slice", arrow)
    lanes = check_names(metadata, threads)
    if expected and (expected == "some") != bool(lanes):
        fail("lanes", expected, lanes)
    print(f"{sum(have.values())} slices on {len(threads)} threads, {len(lanes)} of them lanes")


if __name__ == "__main__":
    main(*sys.argv[1:])
