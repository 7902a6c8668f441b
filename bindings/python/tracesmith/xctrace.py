# SPDX-License-Identifier: Apache-2.0
"""Names of the earlier package for Apple's xctrace. TraceSmith runs on Linux, where there is none: they say so, and what reads its files."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from tracesmith._errors import UnsupportedError

__all__ = ["XCTraceProfiler", "profile_with_xctrace"]


def _refuse() -> NoReturn:
    raise UnsupportedError(
        "xctrace runs on macOS only. Record there with `tracesmith profile --xctrace -o FILE -- PROGRAM`, and give the file to "
        "tracesmith.open"
    )


class XCTraceProfiler:
    """Raises UnsupportedError when it is to record."""

    def __init__(self, template: str = "Metal System Trace") -> None:
        self.template = template

    def profile_command(self, command: Sequence[str], duration: float | None = None) -> Any:
        """Raises UnsupportedError."""
        _refuse()

    def export_perfetto(self, path: str) -> Any:
        """Raises UnsupportedError."""
        _refuse()


def profile_with_xctrace(command: Sequence[str], duration: float = 60, template: str = "Metal System Trace") -> Any:
    """Raises UnsupportedError."""
    _refuse()
