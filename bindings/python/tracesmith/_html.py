# SPDX-License-Identifier: Apache-2.0
"""The display of a trace in a notebook. Texts of the trace are escaped: they never become markup or scripts."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracesmith._answers import Analysis, Answers

# Beyond that a notebook shows what is known without reading events: an analysis would take seconds.
_EVENTS_MOST = 3_000_000
# Characters that show other text than there is: controls, and those that change the direction of writing.
_HIDING = {*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C, 0xFEFF}


def escape(text: str) -> str:
    """`text` for HTML and SVG, between tags and in attributes. Characters that would hide other text are shown as U+FFFD."""
    import html

    return html.escape("".join("\ufffd" if ord(c) in _HIDING or 0xD800 <= ord(c) < 0xE000 else c for c in text))


def cut(text: str, most: int) -> str:
    """At most so many characters, the last of them an ellipsis if some are left out."""
    return text if len(text) <= most else text[: most - 1] + "\u2026"


def duration(ns: int) -> str:
    """A duration with its unit, in four digits."""
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if abs(ns) >= size:
            return f"{ns / size:.4g} {unit}"
    return f"{ns} ns"


def legend(colors: dict[str, str], missing: bool) -> str:
    """The legend of a timeline, as HTML."""
    entries = [f'<span style="color:{color}">&#9632;</span> {name}' for name, color in colors.items()]
    entries += ['<span style="color:#c0392b">&#9640;</span> events are missing'] if missing else []
    return '<div style="font:12px sans-serif">height: share of the time; ' + " &nbsp; ".join(entries) + "</div>"


def _lost(lost: dict[str, int]) -> str:
    if not lost:
        return "nothing lost"
    return "lost or incomplete: " + ", ".join(f"{count} {reason}" for reason, count in sorted(lost.items()))


def findings_html(analysis: Analysis) -> str:
    """What to fix first, as a list."""
    found = analysis.findings
    if not found:
        return f"<p>{escape(analysis['advice'].finding)}</p>"
    items = "".join(
        f"<li><b>{escape(one.problem)}</b>: up to {duration(one.saves)} ({one.share:.1%}). "
        f"{escape(cut(' '.join(one.evidence), 2000))}<br><i>Fix:</i> {escape(one.fix)}</li>"
        for one in found
    )
    return f"<ol>{items}</ol>" + "".join(f"<p><small>{escape(note)}</small></p>" for note in analysis["advice"].notes)


def trace_html(trace: Answers) -> str:
    """A trace: a summary, what to fix first, and its timeline."""
    if trace._native.closed:
        return "<p>a closed trace</p>"
    info = trace.info
    length = 0 if info["first_start"] is None else info["last_end"] - info["first_start"]
    state = "" if info["complete"] else " <b>The trace is incomplete.</b>"
    head = (
        f"<p><b>{escape(cut(info['path'], 200))}</b>: {escape(info['format'])}, {info['events']:,} events in "
        f"{duration(length)}, {escape(_lost(info['lost']))}.{state}</p>"
    )
    if info["events"] > _EVENTS_MOST:
        return head + "<p>trace.analyze() says what to fix first, trace.timeline() shows its queues.</p>"
    timeline = trace.timeline()
    picture = timeline._repr_html_() if timeline.queues else "<p>no queue of a device</p>"
    return f"<div>{head}{findings_html(trace.analyze('advice'))}{picture}</div>"
