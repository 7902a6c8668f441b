# SPDX-License-Identifier: Apache-2.0
"""How busy the queues of a trace were over time: the result of Trace.timeline, and its picture."""
from __future__ import annotations

from typing import Any

WORKS = ("compute", "communication", "copy")
# Apart in brightness, too: for readers who see colors alike, and in print.
_COLOURS = {"compute": "#2a6fb0", "communication": "#e08a1e", "copy": "#7fb8a4"}
_ROW, _GAP, _LABELS, _AXIS = 26, 6, 190, 22


class Queue:
    """One queue (stream) of a Timeline.

    name, device: its name, and its device.
    pid:          of the process that launches its commands; None if that is not known.
    busy:         ns of the window in which at least one of its commands ran.
    compute, communication, copy: in each bucket the share of time in which such a command ran, as lists of numbers from 0 to 1.
    shares:       the same for any of them.
    """

    __slots__ = ("name", "device", "pid", "busy", "compute", "communication", "copy", "shares")

    name: str
    device: str
    pid: int | None
    busy: int
    compute: list[float]
    communication: list[float]
    copy: list[float]
    shares: list[float]

    def __init__(self, described: tuple[str, str, int, int, list[list[float]]]) -> None:
        self.name, self.device, pid, self.busy, shares = described
        self.pid = pid or None
        self.compute, self.communication, self.copy, self.shares = shares

    def __repr__(self) -> str:
        return f"<tracesmith.Queue {self.name!r} of {self.device!r}, busy {self.busy} ns>"


class Timeline:
    """The queues of a trace over time. In a notebook it shows itself as a picture.

    start, end: the window (ns on the trace clock).
    buckets:    how many equal parts it has.
    queues:     a list of Queue.
    missing:    where events are known to be missing: a list of (start, end, reason, how many or None).
    """

    start: int
    end: int
    buckets: int
    queues: list[Queue]
    missing: list[tuple[int, int, str, int | None]]

    def __init__(self, described: tuple[int, int, list[Any], list[Any]]) -> None:
        self.start, self.end, rows, holes = described
        self.queues = [Queue(row) for row in rows]
        self.buckets = len(self.queues[0].shares) if self.queues else 0
        self.missing = [(start, end, reason, lost or None) for start, end, reason, lost in holes]

    def to_dict(self) -> dict[str, list[Any]]:
        """The buckets as columns: queue, device, start (ns), compute, communication, copy, busy (shares). For data frames:
        pandas.DataFrame(timeline.to_dict())."""
        columns: dict[str, list[Any]] = {name: [] for name in ("queue", "device", "start", *WORKS, "busy")}
        length = self.end - self.start
        for queue in self.queues:
            columns["queue"] += [queue.name] * self.buckets
            columns["device"] += [queue.device] * self.buckets
            columns["start"] += [self.start + length * i // self.buckets for i in range(self.buckets)]
            for name in WORKS:
                columns[name] += getattr(queue, name)
            columns["busy"] += queue.shares
        return columns

    def svg(self, width: int = 960) -> str:
        """The timeline as the text of an SVG picture, `width` pixels wide. Hatched: events are missing there."""
        from tracesmith._html import duration, escape

        right = max(width - _LABELS - 8, 50)
        height = _AXIS + len(self.queues) * (_ROW + _GAP)
        length = max(self.end - self.start, 1)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'role="img" font-family="sans-serif" font-size="12" shape-rendering="crispEdges">',
            f"<title>{escape(f'{len(self.queues)} queues over {duration(length)}')}</title>",
            '<defs><pattern id="tracesmith-missing" width="6" height="6" patternUnits="userSpaceOnUse" '
            'patternTransform="rotate(45)"><rect width="2" height="6" fill="#c0392b"/></pattern></defs>',
        ]
        for tick in range(5):
            x = _LABELS + right * tick / 4
            anchor = "start" if tick == 0 else "end" if tick == 4 else "middle"
            label = duration(length * tick // 4)
            parts.append(f'<text x="{x:.1f}" y="14" text-anchor="{anchor}" fill="currentColor">{label}</text>')
        for number, queue in enumerate(self.queues):
            parts += self._row(queue, _AXIS + number * (_ROW + _GAP), right, length)
        parts.append("</svg>")
        return "".join(parts)

    def _row(self, queue: Queue, top: int, right: float, length: int) -> list[str]:
        from tracesmith._html import cut, escape

        parts = [
            f'<g><title>{escape(cut(f"{queue.name} of {queue.device}", 200))}: busy {100 * queue.busy / length:.1f}%</title>',
            f'<text x="{_LABELS - 6}" y="{top + _ROW - 8}" text-anchor="end" fill="currentColor">'
            f"{escape(cut(queue.name, 20))} {100 * queue.busy / length:.1f}%</text>",
            f'<rect x="{_LABELS}" y="{top}" width="{right:.1f}" height="{_ROW}" fill="currentColor" fill-opacity="0.06"/>',
        ]
        step = right / max(self.buckets, 1)
        for i, share in enumerate(queue.shares):
            if share <= 0:
                continue
            work = max(WORKS, key=lambda name: getattr(queue, name)[i])
            tall = max(share * _ROW, 1)
            parts.append(
                f'<rect x="{_LABELS + i * step:.2f}" y="{top + _ROW - tall:.2f}" width="{step:.2f}" height="{tall:.2f}" '
                f'fill="{_COLOURS[work]}"/>'
            )
        for start, end, reason, lost in self.missing:
            x = _LABELS + right * (max(start, self.start) - self.start) / length
            wide = max(_LABELS + right * (min(end, self.end) - self.start) / length - x, 1)
            if end >= self.start and start <= self.end:
                count = "events" if lost is None else f"{lost} events"
                parts.append(
                    f'<rect x="{x:.2f}" y="{top}" width="{wide:.2f}" height="{_ROW}" fill="url(#tracesmith-missing)">'
                    f"<title>{escape(f'{count} missing: {reason}')}</title></rect>"
                )
        parts.append("</g>")
        return parts

    def plot(self) -> Any:
        """The timeline as a matplotlib.figure.Figure: a row of axes per queue, how busy it was over milliseconds of the window.

        Hatched: events are missing there. Raises ImportError without matplotlib (`pip install tracesmith[visualization]`)."""
        from matplotlib.figure import Figure  # type: ignore[import-not-found, unused-ignore]

        figure = Figure(figsize=(10, 0.8 + 0.7 * max(len(self.queues), 1)), layout="constrained")
        axes = figure.subplots(max(len(self.queues), 1), 1, sharex=True, squeeze=False)[:, 0]
        step = (self.end - self.start) / max(self.buckets, 1) / 1e6
        places = [i * step for i in range(self.buckets)]
        for queue, row in zip(self.queues, axes):
            for name in WORKS:
                row.bar(places, getattr(queue, name), step, align="edge", color=_COLOURS[name], label=name, alpha=0.8)
            for start, end, _, _ in self.missing:
                if end >= self.start and start <= self.end:
                    span = [(max(start, self.start) - self.start) / 1e6, (min(end, self.end) - self.start) / 1e6]
                    row.axvspan(*span, facecolor="none", edgecolor="#c0392b", hatch="//")
            row.set_ylim(0, 1)
            row.set_yticks([])
            # parse_math: a dollar sign in a name is no formula.
            row.set_ylabel(queue.name, rotation=0, horizontalalignment="right", parse_math=False)
        axes[-1].set_xlim(0, max((self.end - self.start) / 1e6, 1e-6))
        axes[-1].set_xlabel("ms")
        if self.queues:
            axes[0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=len(WORKS), frameon=False)
        return figure

    def _repr_html_(self) -> str:
        from tracesmith._html import legend

        return f'<div style="overflow-x:auto">{self.svg()}{legend(_COLOURS, bool(self.missing))}</div>'

    def __repr__(self) -> str:
        return f"<tracesmith.Timeline of {len(self.queues)} queues, {self.end - self.start} ns in {self.buckets} parts>"
