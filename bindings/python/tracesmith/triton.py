# SPDX-License-Identifier: Apache-2.0
"""Launches of Triton kernels as ranges with the floating-point operations and bytes that the kernels say they have.

    import tracesmith.triton

    with ts.profile("trace.sbt"), tracesmith.triton.launches():
        kernel[grid](...)

A kernel says them by `@triton.jit(launch_metadata=...)`, as for Triton's own profiler: keys "flops" (or flops8, flops16...) and
"bytes". Nothing of Triton is imported before launches() begins.
"""
from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from tracesmith._native import range as _range

if TYPE_CHECKING:
    from tracesmith._native import Range

__all__ = ["Launches", "launches"]


def launches() -> Launches:
    """Launches for a with statement: inside it every launch of a Triton kernel, in every thread, is a range of the active session.

    Raises UnsupportedError where Triton is not installed or has no launch hooks (before 3.4)."""
    return Launches()


class Launches:
    """Records launches from start() to stop(). Hooks of others stay."""

    def __init__(self) -> None:
        self._thread = threading.local()
        self._runtime: Any = None

    def start(self) -> Launches:
        """Begins; does nothing when it runs."""
        from tracesmith._errors import UnsupportedError

        try:
            from triton import knobs  # type: ignore[import-not-found, import-untyped, unused-ignore]

            knobs.runtime.launch_enter_hook.add(self._enter)
            knobs.runtime.launch_exit_hook.add(self._exit)
        except (ImportError, AttributeError) as error:
            raise UnsupportedError(f"launches: Triton 3.4 or newer is needed ({error})") from error
        self._runtime = knobs.runtime
        return self

    def stop(self) -> None:
        """Ends; does nothing when it does not run."""
        runtime, self._runtime = self._runtime, None
        if runtime is not None:
            runtime.launch_enter_hook.remove(self._enter)
            runtime.launch_exit_hook.remove(self._exit)

    def __enter__(self) -> Launches:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    # Called by Triton around each launch. Nothing here may change what the program does.
    def _enter(self, metadata: Any) -> None:
        try:
            known = metadata.get()
        except Exception:  # of the kernel's own function; the launch has a range all the same
            known = getattr(metadata, "data", {})
        span = _make_range(known)
        span.__enter__()
        self._open().append(span)

    def _exit(self, metadata: Any) -> None:
        spans = self._open()
        if spans:
            spans.pop().__exit__(None, None, None)

    def _open(self) -> list[Range]:
        if not hasattr(self._thread, "spans"):
            self._thread.spans = []
        return self._thread.spans  # type: ignore[no-any-return]


def _make_range(known: dict[str, Any]) -> Range:
    name = str(known.get("name", "triton kernel"))
    operations = [value for key, value in known.items() if key.startswith("flops") and isinstance(value, (int, float))]
    size = known.get("bytes")
    try:
        return _range(name, flops=float(sum(operations)) if operations else None, bytes=None if size is None else int(size))
    except (TypeError, ValueError, OverflowError):  # a tensor, a negative number
        return _range(name)
