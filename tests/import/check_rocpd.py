#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rocpd databases (rocprofv3): made here by the documented schema, imported, and every event compared with what SQLite says
of the rows, the times to the nanosecond. One of them holds the dispatches of a real run (TRACESMITH_CORPUS, rocprofv3
JSON)."""
import collections
import glob
import gzip
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile

TRACESMITH = os.environ["TRACESMITH"]
FOLDER = tempfile.mkdtemp()
A, B = "_00000a12_3f5e_7c11_b0de_3a1c5a7d0001", "_00000a13_3f5e_7c11_b0de_3a1c5a7d0002"

# Schema 3.0.1: columns of each table; all have "extdata" but the first.
TABLES = {
    "metadata": "tag, value", "string": "guid, string",
    "info_node": "guid, hash, machine_id, system_name, hostname, release, version, hardware_name, domain_name",
    "info_process": "guid, nid, ppid, pid, init, fini, start, end, command, environment, extdata",
    "info_thread": "guid, nid, ppid, pid, tid, name, start, end, extdata",
    "info_agent": "guid, nid, pid, type, absolute_index, logical_index, type_index, uuid, name, model_name, vendor_name, "
                  "product_name, user_name, extdata",
    "info_queue": "guid, nid, pid, name, extdata", "info_stream": "guid, nid, pid, name, extdata",
    "info_pmc": "guid, nid, pid, agent_id, target_arch, event_code, instance_id, name, symbol, description, units, extdata",
    "info_code_object": "guid, nid, pid, agent_id, uri, load_base, load_size, load_delta, storage_type, extdata",
    "info_kernel_symbol": "guid, nid, pid, code_object_id, kernel_name, display_name, extdata",
    "track": "guid, nid, pid, tid, name_id, extdata",
    "event": "guid, category_id, stack_id, parent_stack_id, correlation_id, call_stack, line_info, extdata",
    "arg": "guid, event_id, position, type, name, value, extdata", "pmc_event": "guid, event_id, pmc_id, value, extdata",
    "region": "guid, nid, pid, tid, start, end, name_id, event_id, extdata",
    "sample": "guid, track_id, timestamp, event_id, extdata",
    "kernel_dispatch": "guid, nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start, end, "
                       "private_segment_size, group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z, "
                       "grid_size_x, grid_size_y, grid_size_z, region_name_id, event_id, extdata",
    "memory_copy": "guid, nid, pid, tid, start, end, name_id, dst_agent_id, dst_address, src_agent_id, src_address, size, "
                   "queue_id, stream_id, region_name_id, event_id, extdata",
    "memory_allocate": "guid, nid, pid, tid, agent_id, type, level, start, end, address, size, queue_id, stream_id, "
                       "event_id, extdata",
}


def fail(*what):
    print("not true:", *what)
    sys.exit(1)


def check(right, *what):
    if not right:
        fail(*what)


class Writer:
    """One process's tables in a file."""

    def __init__(self, connection, suffix, pid):
        self.connection, self.suffix, self.strings = connection, suffix, {}
        for table, columns in TABLES.items():
            names = ", ".join('"%s"' % c.strip() for c in columns.split(","))
            connection.execute('CREATE TABLE "rocpd_%s%s" (id INTEGER PRIMARY KEY, %s)' % (table, suffix, names))
        self.add("metadata", tag="schema_version", value="3")
        node = self.add("info_node", hostname="machine-of-%d" % pid)
        self.process = self.add("info_process", nid=node, pid=pid, command="./app --of %d" % pid)
        self.thread = self.add("info_thread", nid=node, pid=self.process, tid=pid + 1, name="worker")
        self.cpu = self.add("info_agent", pid=self.process, type="CPU", absolute_index=0, name="EPYC")
        self.gpu = [self.add("info_agent", pid=self.process, type="GPU", absolute_index=n + 1, product_name="MI300X",
                             vendor_name="AMD") for n in range(2)]
        self.queue = self.add("info_queue", pid=self.process, name="Queue 3")
        self.stream = self.add("info_stream", pid=self.process, name="Stream 7")

    def add(self, table, **values):
        if "extdata" in TABLES[table] and "extdata" not in values:
            values["extdata"] = "{}"
        if table == "event":
            values = {"call_stack": "{}", "line_info": "{}", **values}
        return self.connection.execute('INSERT INTO "rocpd_%s%s" (%s) VALUES (%s)' % (
            table, self.suffix, ", ".join('"%s"' % k for k in values), ", ".join("?" * len(values))),
            list(values.values())).lastrowid

    def text(self, text):
        if text not in self.strings:
            self.strings[text] = self.add("string", string=text)
        return self.strings[text]

    def event(self, category, stack, parent=0, **more):
        return self.add("event", category_id=self.text(category), stack_id=stack, parent_stack_id=parent,
                        correlation_id=0, **more)

    def region(self, category, name, start, end, stack, args=(), **more):
        event = self.event(category, stack, **more)
        for position, (kind, arg, value) in enumerate(args):
            self.add("arg", event_id=event, position=position, type=kind, name=arg, value=value)
        self.add("region", nid=1, pid=self.process, tid=self.thread, start=start, end=end, name_id=self.text(name),
                 event_id=event)

    def kernel(self, name, start, end, stack, grid=(256, 2, 1), group=(64, 1, 1), gpu=0, counters=(), queue=None):
        symbol = self.add("info_kernel_symbol", pid=self.process, code_object_id=1, kernel_name=name + ".kd",
                          display_name=name)
        event = self.event("KERNEL_DISPATCH", stack)
        for pmc, value in counters:
            self.add("pmc_event", event_id=event, pmc_id=pmc, value=value)
        self.add("kernel_dispatch", nid=1, pid=self.process, tid=self.thread, agent_id=self.gpu[gpu], kernel_id=symbol,
                 dispatch_id=stack, queue_id=queue or self.queue, stream_id=self.stream, start=start, end=end,
                 private_segment_size=0, group_segment_size=512, workgroup_size_x=group[0], workgroup_size_y=group[1],
                 workgroup_size_z=group[2], grid_size_x=grid[0], grid_size_y=grid[1], grid_size_z=grid[2],
                 region_name_id=self.text("step"), event_id=event)


def fill(path, parts):
    if os.path.exists(path):
        os.unlink(path)
    connection = sqlite3.connect(path)
    writers = [Writer(connection, suffix, pid) for suffix, pid in parts]
    for number, w in enumerate(writers):
        at = 10 ** 18 + number * 1000
        pmc = [w.add("info_pmc", name="SQ_WAVES", symbol="SQ_WAVES"), w.add("info_pmc", name="GRBM_COUNT", symbol="")]
        w.region("HIP_RUNTIME_API", "hipLaunchKernel", at, at + 90, 5,
                 [("const void*", "function_address", "0x7f00"), ("size_t", "sharedMemBytes", "0"), ("", "plain", "\u00e9")])
        w.region("MARKER_CORE_API", "my range", at - 10, at + 500, 0)
        w.region("MARKER_CORE_API", "my mark", at + 7, at + 7, 0)

        w.kernel("vector_add(float*)", at + 100, at + 1334, 5, counters=[(pmc[0], 64.0), (pmc[1], 0.5), (pmc[0], 32.0)])
        w.kernel("reduce", at + 1400, at + 1407, 6, (1000, 1, 1), (256, 1, 1), gpu=1)
        for name, size, to, source, where in (("MEMORY_COPY_HOST_TO_DEVICE", 4096, w.gpu[0], w.cpu, w.queue),
                                              ("MEMORY_COPY_DEVICE_TO_HOST", 77, w.cpu, w.gpu[1], None),
                                              ("MEMORY_COPY_DEVICE_TO_DEVICE", 5, w.gpu[0], w.gpu[1], None)):
            w.add("memory_copy", nid=1, pid=w.process, tid=w.thread, start=at + 50, end=at + 60, name_id=w.text(name),
                  dst_agent_id=to, src_agent_id=source, dst_address=1, src_address=2, size=size, queue_id=where,
                  stream_id=where and w.stream, event_id=w.event("MEMORY_COPY", 7))
        for kind, size in (("ALLOC", 4096), ("FREE", 0)):
            w.add("memory_allocate", nid=1, pid=w.process, tid=w.thread, agent_id=w.gpu[0], type=kind, level="REAL",
                  start=at, end=at + 1, address=-(1 << 62), size=size, event_id=w.event("MEMORY_ALLOCATION", 8))
        track = w.add("track", nid=1, pid=w.process, tid=w.thread, name_id=w.text("GPU power"))
        for step in range(3):
            event = w.event("rocm_smi", 0)
            w.add("pmc_event", event_id=event, pmc_id=pmc[1], value=100.25 + step)
            w.add("sample", track_id=track, timestamp=at + step * 10, event_id=event)
    connection.commit()
    connection.close()
    return path


# ---- what the import made


def view(path, code=0):
    done = subprocess.run([TRACESMITH, "view", "-f", "json", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=240)
    check(done.returncode == code, path, "gave", done.returncode, done.stderr.decode())
    return json.loads(done.stdout) if done.stdout else None, done.stderr.decode()


def all_events(document):
    tracks = {t["id"]: t for t in document["tracks"]}
    processes = {p["id"]: p for p in document["processes"]}
    devices = {d["id"]: d for d in document["devices"]}
    for event in document["events"]:
        track = tracks[event["track"]]
        yield dict(event.get("args", {}), **event, where=track, pid=processes[track["process"]]["pid"] if track["process"] else None,
                   device=devices[track["device"]] if track["device"] else None)


def rows(path, sql):
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    found = []
    for suffix, in connection.execute("SELECT substr(name, 19) FROM sqlite_master WHERE name LIKE 'rocpd_info_process%'"):
        found += connection.execute(sql.replace("{}", suffix)).fetchall()
    connection.close()
    return found


def compare(path, document):
    """Kernels, calls, copies, allocations and counter values, each with its name, times, process and correlation."""
    events = list(all_events(document))
    wanted = collections.Counter(tuple(r) for r in rows(path, """
        SELECT 'kernel', s.display_name, k.start, k.end - k.start, p.pid, nullif(e.stack_id, 0), k.grid_size_x,
               k.workgroup_size_x FROM "rocpd_kernel_dispatch{}" k JOIN "rocpd_info_kernel_symbol{}" s ON s.id = k.kernel_id
               JOIN "rocpd_info_process{}" p ON p.id = k.pid JOIN "rocpd_event{}" e ON e.id = k.event_id"""))
    wanted += collections.Counter(tuple(r) for r in rows(path, """
        SELECT CASE WHEN c.string LIKE 'MARKER%' THEN iif(r.end = r.start, 'marker', 'range') ELSE 'api' END, s.string,
               r.start, nullif(r.end - r.start, 0), p.pid, nullif(e.stack_id, 0), NULL, NULL FROM "rocpd_region{}" r
               JOIN "rocpd_string{}" s ON s.id = r.name_id JOIN "rocpd_info_process{}" p ON p.id = r.pid
               JOIN "rocpd_event{}" e ON e.id = r.event_id JOIN "rocpd_string{}" c ON c.id = e.category_id"""))
    wanted += collections.Counter(tuple(r) for r in rows(path, """
        SELECT 'memcpy', s.string, m.start, m.end - m.start, p.pid, nullif(e.stack_id, 0), m.size, NULL
               FROM "rocpd_memory_copy{}" m JOIN "rocpd_string{}" s ON s.id = m.name_id
               JOIN "rocpd_info_process{}" p ON p.id = m.pid JOIN "rocpd_event{}" e ON e.id = m.event_id"""))
    got = collections.Counter()
    for e in events:
        if e["kind"] in ("kernel", "api", "range", "marker", "memcpy"):
            third = e["bytes"] if e["kind"] == "memcpy" else e.get("global_x")
            got[e["kind"], e["name"], e["start"], e.get("duration"), e["pid"], e.get("correlation"), third,
                e.get("local_x")] += 1
    for what, count in ((wanted - got) + (got - wanted)).items():
        fail(path, count, what, "in the file", wanted[what], "imported", got[what])
    values = collections.Counter((r[0], r[1]) for r in rows(path, """
        SELECT s.timestamp, v.value FROM "rocpd_sample{}" s JOIN "rocpd_pmc_event{}" v ON v.event_id = s.event_id"""))
    check(values == collections.Counter((e["start"], e["value"]) for e in events if e["kind"] == "counter"), "counters")
    return events


def one(events, **wanted):
    found = [e for e in events if all(e.get(k) == v for k, v in wanted.items())]
    check(len(found) == 1, wanted, found)
    return found[0]


def two_processes():
    path = fill(os.path.join(FOLDER, "merged.db"), [(A, 4001), (B, 4002)])
    document, _ = view(path)
    events = compare(path, document)
    check(sorted(p["pid"] for p in document["processes"]) == [4001, 4002], document["processes"])
    check(document["processes"][0]["host"] == "machine-of-4001", document["processes"])
    check(not any(e["kind"] == "loss" for e in events), [e for e in events if e["kind"] == "loss"])
    kernel = one(events, name="vector_add(float*)", pid=4001)
    check([kernel.get(k) for k in ("global_x", "global_y", "local_x")] == [256, 2, 64], kernel)
    check(kernel["device"]["name"] == "MI300X" and kernel["where"]["kind"] == "queue", kernel)
    check("Stream 7" in kernel["where"]["name"], kernel["where"])
    check(kernel["SQ_WAVES"] == 64 and kernel["SQ_WAVES #2"] == 32 and kernel["GRBM_COUNT"] == 0.5, kernel)
    check(kernel["region"] == "step" and kernel["group_segment_size"] == 512, kernel)
    call = one(events, name="hipLaunchKernel", pid=4002)
    check(call["function_address"] == "0x7f00" and call["sharedMemBytes"] == "0" and call["plain"] == "\u00e9", call)
    check(call["where"]["tid"] == 4003 and call["correlation"] == 5, call)
    directions = [e["direction"] for e in events if e["kind"] == "memcpy" and e["pid"] == 4001]
    check(sorted(directions) == ["d2h", "h2d", "p2p"], directions)
    check(one(events, kind="alloc", pid=4001)["bytes"] == 4096 and "bytes" not in one(events, kind="free", pid=4001), "free")
    check(one(events, kind="alloc", pid=4001)["object"] == (1 << 64) - (1 << 62), "address")
    with open(path, "rb") as file, gzip.open(path + ".gz", "wb") as packed:
        packed.write(file.read())
    compare(path, view(path + ".gz")[0])


def real_dispatches():
    """The dispatches of a real run, carried from JSON into a database, give what the JSON gives."""
    found = glob.glob(os.path.join(os.environ.get("TRACESMITH_CORPUS") or "/nowhere", "rocprof_*.json.gz"))
    if not found:
        print("no corpus: left out")
        return
    with gzip.open(found[0]) as file:
        tool, = json.load(file)["rocprofiler-sdk-tool"]
    path = os.path.join(FOLDER, "real.db")
    connection = sqlite3.connect(path)
    w = Writer(connection, A, tool["metadata"]["pid"])
    names = {s["kernel_id"]: s["formatted_kernel_name"] for s in tool["kernel_symbols"]}
    symbols = {}
    dispatches = tool["buffer_records"]["kernel_dispatch"]
    for record in dispatches:
        info = record["dispatch_info"]
        kernel = info["kernel_id"]
        if kernel not in symbols:
            symbols[kernel] = w.add("info_kernel_symbol", pid=w.process, code_object_id=1, kernel_name="",
                                    display_name=names[kernel])
        group, grid = info["workgroup_size"], info["grid_size"]
        w.add("kernel_dispatch", nid=1, pid=w.process, tid=w.thread, agent_id=w.gpu[0], kernel_id=symbols[kernel],
              dispatch_id=info["dispatch_id"], queue_id=w.queue, stream_id=w.stream, start=record["start_timestamp"],
              end=record["end_timestamp"], workgroup_size_x=group["x"], workgroup_size_y=group["y"],
              workgroup_size_z=group["z"], grid_size_x=grid["x"], grid_size_y=grid["y"], grid_size_z=grid["z"],
              event_id=w.event("KERNEL_DISPATCH", record["correlation_id"]["internal"]))
    connection.commit()
    connection.close()
    events = compare(path, view(path)[0])
    wanted = collections.Counter((names[r["dispatch_info"]["kernel_id"]], r["start_timestamp"],
                                  r["end_timestamp"] - r["start_timestamp"]) for r in dispatches)
    got = collections.Counter((e["name"], e["start"], e["duration"]) for e in events if e["kind"] == "kernel")
    check(wanted == got and len(dispatches) > 40000, len(dispatches), sum(got.values()))


def damaged():
    """Whatever is damaged: it is read, or refused, or what is missing is said; never a signal."""
    path = fill(os.path.join(FOLDER, "whole.db"), [(A, 4001)])
    with open(path, "rb") as file:
        whole = file.read()
    chance = random.Random(1)
    codes = collections.Counter()
    for i in range(150):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 1, 8))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        if i % 5 == 0:
            del data[chance.randrange(100, len(data)):]
        with open(path, "wb") as file:
            file.write(data)
        done = subprocess.run([TRACESMITH, "import", path, "-o", os.path.join(FOLDER, "out.sbt")],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        codes[done.returncode] += 1
        check(done.returncode in (0, 3), i, done.returncode, done.stderr.decode())
        check(b"out of memory" not in done.stderr, i, done.stderr.decode())
    check(codes[3] > 0, codes)


def refused():
    """Databases of others are named, with what to do; one that could be two things is read as neither."""
    for tables, texts in (
            (["rocpd_info_process_1 (id)", "rocpd_string_1 (id)", "rocpd_event_1 (id)", "META_DATA_EXPORT (name, value)"],
             ["nsys", "rocpd", "not read as either"]),
            (["CUPTI_ACTIVITY_KIND_KERNEL (_id_, start, end)", "CUPTI_ACTIVITY_KIND_RUNTIME (_id_, start, end)",
              "StringTable (_id_, value)"], ["nvprof", "tracesmith profile"]),
            (["rocpd_api (id, start)", "rocpd_op (id)", "rocpd_string (id)"], ["rocmProfileData", "rpd2tracing.py"]),
            (["CANN_API (startNs)", "STRING_IDS (id, value)"], ["msprof"]),
            (["cookies (name)"], ["neither an export of nsys nor a trace of rocprofv3"])):
        path = os.path.join(FOLDER, "other.db")
        if os.path.exists(path):
            os.unlink(path)
        connection = sqlite3.connect(path)
        for table in tables:
            connection.execute("CREATE TABLE " + table.replace("end)", '"end")'))
        connection.commit()
        connection.close()
        _, said = view(path, 3)
        check(all(text in said for text in texts), texts, said)


for case in (two_processes, real_dispatches, damaged, refused):
    case()
    print(case.__name__)
