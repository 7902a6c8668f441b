#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Perfetto traces as other programs write them: made here field by field, imported, and every event compared with what
it was made to be (as tests/sbt/sbt_reader.py reads it)."""
import gzip
import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib

SOURCE = os.environ.get("TRACESMITH_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(SOURCE, "tests", "sbt"))
import sbt_reader  # noqa: E402
from perfetto_wire import event, fixed64, message, packet, varint  # noqa: E402

KERNEL, MARKER, RANGE, COUNTER, LOSS, FLOW = 1, 9, 10, 12, 19, 22
NAMES = {1: "start", 2: "duration", 3: "kind", 4: "name", 5: "correlation", 13: "bytes", 14: "global_x", 15: "global_y",
         17: "local_x", 18: "local_y", 32: "value", 33: "category", 34: "text", 35: "lost", 36: "reason"}


BEGIN, END, INSTANT, COUNT = ((9, n) for n in (1, 2, 3, 4))


# ---- reading


def read(path):
    with open(path, "rb") as file:
        _, dictionary, events, _ = sbt_reader.read_trace(file.read())
    strings, tables = dictionary.strings, dictionary.tables
    dynamic = {i: strings[row[0]].decode() for i, row in enumerate(tables[8][1:], sbt_reader.FIRST_DYNAMIC + 1)}
    out = []
    for frame, batch in events:
        track = tables[4][frame.track]
        where = {"track": strings[track[2]].decode(), "track_kind": track[0], "tid": track[6],
                 "pid": tables[2][track[3]][0] if track[3] else None,
                 "process": strings[tables[2][track[3]][3]].decode() if track[3] else None,
                 "device": strings[tables[3][track[4]][0]].decode() if track[4] else None}
        for row in range(batch.count):
            one = dict(where)
            for field, values in batch.columns.items():
                kind, value = batch.directory[field].type, values[row]
                if value is None:
                    continue
                if kind == sbt_reader.STRING:
                    value = strings[value].decode("utf-8", "surrogateescape")
                elif kind == sbt_reader.F64:
                    value = struct.unpack("<d", struct.pack("<Q", value))[0]
                one[NAMES.get(field) or dynamic.get(field, field)] = value
            out.append(one)
    attributes = {strings[key].decode(): strings[value].decode() for key, value in tables[7][1:]}
    return out, attributes


FOLDER = tempfile.mkdtemp()


def trace(data, code=0, name="trace"):
    path, sbt = os.path.join(FOLDER, name), os.path.join(FOLDER, name + ".sbt")
    if os.path.exists(sbt):
        os.unlink(sbt)
    with open(path, "wb") as file:
        file.write(data)
    done = subprocess.run([os.environ["TRACESMITH"], "import", path, "-o", sbt], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=120)
    if done.returncode != code:
        fail("import gave", done.returncode, "instead of", code, done.stdout.decode(errors="replace"))
    return read(sbt)


def command(*arguments):
    return subprocess.run([os.environ["TRACESMITH"], *arguments], stdout=subprocess.PIPE, check=True, timeout=120).stdout


def fail(*what):
    print("not true:", *what)
    sys.exit(1)


def has(events, **wanted):
    """The one event with these values; a value of None: it has none."""
    found = [e for e in events if all(e.get(key) == value for key, value in wanted.items())]
    if len(found) != 1:
        fail(len(found), "events have", wanted, "of", *("\n   " + repr(e) for e in events))
    return found[0]


def lost(events, text):
    return [e for e in events if e["kind"] == LOSS and text in e["text"]]


PROCESS = packet((60, message((1, 10), (3, message((1, 77), (6, "prog"))))))
THREAD = packet((60, message((1, 11), (5, 10), (4, message((1, 77), (2, 78), (5, "worker"))))))
INTERNED = message((1, message((1, 1), (2, "cat"))), (2, message((1, 1), (2, "work"))),
                   (3, message((1, 1), (2, "arg"))), (29, message((1, 1), (2, "text"))))
START = packet((10, 1), (13, 1), (59, message((11, message((11, 11))))), (12, INTERNED))


# ---- cases


def slices():
    data = PROCESS + THREAD + START
    data += event(100, [BEGIN, (3, 1), (10, 1), (4, message((1, 1), (4, -5)))], 1, (13, 2))
    data += event(120, [BEGIN, (23, "inner"), (22, "a"), (22, "b"), (4, message((10, "t"), (17, 1)))], 1, (13, 2))
    data += event(150, [END, (4, message((10, "at_end"), (5, 0.5)))], 1, (13, 2))
    data += event(200, [END], 1, (13, 2))
    data += event(130, [INSTANT, (23, "now"), (52, 9), (4, message((10, "bytes"), (3, 4096)))], 1)
    data += event(140, [INSTANT, (23, "flow")], 1, extra=fixed64(47, 5) + fixed64(48, 6))
    data += event(300, [BEGIN, (23, "open")])
    data += event(310, [END, (11, 99)])
    events, attributes = trace(data)
    at = {"track": "worker", "tid": 78, "pid": 77, "process": "prog", "track_kind": 1}
    has(events, start=100, duration=100, name="work", category="cat", kind=RANGE, arg=-5, **at)
    has(events, start=120, duration=30, name="inner", category="a,b", t="text", at_end=0.5, **at)
    has(events, start=130, duration=None, name="now", kind=MARKER, correlation=9, bytes=4096)
    has(events, name="flow", flow_ids=[5], terminating_flow_ids=[6])
    has(events, start=300, duration=None, name="open")
    if attributes["import.format"] != "perfetto" or attributes["import.no_end"] != "1" or \
            attributes["import.no_begin"] != "1" or len(events) != 5:
        fail(attributes, events)


def nested_annotations():
    array = message((10, "a"), (12, message((4, 1))), (12, message((5, 0.25))), (12, message((6, 'q"\xff'))))
    both = message((10, "d"), (11, array), (11, message((10, "flag"), (2, 1))))
    old = message((10, "n"), (8, message((1, 1), (2, "k"), (3, message((5, 3))))))
    events, _ = trace(THREAD + START + event(1, [INSTANT, (4, both), (4, old), (4, message((10, "j"), (9, "[1]")))]))
    has(events, start=1, d='{"a":[1,0.25,"q\\"\u00ff"],"flag":true}'.replace('\\"', '\\u0022'), n='{"k":3}', j="[1]")


def clocks():
    """Incremental time of a sequence, another clock, and an unknown one."""
    def snapshot(sequence, *clocks, primary=()):
        return packet((10, sequence), (6, message(*((1, message(*clock)) for clock in clocks), *primary)))
    data = THREAD + START
    data += snapshot(1, [(1, 64), (2, 1000), (3, 1)], [(1, 6), (2, 5000)], [(1, 3), (2, 700)])
    data += packet((10, 1), (59, message((58, 64), (11, message((11, 11))))))
    data += event(10, [INSTANT, (23, "one")]) + event(5, [INSTANT, (23, "two")])
    data += event(800, [INSTANT, (23, "mono")], 1, (58, 3)) + event(9, [INSTANT, (23, "abs")], 1, (58, 6))
    data += snapshot(1, [(1, 3), (2, 2000)], [(1, 6), (2, 6400)])
    data += event(2001, [INSTANT, (23, "later")], 1, (58, 3))
    data += event(123, [INSTANT, (23, "who")], 1, (58, 4))
    # Microseconds on a clock of its own unit.
    data += snapshot(2, [(1, 65), (2, 3), (4, 1000)], [(1, 6), (2, 100000)])
    data += event(5, [INSTANT, (23, "us"), (11, 11)], 2, (58, 65))
    events, attributes = trace(data)
    for name, start in (("one", 5010), ("two", 5015), ("mono", 5100), ("abs", 9), ("later", 6401), ("who", 123),
                        ("us", 102000)):
        has(events, name=name, start=start)
    if attributes["import.no_clock"] != "1":
        fail(attributes)
    events, _ = trace(THREAD + snapshot(1, [(1, 1), (2, 50)], [(1, 6), (2, 10)], primary=[(2, 1)]) +
                      event(11, [INSTANT, (11, 11), (23, "x")]) + event(12, [INSTANT, (11, 11), (23, "y")], 1, (58, 6)))
    has(events, name="x", start=11)
    has(events, name="y", start=52)
    # The file does not state how well its clocks were compared.
    trace(THREAD + START + snapshot(1, [(1, 1), (2, 5000)], [(1, 6), (2, 10)]) + event(12, [INSTANT, (11, 11), (23, "z")], 1, (58, 6)))
    path = os.path.join(FOLDER, "trace.sbt")
    info = json.loads(command("info", "--json", path))
    text = command("info", path).decode()
    if [(clock["name"], clock["pairs"], clock["error_ns"]) for clock in info["clocks"]] != [("CLOCK_REALTIME", 1, None)]:
        fail(info["clocks"])
    if "compared once, within an unknown bound" not in text:
        fail(text)


def command_lines():
    """A process that is named by its command line; a slash in an option is none of the program's path."""
    process = packet((60, message((1, 10), (3, message((1, 77), (6, "/usr/bin/browser --type=renderer --dir=/tmp/x --more"))))))
    trace(process + THREAD + START + event(10, [BEGIN, (23, "a"), (11, 11)]) + event(90, [END, (11, 11)]))
    text = command("view", "--timeline", os.path.join(FOLDER, "trace.sbt")).decode()
    if "\nbrowser --type=renderer" not in text:
        fail(text)


def counters():
    data = THREAD + packet((60, message((1, 20), (2, "queue"), (8, message((4, 10))))))
    data += packet((60, message((1, 21), (2, "sum"), (8, message((5, 1)))))) + START
    data += packet((10, 1), (59, message((11, message((11, 11), (31, 20), (45, 21))))))
    data += event(1, [COUNT, (11, 20), (30, -7)]) + event(2, [COUNT, (11, 21), (44, 1.5)])
    data += event(3, [BEGIN, (23, "with"), (12, 4), (46, 2.0)]) + event(5, [END])
    events, _ = trace(data)
    has(events, kind=COUNTER, start=1, track="queue", name="queue", value=-70.0, track_kind=4)
    has(events, kind=COUNTER, start=2, name="sum", value=1.5)
    has(events, kind=COUNTER, start=3, name="queue", value=40.0)
    has(events, kind=COUNTER, start=3, name="sum", value=3.5)
    has(events, name="with", duration=2)


def older_form():
    def legacy(time, *fields, name="old", more=()):
        return event(time, [(6, message(*fields)), (23, name), (22, "c"), *more], 3)
    data = packet((10, 3), (13, 1), (43, message((1, 5), (6, "old process"))))
    data += packet((10, 3), (44, message((1, 5), (2, 6), (5, "old thread"), (6, 1000))))
    data += legacy(10, (2, ord("X")), (3, 3)) + legacy(20, (2, ord("B"))) + legacy(25, (2, ord("E")))
    data += legacy(30, (2, ord("b")), (6, 1), name="async") + legacy(31, (2, ord("b")), (6, 2), name="async")
    data += legacy(33, (2, ord("n")), (6, 2), name="step")
    data += legacy(35, (2, ord("e")), (6, 1), name="async") + legacy(38, (2, ord("e")), (6, 2), name="async")
    data += legacy(40, (2, ord("I")), (19, 9), name="elsewhere")
    data += legacy(41, (2, ord("s")), (6, 77), name="arrow")
    data += legacy(42, (2, ord("M")), (19, 9), name="thread_name", more=[(4, message((10, "name"), (6, "nine")))])
    data += packet((10, 3), (11, message((1, 7), INSTANT, (23, "delta"))))
    data += packet((10, 3), (11, message((1, 3), INSTANT, (23, "delta2"))))
    data += packet((10, 3), (11, message((16, 2000), INSTANT, (23, "absolute"))))
    data += packet((10, 3), (6, message((1, message((1, 3), (2, 0))), (1, message((1, 6), (2, 0))))))
    events, _ = trace(data)
    has(events, start=10, duration=3000, name="old", category="c", track="old thread", tid=6, pid=5)
    has(events, start=20, duration=5, process="old process")
    has(events, start=30, duration=5, name="async", pid=5)
    has(events, start=31, duration=7, name="async")
    has(events, start=33, name="step", kind=MARKER, phase="n", track="async", pid=5)
    has(events, start=40, name="elsewhere", tid=9, track="nine", kind=MARKER)
    has(events, start=41, kind=FLOW, phase="s", id=77)
    has(events, name="delta", start=1007000)
    has(events, name="delta2", start=1010000)
    has(events, name="absolute", start=2000000)


def gpu():
    texts = message((24, message((1, 5), (2, "compute queue"))), (24, message((1, 6), (2, "Dispatch"))),
                    (1000, message((1, 3), (2, "gemm"))), (23, message((1, 8), (2, 42), (3, 4))))
    launch = message((1, message((1, 4), (2, 2))), (2, message((1, 64), (2, 1))))
    data = packet((10, 1), (13, 1), (12, texts))
    data += packet((8, 100), (10, 1), (13, 2), (53, message((1, 1), (2, 30), (13, 5), (14, 6), (11, 1), (5, 8), (19, 3),
                                                            (21, launch), (6, message((1, "extra"), (2, "data"))))))
    old = message((2, message((1, "vertex"))), (2, message((1, "fragment"))), (3, message((1, "Render"))))
    data += packet((8, 0), (10, 2), (53, message((7, old)))) + packet((8, 200), (10, 2), (53, message((3, 1), (4, 0))))
    spec = message((1, message((1, 4), (2, "GPU busy"))))
    data += packet((8, 1), (52, message((1, spec), (2, message((1, 4), (3, 12.5))))))
    data += packet((8, 2), (52, message((2, message((1, 4), (2, 20))))))
    events, _ = trace(data)
    has(events, start=100, duration=30, kind=KERNEL, name="gemm", category="Dispatch", track="compute queue", pid=42,
        device="GPU 1", track_kind=2, global_x=256, global_y=2, local_x=64, local_y=1, extra="data", event_id=1)
    has(events, start=200, kind=KERNEL, duration=None, track="fragment", category="Render", device="GPU 0")
    has(events, start=1, kind=COUNTER, name="GPU busy", value=12.5, device="GPU 0")
    has(events, start=2, kind=COUNTER, name="GPU busy", value=20.0)


def losses():
    sched = message((1, 0), (2, message((1, 5))), (2, message((1, 6))), (4, message((1, varint(1) + varint(2)))))
    data = THREAD + packet((10, 1), (1, sched)) + packet((38, "x")) * 3 + packet((33, "config"))
    data += event(1, [INSTANT, (10, 1)], 9, (13, 2))  # no state
    data += START + event(2, [INSTANT, (10, 1), (23, "good")], 1, (13, 2))
    data += event(3, [INSTANT, (10, 1)], 1, (13, 2), (42, 1)) + event(4, [INSTANT, (10, 1)], 1, (13, 2))
    data += START + event(5, [INSTANT, (10, 1)], 1, (13, 2))
    data += packet((10, 1), (13, 2), (11, b"\xff\xff")) + message((1, b"\x07"))
    data += event(6, [INSTANT, (10, 55), (24, "chrome")], 1, (13, 2))
    events, attributes = trace(data)
    if [e["start"] for e in events if e["kind"] == MARKER] != [2, 5, 6]:
        fail(events)
    for text, count in (("ftrace", 4), ("battery counters", 3), ("texts were dropped", 3), ("not valid protobuf", 2)):
        found = lost(events, text)
        if len(found) != 1 or found[0].get("lost") != count:
            fail(text, found)
    if lost(events, "packets were dropped")[0].get("lost") is not None:
        fail("the number is unknown")
    if attributes["import.unread_field"] != "1" or attributes["import.no_text"] != "1" or \
            attributes["import.packets_of_field_33"] != "1":
        fail(attributes)


def containers():
    inside = START + event(7, [INSTANT, (10, 1)], 1, (13, 2))
    events, _ = trace(THREAD + packet((50, zlib.compress(inside))) + event(8, [INSTANT, (23, "after")]))
    has(events, name="work", start=7, track="worker")
    has(events, name="after", start=8)
    events, _ = trace(gzip.compress(THREAD + inside))
    has(events, name="work", start=7)
    events, _ = trace(THREAD + packet((50, b"nothing of the kind")) + inside)
    if not lost(events, "cannot be unpacked"):
        fail(events)
    # Packed repeated values, and a process list.
    tree = message((1, message((1, 77), (2, 1), (3, "/bin/prog"))), (2, message((1, 78), (3, 77), (2, "late name"))))
    events, _ = trace(THREAD + START + event(1, [INSTANT], extra=message((47, struct.pack("<QQ", 3, 4)))) +
                      packet((2, tree)))
    has(events, flow_ids=[3, 4], track="late name", process="/bin/prog")


def cut_short():
    whole = THREAD + START + event(1, [INSTANT, (23, "one")]) + event(2, [INSTANT, (23, "two")])
    first = len(THREAD + START + event(1, [INSTANT, (23, "one")]))
    for length in range(first, len(whole)):
        events, _ = trace(whole[:length], code=0 if length == first else 3)
        if [e["name"] for e in events if e["kind"] != LOSS] != ["one"]:
            fail(length, events)
        if bool(lost(events, "the file ends early")) != (length > first):
            fail(length, events)


for case in (slices, nested_annotations, clocks, command_lines, counters, older_form, gpu, losses, containers, cut_short):
    case()
    print(case.__name__)
