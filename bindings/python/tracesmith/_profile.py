# SPDX-License-Identifier: Apache-2.0
"""Recording a process with its GPU calls, by the steps of its loop."""
from __future__ import annotations

import enum
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

from tracesmith import _native
from tracesmith._session import Session


class ProfilerAction(enum.Enum):
    """The action of a schedule for one step. Names and meanings are those of torch.profiler."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Which steps are recorded, as in torch.profiler.schedule: after `skip_first` steps comes a cycle of `wait` steps
    that are not recorded, `warmup` steps that are not recorded either, and `active` steps that are; `repeat` cycles, or
    cycles without end if it is 0. If `skip_first_wait` is not 0, the first cycle has no `wait` steps.

    Returns a function from the number of a step (from 0) to a ProfilerAction. Any such function is a schedule.
    Raises ValueError if a number is negative or `active` is 0.
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise ValueError("schedule: no number may be negative, and active must be 1 or more")
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise ValueError("schedule: steps are numbered from 0")
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        if repeat > 0 and step >= repeat * cycle:
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def profile(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes],
    *,
    schedule: Callable[[int], ProfilerAction] | None = None,
    on_trace_ready: Callable[[Profile], object] | None = None,
    stacks: bool = False,
    stack_frames: int = 0,
    apis: Sequence[str] | None = None,
    cuda: str | None = None,
    max_overhead: float = 0,
    buffer_bytes: int = 0,
    overflow: str | None = None,
) -> Profile:
    """A Profile for a with statement: GPU calls, kernels and copies of this process and of the programs it starts, and its
    ranges, marks and counters, are recorded into `path` inside it.

    Make it before the program first uses a GPU: an API that is in use already cannot be recorded in this process. Then
    IncompleteRecordingWarning and `note` report this. `python -m tracesmith run script.py` always begins early enough.

    path:           the SBT file to write; it is created with mode 0600. "run.%r.sbt" has the rank, as of tracesmith.session.
    schedule:       which steps are recorded (tracesmith.schedule); None: everything. step() marks the steps.
    on_trace_ready: called with the Profile at the end of each recorded window. The file is complete after the stop.
    stacks:         record the call stack of each GPU call; stack_frames: at most so many of its innermost frames.
    apis:           names of the APIs to record, as ["cuda", "nvtx"]; None: all that there are.
    cuda:           what else to record of CUDA, separated by commas (docs/cuda.md).
    max_overhead:   percent of a thread's time that recording may take, then it is thinned; 0: not limited.
    buffer_bytes, overflow: as of tracesmith.session.
    """
    return Profile(
        path,
        schedule=schedule,
        on_trace_ready=on_trace_ready,
        gpu=True,
        stacks=stacks,
        stack_frames=stack_frames,
        apis=apis,
        cuda=cuda,
        max_overhead=max_overhead,
        buffer_bytes=buffer_bytes,
        overflow=overflow,
    )


class Profile(Session):
    """A session that records GPU calls too, by a schedule.

    With a schedule every step is a range named "ProfilerStep#N", as torch.profiler names it. All windows are in one file;
    `windows` says when they were.
    """

    def __init__(
        self,
        path: str | bytes | os.PathLike[str] | os.PathLike[bytes],
        *,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Profile], object] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(path, **options)
        self._schedule = schedule
        self._ready = on_trace_ready
        self._step = 0
        self._action = ProfilerAction.NONE
        self._step_range: _native.Range | None = None
        self._begun: int | None = None
        self._windows: list[tuple[int, int]] = []

    @property
    def step_num(self) -> int:
        """The number of the current step, from 0."""
        return self._step

    @property
    def current_action(self) -> ProfilerAction:
        """The action of the schedule for the current step."""
        return self._action

    @property
    def windows(self) -> list[tuple[int, int]]:
        """The recorded windows that are over, as (start, end) in ns on the trace clock."""
        return list(self._windows)

    def start(self) -> Self:
        """Begins with step 0. Raises the exceptions of Session.start."""
        super().start()
        if self._schedule is not None and self._native is not None:
            self._native.pause()
        self._action = ProfilerAction.NONE
        self._go_on(self._wanted())
        return self

    def step(self) -> None:
        """The program begins its next step. Raises StateError before the start; after the stop it does nothing."""
        if self._owner is None:
            from tracesmith._errors import StateError

            raise StateError("The profile was not started")
        if self._native is None:
            return
        self._end_step()
        self._step += 1
        self._go_on(self._wanted())

    def stop(self) -> dict[str, int] | None:
        """Ends the recording; a window that is open ends too, and on_trace_ready is called for it."""
        if self._native is not None and os.getpid() == self._owner:
            self._end_step()
            action, self._action = self._action, ProfilerAction.NONE
            try:
                self._end_window(ready=action in _RECORDING)
            finally:
                statistics = super().stop()
            return statistics
        return super().stop()

    def _wanted(self) -> ProfilerAction:
        return ProfilerAction.RECORD if self._schedule is None else self._schedule(self._step)

    # From the action of one step to that of the next, as torch.profiler goes.
    def _go_on(self, wanted: ProfilerAction) -> None:
        before, self._action = self._action, wanted
        if before is ProfilerAction.RECORD_AND_SAVE:
            self._end_window(ready=True)
        elif before is ProfilerAction.RECORD and wanted not in _RECORDING:
            self._say_incorrect(before, wanted)
            self._end_window(ready=False)
        elif before is ProfilerAction.WARMUP and wanted is ProfilerAction.NONE:
            self._say_incorrect(before, wanted)
        if self._native is None:
            return  # stopped by on_trace_ready
        if wanted in _RECORDING and self._begun is None:
            self._native.activate()
            self._begun = self._native.now()
        if wanted in _RECORDING and self._schedule is not None:
            self._step_range = _native.range(f"ProfilerStep#{self._step}")
            self._step_range.__enter__()

    @staticmethod
    def _say_incorrect(before: ProfilerAction, wanted: ProfilerAction) -> None:
        import warnings

        warnings.warn(f"Incorrect schedule: {before.name} followed by {wanted.name}", stacklevel=4)

    def _end_step(self) -> None:
        if self._step_range is not None:
            self._step_range.__exit__(None, None, None)
            self._step_range = None

    def _end_window(self, ready: bool) -> None:
        if self._begun is None or self._native is None:
            return
        self._windows.append((self._begun, self._native.now()))
        self._begun = None
        if self._schedule is not None:
            self._native.pause()
        if ready and self._ready is not None:
            self._ready(self)
