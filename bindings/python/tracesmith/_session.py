# SPDX-License-Identifier: Apache-2.0
"""Recording ranges, marks and counters of this process, and its GPU calls, into a file."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

from tracesmith import _native
from tracesmith._errors import IncompleteRecordingWarning, StateError


def session(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes], *, buffer_bytes: int = 0, overflow: str | None = None
) -> Session:
    """A Session for a with statement: range, mark and counter are recorded into `path` inside it, and no GPU calls
    (tracesmith.profile records these too).

    path:         the SBT file to write (str, bytes or os.PathLike); it is created with mode 0600. If %r is in it, that is the rank
                  of this process when the session starts, %h the host name, %p the process id and %% a percent sign;
                  ArgumentError if no launcher has stated the rank.
    buffer_bytes: memory for events of each thread, in bytes; 0: the default (at most 64 MiB, taken as needed).
    overflow:     what happens when that is full: "drop-newest" (the default), "drop-oldest" or "block".
                  Whatever is lost is counted in the trace's loss ledger.
    """
    return Session(path, buffer_bytes=buffer_bytes, overflow=overflow)


class Session:
    """Records from start() to stop(), once. One session at a time may be active in a process.

    After fork() the session stays the parent's: the child's events are in the parent's file if they came before its stop,
    and stop() does nothing in the child.
    """

    def __init__(self, path: str | bytes | os.PathLike[str] | os.PathLike[bytes], **options: Any) -> None:
        self._path = path
        self._options = options
        self._native: _native.Session | None = None
        self._owner: int | None = None
        self._statistics: dict[str, int] | None = None
        self._note = ""
        self._changed: dict[bytes, tuple[bytes, bytes | None]] = {}

    def start(self) -> Self:
        """Begins to record. Raises StateError if this session was started before or another one is active, and what
        opening a file raises."""
        if self._owner is not None:
            raise StateError("The session was started before; make another one")
        import atexit

        if b"%r" in os.fsencode(self._path):
            self._path = _native.output_name(self._path)
        existed = os.path.lexists(self._path)
        native = _native.Session(self._path, **self._options)
        try:
            native.activate()
        except BaseException:
            native.stop()
            if not existed:
                os.unlink(self._path)  # made a moment ago, and empty
            raise
        self._native = native
        self._owner = os.getpid()
        self._note = native.note()
        self._set_environment(native.environment())
        atexit.register(self.stop)
        if self._note:
            import warnings

            warnings.warn(f"{os.fsdecode(self._path)}: {self._note}", IncompleteRecordingWarning, stacklevel=2)
        return self

    def stop(self) -> dict[str, int] | None:
        """Ends the recording and finishes the file. Returns the statistics; a second call returns the same.

        Raises SystemFailure when the file could not be written; what was written before stays readable.
        """
        native, self._native = self._native, None
        if native is None:
            return self._statistics
        import atexit

        atexit.unregister(self.stop)
        try:
            self._statistics = native.stop()
        except StateError:
            if os.getpid() == self._owner:  # a forked child ends its own part only, and gets an error
                raise
        finally:
            self._restore_environment()
        return self._statistics

    # The library sets variables of the process. os.environ is Python's copy of them, which children are often given.
    def _set_environment(self, entries: list[bytes]) -> None:
        for entry in entries:
            name, _, value = entry.partition(b"=")
            before = os.environb.get(name)
            if name and before != value:
                self._changed[name] = (value, before)
                os.environb[name] = value

    def _restore_environment(self) -> None:
        changed, self._changed = self._changed, {}
        for name, (value, before) in changed.items():
            if os.environb.get(name) != value:
                continue  # the program has changed it since
            if before is None:
                del os.environb[name]
            else:
                os.environb[name] = before

    @property
    def statistics(self) -> dict[str, int] | None:
        """After the stop, a dict: emitted = kept + dropped (events), threads, duration (ns), and open_ranges, which had
        begun and not ended (the loss ledger has them as "unmatched"). None before."""
        return self._statistics

    @property
    def note(self) -> str:
        """Requested APIs that could not be recorded, with the reason; empty if there are none."""
        return self._note

    @property
    def path(self) -> str | bytes | os.PathLike[str] | os.PathLike[bytes]:
        """The file that is written."""
        return self._path

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()
