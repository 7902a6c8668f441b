#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small databases of nsys, rocprofv3 (rocpd) and nvprof, damaged in every way of a fixed list: each message names the file and
the damage. No import crashes, hangs, or says that memory is exhausted."""
import itertools
import json
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile

TRACESMITH = os.environ["TRACESMITH"]
FOLDER = tempfile.mkdtemp()
PAGE = 512
PID = 1 << 48 | 111 << 24
STEP, SCHEMA_STEP = (1, 1) if os.environ.get("TRACESMITH_SOAK") else (89, 11) if os.environ.get("TRACESMITH_SANITIZE") else (23, 3)
counts = {"read": 0, "in part": 0, "refused": 0}


def check(right, *what):
    if not right:
        print("not true:", *what)
        sys.exit(1)


def begin(name):
    db = sqlite3.connect(os.path.join(FOLDER, name))
    db.execute("PRAGMA page_size = %d" % PAGE)
    return db


def make_nsys():
    db = begin("nsys.sqlite")
    db.execute("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)")
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", [(i, "name %d " % i + "x" * (i * 40)) for i in range(30)])
    db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, "
               "streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER)")
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, ?, ?)",
                   [(1000 + 10 * i, 1005 + 10 * i, i, PID, i % 30, i % 30) for i in range(60)])
    db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, "
               "correlationId INTEGER, nameId INTEGER, returnValue INTEGER)")
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?, 0)",
                   [(900 + 10 * i, 903 + 10 * i, PID | 111, i, i % 30) for i in range(60)])
    return finish(db, "nsys.sqlite")


def make_rocpd():
    db, of = begin("rocpd.db"), "_00000a12_3f5e_7c11_b0de_3a1c5a7d0001"
    tables = {"metadata": "tag, value", "string": "guid, string", "info_node": "guid, hostname",
              "info_process": "guid, nid, pid, command", "info_thread": "guid, nid, pid, tid, name",
              "info_agent": "guid, pid, type, absolute_index, name, model_name, vendor_name, product_name", "info_queue": "guid, pid, name",
              "info_stream": "guid, pid, name", "info_kernel_symbol": "guid, pid, kernel_name, display_name",
              "info_pmc": "guid, name, symbol, units", "track": "guid, nid, pid, tid, name_id",
              "arg": "guid, event_id, position, type, name, value", "pmc_event": "guid, event_id, pmc_id, value",
              "event": "guid, category_id, stack_id, parent_stack_id, correlation_id, call_stack, line_info, extdata",
              "region": "guid, nid, pid, tid, start, end, name_id, event_id, extdata",
              "kernel_dispatch": "guid, nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start, end, "
                                 "event_id, extdata"}
    for table, columns in tables.items():
        db.execute('CREATE TABLE "rocpd_%s%s" (id INTEGER PRIMARY KEY, %s)' % (
            table, of, ", ".join('"%s"' % name.strip() for name in columns.split(","))))

    def add(table, **values):
        return db.execute('INSERT INTO "rocpd_%s%s" (%s) VALUES (%s)' % (
            table, of, ", ".join('"%s"' % name for name in values), ", ".join("?" * len(values))), list(values.values())).lastrowid

    names = [add("string", string="name %d " % i + "x" * (i * 40)) for i in range(30)]
    node = add("info_node", hostname="machine")
    process = add("info_process", nid=node, pid=12, command="./app")
    thread = add("info_thread", nid=node, pid=process, tid=13, name="worker")
    agent = add("info_agent", pid=process, type="GPU", absolute_index=0, product_name="MI300X")
    queue, stream = add("info_queue", pid=process, name="Queue 3"), add("info_stream", pid=process, name="Stream 7")
    symbol = add("info_kernel_symbol", pid=process, kernel_name="k.kd", display_name="k")
    for i in range(40):
        event = add("event", category_id=names[i % 30], stack_id=i, parent_stack_id=0, correlation_id=0)
        add("region", nid=node, pid=process, tid=thread, start=1000 + 10 * i, end=1005 + 10 * i, name_id=names[i % 30],
            event_id=event)
        add("kernel_dispatch", nid=node, pid=process, tid=thread, agent_id=agent, kernel_id=symbol, dispatch_id=i,
            queue_id=queue, stream_id=stream, start=2000 + 10 * i, end=2004 + 10 * i, event_id=event)
    return finish(db, "rocpd.db")


def make_nvprof():
    db = begin("nvprof.db")
    db.execute("CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT)")
    db.executemany("INSERT INTO StringTable (value) VALUES (?)", [("name %d " % i * i,) for i in range(30)])
    db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, cbid INT, start INT, end INT)")
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (cbid, start, end) VALUES (1, ?, ?)",
                   [(10 * i, 10 * i + 5) for i in range(60)])
    return finish(db, "nvprof.db")


def finish(db, name):
    db.commit()
    db.close()
    return os.path.join(FOLDER, name)


# ---- damages: each yields a description and the bytes of a damaged database


def header_of(page):  # of a b-tree
    return 100 if page == 0 else 0


def varint(number):
    out = [number & 127]
    while number >> 7:
        number >>= 7
        out.append(number & 127 | 128)
    return bytes(reversed(out))


def truncations(data):
    for size in range(0, len(data), PAGE):
        yield "cut to %d bytes" % size, data[:size]
        yield "cut to %d bytes" % (size + 100), data[:size + 100]


def headers(data):
    """Every byte of the file's header and of the headers of pages, set to 0 and to 255, and with a bit flipped."""
    places = list(range(16, 100)) + [page * PAGE + header_of(page) + byte for page in range(len(data) // PAGE)
                                     for byte in range(12 if page < 12 else 6)]
    for at in places:
        for value in ({0, 255, data[at] ^ 1, data[at] ^ 8} if at < 1024 else {255, data[at] ^ 5}) - {data[at]}:
            yield "byte %d is %d" % (at, value), data[:at] + bytes([value]) + data[at + 1:]


def payloads(data):
    """The length of a row: the varint that begins a cell."""
    for page in range(len(data) // PAGE):
        at = page * PAGE + header_of(page)
        if data[at] != 13:  # a leaf of a table
            continue
        cells = struct.unpack(">H", data[at + 3:at + 5])[0]
        for cell in {0, cells - 1} if cells else ():
            pointer = at + 8 + 2 * cell
            cell_at = page * PAGE + struct.unpack(">H", data[pointer:pointer + 2])[0]
            for length in (1 << 20, (1 << 31) - 1, (1 << 32) - 1, 1 << 40, (1 << 49) - 1):
                new = varint(length)
                yield ("page %d: row %d has %d bytes" % (page, cell, length),
                       data[:cell_at] + new + data[cell_at + len(new):])


def serial_types(data):
    """The lengths of values in a row's header, which follows the payload's length and the row's number."""
    for page in range(len(data) // PAGE):
        at = page * PAGE + header_of(page)
        if data[at] != 13 or not struct.unpack(">H", data[at + 3:at + 5])[0]:
            continue
        cell_at = page * PAGE + struct.unpack(">H", data[at + 8:at + 10])[0]
        for offset in range(2, 9):
            for new in (varint((1 << 31) - 1), varint((1 << 49) - 1), b"\x7f", b"\x00"):
                begin_at = cell_at + offset
                yield ("page %d: %s at byte %d of a row" % (page, new.hex(), offset),
                       data[:begin_at] + new + data[begin_at + len(new):])


def schema_texts(data):
    """Text of the schema table: one letter after the other of each CREATE TABLE becomes something else."""
    for found in re.finditer(rb"CREATE TABLE", data[:PAGE * 12]):
        for offset in (0, 7, 12, 14, 20, 30, 40, 60):
            for new in (b"(", b"\x00", b"\xff", b"'", b")"):
                at = found.start() + offset
                yield "letter %d of a schema is %r" % (at, new), data[:at] + new + data[at + 1:]


def schemas(path):
    """What a schema may say instead: each statement runs with the schema writable."""
    db = sqlite3.connect(path)
    tables = [name for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")]
    db.close()
    columns = ", ".join("1 AS c%d" % i for i in range(900))
    for table in tables:
        quoted = '"%s"' % table
        view = ["CREATE TEMP TABLE old AS SELECT * FROM %s" % quoted, "DROP TABLE %s" % quoted]
        damages = {
            "a view of nothing": view + ["CREATE VIEW %s AS SELECT 1 AS start, 2 AS end" % quoted],
            "a recursive view": view + ["CREATE VIEW %s AS WITH RECURSIVE c(start) AS (SELECT 1 UNION ALL SELECT start + 1 "
                                        "FROM c) SELECT start, start AS end FROM c" % quoted],
            "a view of itself": view + ["CREATE VIEW %s AS SELECT * FROM %s" % (quoted, quoted)],
            "a view of huge values": view + ["CREATE VIEW %s AS SELECT zeroblob(2000000000) AS start, "
                                             "randomblob(1000000000) AS value" % quoted],
            "a view of many columns": view + ["CREATE VIEW %s AS SELECT %s" % (quoted, columns)],
            "a trigger": ["CREATE TRIGGER t AFTER INSERT ON %s BEGIN DELETE FROM %s; END" % (quoted, quoted)],
        }
        for what, sql in (("no sql", None), ("half a sql", "CREATE TABLE %s (" % quoted), ("another sql", "SELECT 1"),
                          ("a virtual table", "CREATE VIRTUAL TABLE %s USING fts5(a)" % quoted),
                          ("a damaged view", "CREATE VIEW %s AS SELEC" % quoted),
                          ("a view of SQL in a table", "CREATE VIEW %s AS SELECT 1" % quoted),
                          ("a deep expression", "CREATE TABLE %s (a CHECK (%s1%s))" % (quoted, "(" * 900, ")" * 900)),
                          ("a long text", "CREATE TABLE %s (a /*%s*/)" % (quoted, "x" * 2000000)),
                          ("many columns", "CREATE TABLE %s (%s)" % (quoted, ", ".join("c%d" % i for i in range(1999))))):
            damages[what] = [("UPDATE sqlite_master SET sql = ? WHERE name = ?", (sql, table))]
        for what, value in (("rootpage", 1), ("rootpage", 0), ("rootpage", -1), ("rootpage", 1 << 40), ("rootpage", "x"),
                            ("rootpage", 3), ("type", "view"), ("type", "index"), ("type", None), ("name", None),
                            ("name", b"\xff\x00"), ("tbl_name", "other"), ("name", "sqlite_stat1")):
            damages["%s is %r" % (what, value)] = [("UPDATE sqlite_master SET %s = ? WHERE name = ?" % what, (value, table))]
        for what, statements in damages.items():
            yield "%s: %s" % (table, what), changed(path, statements)


def changed(path, statements):
    copy = os.path.join(FOLDER, "changed")
    shutil.copy(path, copy)
    db = sqlite3.connect(copy, isolation_level=None)
    db.execute("PRAGMA writable_schema = ON")
    for statement in statements:
        db.execute(*(statement if isinstance(statement, tuple) else (statement,)))
    db.close()
    with open(copy, "rb") as file:
        return file.read()


def damages(path):
    with open(path, "rb") as file:
        data = file.read()
    for way in (truncations, headers, payloads, serial_types, schema_texts):
        yield from itertools.islice(way(data), 0, None, STEP)
    yield from itertools.islice(schemas(path), 0, None, SCHEMA_STEP)


# ---- the reports about them


def say(path, what, data):
    damaged = os.path.join(FOLDER, "damaged of " + os.path.basename(path))
    with open(damaged, "wb") as file:
        file.write(data)
    try:
        done = subprocess.run([TRACESMITH, "view", "-f", "json", damaged], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=60)
    except subprocess.TimeoutExpired:
        check(False, what, "is read for more than a minute")
    said = done.stderr.decode("utf-8", "replace")
    check(done.returncode in (0, 3), path, what, "gave", done.returncode, said)
    check("Sanitizer" not in said and "runtime error" not in said, path, what, said)
    losses = []
    if done.stdout:
        losses = [event.get("text", "") for event in json.loads(done.stdout)["events"] if event["kind"] == "loss"]
    check(done.stdout or done.returncode, path, what, "gives nothing, in silence")
    everything = said + "\n".join(losses)
    for word in ("memory", "malloc", "unknown error", "not an error", "no more rows", "SQL logic error"):
        check(word not in everything, path, what, "is reported as:", everything)
    if done.returncode:
        check(damaged in said, path, what, "names no file:", said)
        check(len(said.strip()) > len(damaged) + 20, path, what, said)
    counts["refused" if not done.stdout else "in part" if done.returncode or losses else "read"] += 1


def main():
    for path in (make_nsys(), make_rocpd(), make_nvprof()):
        done = subprocess.run([TRACESMITH, "view", "-f", "json", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check((done.returncode, b"lost" in done.stderr) == (3 if "nvprof" in path else 0, False), "the undamaged file", path,
              done.stderr.decode())
        for what, data in damages(path):
            say(path, what, data)
    print(counts)
    check(min(counts.values()) > (5 if STEP > 23 else 20), "few files of a kind", counts)


try:
    main()
finally:
    shutil.rmtree(FOLDER, ignore_errors=True)
