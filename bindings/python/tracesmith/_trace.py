# SPDX-License-Identifier: Apache-2.0
"""Traces, and the answers that they give."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pandas  # type: ignore[import-not-found, import-untyped, unused-ignore]
    import polars  # type: ignore[import-not-found, unused-ignore]
    import pyarrow  # type: ignore[import-not-found, import-untyped, unused-ignore]

from tracesmith import _native
from tracesmith._answers import Answers
from tracesmith._errors import ArgumentError, IncompleteTraceWarning


def open(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> Trace:
    """Opens a trace of any format that TraceSmith reads; the format is seen from its content.

    path: a file, a named pipe, or "-" for standard input (str, bytes or os.PathLike).

    Returns a Trace. Warns with IncompleteTraceWarning when the trace ends early or is damaged.
    Raises NotFoundError, PermissionDeniedError, FormatError (no such format), SystemFailure.
    """
    return Trace(path)


class Trace(Answers):
    """A trace. Close it, or use it in a with statement; an unreferenced trace is closed.

    May be used by several threads; they wait for each other.
    """

    def __init__(self, path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> None:
        self._native = _native.Trace(path)
        self._path = os.fsdecode(path)
        self._tables: dict[str, dict[str, Any]] | None = None
        info = self.info
        if not info["complete"]:
            import warnings

            why = info["incomplete_because"] or f"{info['damaged_frames']} damaged frames, or the end of the file is missing"
            warnings.warn(f"{self._path}: {why}", IncompleteTraceWarning, stacklevel=3)

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = " closed" if self.closed else ""
        return f"<tracesmith.Trace {self._path!r}{state}>"

    def close(self) -> None:
        """Closes the trace. Answers that were not read yet then raise StateError. May be called again."""
        self._native.close()

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._native.closed

    @property
    def path(self) -> str:
        """The path that was opened."""
        return self._path

    @property
    def info(self) -> dict[str, Any]:
        """Facts that are known without reading events, as a dict.

        path, format ("sbt", "chrome-json"...), bytes (size of the file; None of a pipe),
        complete (False: it ends early or is damaged), incomplete_because (text or None), damaged_frames,
        events (how many), first_start and last_end (ns on the trace clock; None without events),
        kinds (events by kind), lost (lost events by reason), rank, world_size, local_rank, node, launcher and job
        (of a rank of a distributed run; None if unknown, and in traces of several ranks).
        """
        return self._native.info()

    @property
    def loss(self) -> Result:
        """The loss ledger: a Result with a row for each group of events that are not in the trace."""
        return self.sql("SELECT * FROM loss")

    @property
    def tables(self) -> dict[str, dict[str, Any]]:
        """The tables of SQL: {name: {"doc": text, "columns": {name: {"type", "unit", "doc", "hidden"}}}}.

        A hidden column is not in SELECT *, and can be named all the same.
        """
        if self._tables is None:
            self._tables = {
                name: {
                    "doc": doc,
                    "columns": {
                        column: {"type": kind, "unit": unit, "doc": about, "hidden": hidden}
                        for column, kind, unit, about, hidden in columns
                    },
                }
                for name, doc, columns in self._native.tables()
            }
        return self._tables

    def sql(self, statement: str) -> Result:
        """The answer to one SQL statement (SQLite's dialect; docs/query.md), as a Result.

        Raises ArgumentError when the statement cannot be understood; its offset is the byte where.
        Nothing is kept between two calls: a temporary table is gone after the statement that made it.
        """
        return Result(lambda: self._native.sql(statement))

    def events(
        self,
        kind: str | Iterable[str] | None = None,
        start: int | None = None,
        end: int | None = None,
        columns: Iterable[str] | None = None,
    ) -> Result:
        """Events, as a Result in no particular order.

        kind:    "kernel", "memcpy"... or several of them; None: all.
        start:   only events that begin at this time or later (ns on the trace clock).
        end:     only events that begin before this time (ns on the trace clock).
        columns: names, in this order; None: all that events of this kind have.

        With `columns`, texts are Arrow dictionaries (pandas: categories) and numbers have the types of docs/arrow.md, where
        all columns are fields of docs/events.md: then whole columns of the file are handed over. Otherwise ("end",
        "track_name", lists...) SQL answers, with its types.

        Raises ArgumentError for a kind or a column that does not exist.
        """
        kinds = [kind] if isinstance(kind, str) else None if kind is None else list(kind)
        for name in kinds or ():
            self._check_kind(name)
        start, end = _time(start), _time(end)
        if columns is None:
            return self._events_by_sql(kinds, start, end, None)
        columns = tuple(columns)
        types = _field_types()
        if not columns:
            raise ArgumentError("events: columns is empty")
        if kinds != [] and len(set(columns)) == len(columns) and all(types.get(name) in _WHOLE for name in columns):
            wanted = None if kinds is None else tuple(kinds)
            return Result(lambda: self._native.events(columns, wanted, start, end))
        return self._events_by_sql(kinds, start, end, columns)

    def _events_by_sql(
        self, kinds: list[str] | None, start: int | None, end: int | None, columns: Iterable[str] | None
    ) -> Result:
        table = kinds[0] if kinds is not None and len(kinds) == 1 else "events"
        wanted = "*"
        if columns is not None:
            known = self.tables["kernel"]["columns"]
            wanted = ", ".join(self._quoted(column, known) for column in columns)
        where = []
        if kinds is not None and table == "events":
            where.append("kind IN (" + ", ".join(f"'{name}'" for name in kinds) + ")")
        if start is not None:
            where.append(f"start >= {start}")
        if end is not None:
            where.append(f"start < {end}")
        condition = " WHERE " + " AND ".join(where) if where else ""
        return self.sql(f"SELECT {wanted} FROM {table}{condition}")

    def _check_kind(self, name: str) -> None:
        if name in _kind_names():
            return
        table = self.tables.get(name)
        # Tables of kinds have the columns of events; others (devices, strings...) have no start and kind.
        if name == "events" or table is None or not {"start", "kind", "track_name"} <= set(table["columns"]):
            raise ArgumentError(f"events: unknown kind {name!r}")

    @staticmethod
    def _quoted(column: str, known: Iterable[str]) -> str:
        if column not in known:
            raise ArgumentError(f"events: unknown column {column!r}")
        return '"' + column.replace('"', '""') + '"'


# Types of fields whose columns are handed over as they are.
_WHOLE = {"TIME", "I64", "U64", "U32", "U8", "F64", "STRING", "TRACK", "KIND", "OPERATION", "DIRECTION", "REASON",
          "CERTAINTY"}
_types: dict[str, str] = {}


def _field_types() -> dict[str, str]:
    if not _types:
        _types.update(_native.fields())
    return _types


_kinds: frozenset[str] = frozenset()


def _kind_names() -> frozenset[str]:
    global _kinds
    _kinds = _kinds or frozenset(_native.kinds())
    return _kinds


def _time(value: int | None) -> int | None:
    import operator

    return None if value is None else operator.index(value)


# Arrow's letters and memoryview's.
_BUFFER_FORMATS: dict[str, Any] = {"l": "q", "L": "Q", "I": "I", "C": "B", "g": "d"}


class Result:
    """An answer. It is computed when it is read, batch by batch, and again each time that it is read.

    Iterating gives rows as tuples. pandas(), polars(), arrow() and numpy() give data frames; anything that takes the
    Arrow PyCapsule protocol (pyarrow, polars, DuckDB, pandas...) takes a Result as it is.
    """

    def __init__(self, ask: Callable[[], _native.Stream]) -> None:
        self._ask = ask
        self._first: _native.Stream | None = ask()  # an error of the question is raised here
        self._columns = self._first.names

    def _stream(self) -> _native.Stream:
        stream, self._first = self._first, None
        return stream or self._ask()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, as a tuple."""
        return self._columns

    def __repr__(self) -> str:
        return f"<tracesmith.Result of {len(self._columns)} columns: {', '.join(self._columns)}>"

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        stream = self._stream()
        while (rows := stream.rows()) is not None:
            yield from rows

    def dicts(self) -> Iterator[dict[str, Any]]:
        """The rows as dicts."""
        for row in self:
            yield dict(zip(self._columns, row))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The answer as an Arrow stream, for libraries that read one."""
        return self._stream().__arrow_c_stream__()

    def arrow(self) -> pyarrow.Table:
        """The answer as a pyarrow.Table. Raises ImportError without pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def polars(self) -> polars.DataFrame:
        """The answer as a polars.DataFrame. Raises ImportError without polars."""
        import polars

        return polars.DataFrame(self)

    def buffer(self, column: str) -> tuple[memoryview, memoryview | None]:
        """One column of numbers as (values, known): values is a memoryview of int64, uint64, uint32, uint8 or double, and
        known one of bytes, 0 where the value is unknown, or None if all are known. Needs no other package.

        Raises KeyError for a column that the answer does not have, TypeError for a column of text.
        """
        for name, kind, values, valid, words in self._stream().columns():
            if name == column:
                if words is not None or kind not in _BUFFER_FORMATS:
                    raise TypeError(f"buffer: the column {column!r} is not numeric")
                assert isinstance(values, bytearray)  # as of all columns of numbers
                return memoryview(values).cast(_BUFFER_FORMATS[kind]), None if valid is None else memoryview(valid)
        raise KeyError(column)

    def numpy(self, column: str | None = None) -> Any:
        """The columns as a dict of NumPy arrays, or one of them.

        A column with unknown values is a numpy.ma.MaskedArray, of text an array of objects with None.
        Raises ImportError without NumPy, and KeyError for a column that the answer does not have.
        """
        from tracesmith import _frames

        if column is not None and column not in self._columns:
            raise KeyError(column)
        arrays = _frames.numpy(self._stream().columns())
        return arrays if column is None else arrays[column]

    def pandas(self) -> pandas.DataFrame:
        """The answer as a pandas.DataFrame. Raises ImportError without pandas.

        A column of numbers with unknown values has pandas' nullable type (Int64, Float64): integers keep every digit.
        """
        from tracesmith import _frames

        return _frames.pandas(self._stream().columns())
