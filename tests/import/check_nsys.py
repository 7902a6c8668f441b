# SPDX-License-Identifier: Apache-2.0
"""nsys exports, real ones (a folder as argument) and made here, against tests/reference/nsys.py: every event with
every value; and what is said of files that lack something or are damaged."""
import glob
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "reference"))
import nsys  # noqa: E402

TRACESMITH = os.environ["TRACESMITH"]
FOLDER = tempfile.mkdtemp()
PID = 1 << 48 | 111 << 24
PID2 = 1 << 48 | 222 << 24


def fail(*what):
    print("not true:", *what)
    sys.exit(1)


def check(right, *what):
    if not right:
        fail(*what)


def view(path, code=0):
    """The document of a trace and what was said on stderr."""
    done = subprocess.run([TRACESMITH, "view", "-f", "json", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=240)
    if code is not None:
        check(done.returncode == code, path, "gave", done.returncode, done.stderr.decode())
    check(done.returncode in range(0, 64), path, "gave", done.returncode)
    try:
        return (json.loads(done.stdout) if done.stdout else None), done.stderr.decode()
    except ValueError:
        fail("not JSON:", path, done.stderr.decode())


def ledger(document):
    return [event for event in document["events"] if event["kind"] == "loss"]


def texts(document):
    return "\n".join(event.get("text", "") for event in ledger(document))


def compare(path, ended=0):
    """Every event of the file is there and no other."""
    document, _ = view(path, ended)
    wanted, lost = nsys.expected(path)
    got = nsys.actual(document)
    for event, count in (wanted - got).items():
        fail(path, "lacks", count, sorted(event, key=str), "\nhas e.g.",
             [sorted(e, key=str) for e in list((got - wanted))[:2]])
    for event, count in (got - wanted).items():
        fail(path, "has too many", count, sorted(event, key=str))
    check(sum(event.get("lost", 0) for event in ledger(document)) == sum(lost.values()), path, "lost", lost,
          texts(document))
    check_order(document)
    return document


def check_about(path):
    """What has no time comes out as it is in the file, under the name of its table."""
    done = subprocess.run([TRACESMITH, "export", "-f", "chrome", path, "-o", "-"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=240)
    check(done.returncode == 0, path, done.stderr.decode())
    exported = json.loads(done.stdout)["otherData"]
    reader = nsys.Reader(path)
    for table in reader.tables:
        if nsys.is_time_table(reader, table) or table.startswith("ENUM_") or table in (
                "StringIds", "SAMPLING_CALLCHAINS", "CUDA_CALLCHAINS", "OSRT_CALLCHAINS"):
            continue
        rows = [{name: reader.strings.get(value, value) if name in ("nameId", "contentId", "filenameId") else value
                 for name, value in row.items()} for row in reader.rows(table)]
        said = exported.get("trace." + table)
        check(said and json.loads(said) == rows, path, table, said, rows)


def check_order(document):
    starts = [event["start"] for event in document["events"]]
    check(starts == sorted(starts), "events in order of time")


class Base:
    """A small export; a test changes it before it is written."""

    def __init__(self, name):
        self.path = os.path.join(FOLDER, name + ".sqlite")
        self.db = sqlite3.connect(self.path)
        self.strings = {}

    def text(self, value):
        return self.strings.setdefault(value, len(self.strings) + 7)

    def table(self, name, columns, rows=()):
        self.db.execute('CREATE TABLE "%s" (%s)' % (name, ", ".join('"%s"' % c.replace('"', '""') for c in columns)))
        self.insert(name, rows)

    def insert(self, name, rows):
        for row in rows:
            self.db.execute('INSERT INTO "%s" VALUES (%s)' % (name, ", ".join("?" * len(row))), row)

    def done(self, strings=True):
        if strings:
            self.db.execute("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)")
            self.insert("StringIds", [(i, s) for s, i in self.strings.items()])
        self.db.commit()
        self.db.close()
        return self.path


KERNEL = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "demangledName",
          "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread", "graphNodeId")
RUNTIME = ("start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue")


def kernel(base, start, end, correlation, stream=7, pid=PID, device=0, context=1, name="sum<float>(float*)",
           grid=(10, 2, 1), node=None):
    return (start, end, device, context, stream, correlation, pid, base.text(name), base.text(name.split("<")[0]),
            *grid, 128, 1, 1, 40, node)


def add_gpu_tables(base):
    base.table("CUPTI_ACTIVITY_KIND_KERNEL", KERNEL, [
        kernel(base, 1000, 2000, 11),
        kernel(base, 1500, 1900, 12, stream=13),
        kernel(base, 900, 950, 10),  # not in order of time
        kernel(base, 3000, 3100, 11, pid=PID2, device=1, context=2, node=0x100000004),
        kernel(base, 4000, 4001, 14, grid=(0, 1, 1)),
        kernel(base, 5000, 5001, 15, grid=(2**31 - 1, 65535, 65535)),
    ])
    base.table("CUPTI_ACTIVITY_KIND_MEMCPY",
               ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "bytes",
                "copyKind", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId"),
               [(2100, 2200, 0, 1, 7, 21, PID, 4096, kind, kind % 3, 2, None, None) for kind in range(16)] +
               [(2300, 2400, 1, 2, 7, 22, PID2, 1 << 40, 10, 2, 2, 0, 1)])
    base.table("CUPTI_ACTIVITY_KIND_MEMSET",
               ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "value", "bytes",
                "memKind"), [(2500, 2501, 0, 1, 7, 23, PID, 255, 16, 2), (2500, 2501, 0, 1, 7, 24, PID, 0, 16, 99)])
    base.table("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
               ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "syncType",
                "eventId", "eventSyncId"), [(2600, 2700, 0, 2, 7, 31, PID2, 3, None, None),
                                            (2600, 2700, 0, 1, 0xffffffff, 32, PID, 1, 5, 77),
                                            (2700, 2701, 0, 1, 13, 36, PID, 2, 6, 78),
                                            (2700, 2701, 0, 1, 13, 37, PID, 2, 6, 79)])
    base.table("CUPTI_ACTIVITY_KIND_CUDA_EVENT",
               ("timestamp", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "eventId",
                "eventSyncId"), [(2800, 0, 1, 7, 33, PID, 5, 77), (0, 0, 1, 7, 34, PID, 6, 78)])
    base.table("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
               ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphId",
                "graphExecId"), [(2900, 2950, 0, 1, 7, 35, PID, 3, 4)])


def add_host_tables(base):
    launch, copy = base.text("cudaLaunchKernel_v7000"), base.text("cudaMemcpyAsync_v3020")
    base.table("CUPTI_ACTIVITY_KIND_RUNTIME", RUNTIME, [
        (100, 200, 0, PID | 111, 11, launch, 0),
        (150, 300, 1, PID | 112, 21, copy, -1),
        (180, 190, 0, PID2 | 222, 11, launch, 700),
        (300, 310, 0, PID | 111, 0, launch, 0),
    ])
    nvtx = ("start", "end", "eventType", "rangeId", "category", "color", "text", "globalTid", "endGlobalTid",
            "textId", "domainId", "uint64Value", "doubleValue", "jsonText", "binaryData")

    def mark(start, end, kind, text=None, **rest):
        row = dict(dict.fromkeys(nvtx), start=start, end=end, eventType=kind, text=text, globalTid=PID | 111)
        return tuple(dict(row, **rest)[c] for c in nvtx)

    base.table("NVTX_EVENTS", nvtx, [
        mark(10, None, 75, "NCCL", domainId=1),
        mark(11, None, 33, "collective", domainId=1, category=9),
        mark(20, 400, 59, "step 1", domainId=0),
        mark(30, 40, 59, None, textId=base.text("ncclAllReduce"), domainId=1, category=9, color=-16711936,
             binaryData=b"\x00\xff\x01"),
        mark(50, 60, 59, "both", textId=base.text("registered")),
        mark(70, None, 34, "a mark", doubleValue=1.5, uint64Value=2**63 - 1),
        mark(80, 800, 60, "start/end", rangeId=5, endGlobalTid=PID | 112),
        mark(90, None, 59, "never ended"),
        *[mark(100, 101, 59, text) for text in (
            "aten::add, op_id = 7", "aten::add, seq = 3", "aten::mm, seq = 0, op_id = 12, sizes = [[2, 3], [], [1]]",
            "aten::mm, op_id = 12, sizes = [], input_op_ids = [(1, 0), (2, 1)]", "a, op_id = 7x", "a, op_id = 07",
            "a, b, op_id = -1", ", op_id = 5", "a, op_id = 5, seq = 6", "a, op_id = 5, op_id = 6", "a, sizes = [1",
            "a, sizes = []", "a, seq = 99999999999999999999", "a,", "a, seq = ", "f(x, y), seq = 2")],
        mark(95, 96, 59, "json", jsonText='{"a": "\u00e9"}'),
    ])
    base.table("OSRT_API", ("start", "end", "globalTid", "nameId", "returnValue", "nestingLevel"),
               [(500, 600, PID | 112, base.text("poll"), 1, 0)])
    base.table("CUDA_GPU_MEMORY_USAGE_EVENTS",
               ("start", "globalPid", "deviceId", "contextId", "address", "bytes", "memKind", "memoryOperationType",
                "name", "correlationId"), [(700, PID, 0, 1, 0x7f0000000000, 1 << 20, 2, 0, "x", 41),
                                           (710, PID, 0, 1, 0x7f0000000000, 1 << 20, 2, 1, None, 42)])
    base.table("COMPOSITE_EVENTS", ("id", "start", "cpu", "threadState", "globalTid", "cpuCycles"),
               [(i, 1000 + i, i % 2, 1, PID | 111 + i % 2, 5000) for i in (1, 2, 4, 5, 9)])
    base.table("SAMPLING_CALLCHAINS", ("id", "symbol", "module", "unresolved", "stackDepth"),
               [(i, base.text("function %d" % (i + depth)), base.text("lib%d.so" % depth), 0, depth)
                for i in (1, 3, 4, 5, 9) for depth in range(i)])
    base.table("GPU_METRICS", ("timestamp", "typeId", "metricId", "value"),
               [(t * 10, 0x1b00 | g, m, t * m + g) for t in range(50) for m in (0, 1) for g in (0, 1)])
    base.table("TARGET_INFO_GPU_METRICS", ("typeId", "sourceId", "typeName", "metricId", "metricName"),
               [(0x1b00, 1, "GH100", 0, "SMs Active [%]"), (0x1b00, 1, "GH100", 1, "DRAM Read [%]")])


def add_names(base):
    base.table("ThreadNames", ("nameId", "priority", "globalTid"),
               [(base.text("python3"), 20, PID | 111), (base.text("worker \u2603"), 20, PID | 112)])
    for name, labels in (("ENUM_CUDA_MEMCPY_OPER", {1: "Host-to-Device", 10: "Peer-to-Peer"}),
                         ("ENUM_CUDA_MEM_KIND", {0: "Pageable", 1: "Pinned", 2: "Device"}),
                         ("ENUM_CUPTI_SYNC_TYPE", {1: "Event sync", 3: "Stream sync"}),
                         ("ENUM_NSYS_EVENT_CLASS", {0: "CUDA runtime", 1: "CUDA driver"}),
                         ("ENUM_NSYS_EVENT_TYPE", {59: "NvtxPushPopRange", 34: "NvtxMark"})):
        base.db.execute("CREATE TABLE %s (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT)" % name)
        base.insert(name, [(i, label.upper(), label) for i, label in labels.items()])


def chains_of(rows):
    """Frames by number, innermost first, as (function, module)."""
    chains = {}
    for number, symbol, module, _, depth, *_ in sorted(rows, key=lambda row: (row[0], row[4])):
        chains.setdefault(number, []).append((symbol, module))
    return chains


def test_callchains():
    """What CUDA and OS runtime calls were called from: with addresses and, as older versions have it, without."""
    for addresses in (False, True):
        base = Base("callchains%d" % addresses)
        rows = [(number, "f%d" % ((number * 7 + depth) % 5), "/lib/lib%d.so" % (depth % 3), 0, depth,
                 4096 * (number + depth % 4) + depth)[:6 if addresses else 5]
                for number in range(1, 40) if number % 9 for depth in range(number % 6 + 1)]
        columns = ("id", "symbol", "module", "unresolved", "stackDepth", "originalIP")[:6 if addresses else 5]
        for table in ("CUDA_CALLCHAINS", "OSRT_CALLCHAINS"):
            base.table(table, columns, [(n, base.text(s), base.text(m), *rest) for n, s, m, *rest in rows])
        base.table("CUPTI_ACTIVITY_KIND_RUNTIME", ("start", "end", "globalTid", "correlationId", "nameId", "callchainId"),
                   [(i * 10, i * 10 + 5, PID | 111, i, base.text("cudaLaunchKernel_v7000"), i if i % 4 else None)
                    for i in range(1, 45)])
        base.table("OSRT_API", ("start", "end", "globalTid", "nameId", "callchainId"),
                   [(1000 + i, 1001 + i, PID | 112, base.text("poll"), i) for i in range(1, 45)])
        path = base.done()
        compare(path)
        done = subprocess.run([TRACESMITH, "view", "-f", "json", "--stacks", path], stdout=subprocess.PIPE, check=True)
        chains, seen = chains_of(rows), 0
        for event in json.loads(done.stdout)["events"]:
            if event["kind"] in ("api", "host_function"):
                frames = [(f["function"], f["module"]) for f in event.get("frames", [])]
                check(frames == chains.get(event.get("args", {}).get("callchainId"), []), event)
                seen += bool(frames)
        check(seen > 40, seen)


def test_everything():
    base = Base("everything")
    add_gpu_tables(base)
    add_host_tables(base)
    add_names(base)
    base.table("SOMETHING_NEW", ("start", "end", "globalTid", "odd name\"]", "real", "blob"),
               [(1, 5, PID | 111, "text", 0.5, b"\x00"), (2, None, None, 17, None, None)])
    base.table("META_DATA_EXPORT", ("name", "value"), [("EXPORT_SCHEMA_VERSION", "3.25.0"), ('quo"te', None)])
    path = base.done()
    document = compare(path)
    check_about(path)
    names = {track["name"] for track in document["tracks"] if track["kind"] == "thread"}
    check(names == {"python3", "worker \u2603", "thread 222"}, names)
    counters = sorted(t["name"] for t in document["tracks"] if t["kind"] == "counter")
    check(counters == ["DRAM Read [%]", "SMs Active [%]", "metric 0", "metric 1"], counters)
    check("1 rows whose time was not collected" in texts(document), texts(document))
    check("NVTX_EVENTS: 1 rows without an end" in texts(document), texts(document))
    for event in ledger(document):
        check("lost" in event or "duration" not in event, "what is not lost covers no time", event)


def test_missing_columns():
    """What every version has is asked for, one column after the other."""
    for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS",
                  "CUPTI_ACTIVITY_KIND_MEMCPY"):
        base = Base("full")
        add_gpu_tables(base)
        add_host_tables(base)
        columns = [r[1] for r in base.db.execute('PRAGMA table_info("%s")' % table)]
        full = base.done()
        for column in columns:
            path = os.path.join(FOLDER, "lacks.sqlite")
            shutil.copy(full, path)
            db = sqlite3.connect(path)
            db.execute('ALTER TABLE "%s" DROP COLUMN "%s"' % (table, column))
            db.commit()
            db.close()
            if column == "start":
                document, _ = view(path)
                check("has no column start" in texts(document), texts(document))
            else:
                document = compare(path)
            if column in ("end", "streamId", "correlationId", "nameId", "demangledName"):
                listed = "%s: has no column %s" % (table, column)
                check((listed in texts(document)) == (column in columns and needs(table, column)), listed,
                      texts(document))
        os.unlink(full)


def needs(table, column):
    return (table, column) not in {("NVTX_EVENTS", "streamId"), ("CUPTI_ACTIVITY_KIND_MEMCPY", "nameId")}


def test_missing_tables():
    base = Base("few")
    base.table("CUPTI_ACTIVITY_KIND_KERNEL", KERNEL, [kernel(base, 1, 2, 3)])
    document = compare(base.done(strings=False))
    said = texts(document)
    check("no table CUPTI_ACTIVITY_KIND_RUNTIME" in said and "no table StringIds" in said, said)
    check("ids of strings" in said, said)
    # What an export does not have was not lost.
    base = Base("no_calls")
    base.table("CUPTI_ACTIVITY_KIND_KERNEL", KERNEL, [kernel(base, 1, 2, 3)])
    document, said = view(base.done())
    check(document["lost"]["uncounted"] == 0 and document["lost"]["absent"] == 1, document["lost"])
    check("was lost" not in said and "does not have all kinds of data" in said, said)
    base = Base("foreign")
    base.table("songs", ("start", "title"), [(1, "x")])
    _, said = view(base.done(), code=None)
    check("neither an export of nsys nor" in said, said)


def test_device_identity():
    """The UUID, with its prefix, or else the PCI address; without both nothing is made up."""
    for number, (uuid, bus, expected) in enumerate((
            ("GPU-01234567-89ab-cdef-0123-456789abcdef", "0000:1b:00.0", "GPU-01234567-89ab-cdef-0123-456789abcdef"),
            ("01234567-89ab-cdef-0123-456789abcdef", None, "GPU-01234567-89ab-cdef-0123-456789abcdef"),
            ("MIG-01234567-89ab-cdef-0123-456789abcdef", None, "MIG-01234567-89ab-cdef-0123-456789abcdef"),
            (None, "0000:1b:00.0", "pci:0000:1b:00.0"), ("", "", ""), (None, None, ""))):
        base = Base("identity%d" % number)
        base.table("CUPTI_ACTIVITY_KIND_KERNEL", KERNEL, [kernel(base, 1, 2, 3)])
        base.table("TARGET_INFO_GPU", ("id", "name", "totalMemory", "smCount", "clockRate", "uuid", "busLocation"),
                   [(0, "Some GPU", 80 << 30, 132, 1980000000, uuid, bus)])
        document, _ = view(base.done(), code=None)
        [device] = document["devices"]
        check(device["name"] == "Some GPU" and device["compute_units"] == 132 and device["memory_bytes"] == 80 << 30, device)
        check(device.get("identity") == expected, uuid, bus, device)


def test_odd_values():
    big = 2**63 - 1
    base = Base("odd")
    base.table("CUPTI_ACTIVITY_KIND_KERNEL", KERNEL, [
        kernel(base, 1000, 900, 1),  # backwards
        kernel(base, "soon", 2000, 2),
        kernel(base, None, 2000, 3),
        kernel(base, 1.5, 2000, 4),
        kernel(base, b"\x01", 2000, 4),
        kernel(base, 1000, None, 5),
        kernel(base, 1000, "late", 6),
        kernel(base, -big - 1, -big, 7),
        kernel(base, big, big, 8),
        kernel(base, -5, big, 9),  # an end beyond the trace clock stays an end
        kernel(base, 1000, 2000, -1),
        kernel(base, 1000, 2000, "x"),
        kernel(base, 1000, 2000, None, stream=None),
        kernel(base, 1000, 2000, 10, stream="7"),
        kernel(base, 1000, 2000, 10, stream=-1, pid=-3),
        kernel(base, 1000, 2000, 10, pid=None),
        kernel(base, 1000, 2000, 10, context=None),
        kernel(base, 1000, 2000, big, grid=(big, big, big)),
        (1000, 2000, 0, 1, 7, 1, PID, 999999, -4, *[1] * 6, 1, None),
        (1000, 2000, 0, 1, 7, 1, PID, big, None, *[1] * 6, 1, None),
        (1000, 2000, 0, 1, 7, 1, PID, "by name", 2.5, *[1] * 6, 1, None),
    ])
    path = base.done()
    document = compare(path)
    said = texts(document)
    for text in ("1 rows that end before they start", "6 rows without a valid time", "3 rows without an end",
                 "ids of strings"):
        check(text in said, text, said)


def test_copied_strings():
    """CREATE TABLE AS loses the key of StringIds."""
    base = Base("copied")
    add_host_tables(base)
    base.db.execute("CREATE TABLE StringIds AS SELECT 0 AS id, 'none' AS value")
    base.insert("StringIds", [(i, s) for s, i in base.strings.items()])
    compare(base.done(strings=False))


def spans(events):
    return {tuple(dict(event).get(name) for name in ("start", "duration", "correlation")) for event in events}


ROWS = 6000


def many(name, rows=ROWS):
    base = Base(name)
    base.table("CUPTI_ACTIVITY_KIND_KERNEL", KERNEL,
               (kernel(base, i * 10, i * 10 + 5, i) for i in range(1, rows + 1)))
    return base


def test_damage():
    base = many("damaged")
    page = base.db.execute("PRAGMA page_size").fetchone()[0]
    path = base.done()
    size = os.path.getsize(path)
    whole, _ = nsys.expected(path)
    data = bytearray(open(path, "rb").read())
    middle = size // page // 2 * page
    data[middle:middle + page] = b"\xff" * page
    open(path, "wb").write(data)
    document, said = view(path, code=None)
    got = nsys.actual(document)
    check(not got - whole, "nothing that is not in the file", list((got - whole))[:1])
    kept = sum(got.values())
    check(ROWS - 4 * page // 30 < kept < ROWS, "both ends of a damaged table are read:", kept)
    check("damaged" in said or "malformed" in texts(document), said, texts(document))
    # Cut short: what is there is read.
    for part in (0.3, 0.7, 0.99):
        cut = os.path.join(FOLDER, "cut.sqlite")
        open(cut, "wb").write(bytes(open(many_path(), "rb").read())[:int(size * part)])
        document, said = view(cut, code=None)
        # The strings are at the end: what is left are times and numbers.
        check(document is None or spans(nsys.actual(document)) <= spans(whole), "cut")
        check(document is None or part < 0.5 or len(nsys.actual(document)) > ROWS * part / 2, "cut", part)
        check("ends after" in said + (texts(document) if document else ""), said)
    # Bytes changed anywhere: no crash, and never silence about a table that cannot be read.
    state = 12345
    for _ in range(30):
        damaged = bytearray(open(many_path(), "rb").read())
        for _ in range(20):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            damaged[state >> 33 & 0xfff if state >> 20 & 1 else (state >> 33) % size] = state >> 25 & 0xff
        broken = os.path.join(FOLDER, "broken.sqlite")
        open(broken, "wb").write(damaged)
        view(broken, code=None)


def many_path():
    path = os.path.join(FOLDER, "many.sqlite")
    return path if os.path.exists(path) else many("many").done()


def test_leftovers():
    base = Base("wal")
    add_gpu_tables(base)
    path = base.done()
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET gridX = gridX + 1")
    db.commit()
    copy = os.path.join(FOLDER, "left.sqlite")
    shutil.copy(path, copy)
    shutil.copy(path + "-wal", copy + "-wal")
    db.close()
    before = sorted((f, os.stat(os.path.join(FOLDER, f)).st_mtime_ns) for f in os.listdir(FOLDER))
    document, _ = view(copy)
    check("log of changes" in texts(document), texts(document))
    after = sorted((f, os.stat(os.path.join(FOLDER, f)).st_mtime_ns) for f in os.listdir(FOLDER))
    check(before == after, "nothing next to the user's file was written", before, after)
    os.unlink(copy + "-wal")


def test_no_database():
    for name, content in (("empty", b""), ("head", b"SQLite format 3\0"), ("half", b"SQLite format 3\0" + b"\0" * 84),
                          ("noise", b"SQLite format 3\0" + bytes(range(256)) * 64)):
        path = os.path.join(FOLDER, name + ".sqlite")
        open(path, "wb").write(content)
        document, said = view(path, code=None)
        check(not document and name in said, name, said)
    # Views, triggers and functions of the file are not run.
    base = Base("hostile")
    base.table("CUPTI_ACTIVITY_KIND_KERNEL", KERNEL, [kernel(base, 1, 2, 3)])
    base.db.execute("CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n)"
                    " SELECT start, start AS end, 59 AS eventType FROM n")
    base.db.execute("CREATE TABLE OSRT_API (start INTEGER, end INTEGER AS (abs(start)))")
    base.db.execute("INSERT INTO OSRT_API VALUES (5)")
    document, _ = view(base.done())
    check([e["kind"] for e in document["events"]].count("kernel") == 1, document["events"])
    check("OSRT_API" in texts(document), texts(document))


def test_pipe():
    path = many_path()
    with open(path, "rb") as data:
        done = subprocess.run(["sh", "-c", 'cat | "$0" view -f json -', TRACESMITH], stdin=data,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240)
    check(done.returncode == 0, done.stderr)
    check(nsys.actual(json.loads(done.stdout)) == nsys.expected(path)[0], "the same out of a pipe")


def busy(path):
    """ns that the device was busy, by GPU, and totals by kernel, from the database."""
    reader = nsys.Reader(path)
    spans, kernels = {}, {}
    for table, kind in nsys.QUEUE.items():
        for row in reader.rows(table) if table in reader.tables and kind in ("kernel", "memcpy", "memset") else ():
            spans.setdefault(row["deviceId"], []).append((row["start"], row["end"]))
            if kind == "kernel":
                total = kernels.setdefault(reader.strings[row["demangledName"]], [0, 0])
                total[0] += 1
                total[1] += row["end"] - row["start"]
    return {device: nsys.union(s) for device, s in spans.items()}, kernels


def test_corpus(folder):
    paths = sorted(glob.glob(os.path.join(folder, "*.sqlite")))
    check(paths, "no export in", folder)
    for path in paths:
        compare(path)
        check_about(path)
        done = subprocess.run([TRACESMITH, "view", "--stats", "--json", path], stdout=subprocess.PIPE, check=True)
        stats = json.loads(done.stdout)
        spans, kernels = busy(path)
        got = {t["name"]: [t["count"], t["total_ns"]] for t in stats["totals"] if t["kind"] == "kernel"}
        check(got == kernels, path, "totals of kernels")
        devices = sorted(d["busy_ns"] for d in stats["device_busy"])
        check(devices == sorted(spans.values()), path, "busy", devices, spans)


def main():
    try:
        if len(sys.argv) > 1:
            test_corpus(sys.argv[1])
            return
        for name, test in sorted(globals().items()):
            if name.startswith("test_") and name != "test_corpus":
                test()
    finally:
        shutil.rmtree(FOLDER)


main()
