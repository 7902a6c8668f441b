# SPDX-License-Identifier: Apache-2.0
"""The ranks of a run compared on a Dask cluster: each trace is read where its task runs, and only partials are sent.

    import tracesmith.dask

    answer = tracesmith.dask.ranks(paths).compute()      # {"finding": ..., "tables": {"ranks": [...], ...}}

A partial has 3 to 8 bytes per collective of a rank (docs/partials.md). partial(), join() and answer() are plain functions, for other
schedulers as well: the answer depends on the set of traces alone, in whatever tree their partials are joined. Paths must mean
the same file where the tasks run. Dask is imported by ranks() only.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

__all__ = ["answer", "join", "partial", "ranks"]

_DAMAGED = 3  # exit status of the command: the answer is there, and says what could not be read


def _run(*arguments: str) -> str:
    import subprocess

    from tracesmith._cli import command
    from tracesmith._errors import Error

    done = subprocess.run([command(), "analyze", *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode not in (0, _DAMAGED):
        said = done.stderr.decode(errors="replace").strip()
        raise Error(said or f"tracesmith analyze ended with status {done.returncode}")
    return done.stdout.decode(errors="surrogateescape")


def partial(*traces: str | os.PathLike[str]) -> bytes:
    """The partial of traces that this machine can read. A trace that cannot be read is in it, with the reason."""
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "partial")
        _run("--partial", "-o", path, "--", *(os.path.abspath(trace) for trace in traces))
        with open(path, "rb") as file:
            return file.read()


def _write(folder: str, partials: Iterable[bytes]) -> list[str]:
    import os

    from tracesmith._errors import FormatError

    paths = []
    for number, one in enumerate(partials):
        if not one.startswith(b"TSPART\r\n"):
            raise FormatError(f"argument {number + 1} is not a partial")
        paths.append(os.path.join(folder, f"{number}.part"))
        with open(paths[-1], "wb") as file:
            file.write(one)
    return paths


def join(partials: Iterable[bytes]) -> bytes:
    """One partial of several."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return partial(*_write(folder, partials))


def answer(*partials: bytes) -> dict[str, Any]:
    """What `tracesmith analyze --ranks --json` says of the traces in the partials. Raises Error for fewer than two traces,
    FormatError for what is not a partial."""
    import json
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, Any] = json.loads(_run("--json", "--", *_write(folder, partials)))
    return found


def ranks(traces: Sequence[str | os.PathLike[str]], each: int = 8) -> Any:
    """A dask.delayed whose result is answer() of all traces, a path for each rank.

    each: how many traces a task reads, and how many partials it joins, at least 2. Needs Dask."""
    from dask import delayed  # type: ignore[import-not-found, import-untyped, unused-ignore]

    from tracesmith._errors import ArgumentError

    if each < 2 or not traces:
        raise ArgumentError("ranks: no traces, or fewer than 2 in a task")
    level = [delayed(partial)(*traces[first : first + each]) for first in range(0, len(traces), each)]
    while len(level) > each:
        level = [delayed(join)(level[first : first + each]) for first in range(0, len(level), each)]
    return delayed(answer)(*level)
