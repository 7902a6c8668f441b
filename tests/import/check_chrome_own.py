#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_chrome_own.py BEFORE.sbt AFTER.sbt: whether a trace that went out as Chrome JSON and came back has the same events:
kind, name, start, duration, correlation, and every field of the vocabulary that JSON can say; and work of a device on the
same device. Both are read by tests/sbt/sbt_reader.py. What JSON cannot say apart: an event without a name is called
after its kind, one without a category got one, and tracks and stacks have other numbers. Arrows
that the importer cannot put to an event are events of their own."""
import os
import sys
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "export"))
from check_perfetto import ENUMS, fail, sbt_reader  # noqa: E402

START, DURATION, KIND, NAME, CORRELATION, HOST_TRACK, QUEUE_TRACK, BYTES, CATEGORY = 1, 2, 3, 4, 5, 9, 10, 13, 33
STACK, WAKER_STACK = 38, 49
APART = (NAME, HOST_TRACK, QUEUE_TRACK, CATEGORY, STACK, WAKER_STACK)
TEXTS = (34, 41, 47)
WORK = (b"kernel", b"memcpy", b"memset")
QUEUE = 2
LIMIT = 1 << 61  # ns; a time beyond is restored from its text


def events_of(path):
    with open(path, "rb") as file:
        _, dictionary, events, _ = sbt_reader.read_trace(file.read())
    strings, tracks = dictionary.strings, dictionary.tables[4]
    kinds = ENUMS[sbt_reader.KIND]
    out = Counter()
    for frame, batch in events:
        track = tracks[frame.track]
        for row in range(batch.count):
            kind = kinds.get(batch.columns[KIND][row])
            name = batch.columns[NAME][row] if NAME in batch.columns else None
            start = batch.columns[START][row]
            duration = batch.columns[DURATION][row] if DURATION in batch.columns else 0
            if kind == b"flow" or abs(start) >= LIMIT or abs(duration or 0) >= LIMIT:
                continue
            event = {"kind": kind, "name": kind if name is None else strings[name]}
            for field, column in batch.columns.items():
                if field >= sbt_reader.FIRST_DYNAMIC or field in APART or column[row] is None:
                    continue
                value = column[row]
                if field in TEXTS:
                    value = strings[value]
                event[field] = tuple(value) if isinstance(value, (list, tuple)) else value
            if kind in WORK and track[0] == QUEUE and track[4]:
                name = strings[dictionary.tables[3][track[4]][0]]
                number = int(name[7:]) + 1 if name.startswith(b"device ") else track[4]
                event["device"] = number
            out[tuple(sorted(event.items(), key=str))] += 1
    return out


def main(before_path, after_path):
    before, after = events_of(before_path), events_of(after_path)
    if before != after:
        fail("the same events", list((before - after).items())[:4], list((after - before).items())[:4])
    print(f"{sum(before.values())} events, {len({dict(event)['kind'] for event in before})} kinds")


if __name__ == "__main__":
    main(*sys.argv[1:])
