#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_text.py TRACE.sbt TRACE.csv TRACE.folded: whether CSV (as Python's csv reads it) and folded stacks say what
tests/sbt/sbt_reader.py reads of the trace. The self times of the stacks are computed here from every pair of slices."""
import csv
import os
import struct
import sys
from collections import Counter, defaultdict

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_perfetto import ENUMS, FIELDS, fail, sbt_reader  # noqa: E402


def load(path):
    with open(path, "rb") as file:
        _, dictionary, events, _ = sbt_reader.read_trace(file.read())
    return dictionary, events


def text(data):
    return data.decode("utf-8", "surrogateescape")


def number(kind, value):
    if kind != sbt_reader.F64:
        return str(value)
    return struct.unpack("<d", struct.pack("<Q", value & (1 << 64) - 1))[0]


def name_of(dictionary, number):
    """A track's own name, or the one that every command makes for a queue without one (tracesmith/dictionary.h)."""
    strings, tables = dictionary.strings, dictionary.tables
    kind, _, name, _, device, _, _, _, queue = tables[4][number]
    if strings[name]:
        return text(strings[name]).replace("\0", "\u2400")
    if kind == 2 and device:
        return f"{'queue' if strings[tables[3][device][3]] == b'opencl' else 'stream'} {queue}"
    return ""


def check_csv(dictionary, events, path):
    strings, tables = dictionary.strings, dictionary.tables
    dynamic = [text(strings[row[0]]) for row in tables[8][1:]]
    numbers = list(FIELDS) + [sbt_reader.FIRST_DYNAMIC + i for i in range(1, len(dynamic) + 1)]
    names = [text(name) for name in FIELDS.values()] + ["args." + name for name in dynamic]
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
        # NUL is a byte like any other, though not for every version of Python's csv.
        rows = list(csv.reader(line.replace("\0", "\u2400") for line in file))
    if rows[0] != ["track", "track_kind", "track_name", "pid", "tid", "device", *names, "other"]:
        fail("header", rows[0])
    have = Counter()
    for row in rows[1:]:
        values = [(number, value) for number, value in zip(numbers, row[6:]) if value]
        have[(tuple(row[:1] + row[2:4]), tuple((n, float(v) if n == 32 else v) for n, v in values))] += 1
    want = Counter()
    for frame, batch in events:
        track = tables[4][frame.track]
        where = (str(frame.track), name_of(dictionary, frame.track),
                 str(tables[2][track[3]][0]) if track[3] else "")
        for row in range(batch.count):
            out = []
            for field, values in sorted(batch.columns.items()):
                kind, value = batch.directory[field].type, values[row]
                if value is None:
                    continue
                if kind == sbt_reader.STRING:
                    value = text(strings[value]).replace("\0", "\u2400")
                elif kind in ENUMS and value in ENUMS[kind]:
                    value = text(ENUMS[kind][value])
                elif kind == sbt_reader.BOOL:
                    value = "true" if value else "false"
                elif kind == sbt_reader.LIST:
                    value = " ".join(map(str, value))
                else:
                    value = number(kind, value)
                if value != "":
                    out.append((field, value))
            want[(where, tuple(out))] += 1

    def form(counter):
        """Doubles as their text of 17 digits, so that nan is itself."""
        doubles = {n for n, row in enumerate(tables[8][1:], sbt_reader.FIRST_DYNAMIC + 1) if row[2] == sbt_reader.F64}
        out = Counter()
        for (where, values), count in counter.items():
            out[where, tuple((n, "%.17g" % float(v) if n in doubles | {32} else v) for n, v in values)] += count
        return out

    have, want = form(have), form(want)
    for name, left in (("missing", want - have), ("too much", have - want)):
        for event, count in list(left.items())[:3]:
            print(f"{name} ({count} times): {event}"[:1500])
    if have != want:
        fail("CSV has the events")
    return sum(want.values())


def slices_of(dictionary, events):
    strings = dictionary.strings
    kinds = ENUMS[sbt_reader.KIND]
    tracks = defaultdict(list)
    for frame, batch in events:
        for row in range(batch.count):
            start, kind = batch.columns[1][row], batch.columns[3][row]
            duration = batch.columns.get(2, [None] * batch.count)[row]
            name = batch.columns.get(4, [None] * batch.count)[row]
            if duration is None or duration < 0 or start + duration >= 1 << 63 or kinds.get(kind) == b"loss":
                continue
            label = strings[name] if name is not None else kinds.get(kind, b"event")
            clean = bytes(58 if c == 59 else 32 if c < 32 else c for c in label)
            tracks[frame.track].append((start, start + duration, clean))
    return tracks


def check_folded(dictionary, events, path):
    """Of slices that do not cross: those are compared by path; of the others only the sum per track."""
    tracks = slices_of(dictionary, events)
    want = Counter()
    for track, slices in tracks.items():
        slices.sort(key=lambda s: (s[0], -s[1]))
        stack = []  # [end, path, self]
        for start, end, name in slices:
            while stack and stack[-1][0] <= start:
                _, path_of, self_time = stack.pop()
                want[(track, path_of)] += self_time
            if stack and stack[-1][0] < end:
                return None  # it crosses
            if stack:
                stack[-1][2] -= end - start
            stack.append([end, (stack[-1][1] if stack else ()) + (name,), end - start])
        for _, path_of, self_time in stack:
            want[(track, path_of)] += self_time
    have = Counter()
    with open(path, "rb") as file:
        for line in file:
            frames, value = line.rstrip(b"\n").rsplit(b" ", 1)
            frames = frames.split(b";")
            have[tuple(frames[2:])] += int(value)
    plain = Counter()
    for (_, path_of), value in want.items():
        plain[path_of] += value
    plain = +plain
    if have != plain:
        fail("folded stacks", list((have - plain).items())[:3], list((plain - have).items())[:3])
    return len(plain)


def main(sbt_path, csv_path, folded_path):
    dictionary, events = load(sbt_path)
    rows = check_csv(dictionary, events, csv_path)
    paths = check_folded(dictionary, events, folded_path)
    print(f"{rows} lines of CSV, {'crossing slices' if paths is None else f'{paths} paths'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
