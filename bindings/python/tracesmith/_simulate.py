# SPDX-License-Identifier: Apache-2.0
"""How long a trace would take after a change: the results of Trace.simulate."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracesmith import _native
from tracesmith._errors import ArgumentError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Numbers of tsmith_change_kind and tsmith_policy.
_SCALES = {"kernel": 0, "copy": 1, "call": 2, "host": 3}
_DROP_SYNC, _FUSE, _GRAPH, _OVERLAP = 4, 5, 6, 7
_POLICIES = {"original": 0, "round-robin": 1}
_ERROR_MOST = 0.05
_UNEXPLAINED_MUCH = 0.25


class Simulation:
    """The answer of Trace.simulate. Times are in ns.

    recorded:  what the trace took, from its first moment to its last end.
    makespan:  the predicted duration: (least, most); they differ by unexplained delays.
    interval:  what a run of the changed program may take, with what differs from run to run: (least, most).
    open:      the same without that: only what the trace leaves open.
    affected:  how many commands and calls the changes concern.
    error:     how far the model is off on the unchanged trace, as a part of `recorded`.
    held_out_error: how far the second half of the trace, predicted from the first, is off; None where that cannot be tested.
    held_out_covered: the part of the second half's time that has a counterpart in the first.
    unknown_launches, untimed: calls and commands whose part in the change the trace does not show.
    device_busy: ns in which commands ran, added up over the devices.
    path:      what decides the end: a list of dicts with what, name, count, time.
    """

    __slots__ = (
        "recorded", "makespan", "interval", "open", "affected", "error", "held_out_error", "held_out_covered",
        "unknown_launches", "untimed", "device_busy", "path",
    )  # fmt: skip

    recorded: int
    makespan: tuple[int, int]
    interval: tuple[int, int]
    open: tuple[int, int]
    affected: int
    error: float
    held_out_error: float | None
    held_out_covered: float
    unknown_launches: int
    untimed: int
    device_busy: int
    path: list[dict[str, Any]]

    def __init__(self, native: dict[str, Any], asked: bool) -> None:
        parts, least, most = native.pop("parts"), native.pop("least"), native.pop("makespan")
        # Unexplained delays may or may not remain after a change. If they are much of the time, the answer states it.
        if not asked or native.pop("unexplained") <= _UNEXPLAINED_MUCH * most:
            least = most
        native.pop("unexplained", None)
        for name in ("interval", "open"):
            native[name] = (min(native[name][0], least), native[name][1])
        for name, value in native.items():
            setattr(self, name, value)
        self.makespan = (least, most)
        self.path = [dict(zip(("what", "name", "count", "time"), part)) for part in parts]
        if native["held_out_error"] < 0:
            self.held_out_error = None

    @property
    def saves(self) -> tuple[int, int]:
        """How much shorter than recorded a run of the changed program may be: (least, most) ns; negative: longer."""
        return self.recorded - self.interval[1], self.recorded - self.interval[0]

    def to_dict(self) -> dict[str, Any]:
        """The answer as a dict of numbers, texts, tuples, lists and dicts."""
        return {name: getattr(self, name) for name in self.__slots__}

    def __repr__(self) -> str:
        least, most = (time / 1e6 for time in self.interval)
        return f"<tracesmith.Simulation: {self.recorded / 1e6:.3f} ms recorded, {least:.3f} to {most:.3f} ms with the change>"


def simulate(
    trace: _native.Trace,
    scale: Mapping[str, Mapping[str, float]],
    drop_sync: Iterable[str],
    fuse: Iterable[Iterable[str]],
    graph: int | None,
    overlap_communication: bool,
    policy: str,
    force: bool,
) -> Simulation:
    changes: list[tuple[int, tuple[str, ...], float, int]] = []
    for what, factors in scale.items():
        if what not in _SCALES:
            raise ArgumentError(f"simulate: scale has {what!r}, available: {', '.join(_SCALES)}")
        changes += [(_SCALES[what], (name,), float(factor), 0) for name, factor in factors.items()]
    if policy not in _POLICIES:
        raise ArgumentError(f"simulate: policy is {policy!r}, available: {', '.join(_POLICIES)}")
    if isinstance(drop_sync, str) or isinstance(fuse, str):
        raise TypeError("simulate: drop_sync and fuse must be lists, not a text")
    changes += [(_DROP_SYNC, (name,), 1.0, 0) for name in drop_sync]
    changes += [(_FUSE, tuple(names), 1.0, 0) for names in fuse]
    if graph is not None:
        changes.append((_GRAPH, (), 1.0, graph))
    if overlap_communication:
        changes.append((_OVERLAP, (), 1.0, 0))
    answer = Simulation(_native.simulate(trace, tuple(changes), _POLICIES[policy]), bool(changes) or policy != "original")
    if changes and not answer.affected:
        raise ArgumentError("simulate: the change applies to nothing in the trace")
    if answer.error > _ERROR_MOST and not force:
        raise UnsupportedError(
            f"simulate: the model's error on this trace is too large for an answer ({answer.error:.1%}); force=True gives one"
        )
    return answer
