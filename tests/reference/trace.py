# SPDX-License-Identifier: Apache-2.0
"""Reads a trace of Kineto, rocprofv3 or Nsight Systems (SQLite) as plainly as can be, for the references. Times are
exact: microseconds are read as decimals and become integer nanoseconds."""
import bisect
import collections
import decimal
import gzip
import json
import re
import sqlite3
import urllib.parse

from memory import Change
from nsys import split_name

COMMUNICATION = re.compile(r"nccl|rccl|mscclKernel|hccl|gloo:|oneccl|msccl|"
                           r"(?i:(?![^<(]*(?:warp|block|triton_))[^<(]*(?:multimem|all_?reduce|all_?gather|all_?to_?all|"
                           r"reduce_?scatter|nvshmem|deep_ep::|cross_device_reduce|symm_mem))")
GPU = ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset")
CALLS = ("cuda_runtime", "cuda_driver", "runtime", "hip_runtime")
MEMORY = ("Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown")  # CUPTI's
NO_RANGES = GPU + CALLS + ("cuda_sync", "overhead")

# device and queue are those of the file; correlation is 0 if there is none.
Command = collections.namedtuple("Command", "device queue start end work name correlation arguments")
Call = collections.namedtuple("Call", "thread start end name")
Range = collections.namedtuple("Range", "thread start end name category arguments", defaults=({},))


class Trace:
    def __init__(self):
        self.commands, self.ranges, self.calls, self.all_calls = [], [], {}, []
        self.top = {}
        self.flows = []  # "fwdbwd": phase, id, thread, time
        self.memory = []  # what a device allocated and freed
        self.notes = {}  # by a call's correlation: the data of a record of the synchronization
        self.first, self.last = None, None  # of all events: the window

    def span(self, start, end):
        self.first = start if self.first is None or start < self.first else self.first
        self.last = end if self.last is None or end > self.last else self.last

    def launched(self):
        """Commands that take time and the call that launched each (None: unknown)."""
        return [(command, self.calls.get(command.correlation)) for command in self.commands
                if command.end > command.start]


def ns(value):
    if isinstance(value, int):
        return value * 1000
    result = decimal.Decimal(value) * 1000
    assert result == result.to_integral_value(), value
    return int(result)


def union(intervals):
    total, end = 0, None
    for a, b in sorted(intervals):
        if end is None or a > end:
            total, end = total + (b - a), b
        elif b > end:
            total, end = total + (b - end), b
    return total


def work_of(kind, name):
    return "copy" if kind not in ("kernel", "Kernel") else "communication" if COMMUNICATION.match(name) else "compute"


def read_rocprof(trace, tools):
    """Only dispatches; its times are ns, and none of its traces at hand has copies or calls."""
    for tool in tools:
        names = {symbol["kernel_id"]: symbol["formatted_kernel_name"] for symbol in tool["kernel_symbols"]}
        for record in tool["buffer_records"]["kernel_dispatch"]:
            dispatch = record["dispatch_info"]
            trace.span(record["start_timestamp"], record["end_timestamp"])
            name = names[dispatch["kernel_id"]]
            trace.commands.append(Command(dispatch["agent_id"]["handle"],
                                          (dispatch["agent_id"]["handle"], dispatch["queue_id"]["handle"]),
                                          record["start_timestamp"], record["end_timestamp"], work_of("kernel", name),
                                          name, record["correlation_id"]["internal"], dispatch))
    return trace


def read_nsys(path):
    """The device's work and the CUDA calls of an export of Nsight Systems; its times are ns."""
    trace = Trace()
    database = sqlite3.connect("file:" + urllib.parse.quote(path) + "?mode=ro", uri=True)
    strings = dict(database.execute("SELECT id, value FROM StringIds"))
    directions = {1: "HtoD", 2: "DtoH", 8: "DtoD", 10: "PtoP"}
    columns = "start, end, deviceId, streamId, correlationId, globalPid"
    for row in database.execute(f"SELECT {columns}, demangledName, gridX, gridY, gridZ, blockX, blockY, blockZ "
                                "FROM CUPTI_ACTIVITY_KIND_KERNEL"):
        name = strings[row[6]]
        trace.commands.append(Command(row[2], row[2:4], row[0], row[1], work_of("kernel", name), name,
                                      (row[5], row[4]), {"grid": row[7:10], "block": row[10:13]}))
    for row in database.execute(f"SELECT {columns}, bytes, copyKind, srcKind, dstKind "
                                "FROM CUPTI_ACTIVITY_KIND_MEMCPY"):
        name = f"Memcpy {directions[row[7]]} ({MEMORY[row[8]]} -> {MEMORY[row[9]]})"
        trace.commands.append(Command(row[2], row[2:4], row[0], row[1], "copy", name, (row[5], row[4]),
                                      {"bytes": row[6]}))
    for row in database.execute(f"SELECT {columns}, bytes, memKind FROM CUPTI_ACTIVITY_KIND_MEMSET"):
        trace.commands.append(Command(row[2], row[2:4], row[0], row[1], "copy", f"Memset ({MEMORY[row[7]]})",
                                      (row[5], row[4]), {"bytes": row[6]}))
    for start, end, thread, correlation, name in database.execute(
            "SELECT start, end, globalTid, correlationId, nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME"):
        call = Call(thread, start, end, strings[name])
        trace.all_calls.append(call)
        trace.calls[thread & ~0xffffff, correlation] = call  # a thread's process is its upper bits
    read_nsys_ranges(trace, database, strings)
    read_nsys_memory(trace, database, strings)
    for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        have = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        if "start" in have:
            for start, end in database.execute(f"SELECT start, {'end' if 'end' in have else 'start'} FROM {table}"):
                trace.span(start, start if end is None else end)
    database.close()
    return trace


def read_nsys_ranges(trace, database, strings):
    """NVTX's ranges, with PyTorch's numbers and lists taken off their names; the category is the domain's name."""
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'NVTX_EVENTS'").fetchone():
        return
    columns = "start, end, globalTid, eventType, domainId, text, textId"
    domains = {(row[2] >> 24, row[4]): row[5] or strings.get(row[6]) for row in database.execute(
        f"SELECT {columns} FROM NVTX_EVENTS WHERE eventType = 75")}
    for start, end, thread, kind, domain, text, number in database.execute(
            f"SELECT {columns} FROM NVTX_EVENTS WHERE eventType IN (59, 60, 70, 71) AND end >= start"):
        left = {"text": text or strings.get(number, "")}
        split_name(left, {})
        trace.ranges.append(Range(thread, start, end, left["text"], domains.get((thread >> 24, domain or 0), "")))


def read_nsys_memory(trace, database, strings):
    """Of the devices: memory that is pageable or pinned is the host's."""
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'CUDA_GPU_MEMORY_USAGE_EVENTS'").fetchone():
        return
    for start, pid, device, address, size, freed, name in database.execute(
            "SELECT start, globalPid, deviceId, address, bytes, memoryOperationType, name "
            "FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE memKind NOT IN (0, 1)"):
        trace.memory.append(Change(start, freed == 1, address, size, pid >> 24 & 0xffffff, device,
                                   name or "", None, None))


def read_event(trace, event):
    category = event.get("cat", "")
    kind = category.lower()
    arguments = event.get("args", {})
    start = ns(event["ts"])
    end = start + ns(event.get("dur", 0))
    place = (event["pid"], event["tid"])
    correlation = arguments.get("correlation", 0)
    if kind in GPU:
        trace.commands.append(Command(place[0], place, start, end, work_of(kind, event["name"]), event["name"],
                                      correlation, arguments))
    elif kind in CALLS:
        call = Call(place, start, end, event["name"])
        trace.all_calls.append(call)
        known = trace.calls.get(correlation)
        if correlation and (known is None or call.start < known.start):
            trace.calls[correlation] = call
    elif kind == "cuda_sync":
        trace.notes[correlation] = (place, arguments)
    elif kind not in NO_RANGES and "dur" in event and end >= start:
        trace.ranges.append(Range(place, start, end, event.get("name", ""), category, arguments))


def read_memory(trace, event, arguments):
    size = arguments["Bytes"]
    trace.memory.append(Change(ns(event["ts"]), size < 0, arguments.get("Addr", 0), abs(size), event["pid"],
                               arguments["Device Id"], event["name"], arguments.get("Total Allocated"),
                               arguments.get("Total Reserved")))


def read_trace(path):
    if path.endswith(".sqlite"):
        return read_nsys(path)
    trace = Trace()
    with gzip.open(path, "rt", encoding="utf-8", errors="surrogateescape") as file:
        document = json.load(file, parse_float=decimal.Decimal, strict=False)
    trace.top = {key: value for key, value in document.items() if key != "traceEvents"}
    if "traceEvents" not in document:
        return read_rocprof(trace, document["rocprofiler-sdk-tool"])
    for event in document["traceEvents"]:
        if "ts" in event and event.get("ph") != "M":
            trace.span(ns(event["ts"]), ns(event["ts"]) + ns(event.get("dur", 0)))
        if event.get("ph") == "X":
            read_event(trace, event)
        elif event.get("cat") == "fwdbwd" and event["ph"] in "sf":
            trace.flows.append((event["ph"], event["id"], (event["pid"], event["tid"]), ns(event["ts"])))
        elif event.get("name") == "[memory]" and event["args"]["Device Type"] != 0:
            read_memory(trace, event, event["args"])
    queues = {command.queue for command in trace.commands}
    trace.ranges = [one for one in trace.ranges if one.thread not in queues]
    return trace


class Around:
    """The ranges around a moment of a thread, the innermost last."""

    SHORT = 1000000  # ns: shorter ones need be looked for only so far back

    def __init__(self, trace):
        self.ranges, self.places = collections.defaultdict(list), {}
        for place, one in enumerate(trace.ranges):
            self.ranges[one.thread].append(one)
            self.places[id(one)] = place
        self.short, self.starts, self.long, self.known = {}, {}, {}, {}
        for thread, ranges in self.ranges.items():
            self.short[thread] = sorted((r for r in ranges if r.end - r.start < self.SHORT), key=lambda r: r.start)
            self.starts[thread] = [r.start for r in self.short[thread]]
            self.long[thread] = [r for r in ranges if r.end - r.start >= self.SHORT]

    def __call__(self, thread, time):
        if thread not in self.ranges:
            return []
        if (thread, time) not in self.known:
            first = bisect.bisect_left(self.starts[thread], time - self.SHORT)
            last = bisect.bisect_right(self.starts[thread], time)
            found = [r for r in self.short[thread][first:last] + self.long[thread] if r.start <= time < r.end]
            if len(found) > 1:
                found.sort(key=lambda r: (r.start, -r.end, self.places[id(r)]))
            self.known[thread, time] = found
        return self.known[thread, time]
