#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast events become columns for others, and how large the files are, compared with pyarrow.

    columns.py [-n REPEATS] FILE.sbt...

For each file: the processor time of `tracesmith export` to Arrow IPC, Parquet and CSV, whole runs of the command with the reading of the
trace; the processor time of pyarrow for writing the same table, which it has in memory already; the sizes, and that of the
CSV with `zstd -3`. Minimum of the repeats. Needs TRACESMITH (the command) and a Python with pyarrow (./dev python --install).
"""
import os
import resource
import subprocess
import sys
import tempfile
import time

import pyarrow
import pyarrow.ipc
import pyarrow.parquet


def command_time(*arguments):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def own_time(function, *arguments, **options):
    before = time.process_time()
    function(*arguments, **options)
    return time.process_time() - before


def write_arrow(table, path, compression):
    codec = pyarrow.Codec(compression, 1) if compression == "zstd" else compression
    with pyarrow.ipc.new_file(path, table.schema, options=pyarrow.ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_table(table)


def show(what, seconds, rows, path):
    size = os.path.getsize(path)
    speed = f"{rows / seconds / 1e6:8.2f} M events/s" if seconds else " " * 19
    print(f"{what:28}{speed}{size:14,} bytes{size / rows:9.2f} per event", flush=True)


def measure(path, repeats, folder):
    tracesmith = os.environ["TRACESMITH"]
    out = os.path.join(folder, "events")
    named = {kind: f"{out}.{kind}" for kind in ("arrow", "parquet", "csv")}
    spent = {kind: min(command_time(tracesmith, "export", "-o", name, path) for _ in range(repeats))
             for kind, name in named.items()}
    with pyarrow.memory_map(named["arrow"]) as file:
        table = pyarrow.ipc.open_file(file).read_all()
    rows = table.num_rows
    print(f"{path}: {rows} events")
    show("SBT", 0, rows, path)
    for kind, name in named.items():
        show(f"tracesmith, {kind}", spent[kind], rows, name)
    subprocess.run(["zstd", "-3", "-q", "-f", named["csv"], "-o", f"{out}.zst"], check=True)
    show("the CSV with zstd -3", 0, rows, f"{out}.zst")
    peers = {"pyarrow, Arrow, zstd 1": (write_arrow, {"compression": "zstd"}),
             "pyarrow, Arrow, lz4": (write_arrow, {"compression": "lz4"}),
             "pyarrow, Parquet, zstd 1": (pyarrow.parquet.write_table, {"compression": "zstd", "compression_level": 1}),
             "pyarrow, Parquet, snappy": (pyarrow.parquet.write_table, {"compression": "snappy"})}
    for what, (function, options) in peers.items():
        show(what, min(own_time(function, table, f"{out}.peer", **options) for _ in range(repeats)), rows, f"{out}.peer")


def main(arguments):
    repeats = 3
    if arguments[:1] == ["-n"]:
        repeats, arguments = int(arguments[1]), arguments[2:]
    pyarrow.set_cpu_count(1)
    for path in arguments:
        with tempfile.TemporaryDirectory() as folder:
            measure(path, repeats, folder)


main(sys.argv[1:])
