#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_sbt.py ONE.sbt OTHER.sbt: whether two traces hold the same events, whatever the numbers of their dictionaries.

Reads both with tests/sbt/sbt_reader.py. An event is its track (name, kind, ids, process, device) and every field by
name, with strings as their bytes. Attributes "import.*" may differ. Exit code 0: the same, 1: not.
"""
import os
import sys
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sbt"))
import sbt_reader  # noqa: E402


def load(path):
    with open(path, "rb") as file:
        _, dictionary, events, _ = sbt_reader.read_trace(file.read())
    strings = dictionary.strings
    tables = dictionary.tables

    def named(table, row, texts):
        return tuple(strings[v] if i in texts else v for i, v in enumerate(tables[table][row])) if row else None

    processes = [named(2, i, (3, 4, 5)) for i in range(len(tables[2]))]
    devices = [named(3, i, (0, 1, 2, 3, 4)) for i in range(len(tables[3]))]
    # kind, flags, name, process, device, parent, tid, context, queue
    tracks = [None] + [(row[0], row[1], strings[row[2]], processes[row[3]], devices[row[4]] and devices[row[4]][:5],
                        row[6:9]) for row in tables[4][1:]]
    names = {i: (strings[row[0]], strings[row[1]]) for i, row in
             enumerate(tables[8][1:], sbt_reader.FIRST_DYNAMIC + 1)}

    def shown(kind, value):
        if kind == sbt_reader.STRING:
            return strings[value]
        if kind == sbt_reader.TRACK:
            return repr(tracks[value])
        return tuple(value) if kind == sbt_reader.LIST else value

    out = Counter()
    for frame, batch in events:
        columns = [(names.get(field, field), batch.directory[field].type, values)
                   for field, values in batch.columns.items()]
        track = repr(tracks[frame.track])
        for row in range(batch.count):
            fields = [(str(name), kind, shown(kind, values[row])) for name, kind, values in columns
                      if values[row] is not None]
            out[(track, tuple(sorted(fields)))] += 1
    attributes = sorted((strings[key], strings[value]) for key, value in tables[7][1:]
                        if not strings[key].startswith(b"import."))
    return out, attributes


def main(one_path, other_path):
    one, one_attributes = load(one_path)
    other, other_attributes = load(other_path)
    failures = 0
    for name, left in (("missing", one - other), ("too much", other - one)):
        for event, count in list(left.items())[:5]:
            print(f"{name} ({count} times): {event}"[:1500])
        failures += sum(left.values())
    if one_attributes != other_attributes:
        print("attributes differ:", set(one_attributes) ^ set(other_attributes))
        failures += 1
    print(f"{sum(one.values())} events compared, {failures} differences")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
