# SPDX-License-Identifier: Apache-2.0
"""Joining a recording with what another profiler recorded of the same run."""
from __future__ import annotations

import os

from tracesmith import _native


def merge(
    recording: str | os.PathLike[str], other: str | os.PathLike[str], output: str | os.PathLike[str]
) -> dict[str, int]:
    """Writes `output`, a new SBT file with the events of a recording of ours and those of `other`, on the recording's clock.

    recording: an SBT file that TraceSmith recorded (profile, session, `tracesmith profile`).
    other:     a trace of the same run by torch.profiler (a Kineto file) or JAX's profiler (.xplane.pb).

    Operators, shapes, annotations and Python functions of the other trace are added. Of GPU calls and GPU work that both
    have, the recording's are kept. Times are compared by the wall clock, which both know.

    Returns a dict: added and left_out (events of the other trace), error (ns: the bound of the recording's comparisons with
    the wall clock; the accuracy of the other profiler is unknown).
    Warns with IncompleteTraceWarning when one of the traces ends early or is damaged: what could be read is there.
    Raises UnsupportedError where a trace does not say how its clock relates to the wall clock, ArgumentError when the traces are
    not of the same time or `output` exists, and what tracesmith.open raises.
    """
    result = _native.merge(recording, other, output)
    incomplete = result.pop("incomplete")
    if incomplete:
        import warnings

        from tracesmith._errors import IncompleteTraceWarning

        warnings.warn(incomplete, IncompleteTraceWarning, stacklevel=2)
    return result
