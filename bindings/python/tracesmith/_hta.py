# SPDX-License-Identifier: Apache-2.0
"""Events of one trace as HTA's methods see them: NumPy arrays in microseconds, and what is computed of intervals and groups."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracesmith._errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tracesmith._trace import Trace

Array = Any  # a NumPy array

TYPES = ("COMPUTATION", "COMMUNICATION", "MEMORY")
_BANDWIDTH = "memory bandwidth (GB/s)"


def type_of(name: str) -> str:
    """The type that HTA gives a kernel by its name."""
    if re.match(r"nccl.*Kernel", name):
        return "COMMUNICATION"
    if name.startswith(("Memcpy", "Memset", "dma")):
        return "MEMORY"
    return "OTHER" if re.match(r".*Memcpy|Memset|.*Sync", name) else "COMPUTATION"


class Calls(NamedTuple):
    """API calls that have a correlation, by start (us). `name` is an index into `words`."""

    name: Array
    ts: Array
    dur: Array
    correlation: Array
    words: list[str]


class Commands(NamedTuple):
    """Kernels, copies and fills of streams, by start (us). `name` is an index into `words`, a `type` one into TYPES or beyond it;
    an unknown correlation or device is -1, an unknown bandwidth NaN."""

    name: Array
    type: Array
    ts: Array
    dur: Array
    correlation: Array
    stream: Array
    device: Array
    bandwidth: Array
    words: list[str]


class Union(NamedTuple):
    """Disjoint sorted intervals."""

    start: Array
    end: Array

    @property
    def length(self) -> int:
        return int((self.end - self.start).sum())


def union(start: Array, end: Array) -> Union:
    """The time that intervals cover, which are sorted by start."""
    if not len(start):
        return Union(start, end)
    end = np.maximum.accumulate(end)
    first = np.flatnonzero(np.r_[True, start[1:] > end[:-1]])
    return Union(start[first], end[np.r_[first[1:] - 1, len(start) - 1]])


def times_by_combination(covered: list[Union]) -> dict[tuple[int, ...], int]:
    """For each combination of `covered` (as indices): how long exactly these run at once."""
    time = np.concatenate([edge for one in covered for edge in one])
    step = np.concatenate([np.repeat((1 << i, -(1 << i)), len(one.start)) for i, one in enumerate(covered)])
    order = np.argsort(time, kind="stable")
    running, lasting = np.cumsum(step[order])[:-1], np.diff(time[order])
    sums = {mask: int(lasting[running == mask].sum()) for mask in np.unique(running[lasting > 0]).tolist()}
    return {tuple(i for i in range(len(covered)) if mask >> i & 1): total for mask, total in sums.items() if mask}


def groups(keys: Array, *columns: Array) -> dict[int, tuple[Array, ...]]:
    """The values of each column for each key, by key; values keep their order."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if len(keys) else order
    parts = [np.split(column[order], first[1:]) for column in columns]
    return dict(zip(keys[first].tolist(), zip(*parts)))


STATISTICS = ("count", "mean", "std", "min", "25%", "50%", "75%", "max")


def described(values: Array) -> tuple[float, ...]:
    """STATISTICS as pandas' describe() gives them."""
    if not len(values):
        return (0.0, *[float("nan")] * (len(STATISTICS) - 1))
    quarters: Array = np.percentile(values, (25.0, 50.0, 75.0))
    std = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
    return (float(len(values)), float(values.mean()), std, float(values.min()), *map(float, quarters), float(values.max()))


class Sums(NamedTuple):
    """Of the durations of one name."""

    name: str
    sum: int
    max: int
    min: int
    mean: float
    std: float  # 0 of a single one


def _sums(name: str, values: Array) -> Sums:
    std = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return Sums(name, int(values.sum()), int(values.max()), int(values.min()), float(values.mean()), std)


def largest(found: list[Sums], most: int, ratio: float) -> list[Sums]:
    """The largest sum first, in the order in which pandas sorts; what is beyond `most` or the quantile becomes "others"."""
    sums = np.array([one.sum for one in found], dtype=np.int64)
    order = len(found) - 1 - np.argsort(sums[::-1])[::-1]
    found, sums = [found[i] for i in order.tolist()], sums[order]
    if len(found) <= most:
        return found
    total = np.cumsum(sums)
    beyond = (total > np.percentile(total, ratio * 100)) | (np.arange(len(found)) >= most)
    few = [one for one, out in zip(found, beyond.tolist()) if not out]
    return [_sums(one.name, np.array([one.sum])) for one in few] + ([_sums("others", sums[beyond])] if beyond.any() else [])


def _read(trace: Trace, kind: str, columns: tuple[str, ...]) -> tuple[dict[str, Array], list[str], Array]:
    """Columns of fields, the words of names, and which rows have values of all of them."""
    arrays: dict[str, Array] = {}
    words: list[str] = []
    known = None
    for name, letter, values, valid, texts in trace.events(kind, columns=columns)._stream().columns():
        assert isinstance(values, bytearray)  # no column is of text without a dictionary
        arrays[name] = np.frombuffer(values, dtype={"I": np.uint32, "L": np.uint64}.get(letter, np.int64))
        words = words if texts is None else texts
        if valid is not None:
            here = np.frombuffer(valid, dtype=np.uint8) != 0
            known = here if known is None else known & here
    return arrays, words, np.ones(len(arrays["name"]), dtype=bool) if known is None else known


def _microseconds(start: Array, end: Array) -> tuple[Array, Array]:
    ts = -(-start // 1000)
    return ts, end // 1000 - ts


def _words(trace: Trace, numbers: list[int]) -> list[str]:
    """The strings of a trace by their numbers; "" where there is none."""
    found: dict[int, str] = {}
    for begin in range(0, len(numbers), 500):
        wanted = ", ".join(map(str, numbers[begin : begin + 500]))
        found.update(trace.sql(f"SELECT id, value FROM strings WHERE id IN ({wanted})"))  # type: ignore[arg-type]
    return [found.get(number, "") for number in numbers]


class Rank:
    """The data of one rank's trace."""

    def __init__(self, trace: Trace, include_last: bool) -> None:
        limit = self._read_steps(trace, include_last)
        self._read_calls(trace, limit)
        self._read_commands(trace, limit is not None)
        self._unions: dict[int | None, Union] = {}

    def _read_steps(self, trace: Trace, include_last: bool) -> int | None:
        """Gives the last microsecond in which a call may begin to count, if that is limited."""
        arrays, words, known = _read(trace, "range", ("name", "start", "duration"))
        steps = {i: word for i, word in enumerate(words) if word.startswith("ProfilerStep")}
        rows = np.isin(arrays["name"], list(steps))
        used = {steps[i] for i in np.unique(arrays["name"][rows]).tolist()}
        self.steps = sorted({int(found) for name in used for found in re.findall(r"ProfilerStep\s*#\s*(\d+)", name)})
        if len(self.steps) < 2:
            return None
        start = arrays["start"][rows]
        if include_last:
            return int((start + arrays["duration"][rows])[known[rows]].max()) // 1000
        return -(-int(start.max()) // 1000) - 1

    def _read_calls(self, trace: Trace, limit: int | None) -> None:
        arrays, words, known = _read(trace, "api", ("name", "start", "duration", "correlation"))
        rows = np.flatnonzero(known)
        rows = rows[np.argsort(arrays["start"][rows], kind="stable")]
        start = arrays["start"][rows]
        ts, dur = _microseconds(start, start + arrays["duration"][rows])
        some = slice(None) if limit is None else ts <= limit
        correlation = arrays["correlation"][rows].astype(np.int64)
        self.calls = Calls(arrays["name"][rows][some], ts[some], dur[some], correlation[some], words)

    def _read_commands(self, trace: Trace, only_called: bool) -> None:
        """`only_called`: those that were launched by the calls that count."""
        parts = []
        for kind in ("kernel", "memcpy", "memset"):
            columns = {name for (name,) in trace.sql(f"SELECT name FROM pragma_table_info('{kind}')")}
            if "stream" in columns:
                device = "device" if "device" in columns else "NULL"
                bandwidth = f'"{_BANDWIDTH}"' if _BANDWIDTH in columns else "NULL"
                parts.append(
                    f"SELECT coalesce(name_id, 0), start, end, coalesce(correlation, -1), CAST(stream AS INTEGER), "
                    f"coalesce(CAST({device} AS INTEGER), -1), CAST({bandwidth} AS REAL) FROM {kind} "
                    f"WHERE duration IS NOT NULL AND stream >= 0"
                )
        if not parts:
            raise UnsupportedError(f"{trace.path}: the trace has no streams, which HTA's methods need")
        found = []
        for _, letter, values, valid, _ in trace.sql(" UNION ALL ".join(parts))._stream().columns():
            # A column without any value is a list of None, and without rows of anything.
            array = np.array(values, dtype=float) if isinstance(values, list) else np.frombuffer(values, dtype="f8" if letter == "g" else "i8")
            found.append(array if valid is None else np.where(np.frombuffer(valid, dtype=np.uint8) == 0, np.nan, array))
        name, start, end, correlation, stream, device, bandwidth = found
        rows = np.argsort(start, kind="stable")
        if only_called:
            rows = rows[np.isin(correlation[rows], self.calls.correlation)]
        ts, dur = _microseconds(start[rows], end[rows])
        numbers, name = np.unique(name[rows], return_inverse=True)
        words = _words(trace, numbers.tolist())
        types = np.array([TYPES.index(kind) if kind in TYPES else len(TYPES) for kind in map(type_of, words)], dtype=np.int8)
        self.commands = Commands(name, types[name], ts, dur, correlation[rows], stream[rows], device[rows], bandwidth[rows], words)

    def streams(self) -> list[int]:
        """By their first command."""
        numbers, first = np.unique(self.commands.stream, return_index=True)
        return list(map(int, numbers[np.argsort(first)]))

    def busy(self, kind: str | None = None) -> Union:
        """When commands of a type ran, or any."""
        number = None if kind is None else TYPES.index(kind)
        if number not in self._unions:
            some = slice(None) if number is None else self.commands.type == number
            start = self.commands.ts[some]
            # The duration of an event shorter than a microsecond may be negative after rounding.
            self._unions[number] = union(start, start + np.maximum(self.commands.dur[some], 0))
        return self._unions[number]

    def sums(self, kind: str) -> list[Sums]:
        """Of the durations of each name of a type, by name."""
        one = self.commands.type == TYPES.index(kind)
        by_name: dict[str, list[Array]] = {}
        for number, (values,) in groups(self.commands.name[one], self.commands.dur[one]).items():
            by_name.setdefault(self.commands.words[number], []).append(values)
        return [_sums(name, np.concatenate(by_name[name])) for name in sorted(by_name)]

    def first_call(self, correlation: Array) -> Array:
        """The begin of the first call with each correlation; NaN where there is none."""
        numbers, first = np.unique(self.calls.correlation, return_index=True)
        if not len(numbers):
            return np.full(len(correlation), np.nan)
        at = np.minimum(np.searchsorted(numbers, correlation), len(numbers) - 1)
        return np.where(numbers[at] == correlation, self.calls.ts[first[at]], np.nan)

    def launched(self, names: Iterable[str]) -> tuple[Array, Array]:
        """Pairs of a call and a command that it launched: indices, by call."""
        wanted = [i for i, word in enumerate(self.calls.words) if word in names]
        calls = np.flatnonzero(np.isin(self.calls.name, wanted))
        order = np.argsort(self.commands.correlation, kind="stable")
        correlation = self.commands.correlation[order]
        first, last = (np.searchsorted(correlation, self.calls.correlation[calls], side) for side in ("left", "right"))
        count = last - first
        # The places first, first + 1... of each call.
        places = np.arange(count.sum()) + np.repeat(first - np.cumsum(count) + count, count)
        return np.repeat(calls, count), order[places]
