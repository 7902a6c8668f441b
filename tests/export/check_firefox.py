#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_firefox.py TRACE.sbt FOLDED PROFILE [NS]: whether a profile for the Firefox Profiler has the paths and times of the folded
stacks, and the events that tests/sbt/sbt_reader.py reads as markers; NS: the sum of its weights. All columns of a table have its
length, and every index is within its table (processed profile format, version 48)."""
import json
import os
import sys
from collections import Counter
from decimal import Decimal

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_perfetto import ENUMS, fail, sbt_reader  # noqa: E402
from check_profiles import read_folded, reduce, same  # noqa: E402

S = sbt_reader
START, DURATION, KIND, NAME, CORRELATION, BYTES, LOST, REASON = 1, 2, 3, 4, 5, 13, 35, 36
LOSS = 19


def ns(ms):
    return None if ms is None else int(ms * 1000000)


def check_table(thread, name, indices):
    """Its columns; `indices`: of which table or list a column has indices."""
    table = thread[name]
    for key, column in table.items():
        if isinstance(column, list) and len(column) != table["length"]:
            fail(name, key, len(column), table["length"])
    for key, length in indices.items():
        for at, index in enumerate(table[key]):
            if key == "prefix" and (index is None or 0 <= index < at):
                continue
            if key == "prefix" or not 0 <= index < length:
                fail(name, key, at, index, length)
    return table


def check_thread(thread, categories):
    strings = thread["stringArray"]
    stacks, frames = thread["stackTable"]["length"], thread["frameTable"]["length"]
    check_table(thread, "markers", {"name": len(strings), "category": categories})
    check_table(thread, "samples", {"stack": stacks})
    check_table(thread, "stackTable", {"frame": frames, "prefix": stacks, "category": categories})
    check_table(thread, "frameTable", {"func": thread["funcTable"]["length"], "category": categories})
    check_table(thread, "funcTable", {"name": len(strings)})
    for name in ("resourceTable", "nativeSymbols"):
        check_table(thread, name, {})
    if len(set(strings)) > len(strings) or not isinstance(thread["pid"], str):
        fail("thread", thread["pid"])


def paths_of(thread):
    stacks, samples = thread["stackTable"], thread["samples"]
    names = [thread["stringArray"][thread["funcTable"]["name"][func]] for func in thread["frameTable"]["func"]]
    have, before = Counter(), 0
    if samples["weightType"] != "tracing-ms":
        fail("weights", samples["weightType"])
    for stack, time, weight in zip(samples["stack"], samples["time"], samples["weight"]):
        path = []
        while stack is not None:
            path.append(names[stacks["frame"][stack]])
            stack = stacks["prefix"][stack]
        if ns(time) != before:
            fail("time", time, before)
        before += ns(weight)
        have[reduce([same(name.encode("utf-8", "surrogatepass")) for name in reversed(path)])] += ns(weight)
    return have, before


def text(data):
    return reduce([same(data)])


def expected_markers(trace):
    with open(trace, "rb") as file:
        _, dictionary, events, _ = S.read_trace(file.read())
    first = min((min(batch.columns[START]) for _, batch in events), default=0)
    tracks = {}
    for frame, batch in events:
        markers = tracks.setdefault(frame.track, [])
        column = {number: batch.columns.get(number) or [None] * batch.count
                  for number in (START, DURATION, KIND, NAME, CORRELATION, BYTES, LOST, REASON)}
        for row in range(batch.count):
            value = {number: values[row] for number, values in column.items()}
            kind = ENUMS[S.KIND].get(value[KIND], b"event")
            data = {"type": kind.decode()}
            if value[KIND] == LOSS:
                reason = ENUMS[S.REASON].get(value[REASON])
                data |= {} if value[LOST] is None else {"lost": value[LOST]}
                data |= {"reason": reason.decode()} if reason else {}
            else:
                data |= {key: value[number] for key, number in (("correlation", CORRELATION), ("bytes", BYTES))
                         if value[number] is not None}
            start, lasted = value[START] - first, value[DURATION]
            end = None if lasted is None or lasted < 0 else min(start + lasted, 2**64 - 1)
            name = text(dictionary.strings[value[NAME]] if value[NAME] else kind)
            markers.append((name, start, end, 0 if end is None else 1, value[KIND], data))
    return [markers for _, markers in sorted(tracks.items())]


def markers_of(thread):
    table = thread["markers"]
    for name, start, end, phase, category, data in zip(*(table[key] for key in ("name", "startTime", "endTime", "phase",
                                                                              "category", "data"))):
        name = reduce([same(thread["stringArray"][name].encode("utf-8", "surrogatepass"))])
        yield name, ns(start), ns(end), phase, category, data


def main(trace, folded, path, total=None):
    with open(path, encoding="utf-8") as file:
        profile = json.load(file, parse_float=Decimal)
    meta, threads = profile["meta"], profile["threads"]
    if meta["preprocessedProfileVersion"] != 48 or profile["libs"] or profile["pages"]:
        fail("meta", meta)
    schemas = {schema["name"]: {field["key"] for field in schema["data"]} for schema in meta["markerSchema"]}
    for thread in threads:
        check_thread(thread, len(meta["categories"]))
        for data in thread["markers"]["data"]:
            if not set(data) - {"type"} <= schemas[data["type"]]:
                fail("schema", data)
    if not set(meta["initialVisibleThreads"]) <= set(range(len(threads))):
        fail("threads", meta["initialVisibleThreads"])
    _, want = read_folded(folded)
    have, weight = paths_of(threads[0])
    if have != want:
        fail("paths", (have - want).most_common(3), (want - have).most_common(3))
    if total is not None and weight != int(total):
        fail("device time", weight, total)
    want = expected_markers(trace)
    if len(want) != len(threads) - 1:
        fail("threads", len(threads), len(want))
    for thread, markers in zip(threads[1:], want):
        for got, one in zip(markers_of(thread), markers):
            if got != one:
                fail("marker", thread["name"], got, one)
        if thread["markers"]["length"] != len(markers):
            fail("markers", thread["name"], len(markers))
    print(f"{len(have)} paths, {sum(map(len, want))} markers, {weight} ns")


main(*sys.argv[1:])
