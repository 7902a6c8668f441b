#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_groups.py ROWS FILE...: whether each FILE (.arrow, .parquet) has ROWS events in groups of bounded size, by its footer."""
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import read_arrow  # noqa: E402
import read_parquet  # noqa: E402

MOST = {"arrow": 8192, "parquet": 1 << 20}  # docs/arrow.md


def footer(file):
    """The last bytes of a file that end with a length and six or four letters."""
    file.seek(-10, os.SEEK_END)
    tail = file.read()
    letters = 4 if tail.endswith(b"PAR1") else 6
    size = struct.unpack("<I", tail[10 - letters - 4:10 - letters])[0]
    file.seek(-letters - 4 - size, os.SEEK_END)
    return file.read(size)


def groups_of(file, kind):
    data = footer(file)
    if kind == "parquet":
        return [group[3] for group in read_parquet.Thrift(data).struct()[4]]
    rows = []
    for offset, metadata, _, _ in read_arrow.root(data).structs(3, "<qiiq"):
        file.seek(offset)
        rows.append(read_arrow.root(file.read(metadata)[8:]).table(2).get(0, "<q"))
    return rows


def main(rows, *paths):
    for path in paths:
        kind = path.rpartition(".")[2]
        with open(path, "rb") as file:
            groups = groups_of(file, kind)
        assert sum(groups) == int(rows), (path, sum(groups))
        assert groups and 0 < min(groups) and max(groups) <= MOST[kind], (path, max(groups))
        print(f"{os.path.basename(path)}: {rows} events in {len(groups)} groups of up to {max(groups)}")


main(*sys.argv[1:])
