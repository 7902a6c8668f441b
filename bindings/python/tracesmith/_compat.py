# SPDX-License-Identifier: Apache-2.0
"""Names of the package tracesmith that came before this one, for programs written against it; docs/python.md says what replaces them.

No events are invented: device events were recorded on a device, and other events were emitted by the program.
"""
from __future__ import annotations

import enum
import math
import os
from collections.abc import Iterable
from typing import Any

from tracesmith._errors import ArgumentError, StateError, UnsupportedError

EventType = enum.Enum(
    "EventType",
    "Unknown KernelLaunch KernelComplete MemcpyH2D MemcpyD2H MemcpyD2D MemsetDevice StreamSync DeviceSync EventRecord EventSync "
    "StreamCreate StreamDestroy ContextCreate ContextDestroy MemAlloc MemFree Marker RangeStart RangeEnd NCCLStart NCCLComplete Custom",
    start=0,
)
EventType.__doc__ = "What a TraceEvent is."
PlatformType = enum.Enum("PlatformType", "Unknown CUDA ROCm Metal OpenCL MACA Simulation MUSA CANN", start=0)
PlatformType.__doc__ = "An API to record."

_APIS = {PlatformType.CUDA: "cuda", PlatformType.ROCm: "rocm", PlatformType.MUSA: "musa", PlatformType.MACA: "maca",
         PlatformType.CANN: "cann", PlatformType.OpenCL: "opencl"}
# What `tracesmith devices` calls the API of a device; the libraries that programs of the other APIs need.
_DEVICES = {"cuda": PlatformType.CUDA, "rocm": PlatformType.ROCm, "opencl": PlatformType.OpenCL}
_LIBRARIES = {PlatformType.MUSA: "musa", PlatformType.MACA: "mcruntime", PlatformType.CANN: "ascendcl"}
_WORK = {EventType.KernelComplete, EventType.MemcpyH2D, EventType.MemcpyD2H, EventType.MemcpyD2D, EventType.MemsetDevice}
_KINDS = {"kernel": EventType.KernelComplete, "memset": EventType.MemsetDevice, "alloc": EventType.MemAlloc,
          "free": EventType.MemFree, "mark": EventType.Marker, "range": EventType.RangeStart, "collective": EventType.NCCLComplete}
_COPIES = {"h2d": EventType.MemcpyH2D, "d2h": EventType.MemcpyD2H, "d2d": EventType.MemcpyD2D}
_BYTES_OF_EVENT = 256  # what one event takes of TracingConfig.buffer_size_kb


class TraceEvent:
    """An event. timestamp and duration are in ns; of an event that is emitted, timestamp None is the time of the emission.
    None is unknown."""

    def __init__(self, type: EventType = EventType.Unknown, name: str = "", timestamp: int | None = None) -> None:
        self.type, self.name, self.timestamp = type, name, timestamp
        self.duration: int | None = None
        self.device_id: int | None = None
        self.stream_id: int | None = None
        self.thread_id: int | None = None
        self.process_id: int | None = None
        self.correlation_id: int | None = None
        self.metadata: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<tracesmith.TraceEvent {self.type.name} {self.name!r}>"


class Events(list):  # type: ignore[type-arg]
    """Recorded events (a list of TraceEvent), and the trace that they came from while they are all of it."""

    def __init__(self, path: str) -> None:
        import shutil
        import weakref

        from tracesmith._trace import open as open_trace

        self.path = path
        with open_trace(path) as trace:
            super().__init__(_event_of(row) for row in trace.sql(
                "SELECT e.kind, e.name, e.start, e.duration, e.direction, t.device, t.queue, t.tid, p.pid, e.correlation "
                "FROM events e LEFT JOIN tracks t ON t.id = e.track LEFT JOIN processes p ON p.id = t.process "
                "WHERE e.kind NOT IN ('loss', 'process', 'object') ORDER BY e.start").dicts())
        self._whole = [id(event) for event in self]
        weakref.finalize(self, shutil.rmtree, os.path.dirname(path), True)

    def is_whole(self) -> bool:
        """Whether the list is unchanged."""
        return [id(event) for event in self] == self._whole


def _event_of(row: dict[str, Any]) -> TraceEvent:
    kind = row["kind"]
    event = TraceEvent(_COPIES.get(row["direction"], EventType.Custom) if kind == "memcpy" else _KINDS.get(kind, EventType.Custom),
                       row["name"] or kind, row["start"])
    event.duration, event.device_id, event.stream_id = row["duration"], row["device"], row["queue"]
    event.thread_id, event.process_id, event.correlation_id = row["tid"], row["pid"], row["correlation"]
    if event.type is EventType.Custom:
        event.metadata["kind"] = kind
    return event


# ---- recording


class ProfilerConfig:
    """The configuration of create_profiler's profiler. buffer_size: bytes for each thread; 0: the default."""

    def __init__(self) -> None:
        self.capture_kernels = True
        self.capture_memcpy = True
        self.buffer_size = 0


class Profiler:
    """Records the GPU calls of this process between start_capture() and stop_capture(): tracesmith.profile."""

    def __init__(self, platform: PlatformType) -> None:
        self._platform, self._config = platform, ProfilerConfig()
        self._profile: Any = None
        self._events: Events | None = None

    def initialize(self, config: ProfilerConfig | None = None) -> bool:
        """Takes the configuration."""
        self._config = config or self._config
        return True

    def start_capture(self) -> bool:
        """Begins. Warns with IncompleteRecordingWarning where the API is in use already. Raises StateError where a recording runs."""
        from tracesmith._profile import profile

        self._profile = profile(_temporary(), apis=[_APIS[self._platform]], buffer_bytes=self._config.buffer_size)
        self._profile.start()
        return True

    def stop_capture(self) -> bool:
        """Ends. Raises StateError if nothing was started."""
        if self._profile is None:
            raise StateError("stop_capture: nothing was started")
        self._profile.stop()
        self._events = Events(self._profile.path)
        self._profile = None
        left_out = {EventType.KernelComplete} if not self._config.capture_kernels else set()
        left_out |= _WORK - {EventType.KernelComplete} if not self._config.capture_memcpy else set()
        self._events[:] = [event for event in self._events if event.type not in left_out]
        return True

    def get_events(self) -> Events:
        """The events of the last recording. Raises StateError if there is none."""
        if self._events is None:
            raise StateError("get_events: nothing was recorded")
        return self._events


def create_profiler(platform: PlatformType) -> Profiler:
    """A Profiler of an API. Raises UnsupportedError for an API that this build does not record: no platform makes events up.

    MACA and CANN are recorded in the programs that this process starts: their agents are loaded before a program begins
    (`python -m tracesmith run --api maca`). start_capture() warns of this. Their agents and MUSA's were never run on hardware."""
    if platform not in _APIS:
        raise UnsupportedError(f"{platform.name} is not recorded; {', '.join(api.name for api in _APIS)} are")
    return Profiler(platform)


def capture_trace(duration_ms: float = 1000) -> Events:
    """Records the GPU work of this process in the next `duration_ms` milliseconds (other threads: this one waits)."""
    import time

    from tracesmith._profile import profile

    with profile(_temporary()) as recording:
        time.sleep(duration_ms / 1000)
    path = recording.path
    assert isinstance(path, str)
    return Events(path)


def detect_platform() -> PlatformType:
    """The vendor's API of this machine's devices, else OpenCL if it has a device; Unknown where there is none.

    MUSA, MACA and CANN are found by their libraries: their devices are not listed by `tracesmith devices`."""
    import ctypes.util
    import json

    try:
        devices = json.loads(_command("devices", "--json"))["devices"]
    except UnsupportedError:  # no loader of OpenCL
        devices = []
    found = {_DEVICES[device["api"]] for device in devices if device["api"] in _DEVICES}
    found |= {platform for platform, name in _LIBRARIES.items() if ctypes.util.find_library(name) is not None}
    return next((platform for platform in _APIS if platform in found), PlatformType.Unknown)


def is_maca_available() -> bool:
    """Whether MetaX's runtime library is installed where programs find it."""
    import ctypes.util

    return ctypes.util.find_library(_LIBRARIES[PlatformType.MACA]) is not None


def get_maca_device_count() -> int:
    """0 where MetaX's runtime is not installed. Raises UnsupportedError where it is: TraceSmith does not list its devices."""
    if is_maca_available():
        raise UnsupportedError("MACA devices are not counted; mx-smi lists them")
    return 0


# ---- answers


class SimpleTimeline:
    """gpu_utilization: the share (0 to 1) of the time from the first to the last work of a device in which it worked, the mean of all
    devices; nan where no work has times. max_concurrent_ops: most pieces of work that ran at once. total_duration: ns; None
    without events that have times."""

    def __init__(self, events: Iterable[TraceEvent]) -> None:
        timed = [(event, event.timestamp, event.timestamp + event.duration) for event in events
                 if event.timestamp is not None and event.duration is not None]
        self.total_duration = max(end for _, _, end in timed) - min(start for _, start, _ in timed) if timed else None
        devices: dict[int | None, list[tuple[int, int]]] = {}
        for event, start, end in timed:
            if event.type in _WORK and end > start:
                devices.setdefault(event.device_id, []).append((start, end))
        shares = [_union(spans) / (max(end for _, end in spans) - min(start for start, _ in spans)) for spans in devices.values()]
        self.gpu_utilization = sum(shares) / len(shares) if shares else math.nan
        running = most = 0
        for _, step in sorted((time, step) for spans in devices.values() for start, end in spans
                              for time, step in ((start, 1), (end, -1))):
            running += step
            most = max(most, running)
        self.max_concurrent_ops = most


def _union(spans: list[tuple[int, int]]) -> int:
    covered, at = 0, None
    for start, end in sorted(spans):
        if at is None or start > at:
            covered += end - start
        elif end > at:
            covered += end - at
        at = end if at is None else max(at, end)
    return covered


def build_timeline(events: Iterable[TraceEvent]) -> SimpleTimeline:
    """How busy devices were: a SimpleTimeline. tracesmith.Trace.timeline has more."""
    return SimpleTimeline(events)


class ReplayOutcome:
    """success: whether results were compared and none diverged. reason: why not, or None. replay: a tracesmith.Replay, or None."""

    def __init__(self, success: bool, reason: str | None, replay: Any) -> None:
        self.success, self.reason, self.replay = success, reason, replay


def replay_trace(events: Iterable[TraceEvent]) -> ReplayOutcome:
    """Runs recorded events again, if their trace has what that needs (`tracesmith profile --capture`). Nothing else can be replayed:
    success is then False, and the reason has the cause."""
    from tracesmith._errors import NotFoundError
    from tracesmith._trace import open as open_trace

    if not isinstance(events, Events) or not events.is_whole():
        return ReplayOutcome(False, "these events have no recording of a program: `tracesmith profile --capture` makes one", None)
    with open_trace(events.path) as trace:
        try:
            replay = trace.replay()
        except (NotFoundError, UnsupportedError) as error:
            return ReplayOutcome(False, str(error), None)
    return ReplayOutcome(bool(replay), None if replay else repr(replay), replay)


# ---- writing


def export_perfetto(events: Iterable[TraceEvent], path: str | os.PathLike[str]) -> bool:
    """Writes events for ui.perfetto.dev: Chrome JSON if the name ends in .json or .json.gz, else Perfetto's own format."""
    name = os.fspath(path)
    with _Source(events) as source:
        form = "chrome" if name.endswith((".json", ".json.gz")) else "perfetto"
        _command("export", "-f", form, "-o", _operand(name), source)
    return True


class SBTWriter:
    """Writes events into an SBT file, which finalize() makes."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path, self._parts, self._done = os.fspath(path), [], False  # type: ignore[var-annotated]

    def write_events(self, events: Iterable[TraceEvent]) -> bool:
        """Takes the events; all of them, with all their fields if nothing else was written and the list is complete."""
        if self._done:
            raise StateError("write_events: the file was finalized")
        self._parts.append(events if isinstance(events, Events) else list(events))
        return True

    def finalize(self) -> bool:
        """Writes the file. Raises StateError the second time, and what writing a file raises."""
        import shutil

        if self._done:
            raise StateError("finalize: the file was finalized before")
        self._done = True
        if len(self._parts) == 1 and isinstance(self._parts[0], Events) and self._parts[0].is_whole():
            shutil.copyfile(self._parts[0].path, self._path)
            return True
        with _Source([event for part in self._parts for event in part]) as source:
            _command("import", "-o", _operand(self._path), source)
        return True


class TracingConfig:
    """buffer_size_kb: room for events in KiB (an event takes 256 bytes); what does not fit is dropped and counted.
    enable_counter_tracks: whether counters are taken."""

    def __init__(self) -> None:
        self.buffer_size_kb = 4096
        self.enable_counter_tracks = True


class TracingStatistics:
    """events_emitted, events_dropped, counters_emitted; duration_ms()."""

    def __init__(self, duration: int, emitted: int, dropped: int, counters: int) -> None:
        self._duration, self.events_emitted, self.events_dropped, self.counters_emitted = duration, emitted, dropped, counters

    def duration_ms(self) -> float:
        """From start() to stop(), or until now, in ms."""
        return self._duration / 1e6


class TracingSession:
    """Takes events and counters of a program, from any thread, and writes them into a file. tracesmith.session records at less cost."""

    def __init__(self) -> None:
        import threading

        self._lock = threading.Lock()
        self._config = TracingConfig()
        self._begun: int | None = None
        self._ended: int | None = None
        self._events: list[TraceEvent] = []
        self._counters: list[tuple[int, str, float]] = []
        self._dropped = 0

    def start(self, config: TracingConfig | None = None) -> bool:
        """Begins. Raises StateError when it was begun before."""
        import time

        if self._begun is not None:
            raise StateError("start: the session was started before")
        self._config = config or self._config
        self._begun = time.monotonic_ns()
        return True

    def _room(self) -> bool:
        if self._begun is None or self._ended is not None:
            raise StateError("the session is not running")
        if (len(self._events) + len(self._counters) + 1) * _BYTES_OF_EVENT <= self._config.buffer_size_kb * 1024:
            return True
        self._dropped += 1
        return False

    def emit(self, event: TraceEvent) -> bool:
        """Takes a copy of an event. False if there is no room. Raises StateError where the session is not running."""
        import copy
        import time

        with self._lock:
            if not self._room():
                return False
            taken = copy.copy(event)
            taken.metadata = dict(event.metadata)
            taken.timestamp = time.monotonic_ns() if event.timestamp is None else event.timestamp
            self._events.append(taken)
            return True

    def emit_counter(self, name: str, value: float) -> bool:
        """Takes a value of a counter. False if there is no room, or counters are not enabled."""
        import time

        with self._lock:
            if not self._config.enable_counter_tracks or not self._room():
                return False
            self._counters.append((time.monotonic_ns(), name, float(value)))
            return True

    def stop(self) -> bool:
        """Ends. Raises StateError where the session is not running."""
        import time

        with self._lock:
            if self._begun is None or self._ended is not None:
                raise StateError("stop: the session is not running")
            self._ended = time.monotonic_ns()
            return True

    def get_statistics(self) -> TracingStatistics:
        """Numbers of the session. events_emitted includes dropped events."""
        import time

        with self._lock:
            until = time.monotonic_ns() if self._ended is None else self._ended
            duration = 0 if self._begun is None else until - self._begun
            emitted = len(self._events) + len(self._counters) + self._dropped
            return TracingStatistics(duration, emitted, self._dropped, len(self._counters))

    def export_to_file(self, path: str | os.PathLike[str]) -> bool:
        """Writes the recorded events: Chrome JSON if the name ends in .json or .json.gz, SBT if in .sbt, else Perfetto's own format."""
        name = os.fspath(path)
        with self._lock, _Source(self._events, self._counters) as source:
            if name.endswith(".sbt"):
                _command("import", "-o", _operand(name), source)
            else:
                form = "chrome" if name.endswith((".json", ".json.gz")) else "perfetto"
                _command("export", "-f", form, "-o", _operand(name), source)
        return True


class _Source:
    """A file with events, for the command: the trace that they came from, or Chrome JSON that is gone afterwards."""

    def __init__(self, events: Iterable[TraceEvent], counters: Iterable[tuple[int, str, float]] = ()) -> None:
        self._events, self._counters = events, counters
        self._path: str | None = None

    def __enter__(self) -> str:
        import json

        if isinstance(self._events, Events) and self._events.is_whole():
            return self._events.path
        entries = [_json_of(event) for event in self._events]
        entries += [{"ph": "C", "name": name, "ts": time / 1000, "pid": os.getpid(), "args": {"value": value}}
                    for time, name, value in self._counters]
        self._path = os.path.join(os.path.dirname(_temporary()), "events.json")
        with open(self._path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": entries}, file)
        return self._path

    def __exit__(self, *exception: object) -> None:
        import shutil

        if self._path:
            shutil.rmtree(os.path.dirname(self._path), ignore_errors=True)


def _json_of(event: TraceEvent) -> dict[str, Any]:
    if event.timestamp is None:
        raise ArgumentError(f"{event!r} has no timestamp")
    names = {"device": event.device_id, "stream": event.stream_id, "correlation": event.correlation_id}
    args = {**event.metadata, **{name: value for name, value in names.items() if value is not None}}
    known: dict[str, Any] = {"cat": "kernel"} if event.type is EventType.KernelComplete else {"cat": event.type.name}
    shape = {"ph": "i", "s": "t"} if event.duration is None else {"ph": "X", "dur": event.duration / 1000}
    return {**known, **shape, "name": event.name, "ts": event.timestamp / 1000, "args": args,
            "pid": os.getpid() if event.process_id is None else event.process_id,
            "tid": 0 if event.thread_id is None else event.thread_id}


def _temporary() -> str:
    """A path in a new folder of this user alone."""
    import tempfile

    return os.path.join(tempfile.mkdtemp(prefix="tracesmith-"), "recording.sbt")


def _operand(path: str) -> str:
    return f"./{path}" if path.startswith("-") else path


def _command(*arguments: str) -> str:
    import subprocess

    from tracesmith._cli import command
    from tracesmith._errors import SystemFailure

    done = subprocess.run([command(), *arguments], stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode != 0:
        failure = UnsupportedError if done.returncode == 4 else SystemFailure  # 4: the machine lacks something
        raise failure(done.stderr.decode(errors="replace").strip().removeprefix("tracesmith: "))
    return done.stdout.decode()
