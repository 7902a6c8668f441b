# SPDX-License-Identifier: Apache-2.0
"""What an nsys export holds, read with Python's sqlite3 and no code of ours: every event with every value.

expected(path) gives (Counter of events, Counter of lost rows); an event is a frozenset of (name, value).
actual(document) makes the same of the JSON of `tracesmith view`.
"""
import collections
import re
import sqlite3

QUEUE = {"CUPTI_ACTIVITY_KIND_KERNEL": "kernel", "CUPTI_ACTIVITY_KIND_MEMCPY": "memcpy",
         "CUPTI_ACTIVITY_KIND_MEMSET": "memset", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "graph_launch",
         "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "sync", "CUPTI_ACTIVITY_KIND_CUDA_EVENT": "event_record"}
HOST = {"CUPTI_ACTIVITY_KIND_RUNTIME": "api", "CUPTI_ACTIVITY_KIND_DRIVER": "api",
        "CUPTI_ACTIVITY_KIND_OVERHEAD": "overhead", "PROFILER_OVERHEAD": "overhead", "OSRT_API": "host_function",
        "CUDA_GPU_MEMORY_USAGE_EVENTS": "alloc", "DIAGNOSTIC_EVENT": "marker", "GPU_METRICS": "counter",
        "COMPOSITE_EVENTS": "sample", "SCHED_EVENTS": "marker", "CUDA_GRAPH_NODE_EVENTS": "range",
        "MPI_COLLECTIVES_EVENTS": "collective"}
CATEGORY = {"OSRT_API": "OS runtime", "DIAGNOSTIC_EVENT": "nsys", "SCHED_EVENTS": "scheduling",
            "CUDA_GRAPH_NODE_EVENTS": "CUDA graph node", "MPI_COLLECTIVES_EVENTS": "MPI"}
LABELS = {"copyKind": "ENUM_CUDA_MEMCPY_OPER", "srcKind": "ENUM_CUDA_MEM_KIND", "dstKind": "ENUM_CUDA_MEM_KIND",
          "memKind": "ENUM_CUDA_MEM_KIND", "syncType": "ENUM_CUPTI_SYNC_TYPE", "eventClass": "ENUM_NSYS_EVENT_CLASS",
          "overheadType": "ENUM_CUPTI_OVERHEAD_TYPE", "launchType": "ENUM_CUDA_KERNEL_LAUNCH_TYPE",
          "cacheConfig": "ENUM_CUDA_FUNC_CACHE_CONFIG", "migrationCause": "ENUM_CUDA_UNIF_MEM_MIGRATION",
          "sharedMemoryLimitConfig": "ENUM_CUDA_SHARED_MEM_LIMIT_CONFIG",
          "memoryOperationType": "ENUM_CUDA_DEV_MEM_EVENT_OPER"}
NAMES = {"demangledName": 1, "shortName": 2, "mangledName": 3, "nameId": 1, "text": 1, "textId": 2, "name": 3,
         "syncType": 4, "overheadType": 4}
BY_ID = {"demangledName", "shortName", "mangledName", "nameId", "textId", "jsonTextId"}
DIRECTION = {1: "h2d", 2: "d2h", 8: "d2d", 9: "h2h", 10: "p2p", 11: "h2d", 12: "d2h", 13: "d2d"}
WAIT = {1: "wait", 2: "stream_wait", 3: "finish", 4: "device_sync"}
WORD = {1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD", 9: "HtoH",
        10: "PtoP", 11: "HtoD", 12: "DtoH", 13: "DtoD"}
MEMORY = ["Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown"]
RANGES = (59, 60, 70, 71)


class Reader:
    def __init__(self, path):
        self.db = sqlite3.connect("file:%s?immutable=1" % path, uri=True)
        self.db.text_factory = lambda b: b.decode(errors="replace")
        self.tables = [r[0] for r in self.db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        self.strings = self.map("StringIds", "id", "value")
        self.enums = {}
        self.domains, self.categories = {}, {}
        self.work_device = {}
        for table, kind in QUEUE.items():
            if table in self.tables and kind != "sync":
                for row in self.rows(table):
                    key = (row.get("globalPid"), row.get("contextId"))
                    if row.get("contextId") is not None and isinstance(row.get("start", row.get("timestamp")), int):
                        self.work_device.setdefault(key, row.get("deviceId"))
        self.stacks = collections.defaultdict(list)
        if "SAMPLING_CALLCHAINS" in self.tables:
            for row in self.rows("SAMPLING_CALLCHAINS"):
                self.stacks[row["id"]].append((self.strings[row["symbol"]], self.strings[row["module"]]))
        self.records = {}
        if "CUPTI_ACTIVITY_KIND_CUDA_EVENT" in self.tables:
            for row in self.rows("CUPTI_ACTIVITY_KIND_CUDA_EVENT"):
                self.records[row.get("globalPid"), row.get("eventSyncId")] = row
        if "NVTX_EVENTS" in self.tables:
            for row in self.rows("NVTX_EVENTS"):
                text = row.get("text") or self.strings.get(row.get("textId"))
                pid = (row.get("globalTid") or 0) >> 24
                if row.get("eventType") == 75:
                    self.domains[pid, row.get("domainId")] = text
                if row.get("eventType") == 33:
                    self.categories[pid, row.get("domainId") or 0, row.get("category")] = text

    def rows(self, table):
        cursor = self.db.execute('SELECT * FROM "%s"' % table)
        names = [d[0] for d in cursor.description]
        for row in cursor:
            yield dict(zip(names, row))

    def map(self, table, key, value):
        if table not in self.tables:
            return {}
        return dict(self.db.execute('SELECT "%s", "%s" FROM "%s"' % (key, value, table)))

    def label(self, table, number):
        if table not in self.enums:
            self.enums[table] = self.map(table, "id", "label")
        return self.enums[table].get(number)


def whole(value):
    return isinstance(value, int)


def is_time(value):
    """Times beyond 73 years are taken for none."""
    return whole(value) and -2**61 < value < 2**61


def memory_word(value):
    return MEMORY[value] if whole(value) and 0 <= value < 8 else "Unknown"


def take_place(reader, table, kind, row, left):
    """The identity of the track; removes from `left` what it says."""
    stream, tid, pid = row.get("streamId"), row.get("globalTid"), row.get("globalPid")
    if table == "GPU_METRICS":
        left.pop("typeId")
        left.pop("metricId")
        return ("counter",)
    if table in QUEUE and whole(stream) and 0 <= stream != 0xffffffff:
        said = row.get("deviceId")
        device = said if kind != "sync" else reader.work_device.get((pid, row.get("contextId")), said)
        for name in ("streamId", "contextId", "globalPid"):
            left.pop(name, None)
        if said == device:
            left.pop("deviceId", None)
        return ("queue", (pid or 0) >> 24 & 0xffffff, device, stream)
    if whole(tid) and tid >= 0:
        left.pop("globalTid")
        if whole(pid) and pid >> 24 == tid >> 24:
            left.pop("globalPid")
        return ("thread", tid >> 24 & 0xffffff, tid & 0xffffff)
    if whole(pid) and pid >= 0:
        left.pop("globalPid")
        return ("process", pid >> 24 & 0xffffff)
    return ("custom",)


def take_name(reader, left, table):
    """The best of the candidates; resolves ids of strings."""
    best = None
    for column in list(left):
        if column in BY_ID and whole(left[column]) and left[column] in reader.strings:
            left[column] = reader.strings[left[column]]
        if column in LABELS and whole(left[column]):
            label = reader.label(LABELS[column], left[column])
            if label is not None:
                left[column] = label
    for column in left:
        if column in NAMES and isinstance(left[column], str) and (best is None or NAMES[column] < NAMES[best]):
            best = column
    return left.pop(best) if best else None


def take_sizes(left, event):
    grid = [left.get("grid" + axis) for axis in "XYZ"]
    block = [left.get("block" + axis) for axis in "XYZ"]
    if all(whole(v) and v > 0 for v in grid + block) and all(g * b < 2**64 for g, b in zip(grid, block)):
        for axis, g, b in zip("XYZ", grid, block):
            event["global_" + axis.lower()], event["local_" + axis.lower()] = g * b, b
            del left["grid" + axis], left["block" + axis]


def split_name(left, event):
    """PyTorch's numbers and lists behind the name of a range."""
    found = re.fullmatch(r"(.+?)(?:, seq = (-?[1-9]\d{0,17}|0))?(?:, op_id = (-?[1-9]\d{0,17}|0))?"
                         r"(?:, sizes = (\[.*?\]))?(?:, input_op_ids = (\[.*\]))?", left["text"], re.DOTALL)
    if not found or len(left["text"].encode()) > 4096:
        return
    left["text"] = found.group(1)
    for name, value in zip(("seq", "op_id"), found.groups()[1:3]):
        if value is not None:
            event[name] = int(value)
    for name, value in zip(("sizes", "input_op_ids"), found.groups()[3:]):
        if value is not None:
            event[name] = value


def kind_of(table, row):
    kind = QUEUE.get(table) or HOST.get(table)
    if table == "NVTX_EVENTS":
        kind = "range" if row.get("eventType") in RANGES or not whole(row.get("eventType")) else "marker"
    if kind == "alloc" and row.get("memoryOperationType") == 1:
        kind = "free"
    return kind or ("range" if whole(row.get("end")) else "marker")


def event_of(reader, table, row):
    """The event of a row, or None when it has no time."""
    left = {name: value for name, value in row.items() if value is not None}
    time = "start" if "start" in row else "timestamp"
    if not is_time(left.get(time)) or (table == "CUPTI_ACTIVITY_KIND_CUDA_EVENT" and left[time] == 0):
        return None
    kind = kind_of(table, row)
    event = {"kind": kind, "start": left.pop(time), "place": None}
    event["place"] = take_place(reader, table, kind, row, left)
    if is_time(left.get("end")) and left["end"] >= event["start"]:  # otherwise how long it lasted is unknown
        event["duration"] = left.pop("end") - event["start"]
    if table == "NVTX_EVENTS":
        pid = (row.get("globalTid") or 0) >> 24
        domain = reader.domains.get((pid, row.get("domainId") or 0))
        category = reader.categories.get((pid, row.get("domainId") or 0, row.get("category")))
        if domain:
            event["category"] = domain
        if "category" in left:
            left["categoryId"] = left.pop("category")
            if category:
                event["nvtxCategory"] = category
        if whole(left.get("eventType")):
            left["eventType"] = reader.label("ENUM_NSYS_EVENT_TYPE", left["eventType"]) or left["eventType"]
        if isinstance(left.get("text"), str) and "eventType" in row:
            split_name(left, event)
    if kind == "sync" and row.get("syncType") in WAIT:
        event["operation"] = WAIT[row["syncType"]]
    if kind == "kernel":
        take_sizes(left, event)
    if kind == "memcpy":
        event["direction"] = DIRECTION.get(left.get("copyKind"))
        name = "Memcpy %s (%s -> %s)" % (WORD.get(left.get("copyKind"), ""), memory_word(left.get("srcKind")),
                                         memory_word(left.get("dstKind")))
    elif kind == "memset":
        name = "Memset (%s)" % memory_word(left.get("memKind"))
    if kind == "sync" and row.get("eventSyncId"):
        record = reader.records.get((row.get("globalPid"), row["eventSyncId"]))
        if record:
            event["wait_on_cuda_event_record_corr_id"] = record["correlationId"]
            event["wait_on_stream"] = record["streamId"]
    if kind == "sample" and reader.stacks.get(row.get("id")):
        frames = reader.stacks[row["id"]][::-1]
        event["text"] = ";".join(symbol for symbol, _ in frames)
        event["modules"] = ";".join(module for _, module in frames)
        left["name"] = frames[-1][0]
    other = take_name(reader, left, table)
    event["name"] = name if kind in ("memcpy", "memset") else other
    if isinstance(left.get("eventClass"), str):
        event["category"] = left.pop("eventClass")
    if table in CATEGORY:
        event["category"] = CATEGORY[table]
    elif table not in QUEUE and table not in HOST and table != "NVTX_EVENTS":
        event["category"] = table
    for column, field in (("correlationId", "correlation"), ("returnValue", "result"), ("bytes", "bytes")):
        if whole(left.get(column)) and (left[column] >= 0 or field == "result"):
            value = left.pop(column)
            if value or field != "correlation":
                event[field] = value
    if table == "CUDA_GPU_MEMORY_USAGE_EVENTS" and whole(left.get("address")):
        event["object"] = left.pop("address")
    if table == "GPU_METRICS":
        event["value"] = float(left.pop("value"))
        event["name"] = None
    event.update(left)
    return freeze(event)


def plain(value):
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return repr(value) if isinstance(value, float) else value


def freeze(event):
    return frozenset((name, plain(value)) for name, value in event.items() if value is not None)


def is_time_table(reader, table):
    names = [r[1] for r in reader.db.execute('PRAGMA table_info("%s")' % table)]
    return "start" in names or "timestamp" in names


def expected(path):
    reader = Reader(path)
    events, lost = collections.Counter(), collections.Counter()
    for table in reader.tables:
        if not is_time_table(reader, table):
            continue
        for row in reader.rows(table):
            event = event_of(reader, table, row)
            if event:
                events[event] += 1
            else:
                lost[table] += 1
    return events, lost


def place_of(document, track):
    process = {p["id"]: p for p in document["processes"]}.get(track["process"], {"pid": 0})
    device = {d["id"]: d for d in document["devices"]}.get(track["device"])
    if track["kind"] == "queue":
        number = int(device["name"].split()[-1]) if device else None
        return ("queue", process["pid"], number, track["queue"])
    if track["kind"] == "thread":
        return ("thread", process["pid"], track["tid"])
    if track["kind"] == "process":
        return ("process", process["pid"])
    return (track["kind"],)


def actual(document):
    places = {t["id"]: place_of(document, t) for t in document["tracks"]}
    events = collections.Counter()
    for event in document["events"]:
        event = {**{k: v for k, v in event.items() if k != "args"}, **event.get("args", {})}
        if event["kind"] == "loss":
            continue
        # What a number of a stack means is not in the event: check_nsys.py looks at the frames.
        event = {name: value for name, value in event.items() if name not in ("track", "stack")} | {"place": places[event["track"]]}
        if event["kind"] == "counter":
            event.pop("name", None)
            event["value"] = float(event["value"])
        events[freeze(event)] += 1
    return events


def union(spans):
    """ns in which at least one of the spans ran."""
    total, until = 0, None
    for start, end in sorted(spans):
        if until is None or start > until:
            total, until = total + end - start, end
        elif end > until:
            total, until = total + end - until, end
    return total
