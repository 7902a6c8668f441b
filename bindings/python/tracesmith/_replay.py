# SPDX-License-Identifier: Apache-2.0
"""Replays of a recording: the results of Trace.replay. The package's own command runs them, in a process of its own: a replay runs the
recording's kernels in a driver, and a crash there must not end this process."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracesmith._errors import ArgumentError, Error, NotFoundError, SystemFailure, UnsupportedError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence


class ReplayResult:
    """One comparison of a replay: data that the program read, or the final content of a buffer.

    verdict:  "exact", "within-tolerance", "within-noise", "diverged" or "uncomparable".
    reason:   why it is uncomparable; None otherwise.
    what:     "read", "released", "final"...: when the program had the data.
    command:  how many commands of the recording were before it.
    buffer:   its number in the recording.
    size:     bytes.
    element:  what they are taken for ("f32", "u8"...).
    writer:   the kernel (or "write", "copy"...) that wrote it last, or None.
    details:  all data of the command about it, as a dict.
    """

    __slots__ = ("verdict", "reason", "what", "command", "buffer", "size", "element", "writer", "details")

    verdict: str
    reason: str | None
    what: str
    command: int
    buffer: int
    size: int
    element: str | None
    writer: str | None
    details: dict[str, Any]

    def __init__(self, details: dict[str, Any]) -> None:
        self.verdict, self.what = details["verdict"], details["what"]
        self.command, self.buffer, self.size = details["command"], details["buffer"], details["bytes"]
        self.reason, self.element, self.writer = (details.get(name) for name in ("reason", "element", "writer"))
        self.details = details

    def __repr__(self) -> str:
        return f"<tracesmith.ReplayResult {self.verdict}: buffer {self.buffer}, {self.what} after {self.command} commands>"


class Replay:
    """The result of a replay. True if at least one result was compared and none diverged.

    device:   the name of the device that it ran on; None if nothing ran.
    verdicts: {verdict: how many results}.
    results:  a list of ReplayResult.
    notes:    what could not be done as it was recorded, as a tuple of texts.
    complete: whether the recording is whole; False: it is damaged or was cut off.
    details:  the output of `tracesmith replay --json`, as a dict.
    """

    device: str | None
    verdicts: dict[str, int]
    results: list[ReplayResult]
    notes: tuple[str, ...]
    complete: bool
    details: dict[str, Any]

    def __init__(self, details: dict[str, Any]) -> None:
        self.details = details
        self.device = details.get("device")
        self.verdicts = dict(details.get("verdicts", {}))
        self.results = [ReplayResult(result) for result in details.get("results", ())]
        self.notes = tuple(details.get("notes", ()))
        self.complete = bool(details["complete"])

    @property
    def exact(self) -> bool:
        """Whether there are results, and every one is exact."""
        return bool(self.results) and self.verdicts.get("exact") == len(self.results)

    @property
    def compared(self) -> int:
        """How many results could be compared."""
        return sum(count for verdict, count in self.verdicts.items() if verdict != "uncomparable")

    def __bool__(self) -> bool:
        return self.compared > 0 and not self.verdicts.get("diverged")

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.items() if count)
        return f"<tracesmith.Replay on {self.device or 'no device'}: {counts or 'nothing compared'}>"


def replay(
    path: str,
    times: int,
    device: str | int | None,
    tolerance: str | float | None,
    source: Mapping[str, str | os.PathLike[str]] | None,
    kernel: str | None,
    commands: tuple[int, int] | None,
    sandbox: bool,
    limit: float | None,
) -> Replay:
    import operator
    import os

    options = ["--times", str(operator.index(times))]
    options += [] if device is None else ["--device", str(device)]
    options += [] if tolerance is None else ["--tolerance", str(tolerance)]
    for name, file in (source or {}).items():
        options += ["--source", f"{name}={os.fspath(file)}"]
    if kernel is not None and commands is not None:
        raise ArgumentError("replay: kernel and commands cannot be combined")
    if kernel is not None:
        options += ["--mode", "partial", "--kernel", kernel]
    if commands is not None:
        first, last = (operator.index(one) for one in commands)
        options += ["--mode", "partial", "--range", f"{first}..{last}"]
    options += ["--sandbox"] if sandbox else []
    options += [] if limit is None else ["--limit", f"{round(limit * 1e6)}us"]
    return Replay(_run(path, options))


def _run(path: str, options: Sequence[str]) -> dict[str, Any]:
    import json
    import subprocess

    from tracesmith._cli import command

    # "./" before a path that begins with "-", which would be an option.
    file = path if path.startswith("/") else f"./{path}"
    done = subprocess.run([command(), "replay", "--json", *options, file], stdin=subprocess.DEVNULL, capture_output=True)
    said = done.stderr.decode(errors="replace").strip().removeprefix("tracesmith: ")
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = None
    if done.returncode in (0, 1, 4) and isinstance(answer, dict) and "verdicts" in answer:
        return answer
    error: Error
    if done.returncode < 0:
        error = SystemFailure(f"the replay was ended by signal {-done.returncode}: {said}")
    elif done.returncode == 4:
        error = UnsupportedError(said or "nothing could be replayed")
    elif "has no recording" in said:
        error = NotFoundError(said)
    else:
        error = ArgumentError(said or f"the replay ended with exit code {done.returncode}")
    error.path = path
    raise error
