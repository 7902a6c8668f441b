# SPDX-License-Identifier: Apache-2.0
"""Calls of a virtual machine of TVM as ranges.

    import tracesmith.tvm

    vm = tvm.relax.VirtualMachine(executable, device)
    with ts.profile("trace.sbt"), tracesmith.tvm.calls(vm):
        vm["main"](x)

A range has the name of the function that the compiler made ("fused_matmul_add") or of the library function, and the time of the call
on the host. On a CPU that is the time of the computation; on a GPU the kernels are recorded by their API, and the range shows which
function launched them. Nothing of TVM is imported.
"""
from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from tracesmith._native import range as _range

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracesmith._native import Range

__all__ = ["Calls", "calls"]

_BUILTIN = "vm.builtin."
_MOST_OPEN = 10_000  # of a thread: calls that failed stay open, and a program may go on after any number of them
_SKIP = 1  # VMInstrumentReturnKind.SKIP_RUN of TVM: the call does not take place. It does for all else, of any type


def calls(vm: Any, *, builtins: bool = False, instrument: Callable[..., Any] | None = None) -> Calls:
    """Calls for a with statement: inside it every call that vm, a tvm.relax.VirtualMachine, makes is a range of the active session.

    builtins: also calls of the machine's own functions (vm.builtin...: checks of arguments, allocations).
    instrument: the program's own instrument. A virtual machine has one: while the calls are recorded it is called as well, and what it
    returns holds; at the end it is set again.
    Raises UnsupportedError where vm takes no instrument."""
    return Calls(vm, builtins, instrument)


class Calls:
    """Records calls from start() to stop()."""

    def __init__(self, vm: Any, builtins: bool = False, instrument: Callable[..., Any] | None = None) -> None:
        self._vm = vm
        self._builtins = builtins
        self._other = instrument
        self._thread = threading.local()
        self._running = False

    def start(self) -> Calls:
        """Begins; does nothing when it runs."""
        from tracesmith._errors import UnsupportedError

        if not self._running:
            try:
                self._vm.set_instrument(self._called)
            except AttributeError as error:
                raise UnsupportedError(f"calls: a tvm.relax.VirtualMachine is needed ({error})") from error
            self._running = True
        return self

    def stop(self) -> None:
        """Ends; does nothing when it does not run."""
        if self._running:
            self._running = False
            self._vm.set_instrument(self._other)

    def __enter__(self) -> Calls:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    # Called by the virtual machine before and after each call. An exception of the other instrument is the program's own.
    def _called(self, function: Any, name: str, before: bool, result: Any, *arguments: Any) -> Any:
        recorded = self._builtins or not name.startswith(_BUILTIN)
        if recorded and not before:
            self._end(name)
        action = None if self._other is None else self._other(function, name, before, result, *arguments)
        if recorded and before and not (isinstance(action, int) and action == _SKIP):
            span = _range(name)
            span.__enter__()
            spans = self._open()
            if len(spans) == _MOST_OPEN:
                del spans[: _MOST_OPEN // 2]
            spans.append((name, span))
        return action

    # A call that failed has no end: its range is dropped when a call around it ends, and counted as lost.
    def _end(self, name: str) -> None:
        spans = self._open()
        for index in reversed(range(len(spans))):
            if spans[index][0] == name:
                spans[index][1].__exit__(None, None, None)
                del spans[index:]
                return

    def _open(self) -> list[tuple[str, Range]]:
        if not hasattr(self._thread, "spans"):
            self._thread.spans = []
        return self._thread.spans  # type: ignore[no-any-return]
