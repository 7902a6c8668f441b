#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_columns.py TRACE.sbt FILE...: whether each FILE (.arrow, .arrows, .parquet) has exactly the columns and events that
tests/sbt/sbt_reader.py reads of the trace, in the same order, and null for every value that is unknown. The files are read by
read_arrow.py and read_parquet.py, which are written from the specifications."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import read_arrow  # noqa: E402
from check_perfetto import ENUMS, FIELDS, sbt_reader  # noqa: E402

S = sbt_reader
TYPES = {1: "int64", S.I64: "int64", S.U64: "uint64", 4: "uint32", 5: "uint8", S.F64: "double", S.BOOL: "bool", 8: "uint32",
         S.STRING: "dictionary<uint32, large_utf8>", S.LIST: "list<uint64>"}
TYPE_NAMES = {1: "TIME", 2: "I64", 3: "U64", 4: "U32", 5: "U8", 6: "F64", 7: "STRING", 8: "TRACK", 9: "KIND", 10: "OPERATION",
              11: "DIRECTION", 12: "REASON", 13: "BOOL", 14: "LIST", 15: "CERTAINTY"}


def text(data):
    """Each byte that is not UTF-8 is U+FFFD."""
    return "".join("\ufffd" if "\udc80" <= c <= "\udcff" else c for c in data.decode("utf-8", "surrogateescape"))


def columns_of(dictionary, types):
    """(name, number of the field, type) of each column after the track."""
    out, taken = [], {"track"}
    fields = [(number, text(name), types[number]) for number, name in FIELDS.items()]
    fields += [(S.FIRST_DYNAMIC + i, "args." + text(dictionary.strings[row[0]]), row[2])
               for i, row in enumerate(dictionary.tables[8][1:], 1)]
    for number, name, kind in fields:
        if name in taken:
            name += f" ({TYPE_NAMES[kind]})"
        if name in taken:
            name = f"{name[:-1]} {number})"
        taken.add(name)
        out.append((name, number, kind))
    return out


def value_of(dictionary, kind, value):
    if value is None:
        return None
    if kind == S.STRING:
        return text(dictionary.strings[value]) if value < len(dictionary.strings) else None
    if kind in ENUMS:
        return text(ENUMS[kind].get(value, str(value).encode()))
    if kind == S.BOOL:
        return bool(value)
    return value % 2**64 if kind == S.F64 else value


def expected(path):
    with open(path, "rb") as file:
        _, dictionary, events, _ = S.read_trace(file.read())
    columns = columns_of(dictionary, {number: int(kind) for number, kind in field_types().items()})
    out = [[] for _ in range(len(columns) + 1)]
    losses = 0
    for frame, batch in events:
        out[0] += [frame.track] * batch.count
        losses += batch.columns[S.KIND_FIELD].count(19)
        for at, (_, number, kind) in enumerate(columns, 1):
            values = batch.columns.get(number) or [None] * batch.count
            out[at] += [value_of(dictionary, kind, value) for value in values]
    return [("track", "uint32")] + [(name, TYPES.get(kind, "dictionary<uint8, large_utf8>"))
                                    for name, _, kind in columns], out, losses


def field_types():
    """Numbers of the types of the schema's fields, from docs/events.md."""
    numbers = {name: number for number, name in TYPE_NAMES.items()}
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "..", "..", "docs", "events.md"), encoding="utf-8") as file:
        rows = [[cell.strip() for cell in line.split("|")] for line in file if line.startswith("|")]
    return {int(row[1]): numbers[row[3]] for row in rows if len(row) > 5 and row[1].isdigit() and row[3] in numbers}


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] == b"PAR1":
        import read_parquet
        return read_parquet.read(data)
    return read_arrow.read(data)


def check(path, types, columns, losses):
    table = read(path)
    have = table.types()
    if path.endswith(".parquet"):
        types = [(name, kind.split(", ")[-1].rstrip(">") if kind.startswith("dictionary") else kind) for name, kind in types]
    assert have == types, (path, [pair for pair in zip(have, types) if pair[0] != pair[1]], len(have), len(types))
    for (name, _), got, want in zip(types, table.columns, columns):
        assert len(got) == len(want), (path, name, len(got), len(want))
        if got != want:
            at = next(i for i, pair in enumerate(zip(got, want)) if pair[0] != pair[1])
            raise AssertionError((path, name, at, got[at], want[at]))
    rows = len(columns[0])
    assert sum(table.groups) == rows and 0 not in table.groups, (path, table.groups)
    assert table.metadata["tracesmith.time_unit"] == "ns" and table.metadata["tracesmith.version"]
    if not path.endswith(".arrows"):
        assert table.metadata["tracesmith.events"] == str(rows), table.metadata
        assert table.metadata["tracesmith.loss_entries"] == str(losses), (table.metadata, losses)
    known = sum(value is not None for column in columns for value in column)
    print(f"{os.path.basename(path)}: {rows} events, {len(types)} columns, {known} values, {len(table.groups)} groups")


def main(trace, *paths):
    types, columns, losses = expected(trace)
    for path in paths:
        check(path, types, columns, losses)


main(*sys.argv[1:])
