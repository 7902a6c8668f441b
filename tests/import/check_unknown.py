# SPDX-License-Identifier: Apache-2.0
"""What a source does not tell is NULL, never 0: rows of queues and processes without a number, events that end before they start,
and small samples from which each field is deleted in turn. After a deletion no cell may be 0 that is not 0 in the full file."""
import copy
import itertools
import json
import os
import shutil
import sqlite3
import sys
import tempfile

sys.path[:0] = [os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", folder) for folder in ("cli", "import")]
from perfetto_wire import message, packet  # noqa: E402
from support import EVERY, check, run  # noqa: E402


TABLES = ("events", "tracks", "processes", "devices")


def rows(path, sql):
    return json.loads(run("query", "--no-cache", path, sql, "--json").stdout)["results"][0]["rows"]


def zeros(path):
    """(table, kind, column) of every cell that is 0 or an empty text; None when the file is refused."""
    done = run("query", "--no-cache", path, *("; ".join("SELECT * FROM " + table for table in TABLES),), "--json", code=None)
    check(done.returncode in (0, 3), "%s gave %d: %s" % (path, done.returncode, done.stderr))
    if not done.stdout.strip():
        return None
    found = set()
    for table, result in zip(TABLES, json.loads(done.stdout)["results"]):
        for row in result["rows"]:
            found |= {(table, row.get("kind"), column) for column, value in row.items() if value in (0, "") and value is not False}
    return found


def deletions(name, path, variants):
    """variants: (what was deleted, a function that writes the file without it to a path)."""
    whole, read = zeros(path), 0
    out = path + ".less" + os.path.splitext(path)[1]
    check(whole is not None, name + ": the whole file is read")
    wrong = []
    for what, make in itertools.islice(variants, 0, None, EVERY):
        if os.path.exists(out):
            os.unlink(out)
        make(out)
        part = zeros(out)
        read += part is not None
        # Without its kind an event is of another: the column decides.
        known = {(table, column) for table, _, column in whole}
        for table, kind, column in sorted(part or (), key=str):
            if (table, column) not in known and (name, column) not in ZERO_IS_RIGHT and (kind, column) not in LOSS_AT_ZERO:
                wrong.append("%s without %s: %s.%s of a %s is 0" % (name, what, table, column, kind))
    check(read > 10 // EVERY, "%s: %d files without a field are read" % (name, read))
    check(not wrong, "\n".join(wrong))
    print(name, read)


# A field of import that keeps the form of an event of the source: an empty text means that it has no `ph`.
# In XPlane (proto3) a number that is 0 is left out.
ZERO_IS_RIGHT = {("chrome", "ph"), ("xplane", "start"), ("xplane", "duration"), ("xplane", "end"), ("xplane", "tid")}
# Every event has a start. If no event of a file has a time, the entry of the loss ledger begins at 0; of a file with one instant it has duration 0.
LOSS_AT_ZERO = {("loss", "start"), ("loss", "duration"), ("loss", "end")}


def kernel(name, pid, tid, ts=10):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": 5, "args": {"grid": [1, 1, 1]}}


def write(path, events):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "traceEvents": events}, file)
    return path


# tid of a queue: its number in `query`.
TIDS = [(7, 7), (0, 0), (-3, -3), (2 ** 32 + 5, 2 ** 32 + 5), (2 ** 53 + 1, 2 ** 53 + 1), (7.5, None), (1e30, None), ("seven", None), ("stream 12", 12),
        ("stream", None), ("stream x", None), ("stream 99999999999999999999", None), ("", None), (None, None), (True, None),
        ([1], None), ("7", None)]
PIDS = [(3, 3), (0, 0), (-4, -4), (2 ** 40, 2 ** 40), (1.25, None), ("host", None), (None, None), (False, None)]


def numbers(folder):
    for tid, wanted in TIDS:
        path = write(os.path.join(folder, "tid.json"), [kernel("k", 0, tid)])
        got = [row["queue"] for row in rows(path, "SELECT queue FROM tracks WHERE kind = 'queue'")]
        check(got == [wanted], "queue of tid %r: %s" % (tid, got))
        shown = [t["queue"] for t in json.loads(run("view", path, "-f", "json").stdout)["tracks"] if t["kind"] == "queue"]
        check(shown == [wanted if wanted is None else wanted % 2 ** 64], "queue of tid %r in JSON: %s" % (tid, shown))
    for pid, wanted in PIDS:
        path = write(os.path.join(folder, "pid.json"), [dict(kernel("f", pid, 5), cat="cpu_op")])
        got = [row["pid"] for row in rows(path, "SELECT pid FROM processes")]
        check(got == [wanted], "pid %r: %s" % (pid, got))


# ---- an end before the start


def backwards(folder):
    """The event is there, its duration is unknown, and the ledger has it as no_timing."""
    def made(name, data):
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
        return path
    gpu = message((1, 1), (2, "/device:GPU:0"), (3, message((1, 7), (2, "Stream #7(Kernel)"), (3, 100), (4, message((1, 1), (2, 5000), (3, -2000))))),
                  (4, message((1, 1), (2, message((1, 1), (2, "late"))))))
    record = {"start_timestamp": 105, "end_timestamp": 103, "thread_id": 11,
              "dispatch_info": {"agent_id": {"handle": 7}, "queue_id": {"handle": 2}, "kernel_id": 3}}
    paths = [write(os.path.join(folder, "late.json"), [dict(kernel("late", 0, 7, 0.105), dur=-0.002)]),
             write(os.path.join(folder, "late_text.json"), [dict(kernel("late", 0, 7, 0.105), dur="-0.002")]),
             made("late_rocprof.json", json.dumps({"rocprofiler-sdk-tool": [
                 {"metadata": {"pid": 908}, "agents": [{"id": {"handle": 7}}], "kernel_symbols": [{"kernel_id": 3, "formatted_kernel_name": "late"}],
                  "buffer_records": {"kernel_dispatch": [record]}}]})),
             made("late.xplane.pb", message((1, gpu))),
             made("late.pftrace", packet((60, message((1, 11), (4, message((1, 77), (2, 78)))))) +
                  packet((8, 105), (10, 1), (11, message((9, 1), (11, 11), (23, "late"), (22, "kernel")))) +
                  packet((8, 103), (10, 1), (11, message((9, 2), (11, 11))))),
             fill(os.path.join(folder, "late.sqlite"), {
                 "StringIds": {"id": [1], "value": ["late"]},
                 "CUPTI_ACTIVITY_KIND_KERNEL": {"start": 105, "end": 103, "deviceId": 1, "contextId": 2, "streamId": 7, "correlationId": 11,
                                                "demangledName": 1, "shortName": 1}}),
             fill(os.path.join(folder, "late.db"), {"rocpd_" + name: row for name, row in dict(
                 ROCPD, kernel_dispatch=dict(ROCPD["kernel_dispatch"], start=105, end=103)).items()})]
    for path in paths:
        got = rows(path, "SELECT duration FROM events WHERE start = 105 AND kind = 'kernel'")
        check(got == [{"duration": None}], "%s: an end before the start: %s" % (path, got))
        got = rows(path, "SELECT reason, text FROM loss WHERE text LIKE '%% before they %%'")
        check([row["reason"] for row in got] == ["no_timing"], "%s: the ledger: %s" % (path, got))
    back = paths[0] + ".back"
    run("export", paths[0], "-f", "chrome", "-o", back)
    with open(back, encoding="utf-8") as file:
        check([e["dur"] for e in json.load(file)["traceEvents"] if e["name"] == "late"] == [-0.002], "the duration comes back")


# ---- a field less


def paths_of(value, path=()):
    if path:
        yield path
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from paths_of(value[key], path + (key,))


def chrome(folder):
    def one(cat, name, pid, tid, ts, dur, **args):
        return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}
    events = [one("cuda_runtime", "cudaLaunchKernel", 9, 8, 10, 5, correlation=41, cbid=211),
              one("kernel", "gemm", 1, 7, 20, 9, correlation=41, device=1, context=2, stream=7, grid=[4, 2, 3],
                  block=[64, 5, 6], **{"registers per thread": 32, "shared memory": 48, "queued": 17}),
              one("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1, 7, 40, 9, correlation=42, device=1, context=2, stream=7,
                  bytes=4096, **{"memory bandwidth (GB/s)": 3.5}),
              one("cpu_op", "aten::mm", 9, 8, 9, 30, **{"External id": 3, "Sequence number": 4, "Fwd thread id": 5}),
              {"ph": "C", "name": "used", "pid": 9, "tid": 8, "ts": 50, "args": {"value": 12}},
              {"ph": "i", "s": "t", "name": "[memory]", "pid": 9, "tid": 8, "ts": 55,
               "args": {"Total Allocated": 64, "Bytes": 32, "Addr": 77, "Device Id": 1, "Device Type": 1, "Total Reserved": 128}}]
    path = write(os.path.join(folder, "chrome.json"), events)

    def changed(path_to, how):
        def make(out):
            copied = copy.deepcopy(events)
            place = copied
            for key in path_to[:-1]:
                place = place[key]
            if how == "deleted":
                del place[path_to[-1]]
            else:
                place[path_to[-1]] = None if how == "null" else "text"
            write(out, copied)
        return make
    deletions("chrome", path, [("%s (%s)" % (path_to, how), changed(path_to, how))
                               for path_to in paths_of(events) for how in ("deleted", "null", "text")])


def tables_less(path):
    """Each column of each table dropped, and each set to NULL."""
    base = sqlite3.connect(path)
    columns = [(table, column[1], column[3]) for (table,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
               for column in base.execute('PRAGMA table_info("%s")' % table) if not column[5]]
    base.close()

    def changed(table, column, sql):
        def make(out):
            shutil.copy(path, out)
            base = sqlite3.connect(out)
            base.execute(sql % {"table": table, "column": column})
            base.commit()
            base.close()
        return make
    for table, column, never_null in columns:
        if sqlite3.sqlite_version_info >= (3, 35):
            yield "%s.%s" % (table, column), changed(table, column, 'ALTER TABLE "%(table)s" DROP COLUMN "%(column)s"')
        if not never_null:
            yield "%s.%s (NULL)" % (table, column), changed(table, column, 'UPDATE "%(table)s" SET "%(column)s" = NULL')


# As the profilers declare them.
NEVER_NULL = {("StringIds", "value"), ("rocpd_string", "string"), ("rocpd_info_process", "pid"), ("rocpd_arg", "value")}


def fill(path, tables):
    base = sqlite3.connect(path)
    for table, row in tables.items():
        key = "id INTEGER PRIMARY KEY, " if "id" in row else ""
        base.execute('CREATE TABLE "%s" (%s%s)' % (table, key, ", ".join('"%s"%s' % (c, " NOT NULL" if (table, c) in NEVER_NULL else "") for c in row if c != "id")))
        for at in range(max([len(v) for v in row.values() if isinstance(v, list)] or [1])):
            values = {c: v[at] if isinstance(v, list) else v for c, v in row.items()}
            base.execute('INSERT INTO "%s" (%s) VALUES (%s)' % (table, ", ".join('"%s"' % c for c in values),
                                                               ", ".join("?" * len(values))), list(values.values()))
    base.commit()
    base.close()
    return path


def nsys(folder):
    pid = 1 << 48 | 111 << 24
    device = {"deviceId": 1, "contextId": 2, "streamId": 7, "globalPid": pid}
    deletions("nsys", path := fill(os.path.join(folder, "nsys.sqlite"), {
        "StringIds": {"id": [1, 2, 3, 4], "value": ["gemm", "cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020", "step"]},
        "CUPTI_ACTIVITY_KIND_KERNEL": dict(device, start=1000, end=2000, correlationId=11, demangledName=1, shortName=1, gridX=10,
                                           gridY=2, gridZ=3, blockX=128, blockY=4, blockZ=5, registersPerThread=40,
                                           staticSharedMemory=16, dynamicSharedMemory=32, graphNodeId=6),
        "CUPTI_ACTIVITY_KIND_MEMCPY": dict(device, start=2100, end=2200, correlationId=12, bytes=4096, copyKind=1, srcKind=1,
                                           dstKind=2),
        "CUPTI_ACTIVITY_KIND_MEMSET": dict(device, start=2300, end=2400, correlationId=13, bytes=16, value=255, memKind=2),
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": dict(device, start=2500, end=2600, correlationId=14, syncType=3, eventId=5,
                                                    eventSyncId=77),
        "CUPTI_ACTIVITY_KIND_RUNTIME": {"start": [900, 950, 980], "end": [910, 960, 990], "eventClass": 1,
                                        "globalTid": pid | 112, "correlationId": [11, 12, 13], "nameId": [2, 3, 3],
                                        "returnValue": 700},
        "NVTX_EVENTS": {"start": 800, "end": 3000, "eventType": 59, "rangeId": 3, "category": 9, "color": 8, "text": "step",
                        "globalTid": pid | 112, "endGlobalTid": pid | 112, "textId": None, "domainId": 5, "uint64Value": 6}}),
        tables_less(path))


SAME = {"guid": "g", "nid": 1, "pid": 1}
WHERE = dict(SAME, tid=1, stream_id=1, queue_id=1, region_name_id=1, extdata="{}")
ROCPD = {
    "metadata": {"id": 1, "tag": "schema_version", "value": "3"},
    "string": {"id": [1, 2, 3], "guid": "g", "string": ["hipLaunchKernel", "HIP_RUNTIME_API", "MEMORY_COPY_HOST_TO_DEVICE"]},
    "info_node": {"id": 1, "guid": "g", "hostname": "machine"},
    "info_process": dict(SAME, id=1, ppid=55, pid=66, command="app"),
    "info_thread": dict(SAME, id=1, tid=67, name="worker"),
    "info_agent": dict(SAME, id=[1, 2], type=["CPU", "GPU"], absolute_index=[3, 4], logical_index=[5, 6],
                       name=["EPYC", "gfx942"], product_name="MI300X", vendor_name="AMD"),
    "info_queue": dict(SAME, id=1, name="Queue 3"), "info_stream": dict(SAME, id=1, name="Stream 7"),
    "info_kernel_symbol": dict(SAME, id=1, code_object_id=1, kernel_name="gemm.kd", display_name="gemm"),
    "event": {"id": [1, 2, 3, 4], "guid": "g", "category_id": 2, "stack_id": [5, 5, 7, 8], "parent_stack_id": 9,
              "correlation_id": 11, "call_stack": "{}", "line_info": "{}", "extdata": "{}"},
    "arg": {"id": 1, "guid": "g", "event_id": 1, "position": 1, "type": "size_t", "name": "size", "value": "5"},
    "region": dict(SAME, id=1, tid=1, start=1000, end=1100, name_id=1, event_id=1),
    "kernel_dispatch": dict(WHERE, id=1, agent_id=2, kernel_id=1, dispatch_id=5, start=1200, end=1300, private_segment_size=3,
                            group_segment_size=512, workgroup_size_x=64, workgroup_size_y=2, workgroup_size_z=3,
                            grid_size_x=256, grid_size_y=4, grid_size_z=6, event_id=2),
    "memory_copy": dict(WHERE, id=1, start=1400, end=1500, name_id=3, dst_agent_id=2, dst_address=7, src_agent_id=1,
                        src_address=8, size=4096, event_id=3),
    "memory_allocate": dict(WHERE, id=1, agent_id=2, type="ALLOC", level="REAL", start=1600, end=1700, address=9, size=4096,
                            event_id=4)}


def rocpd(folder):
    path = fill(os.path.join(folder, "rocpd.db"), {"rocpd_" + name: row for name, row in ROCPD.items()})
    deletions("rocpd", path, tables_less(path))


# ---- protobuf


def wire(tree):
    """A message of (number, value); a list is a message within."""
    return message(*((number, wire(value) if isinstance(value, list) else value) for number, value in tree))


def fields_less(tree):
    """(path, the message without this field), for every field of every message."""
    for at, (number, value) in enumerate(tree):
        yield "%d" % number, tree[:at] + tree[at + 1:]
        for path, less in fields_less(value) if isinstance(value, list) else ():
            yield "%d.%s" % (number, path), tree[:at] + [(number, less)] + tree[at + 1:]


def protobuf(folder, name, suffix, trees):
    def write_to(tree):
        def make(out):
            with open(out, "wb") as file:
                file.write(wire(tree))
        return make
    for at, tree in enumerate(trees):
        path = os.path.join(folder, "%s%d%s" % (name, at, suffix))
        write_to(tree)(path)
        deletions(name, path, [(what, write_to(less)) for what, less in fields_less(tree)])


def perfetto(folder):
    thread = [[(60, [(1, 10), (3, [(1, 77), (6, "prog")])])], [(60, [(1, 11), (5, 10), (4, [(1, 77), (2, 78), (5, "worker")])])],
              [(10, 1), (13, 1), (59, [(11, [(11, 11)])]), (12, [(1, [(1, 1), (2, "cat")]), (2, [(1, 1), (2, "work")]), (3, [(1, 1), (2, "arg")])])]]

    def at(time, *fields):
        return [(8, time), (10, 1), (13, 2), (11, list(fields))]
    slices = thread + [
        at(100, (9, 1), (3, 1), (10, 1), (4, [(1, 1), (4, 5)])), at(120, (9, 1), (23, "inner"), (22, "kernel"), (4, [(10, "bytes"), (3, 64)])),
        at(150, (9, 2), (4, [(10, "at_end"), (5, 0.5)])), at(200, (9, 2)), at(210, (9, 3), (23, "now"), (52, 9))]
    counters = thread + [[(60, [(1, 20), (2, "queue"), (8, [(3, 3), (4, 10)])])], at(300, (9, 4), (11, 20), (30, 7)), at(310, (9, 4), (11, 20), (30, 9))]
    old = [[(10, 3), (13, 1), (43, [(1, 5), (6, "old process")])], [(10, 3), (44, [(1, 5), (2, 6), (5, "old thread"), (6, 1000)])],
           [(8, 10), (10, 3), (11, [(6, [(2, ord("X")), (3, 3), (18, 8), (19, 9)]), (23, "old"), (22, "c")])],
           [(8, 30), (10, 3), (11, [(6, [(2, ord("b")), (6, 2)]), (23, "async"), (22, "c")])],
           [(8, 38), (10, 3), (11, [(6, [(2, ord("e")), (6, 2)]), (23, "async"), (22, "c")])]]
    gpu = [[(10, 1), (13, 1), (12, [(24, [(1, 5), (2, "compute queue")]), (24, [(1, 6), (2, "Dispatch")]), (1000, [(1, 3), (2, "gemm")]),
                                    (23, [(1, 8), (2, 42), (3, 4)])])],
           [(8, 100), (10, 1), (13, 2), (53, [(1, 1), (2, 30), (13, 5), (14, 6), (11, 1), (5, 8), (19, 3), (10, 12),
                                              (21, [(1, [(1, 4), (2, 2), (3, 3)]), (2, [(1, 64), (2, 5), (3, 6)])])])],
           [(8, 7), (52, [(1, [(1, [(1, 4), (2, "GPU busy")]), (2, [(1, 4), (3, 12.5)])])])], [(8, 9), (52, [(2, [(1, 4), (2, 20)]), (3, 1)])]]
    memory = thread + [[(8, 5), (10, 1), (9, [(1, [(1, 0), (2, 64)])])]]
    protobuf(folder, "perfetto", ".pftrace", [[(1, one) for one in packets] for packets in (slices, counters, old, gpu, memory)])


def xplane(folder):
    def entry(number, *parts):
        return [(1, number), (2, [(1, number), *parts])]
    names = ["correlation_id", "kernel_details", "memcpy_details", "memset_details", "device_vendor", "memory_size", "core_count", "process_id"]
    stats = [(5, entry(number, (2, name))) for number, name in enumerate(names, 1)]
    gpu = [(1, 9), (2, "/device:GPU:3"),
           (3, [(1, 7), (2, "Stream #7(Kernel,MemcpyH2D)"), (3, 1000),
                (4, [(1, 1), (2, 1999), (3, 2001), (4, [(1, 1), (3, 41)]), (4, [(1, 2), (5, "regs:32 grid:3,2,1 block:64,1,1 occ_pct:50")])]),
                (4, [(1, 2), (2, 5000), (3, 1500), (4, [(1, 1), (3, 42)]),
                     (4, [(1, 3), (5, "kind_src:pinned kind_dst:device size:4096 dest:1 async:1")])])]),
           (4, entry(1, (2, "kernel_a"))), (4, entry(2, (2, "MemcpyH2D"))), *stats,
           (6, [(1, 5), (5, "NVIDIA")]), (6, [(1, 6), (4, 1 << 34)]), (6, [(1, 7), (4, 108)])]
    host = [(1, 2), (2, "/host:CPU"),
            (3, [(1, 5), (2, "thread"), (3, 1000), (9, 123456), (10, 4), (11, "shown as this"),
                 (4, [(1, 3), (2, 10000), (3, 5000), (4, [(1, 1), (3, 41)])])]),
            (4, entry(3, (2, "cuLaunchKernel"), (4, "displayed"))), *stats, (6, [(1, 8), (4, 4711)])]
    protobuf(folder, "xplane", ".xplane.pb", [[(1, gpu), (1, host)]])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        numbers(made)
        backwards(made)
        chrome(made)
        nsys(made)
        rocpd(made)
        perfetto(made)
        xplane(made)
