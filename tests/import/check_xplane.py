#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""XPlane traces: each is read here a second time, from the wire format on, and every event is compared with what the import
made of it, with its name, its line, its times in picoseconds and all its stats. Files: those made here, the corpus
(TRACESMITH_CORPUS), what JAX writes on this machine if it is installed, and the arguments."""
import collections
import glob
import gzip
import json
import os
import struct
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("TRACESMITH_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(SOURCE, "tests", "sbt"))
import sbt_reader  # noqa: E402
from perfetto_wire import event as perfetto_event, message, packet  # noqa: E402

KERNEL, MEMCPY, MEMSET, API, MARKER, RANGE, LOSS = 1, 2, 3, 6, 9, 10, 19
DIRECTIONS = {1: "h2d", 2: "d2h", 3: "d2d", 4: "h2h"}
FOLDER = tempfile.mkdtemp()


def fail(*what):
    print("not true:", *what)
    sys.exit(1)


def check(right, *what):
    if not right:
        fail(*what)


# ---- the second reader


def fields(data):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        elif tag & 7 == 1:
            yield tag >> 3, data[at:at + 8]
            at += 8
        elif tag & 7 == 2:
            length = varint()
            yield tag >> 3, data[at:at + length]
            at += length
        else:
            fail("wire type", tag & 7)


def one(data, number, otherwise=None):
    """The last value of a field, as protobuf has it."""
    for key, value in fields(data):
        if key == number:
            otherwise = value
    return otherwise


def signed(value):
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def text(data):
    return (data or b"").decode("utf-8", "surrogateescape")


def stats_of(data, number, stat_names):
    """The stats of a message as (name, value) pairs; bytes stay bytes."""
    out = {}
    for key, stat in fields(data):
        if key != number:
            continue
        name = stat_names.get(one(stat, 1, 0))
        for kind, value in fields(stat):
            if name is None or kind == 1:
                continue
            if kind == 2:
                value = struct.unpack("<d", value)[0]
            elif kind == 4:
                value = signed(value)
            elif kind == 5:
                value = text(value)
            elif kind == 7:
                value = stat_names.get(value, value)
            out[name] = value
    return out


def planes_of(path):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rb") as file:
        space = file.read()
    for key, plane in fields(space):
        if key != 1:
            continue
        stat_names = {one(e, 1, 0): text(one(one(e, 2, b""), 2)) for k, e in fields(plane) if k == 5}
        event_names = {one(e, 1, 0): one(e, 2, b"") for k, e in fields(plane) if k == 4}
        yield text(one(plane, 2)), plane, stat_names, event_names


def expected(path):
    out = collections.Counter()
    for _, plane, stat_names, event_names in planes_of(path):
        for key, line in fields(plane):
            if key != 3:
                continue
            where = text(one(line, 11)) or text(one(line, 2))
            for part, event in fields(line):
                if part != 4 or one(event, 5) is not None:
                    continue
                number = signed(one(event, 1, 0))
                named = event_names.get(number, b"")
                name = text(one(named, 2)) or text(one(named, 4)) or "event %d" % number
                own = stats_of(event, 4, stat_names)
                of_name = stats_of(named, 5, stat_names)
                if sum(len(v) + 4 for k, v in fields(named) if k == 5) > 4096:
                    of_name = {}
                out[where, name, one(line, 3, 0) * 1000 + signed(one(event, 2, 0)), signed(one(event, 3, 0)),
                    frozenset(own.items()), frozenset(of_name.items())] += 1
    return out


# ---- what the import made


def imported(path, code=0):
    sbt = os.path.join(FOLDER, "out.sbt")
    if os.path.exists(sbt):
        os.unlink(sbt)
    done = subprocess.run([os.environ["TRACESMITH"], "import", path, "-o", sbt], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=240)
    said = done.stdout.decode(errors="replace")
    check(done.returncode == code, path, "gave", done.returncode, said)
    if not os.path.exists(sbt):
        return [], {}, said
    with open(sbt, "rb") as file:
        _, dictionary, batches, _ = sbt_reader.read_trace(file.read())
    strings, tables = dictionary.strings, dictionary.tables
    names = {i: (strings[row[0]].decode("utf-8", "surrogateescape"), strings[row[1]].decode())
             for i, row in enumerate(tables[8][1:], sbt_reader.FIRST_DYNAMIC + 1)}
    events = []
    for frame, batch in batches:
        track = tables[4][frame.track]
        for row in range(batch.count):
            event = {"track": text(strings[track[2]]), "track_kind": track[0], "tid": track[6], "queue": track[8],
                     "device": text(strings[tables[3][track[4]][0]]) if track[4] else None,
                     "pid": tables[2][track[3]][0] if track[3] else None}
            for field, values in batch.columns.items():
                kind, value = batch.directory[field].type, values[row]
                if value is None:
                    continue
                if kind == sbt_reader.STRING:
                    value = strings[value]
                    blob = field in names and names[field][1].endswith("blob")
                    value = value if blob else text(value)
                elif kind == sbt_reader.F64:
                    value = struct.unpack("<d", struct.pack("<Q", value))[0]
                event[names.get(field, field)] = value
            events.append(event)
    attributes = {text(strings[key]): text(strings[value]) for key, value in tables[7][1:]}
    return events, attributes, said


def actual(events):
    out = collections.Counter()
    for event in events:
        if event[3] == LOSS:
            continue
        own = {key[0]: value for key, value in event.items() if isinstance(key, tuple) and key[1] in ("", "blob")}
        of_name = {key[0]: value for key, value in event.items()
                   if isinstance(key, tuple) and key[1].startswith("metadata")}
        if 5 in event:
            own["correlation_id"] = event[5]
        start = event[1] * 1000 + event.get(("start_rest", "ps"), 0)
        duration = event.get(2, 0) * 1000 + event.get(("duration_rest", "ps"), 0)
        out[event["track"], event[4], start, duration, frozenset(own.items()), frozenset(of_name.items())] += 1
    return out


def compare(path, code=0):
    events, attributes, said = imported(path, code)
    wanted, got = expected(path), actual(events)
    for what, count in (wanted - got).items():
        fail(path, "lacks", count, what, "\nand has", list((got - wanted).items())[:3])
    for what, count in (got - wanted).items():
        fail(path, "has too many", count, what)
    check(attributes["import.format"] == "xplane", attributes)
    check_about(path, attributes)
    print(os.path.basename(path), sum(wanted.values()), "events")
    return events, attributes, said


def check_about(path, attributes):
    """What describes planes, lines and names is all there."""
    for name, plane, stat_names, event_names in planes_of(path):
        about = json.loads(attributes["trace." + name])
        lines = [line for key, line in fields(plane) if key == 3]
        check(len(about["lines"]) == len(lines), name, about["lines"])
        for line, said in zip(lines, about["lines"]):
            check(said["id"] == signed(one(line, 1, 0)) and said["timestamp_ns"] == one(line, 3, 0), said)
        for key, value in stats_of(plane, 6, stat_names).items():
            check(about["stats"][key] == (value.hex() if isinstance(value, bytes) else value), name, key, about["stats"])
        if lines:
            continue
        for named in event_names.values():
            of_name = {key: value.hex() if isinstance(value, bytes) else value
                       for key, value in stats_of(named, 5, stat_names).items()}
            check(not of_name or {"name": text(one(named, 2)), "stats": of_name} in
                  [{k: v for k, v in e.items() if k in ("name", "stats")} for e in about["event_metadata"]], name)


# ---- files made here


def entry(number, *parts):
    return message((1, number), (2, message((1, number), *parts)))


def stat(number, kind, value):
    return message((1, number), (kind, value))


STATS = ["correlation_id", "kernel_details", "memcpy_details", "memset_details", "text", "whole", "natural", "real",
         "bytes", "reference", "referred to", "device_vendor", "memory_size", "core_count", "process_id", "step_num"]
ID = {name: number for number, name in enumerate(STATS, 1)}
STAT_NAMES = [(5, entry(number, (2, name))) for name, number in ID.items()]


def plane(number, name, lines, names, stats=()):
    return message((1, message((1, number), (2, name), *((3, line) for line in lines), *((4, e) for e in names), *STAT_NAMES,
                               *((6, s) for s in stats))))


def line(number, name, timestamp, events, *more):
    return message((1, number), (2, name), (3, timestamp), *((4, e) for e in events), *more)


def event(number, offset, duration, *stats):
    return message((1, number), (2, offset), (3, duration), *((4, s) for s in stats))


def sample():
    big = 1795375182925107177  # a time of 2026: its picoseconds do not fit in 64 bits
    gpu = plane(1, "/device:GPU:0", [
        line(7, "Stream #7(Kernel,MemcpyH2D)", big, [
            event(1, 1999, 2001, stat(ID["correlation_id"], 3, 41),
                  stat(ID["kernel_details"], 5, "regs:32 grid:3,2,1 block:64,1,1 occ_pct:50")),
            event(2, 5000, 1500, stat(ID["correlation_id"], 3, 42),
                  stat(ID["memcpy_details"], 5, "kind_src:pinned kind_dst:device size:4096 dest:0 async:1")),
            event(3, 9000, 10, stat(ID["memset_details"], 5, "kind:device size:77 async:1"))]),
        line(8, "Steps", big, [event(4, 0, 20000, stat(ID["step_num"], 4, 3))])],
        [entry(1, (2, "kernel_a")), entry(2, (2, "MemcpyH2D")), entry(3, (2, "Memset")), entry(4, (2, "3"))],
        [stat(ID["device_vendor"], 5, "NVIDIA"), stat(ID["memory_size"], 4, 1 << 34), stat(ID["core_count"], 4, 108)])
    fixed = message((1, ID["real"]), (2, 0.25))
    host = plane(2, "/host:CPU", [
        line(1 << 63 | 5, "thread", big, [
            event(1, -1, 1, stat(ID["text"], 5, "a\"b\\\u00e9"), stat(ID["whole"], 4, -5), stat(ID["natural"], 3, (1 << 64) - 1),
                  fixed, stat(ID["bytes"], 6, b"\0\xff\1"), stat(ID["reference"], 7, ID["referred to"])),
            event(2, 0, 0), event(3, 10, 5000, stat(ID["correlation_id"], 3, 41)), event(9, 4, 4),
            message((1, 1), (5, 17))], (9, 123456), (10, 4), (11, "shown as this"))],
        [entry(1, (2, "with stats"), (4, "displayed"), (5, stat(ID["text"], 5, "of the name")), (6, b"\2\3")),
         entry(2, (2, "instant")), entry(3, (2, "cuLaunchKernel"))], [stat(ID["process_id"], 4, 4711)])
    tpu = plane(3, "/device:TPU:0", [line(1, "XLA Ops", 5, [event(1, 0, 999), event(1, 999, 1)])],
                [entry(1, (2, "%fusion.1"), (4, "fusion.1"))])
    programs = plane(4, "/host:metadata", [], [entry(1, (2, "jit_f"), (3, b"\1\2"), (5, stat(ID["bytes"], 6, b"\xaa" * 5000)))])
    return gpu + host + tpu + programs + message((2, "a driver was too old"), (4, "machine"))


def find(events, **wanted):
    found = [e for e in events if all(e.get(int(k[1:]) if k[0] == "f" else k) == v for k, v in wanted.items())]
    check(len(found) == 1, wanted, found)
    return found[0]


def made():
    path = os.path.join(FOLDER, "made.xplane.pb")
    with open(path, "wb") as file:
        file.write(sample())
    events, attributes, said = compare(path)
    kernel = find(events, f4="kernel_a", f3=KERNEL)
    check([kernel.get(k) for k in (14, 15, 16, 17, 18, 19)] == [192, 2, 1, 64, 1, 1], kernel)
    check(kernel["queue"] == 7 and kernel["device"] == "/device:GPU:0" and kernel[5] == 41, kernel)
    copy = find(events, f3=MEMCPY)
    check(DIRECTIONS[copy[12]] == "h2d" and copy[13] == 4096, copy)
    check(find(events, f3=MEMSET)[13] == 77, "memset")
    check(find(events, f4="3", f3=RANGE)["track_kind"] == 7, "steps are ranges of a row of their own")
    check(find(events, f4="cuLaunchKernel", f3=API)[5] == 41, "the call has its kernel's correlation")
    # An event inside another in picoseconds is still inside it in nanoseconds: begin and end are rounded down.
    check(kernel[2] == (1999 + 2001) // 1000 - 1, kernel)
    check(find(events, f4="instant")[3] == MARKER, "an instant")
    check(find(events, f4="with stats")["pid"] == 4711 and find(events, f4="with stats")[34] == "displayed", "process")
    check(len([e for e in events if e["device"] == "/device:TPU:0" and e[3] == KERNEL]) == 2, "operations of a TPU")
    losses = " ".join(e.get(34, "") for e in events if e[3] == LOSS)
    for what in ("1 events that have a count instead of a time", "1 numbers of names", "a driver was too old"):
        check(what in losses, what, losses)
    packed = path + ".gz"
    with gzip.open(packed, "wb") as file:
        file.write(sample())
    compare(packed)


def cut_short():
    """Whatever is missing at the end: what came before is read, and the import says that it is not all."""
    whole = sample()
    path = os.path.join(FOLDER, "cut.pb")
    ends, at = {len(whole)}, 0
    while at < len(whole):  # behind each plane the file may end
        length, head = 0, at + 1
        while whole[head] >= 128:
            head += 1
        for i in range(head, at, -1):
            length = length << 7 | whole[i] & 127
        at = head + 1 + length
        ends.add(at)
    for length in range(20, len(whole), 97):
        with open(path, "wb") as file:
            file.write(whole[:length])
        events, _, said = imported(path, 0 if length in ends else 3)
        check(length in ends or "ends early" in " ".join(e.get(34, "") for e in events if e[3] == LOSS), length, said)


def refused(data, *texts):
    path = os.path.join(FOLDER, "other.pb")
    with open(path, "wb") as file:
        file.write(data)
    done = subprocess.run([os.environ["TRACESMITH"], "import", path, "-o", os.path.join(FOLDER, "no.sbt")],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    said = done.stdout.decode(errors="replace")
    check(done.returncode == 3 and all(t in said for t in texts), done.returncode, said)


def strict():
    """Protobuf that begins as these do and is something else."""
    # pprof: sample_type {type, unit} is a message of two numbers.
    refused(message((1, message((1, 1), (2, 2))), (1, message((1, 3), (2, 4))), (2, message((1, 1)))), "is a pprof profile")
    # Two messages in one packet are no packet; a plane without a name is none.
    refused(message((1, message((60, message((1, 1))), (6, message((1, 1)))))), "no trace")
    # A name that is also a message: neither is chosen.
    refused(message((1, message((2, "x1")))), "could be a Perfetto trace or an XPlane trace")
    # A Perfetto trace is one still.
    path = os.path.join(FOLDER, "real.pftrace")
    with open(path, "wb") as file:
        file.write(packet((60, message((1, 11), (2, "t")))) + perfetto_event(1, [(9, 3), (23, "one"), (11, 11)]))
    events, attributes, _ = imported(path)
    check(attributes["import.format"] == "perfetto", attributes)


JAX = """
import sys, jax, jax.numpy as jnp
f = jax.jit(lambda x: jnp.sin(x) @ x)
x = jnp.ones((64, 64))
f(x).block_until_ready()
with jax.profiler.trace(sys.argv[1]):
    for step in range(20):
        with jax.profiler.StepTraceAnnotation("a step", step_num=step):
            f(x).block_until_ready()
"""


def jax():
    """A foreign file; the program's own count of steps is in it."""
    python = os.environ.get("TRACESMITH_JAX_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import jax"], stderr=subprocess.DEVNULL).returncode:
        print("jax is not installed: its own file is left out")
        return
    folder = os.path.join(FOLDER, "jax")
    subprocess.run([python, "-c", JAX, folder], check=True, stderr=subprocess.DEVNULL, timeout=300,
                   env={**os.environ, "JAX_PLATFORMS": "cpu"})
    path, = glob.glob(os.path.join(folder, "**", "*.xplane.pb"), recursive=True)
    events, _, _ = compare(path)
    steps = sorted(e["step_num", ""] for e in events if e.get(4) == "a step")
    check(steps == list(range(20)), steps)


for case in (made, cut_short, strict, jax):
    case()
    print(case.__name__)
for path in sys.argv[1:] + sorted(glob.glob(os.path.join(os.environ.get("TRACESMITH_CORPUS") or "/nowhere", "*.xplane.pb"))):
    compare(path)
