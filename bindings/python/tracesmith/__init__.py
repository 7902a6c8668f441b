# SPDX-License-Identifier: Apache-2.0
"""TraceSmith: read GPU traces of many formats, ask them questions, and record your own program.

    import tracesmith as ts

    trace = ts.open("trace.json.gz")
    for name, total in trace.sql("SELECT name, sum(duration) FROM kernel GROUP BY name"):
        print(name, total)

    with ts.profile("my.sbt"):
        with ts.range("forward", flops=2e9):
            ...

Times and durations are integers in nanoseconds. An unknown value is None (null, NaN, NA), never 0.
Every failure is a subclass of tracesmith.Error.
"""
from tracesmith import _native
from tracesmith._native import counter, mark, range

__version__ = _native.library_version

# What is imported when it is first used. Keeps `import tracesmith` short.
_LAZY = {
    "open": "_trace",
    "Trace": "_trace",
    "Result": "_trace",
    "Analysis": "_answers",
    "Diff": "_answers",
    "Finding": "_answers",
    "Gate": "_answers",
    "Report": "_answers",
    "Replay": "_replay",
    "ReplayResult": "_replay",
    "Timeline": "_timeline",
    "analyses": "_answers",
    "diff": "_answers",
    "ranks": "_answers",
    "merge": "_merge",
    "Simulation": "_simulate",
    "Session": "_session",
    "session": "_session",
    "FunctionTrace": "_functions",
    "trace_functions": "_functions",
    "Profile": "_profile",
    "ProfilerAction": "_profile",
    "profile": "_profile",
    "schedule": "_profile",
    "Error": "_errors",
    "ArgumentError": "_errors",
    "CorruptError": "_errors",
    "FormatError": "_errors",
    "IncompleteRecordingWarning": "_errors",
    "IncompleteTraceWarning": "_errors",
    "LimitError": "_errors",
    "MemoryLimitError": "_errors",
    "NotFoundError": "_errors",
    "PermissionDeniedError": "_errors",
    "StateError": "_errors",
    "SystemFailure": "_errors",
    "UnsupportedError": "_errors",
}

# Names of the package that came before this one (docs/python.md).
_COMPAT = (
    "EventType PlatformType TraceEvent ProfilerConfig Profiler create_profiler capture_trace detect_platform is_maca_available "
    "get_maca_device_count build_timeline replay_trace export_perfetto SBTWriter TracingConfig TracingSession TracingStatistics"
).split()

__all__ = ["__version__", "counter", "mark", "range", *_LAZY]


# Under `tracesmith profile` or `python -m tracesmith run`, ranges, marks and counters go to that recording.
_attached = _native.attach()
if _attached is not None:
    import atexit

    atexit.register(_attached.stop)


def __getattr__(name):
    module = _LAZY.get(name) or ("_compat" if name in _COMPAT else None)
    if module is None:
        raise AttributeError(f"module 'tracesmith' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module("tracesmith." + module), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *_LAZY])
