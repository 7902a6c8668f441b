#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads traces through the library's Arrow streams with pyarrow, polars and DuckDB, and compares.

    check_consumers.py FOLDER [TRACE...]

A made trace and each TRACE are opened with ctypes. What arrives as Arrow must be what `tracesmith export -f csv` writes, row
by row and column by column; polars and DuckDB must see what pyarrow sees; a SQL answer as Arrow must be what DuckDB makes of
the events with the same question.
"""
import collections
import csv
import ctypes
import gc
import importlib.util
import json
import os
import re
import subprocess
import sys

import duckdb
import polars
import pyarrow
import pyarrow.ipc
import pyarrow.parquet

STREAM_BYTES = 5 * ctypes.sizeof(ctypes.c_void_p)
MESSAGE = 512


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("system_errno", ctypes.c_int), ("offset", ctypes.c_uint64),
                ("record", ctypes.c_uint64), ("message", ctypes.c_char * MESSAGE)]


library = ctypes.CDLL(os.path.join(os.environ["TRACESMITH_BUILD_DIR"], "lib", "libtracesmith.so.0"))
for name in ("tsmith_trace_sbt", "tsmith_analysis_report"):
    getattr(library, name).restype = ctypes.c_void_p
library.tsmith_analysis_report.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
ctypes.pythonapi.PyCapsule_New.restype = ctypes.py_object
ctypes.pythonapi.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def call(function, *arguments):
    error = Error()
    status = function(*arguments, ctypes.byref(error))
    if status < 0:
        raise RuntimeError(error.message.decode(errors="replace"))
    return status


class Stream:
    """An ArrowArrayStream of the library's, handed over once by the PyCapsule protocol."""

    def __init__(self, keep, function, *arguments):
        self.memory = ctypes.create_string_buffer(STREAM_BYTES)
        self.keep = keep
        call(function, *arguments, ctypes.byref(self.memory))

    def __arrow_c_stream__(self, requested_schema=None):
        return ctypes.pythonapi.PyCapsule_New(ctypes.addressof(self.memory), b"arrow_array_stream", None)


class Trace:
    def __init__(self, path):
        self.handle = ctypes.c_void_p()
        call(library.tsmith_trace_open, os.fsencode(path), None, ctypes.byref(self.handle))
        self.sbt = ctypes.c_void_p(library.tsmith_trace_sbt(self.handle))

    def events(self):
        source = ctypes.c_void_p()
        call(library.tsmith_sbt_scan, self.sbt, None, ctypes.byref(source))
        return Stream(self, library.tsmith_arrow_source, source, None)

    def query(self, sql):
        handle, used = ctypes.c_void_p(), ctypes.c_size_t()
        call(library.tsmith_query_open, self.sbt, ctypes.byref(handle))
        text = sql.encode()
        call(library.tsmith_query_prepare, handle, text, ctypes.c_size_t(len(text)), ctypes.byref(used))
        table = pyarrow.RecordBatchReader.from_stream(Stream(self, library.tsmith_arrow_query, handle)).read_all()
        library.tsmith_query_close(handle)
        return table

    def close(self):
        library.tsmith_trace_close(self.handle)


# ---- CSV

def text_of(value):
    """A value as the CSV export writes it."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def same(cell, value):
    if isinstance(value, float):
        return cell != "" and (float(cell) == value or (value != value and cell.lower().endswith("nan")))
    if isinstance(value, list):
        return [int(item) for item in cell.replace(";", " ").replace(",", " ").split()] == value
    # Bytes that are no UTF-8 are U+FFFD here; the reader of the CSV made them surrogates.
    shown = "".join("\ufffd" if "\udc80" <= c <= "\udcff" else c for c in cell)
    return shown == text_of(value)


def check_csv(path, table, folder):
    out = os.path.join(folder, "events.csv")
    if os.path.exists(out):
        os.remove(out)
    subprocess.run([os.environ["TRACESMITH"], "export", "-f", "csv", "-o", out, path], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    csv.field_size_limit(1 << 30)
    with open(out, encoding="utf-8", errors="surrogateescape", newline="") as file:
        rows = csv.reader(file)
        header = next(rows)
        columns = {name: table.column(name).to_pylist() for name in table.column_names}
        places = [(at, name) for at, name in enumerate(header) if name in columns and header.count(name) == 1]
        missing = {name for name in header if not name.startswith("args.")} - set(columns)
        assert missing <= {"track_kind", "track_name", "pid", "tid", "device", "other"}, missing
        count = compared = 0
        for count, row in enumerate(rows, 1):
            for at, name in places:
                value = columns[name][count - 1]
                known = row[at] != ""
                if name in ("host_track", "queue_track", "stack", "waker_stack"):
                    assert known == (value is not None), (path, count, name, row[at], value)
                    continue
                assert same(row[at], value) or (not known and value == ""), (path, count, name, row[at], value)
                compared += known
    assert count == table.num_rows, (path, count, table.num_rows)
    return compared


# ---- files

def export(path, out, *options):
    if os.path.exists(out):
        os.remove(out)
    subprocess.run([os.environ["TRACESMITH"], "export", *options, "-o", out, path], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return out


def check_files(path, table, folder):
    """The exports have the table of the stream, for every reader."""
    file = export(path, os.path.join(folder, "events.arrow"))
    with pyarrow.memory_map(file) as source:
        have = pyarrow.ipc.open_file(source).read_all()
    have.validate(full=True)
    assert have.schema.equals(table.schema, check_metadata=False), (path, have.schema)
    assert all(have.schema.field(i).metadata == field.metadata for i, field in enumerate(table.schema)), path
    assert have.equals(table), (path, "Arrow IPC file")
    have.unify_dictionaries()
    assert have.schema.metadata[b"tracesmith.events"] == str(table.num_rows).encode()
    piped = subprocess.run([os.environ["TRACESMITH"], "export", "-f", "arrow-stream", path], check=True,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    assert pyarrow.ipc.open_stream(piped).read_all().equals(table), (path, "Arrow IPC stream")
    for frame in (polars.read_ipc(file), polars.read_ipc_stream(piped)):
        assert frame.columns == table.column_names
        for name in table.column_names:
            expected = table.column(name).to_pylist()
            assert same_list(frame[name].to_list(), expected), (path, "polars", name)


def check_parquet(path, table, folder):
    """The same of Parquet, where texts are plain strings."""
    file = export(path, os.path.join(folder, "events.parquet"))
    have = pyarrow.parquet.read_table(file)
    have.validate(full=True)
    described = pyarrow.parquet.read_metadata(file)
    assert have.column_names == table.column_names and described.num_rows == table.num_rows
    frame = polars.read_parquet(file)
    rows = duckdb.connect().execute("SELECT * FROM read_parquet(?)", [file]).fetchall()
    for at, field in enumerate(table.schema):
        expected = table.column(field.name).to_pylist()
        dictionary = pyarrow.types.is_dictionary(field.type)
        kind = have.schema.field(field.name).type
        assert kind == (pyarrow.string() if dictionary else field.type) or pyarrow.types.is_list(kind), (path, field, kind)
        assert same_list(have.column(field.name).to_pylist(), expected), (path, field.name, "pyarrow")
        assert same_list(frame[field.name].to_list(), expected), (path, field.name, "polars")
        # By place: to DuckDB names that differ in case only are the same.
        assert same_list([row[at] for row in rows], expected), (path, field.name, "DuckDB")
    # A reader that wants a window of time skips row groups by these.
    start = table.column_names.index("start")
    groups = [described.row_group(i).column(start).statistics for i in range(described.num_row_groups)]
    assert min(group.min for group in groups) == min(table.column("start").to_pylist())
    assert max(group.max for group in groups) == max(table.column("start").to_pylist())


def same_list(left, right):
    """Equal, where NaN is equal to NaN."""
    return left == right or (len(left) == len(right) and
                             all(a == b or (a != a and b != b) for a, b in zip(left, right)))


def check_examples(table, folder):
    """The examples of docs/arrow.md run, and count what the table has."""
    export(os.path.join(folder, "made.json"), os.path.join(folder, "run.parquet"))
    export(os.path.join(folder, "made.json"), os.path.join(folder, "run.arrow"))
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "..", "..", "docs", "arrow.md"), encoding="utf-8") as file:
        blocks = re.findall(r"```(sql|python)\n(.*?)```", file.read(), re.S)
    assert sorted(kind for kind, _ in blocks) == ["python", "python", "sql"]
    expected = collections.Counter()
    for row in table.to_pylist():
        if row["kind"] == "kernel":
            expected[row["name"]] += row["duration"]
    os.chdir(folder)
    for kind, text in blocks:
        if kind == "sql":
            rows = duckdb.connect().sql(text).fetchall()
            assert {name: round(ms * 1e6) for name, _, ms in rows} == expected, rows
        elif "pandas" not in text or importlib.util.find_spec("pandas"):
            shown = []
            exec(compile(text, "docs/arrow.md", "exec"), {"print": shown.append})  # pylint: disable=exec-used
            frame = shown[0].reset_index() if "pandas" in text else shown[0]
            names, totals = frame["name"], frame["sum" if "pandas" in text else "duration"]
            assert dict(zip(names, totals)) == expected, frame


# ---- the three consumers

QUESTION = ("SELECT kind, name, count(*) AS n, sum(duration) AS total, min(start) AS first FROM %s "
            "WHERE duration BETWEEN 0 AND 1000000000000 GROUP BY kind, name")


def key(row):
    return tuple((value is not None, str(value)) for value in row)


def check(path, folder):
    trace = Trace(path)
    table = pyarrow.RecordBatchReader.from_stream(trace.events()).read_all()
    table.validate(full=True)
    compared = check_csv(path, table, folder)
    check_files(path, table, folder)
    check_parquet(path, table, folder)

    frame = polars.DataFrame(trace.events())
    assert frame.height == table.num_rows and frame.columns == table.column_names
    for name in ("start", "duration", "kind", "name", "correlation", "blocking", "waits", "track"):
        expected = table.column(name).to_pylist()
        assert frame[name].to_list() == expected, (path, "polars", name)
        assert frame[name].null_count() == expected.count(None), (path, "polars", name)

    # The same question to the Parquet file.
    connection = duckdb.connect()
    parquet = os.path.join(folder, "events.parquet")
    of_file = sorted(connection.sql(QUESTION % f"'{parquet}'").fetchall(), key=key)

    # DuckDB asks for the stream itself; SQLite, inside the library, never saw Arrow.
    events = pyarrow.RecordBatchReader.from_stream(trace.events())
    connection.register("events", events)
    theirs = sorted(connection.sql(QUESTION % "events").fetchall(), key=key)
    ours = trace.query(QUESTION % "events")
    ours.validate(full=True)
    ours = sorted(zip(*(column.to_pylist() for column in ours.columns)), key=key)
    assert of_file == ours, (path, "DuckDB and Parquet")
    assert theirs == ours, (path, "DuckDB", [pair for pair in zip(theirs, ours) if pair[0] != pair[1]][:3])
    del frame, events, connection
    gc.collect()

    # Arrays outlive the trace.
    late = pyarrow.RecordBatchReader.from_stream(trace.events()).read_all()
    trace.close()
    gc.collect()
    assert late.equals(table)
    print(f"{os.path.basename(path)}: {table.num_rows} events, {len(table.column_names)} columns, "
          f"{table.column('start').num_chunks} batches, {compared} cells, {len(ours)} groups")
    return table


def make(folder):
    """A trace whose every fact is known here."""
    events = [{"ph": "X", "cat": "kernel", "name": f"kernel {i % 7} \u00e9", "pid": 0, "tid": 7, "ts": 10 * i, "dur": 5,
               "args": {"stream": 7, "device": 0, "correlation": i, "ratio": i / 3, "note": f"note {i % 5}"}}
              for i in range(1000)]
    events += [{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 1,
                "args": {"only here": i}} for i in range(100)]
    path = os.path.join(folder, "made.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file)
    return path


def check_made(table):
    rows = [row for row in table.to_pylist() if row["kind"] == "kernel"]
    assert len(rows) == 1000
    rows.sort(key=lambda row: row["start"])
    for i, row in enumerate(rows):
        assert row["name"] == f"kernel {i % 7} \u00e9" and row["duration"] == 5000, row
        assert row["start"] - rows[0]["start"] == 10000 * i, row
        assert row["live_bytes"] is None and row["args.only here"] is None, row
        assert abs(row["args.ratio"] - i / 3) < 1e-9 and row["args.note"] == f"note {i % 5}", row
    assert table.schema.field("duration").metadata[b"unit"] == b"ns"
    assert sum(row["args.only here"] is not None for row in table.to_pylist()) == 100


def main():
    folder = sys.argv[1]
    made = check(make(folder), folder)
    check_made(made)
    check_examples(made, folder)
    for path in sys.argv[2:]:
        check(path, folder)


main()
