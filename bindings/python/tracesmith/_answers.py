# SPDX-License-Identifier: Apache-2.0
"""Analyses of a trace: the results of Trace.analyze."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracesmith import _native

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pandas  # type: ignore[import-not-found, import-untyped, unused-ignore]
    import polars  # type: ignore[import-not-found, unused-ignore]
    import pyarrow  # type: ignore[import-not-found, import-untyped, unused-ignore]

    import os
    from typing import Union

    from tracesmith._simulate import Simulation
    from tracesmith._replay import Replay
    from tracesmith._timeline import Timeline
    from tracesmith._trace import Result, Trace

    One = Union[str, bytes, os.PathLike[str], os.PathLike[bytes], Trace]
    Traces = Union[One, Iterable[One]]


def analyses() -> dict[str, str]:
    """The analyses that Trace.analyze knows: {name: question}. docs/analyses.md defines each."""
    return dict(_native.analyses())


def diff(base: Traces, new: Traces, confidence: float = 0.95) -> Diff:
    """Two sides compared, as `tracesmith diff` does: per kernel, operator, range and state, matched by name.

    base, new:  a Trace or a path, or several of one program (str, bytes, os.PathLike, Trace).
    confidence: of the intervals, above 0 and below 1; there are intervals when both sides have two runs or more.

    Raises ArgumentError for an impossible confidence, StateError when a trace is closed, and what tracesmith.open raises.
    """
    with _Opened() as opened:
        return Diff(_native.diff(opened.natives(base), opened.natives(new), float(confidence)))


def ranks(traces: Traces) -> Report:
    """The ranks of one run compared, as `tracesmith analyze --ranks` does: who waits for whom, and in what.

    traces: a Trace or a path for each rank, at least two. Raises StateError for fewer, and what tracesmith.open raises.
    """
    with _Opened() as opened:
        native = _native.ranks(opened.natives(traces))
    return Report(native, 0)


class _Opened:
    """Traces that were given as paths; they are closed at the end."""

    def __enter__(self) -> _Opened:
        self._mine: list[Trace] = []
        return self

    def __exit__(self, *exception: object) -> None:
        for trace in self._mine:
            trace.close()

    def natives(self, given: Traces) -> tuple[_native.Trace, ...]:
        import os

        from tracesmith._trace import Trace, open

        several = (given,) if isinstance(given, (str, bytes, os.PathLike, Trace)) else tuple(given)
        natives = []
        for one in several:
            if not isinstance(one, Trace):
                one = open(one)
                self._mine.append(one)
            natives.append(one._native)
        return tuple(natives)


class Answers:
    """Base of Trace: its answers besides tables and events."""

    _native: _native.Trace

    if TYPE_CHECKING:

        @property
        def path(self) -> str: ...
        @property
        def info(self) -> dict[str, Any]: ...

    def analyze(
        self,
        *names: str,
        start: int | None = None,
        end: int | None = None,
        skip: Iterable[str] = (),
        hide_interpreter: bool = False,
        peak_flops: float | None = None,
        peak_bytes: float | None = None,
    ) -> Analysis:
        """The answer of `tracesmith analyze`, as an Analysis: what to fix first, and the reports behind it.

        names: which analyses (see tracesmith.analyses()); none: all.
        start: only events at this time or later (ns on the trace clock); None: from the first event.
        end:   only events before this time (ns on the trace clock); None: to the last event.
        skip:  functions that the analysis "callsites" does not take for the place that launches, but who called them.
        hide_interpreter: whether "callsites" leaves the functions of the Python interpreter itself out.
        peak_flops, peak_bytes: what each device reaches at most (floating-point operations and bytes per second), which "roofline"
            compares with; None: what the trace states.

        All analyses together read the trace once. Raises NotFoundError for a name that does not exist, StateError when the
        trace is closed, LimitError or MemoryLimitError where it has too many events, ValueError for a peak that is not above 0.
        """
        for peak in (peak_flops, peak_bytes):
            if peak is not None and not 0 < peak < float("inf"):
                raise ValueError(f"analyze: a peak is a rate above 0, not {peak!r}")
        if isinstance(skip, str):
            raise TypeError("analyze: skip must be a list of texts, not one text")
        start, end = self._window(start, end)
        return Analysis(self._native.analyze(names, tuple(skip), start, end, bool(hide_interpreter), peak_flops or 0.0, peak_bytes or 0.0))

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        format: str | None = None,
        title: str | None = None,
        start: int | None = None,
        end: int | None = None,
        rows: int | None = None,
    ) -> str:
        """A report for people who do not have the trace: one HTML page that loads nothing, or Markdown for a pull request.

        path:       where it is written (mode 0600 if it is new); None: nowhere.
        format:     "html" or "markdown". None: by the ending of `path` (.md: Markdown), else HTML.
        title:      None: the name of the trace's file.
        start, end: only events that begin in this window (ns on the trace clock).
        rows:       of each table at most so many; None: 30.

        Returns the text. Raises ValueError for another format or an empty window, tracesmith.Error for a damaged trace, and
        OSError where the file cannot be written.
        """
        import os

        if format is None:
            format = "markdown" if path is not None and os.fspath(path).endswith((".md", ".markdown")) else "html"
        if start is not None or end is not None:
            start, end = self._window(start, end)
        if title is None:
            title = os.path.basename(os.fsdecode(self.path))
        text = self._native.report(format, title, start, end, rows or 0)
        if path is not None:
            with open(path, "w", encoding="utf-8", newline="\n", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                file.write(text)
        return text

    def timeline(self, start: int | None = None, end: int | None = None, buckets: int = 200) -> Timeline:
        """How busy each queue of each device was, in equal parts of a window, as a Timeline.

        start, end: the window (ns on the trace clock); None: from the first start, to the last end.
        buckets:    the number of parts, 1 to 100,000.

        Raises ValueError for an impossible window or number, StateError when the trace is closed, LimitError or
        MemoryLimitError where it has too many commands (at least 48 bytes are needed for each).
        """
        from tracesmith._timeline import Timeline

        start, end = self._window(start, end)
        return Timeline(self._native.timeline(start, end, buckets))

    def simulate(
        self,
        scale: Mapping[str, Mapping[str, float]] | None = None,
        *,
        drop_sync: Iterable[str] = (),
        fuse: Iterable[Iterable[str]] = (),
        graph: int | None = None,
        overlap_communication: bool = False,
        policy: str = "original",
        force: bool = False,
    ) -> Simulation:
        """How long it would take if something were different, as `tracesmith simulate` does, as a Simulation.

        scale:     {"kernel", "copy", "call" or "host": {name: factor}}; what takes `factor` times as long. Names may have * and ?.
        drop_sync: names of calls that wait for the device and would return at once.
        fuse:      chains of names of kernels that follow each other and would be one.
        graph:     launches that repeat become a captured graph, at so many ns of the host for each command.
        overlap_communication: communication moves to a queue of its own.
        policy:    which queue goes first where several could: "original" or "round-robin".
        force:     answers also where the model is more than 5 % off on the unchanged trace.

        Raises ArgumentError for a change that cannot be or applies to nothing, UnsupportedError for a model that is too far off,
        NotFoundError for a trace without commands, StateError when the trace is closed.
        """
        from tracesmith._simulate import simulate

        return simulate(self._native, scale or {}, drop_sync, fuse, graph, overlap_communication, policy, force)

    def replay(
        self,
        *,
        times: int = 1,
        device: str | int | None = None,
        tolerance: str | float | None = None,
        source: Mapping[str, str | os.PathLike[str]] | None = None,
        kernel: str | None = None,
        commands: tuple[int, int] | None = None,
        sandbox: bool = False,
        limit: float | None = None,
    ) -> Replay:
        """Runs the recording in this trace again (`tracesmith profile --capture`) and compares results, as a Replay.

        times:     number of replays; differences between them count as noise.
        device:    a number, or a part of a name; None: the one that fits the recorded device.
        tolerance: allowed difference: "4ulp", or a number like 1e-6.
        source:    {kernel: file}: the program with this kernel is built from the source in the file.
        kernel:    only launches of kernels of this name (with * and ?), and what they need.
        commands:  only commands (first, last), numbered from 0, and what they need.
        sandbox:   without network, other processes and most of the file system; for recordings of others.
        limit:     seconds after which a replay is given up.

        The replay runs in a process of its own. It runs kernels of the recording: use `sandbox` for one that you do not trust.
        Raises NotFoundError for a trace without a recording, UnsupportedError when there is no device, ArgumentError for options
        that cannot be, StateError when the trace is closed.
        """
        from tracesmith._replay import replay

        self.info  # raises when the trace is closed
        return replay(self.path, times, device, tolerance, source, kernel, commands, sandbox, limit)

    def _window(self, start: int | None, end: int | None) -> tuple[int | None, int | None]:
        import operator

        if start is None and end is None:
            return None, None
        info = self.info
        start = (info["first_start"] or 0) if start is None else operator.index(start)
        return start, (info["last_end"] or 0) if end is None else operator.index(end)

    def _repr_html_(self) -> str:
        from tracesmith._html import trace_html

        return trace_html(self)

    def diff(self, new: Traces, confidence: float = 0.95) -> Diff:
        """This trace (the base) compared with `new`: tracesmith.diff(self, new, confidence)."""
        return diff(self, new, confidence)  # type: ignore[arg-type] # it is a Trace


class Analysis:
    """The reports of one Trace.analyze, and what to fix first. Stays valid when the trace is closed.

    analysis["kernels"] is a Report; iterating gives all reports; analysis.findings is what to fix first.
    """

    def __init__(self, native: _native.Analysis) -> None:
        self._reports: dict[str, Report] = {}
        while (described := native.report(len(self._reports))) is not None:
            self._reports[described[0]] = Report(native, len(self._reports))

    def __getitem__(self, name: str) -> Report:
        return self._reports[name]

    def __contains__(self, name: object) -> bool:
        return name in self._reports

    def __iter__(self) -> Iterator[Report]:
        return iter(self._reports.values())

    def __len__(self) -> int:
        return len(self._reports)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the reports."""
        return tuple(self._reports)

    @property
    def findings(self) -> list[Finding]:
        """What to fix first, the largest saving first, as a list of Finding; [] if "advice" was not requested."""
        return _findings(self._reports["advice"]) if "advice" in self._reports else []

    def to_dict(self) -> dict[str, Any]:
        """All reports as dicts, by name."""
        return {report.name: report.to_dict() for report in self}

    def __str__(self) -> str:
        lines = [str(finding) for finding in self.findings]
        lines += [f"{report.name}: {report.finding}" for report in self if report.name != "advice"]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<tracesmith.Analysis of {len(self)} reports: {', '.join(self.names)}>"


class Report:
    """The answer of one analysis: a finding in words, and tables. report["table"] is a Result.

    name:     of the analysis ("kernels").
    question: the question that it answers.
    finding:  the answer in one or two sentences.
    notes:    what makes the answer weaker than it looks, as a tuple of texts.
    start, end: the window that it is about (ns on the trace clock).
    missing:  ns of the window about which the trace is known to be incomplete.
    lost:     how many events are known to be lost.
    tables:   {name: what a row is, and what is not obvious of the columns}.
    """

    name: str
    question: str
    finding: str
    notes: tuple[str, ...]
    start: int
    end: int
    missing: int
    lost: int
    tables: dict[str, str]

    def __init__(self, native: _native.Analysis, number: int) -> None:
        described = native.report(number)
        if described is None:
            raise IndexError(number)
        self._native, self._number = native, number
        self.name, self.question, self.finding, self.notes = described[:4]
        self.start, self.end, self.missing, self.lost = described[4:8]
        self.tables = dict(described[8])

    def __getitem__(self, table: str) -> Result:
        from tracesmith._trace import Result

        number = list(self.tables).index(table) if table in self.tables else -1
        if number < 0:
            raise KeyError(table)
        return Result(lambda: self._native.table(self._number, number))

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    @property
    def covered(self) -> float | None:
        """The share of the window without known losses; None for an empty window."""
        length = self.end - self.start
        return 1 - self.missing / length if length > 0 else None

    def _first(self, table: str | None) -> Result:
        return self[next(iter(self.tables)) if table is None else table]

    def pandas(self, table: str | None = None) -> pandas.DataFrame:
        """A table as a pandas.DataFrame: the first, or the one that is named. Raises ImportError without pandas."""
        return self._first(table).pandas()

    def polars(self, table: str | None = None) -> polars.DataFrame:
        """A table as a polars.DataFrame: the first, or the one that is named. Raises ImportError without polars."""
        return self._first(table).polars()

    def arrow(self, table: str | None = None) -> pyarrow.Table:
        """A table as a pyarrow.Table: the first, or the one that is named. Raises ImportError without pyarrow."""
        return self._first(table).arrow()

    def text(self, rows: int = 20, width: int = 100) -> str:
        """The report as `tracesmith analyze` prints it: at most so many rows of a table, lines not wider than `width`."""
        return self._native.text(self._number, rows, width)

    def to_dict(self) -> dict[str, Any]:
        """The report as a dict of texts, numbers, lists and dicts; tables are lists of dicts."""
        return {
            "name": self.name,
            "question": self.question,
            "finding": self.finding,
            "notes": list(self.notes),
            "start": self.start,
            "end": self.end,
            "covered": self.covered,
            "missing": self.missing,
            "lost": self.lost,
            "tables": {table: list(self[table].dicts()) for table in self.tables},
        }

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<tracesmith.Report {self.name}: {self.finding}>"


class Diff(Report):
    """The answer of tracesmith.diff: a Report with gates."""

    def __init__(self, native: _native.Analysis) -> None:
        super().__init__(native, 0)

    def gate(self, condition: str) -> Gate:
        """Whether a condition on the new side holds: METRIC, then < <= > or >=, then a limit.

        A limit with a sign or % is about the change ("kernel_time<+3%"), without one about the new value
        ("peak_memory<2GiB"); `tracesmith help diff` lists metrics and units.

        Raises ArgumentError when it cannot be read, NotFoundError when neither side has the metric.
        """
        return Gate(condition, *self._native.gate(condition))


class Gate:
    """A condition of Diff.gate: true if it holds. `message` has the measured value."""

    __slots__ = ("condition", "passed", "message")

    condition: str
    passed: bool
    message: str

    def __init__(self, condition: str, passed: bool, message: str) -> None:
        self.condition, self.passed, self.message = condition, passed, message

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return f"<tracesmith.Gate {self.condition}: {'passed' if self.passed else 'failed'}, {self.message}>"


class Finding:
    """One thing to fix: what it could save at most, why, and how.

    rank:     1 is the first.
    problem:  its name ("startup", "kernel", "copy"...).
    saves:    ns that it could save at most.
    share:    the same as a part of the window.
    start:    where it is worst: ns on the trace clock; None if there is no such place.
    duration: ns, of that place; None if there is none.
    example:  what happens there, or None.
    analyses: the reports that have more.
    evidence: sentences, as a tuple.
    fix:      what to do.
    bound:    what `saves` is.
    """

    __slots__ = ("rank", "problem", "saves", "share", "start", "duration", "example", "analyses", "evidence", "fix", "bound")

    rank: int
    problem: str
    saves: int
    share: float
    start: int | None
    duration: int | None
    example: str | None
    analyses: tuple[str, ...]
    evidence: tuple[str, ...]
    fix: str
    bound: str

    def __init__(self, **values: Any) -> None:
        for name in self.__slots__:
            setattr(self, name, values[name])

    def to_dict(self) -> dict[str, Any]:
        """The finding as a dict."""
        return {name: getattr(self, name) for name in self.__slots__}

    def __str__(self) -> str:
        return f"{self.rank}. {self.problem}, up to {self.saves / 1e6:.3f} ms ({self.share:.1%}): {' '.join(self.evidence)}"

    def __repr__(self) -> str:
        return f"<tracesmith.Finding {self}>"


def _findings(advice: Report) -> list[Finding]:
    def by_rank(table: str, column: str) -> dict[int, tuple[str, ...]]:
        texts: dict[int, tuple[str, ...]] = {}
        for row in advice[table].dicts() if table in advice.tables else ():
            texts[row["rank"]] = (*texts.get(row["rank"], ()), row[column])
        return texts

    evidence, fixes, bounds = (by_rank(*one) for one in (("evidence", "evidence"), ("fixes", "fix"), ("bounds", "bound")))
    found = []
    for row in advice["advice"].dicts() if "advice" in advice.tables else ():
        rank = row["rank"]
        found.append(
            Finding(
                rank=rank,
                problem=row["problem"],
                saves=row["saves_ns"],
                share=row["share"],
                start=None if row["at_ns"] is None else advice.start + row["at_ns"],
                duration=row["length_ns"],
                example=row["example"],
                analyses=tuple(row["see"].split(", ")) if row["see"] else (),
                evidence=evidence.get(rank, ()),
                fix=" ".join(fixes.get(rank, ())),
                bound=" ".join(bounds.get(rank, ())),
            )
        )
    return found
