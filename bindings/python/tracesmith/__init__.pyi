# SPDX-License-Identifier: Apache-2.0
from tracesmith._answers import (
    Analysis as Analysis,
    Diff as Diff,
    Finding as Finding,
    Gate as Gate,
    Report as Report,
    analyses as analyses,
    diff as diff,
    ranks as ranks,
)
from tracesmith._errors import (
    ArgumentError as ArgumentError,
    CorruptError as CorruptError,
    Error as Error,
    FormatError as FormatError,
    IncompleteRecordingWarning as IncompleteRecordingWarning,
    IncompleteTraceWarning as IncompleteTraceWarning,
    LimitError as LimitError,
    MemoryLimitError as MemoryLimitError,
    NotFoundError as NotFoundError,
    PermissionDeniedError as PermissionDeniedError,
    StateError as StateError,
    SystemFailure as SystemFailure,
    UnsupportedError as UnsupportedError,
)
from tracesmith._functions import FunctionTrace as FunctionTrace, trace_functions as trace_functions
from tracesmith._merge import merge as merge
from tracesmith._native import counter as counter, mark as mark, range as range
from tracesmith._profile import (
    Profile as Profile,
    ProfilerAction as ProfilerAction,
    profile as profile,
    schedule as schedule,
)
from tracesmith._session import Session as Session, session as session
from tracesmith._simulate import Simulation as Simulation
from tracesmith._replay import Replay as Replay, ReplayResult as ReplayResult
from tracesmith._timeline import Timeline as Timeline
from tracesmith._trace import Result as Result, Trace as Trace, open as open

__version__: str
__all__ = [
    "Analysis", "ArgumentError", "CorruptError", "Diff", "Error", "Finding", "FormatError", "FunctionTrace", "Gate",
    "IncompleteRecordingWarning", "IncompleteTraceWarning", "LimitError", "MemoryLimitError", "NotFoundError",
    "PermissionDeniedError", "Profile", "ProfilerAction", "Replay", "ReplayResult", "Report", "Result", "Session",
    "Simulation", "StateError", "SystemFailure", "Timeline", "Trace", "UnsupportedError", "__version__", "analyses",
    "counter", "diff", "mark", "merge", "open", "profile", "range", "ranks", "schedule", "session", "trace_functions",
]
