# SPDX-License-Identifier: Apache-2.0
"""Calls of Python functions as ranges, by sys.monitoring."""
from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from tracesmith import _native
from tracesmith._errors import StateError, UnsupportedError


def trace_functions(only: str | Iterable[str] = ()) -> FunctionTrace:
    """A FunctionTrace for a with statement: inside it every call of a Python function, in every thread, is a range of the
    active session or profile, named "Class.method (file.py:12)" with the line where the function begins.

    only: beginnings of file names (a folder ends with "/"); other functions are not recorded and soon cost nothing.

    A generator or coroutine has a range for each time that it runs. Functions that run already when it begins have none; those
    that still run in other threads when it ends are in the loss ledger.
    Raises UnsupportedError before Python 3.12.
    """
    return FunctionTrace(only)


class FunctionTrace:
    """Records calls of functions from start() to stop(). One at a time."""

    def __init__(self, only: str | Iterable[str] = ()) -> None:
        self._only = (only,) if isinstance(only, str) else tuple(only)
        if not all(isinstance(name, str) for name in self._only):
            raise TypeError("trace_functions: only takes names of files and folders")
        self._tool: int | None = None

    def start(self) -> FunctionTrace:
        """Begins. Raises StateError when no session is active, functions are traced already, or other tools have taken all of
        sys.monitoring's places."""
        if sys.version_info < (3, 12):
            raise UnsupportedError("trace_functions needs Python 3.12 or newer (sys.monitoring)")
        monitoring = sys.monitoring
        events = monitoring.events
        tool = next((tool for tool in (monitoring.PROFILER_ID, 3, 4) if monitoring.get_tool(tool) is None), None)
        if tool is None:
            raise StateError("trace_functions: other tools use sys.monitoring already")
        _native.functions_begin(self._only, (os.path.dirname(os.path.abspath(__file__)) + os.sep,), monitoring.DISABLE)
        self._tool = tool
        monitoring.use_tool_id(tool, "tracesmith")
        self._register(_native.function_start, events.PY_START, events.PY_RESUME)
        self._register(_native.function_throw, events.PY_THROW)
        self._register(_native.function_return, events.PY_RETURN, events.PY_YIELD)
        self._register(_native.function_unwind, events.PY_UNWIND)
        monitoring.restart_events()  # places that an earlier trace was not interested in
        monitoring.set_events(tool, events.PY_START | events.PY_RESUME | events.PY_THROW | events.PY_RETURN |
                              events.PY_YIELD | events.PY_UNWIND)
        return self

    def stop(self) -> None:
        """Ends. Does nothing when it was not started."""
        tool, self._tool = self._tool, None
        if tool is None or sys.version_info < (3, 12):
            return
        events = sys.monitoring.events
        sys.monitoring.set_events(tool, events.NO_EVENTS)
        self._tool = tool
        self._register(None, events.PY_START, events.PY_RESUME, events.PY_THROW, events.PY_RETURN, events.PY_YIELD,
                       events.PY_UNWIND)
        self._tool = None
        sys.monitoring.free_tool_id(tool)
        _native.functions_end()

    def _register(self, callback: object, *events: int) -> None:
        for event in events:
            sys.monitoring.register_callback(self._tool, event, callback)  # type: ignore[attr-defined, arg-type, unused-ignore]

    def __enter__(self) -> FunctionTrace:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()
