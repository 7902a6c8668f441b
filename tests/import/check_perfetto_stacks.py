#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Call stacks of Perfetto traces: made here at random in every form that there is, and read by TraceSmith and by
tests/reference/perfetto_stacks.py, which must agree on every event. Then what our own export writes of stacks."""
import json
import os
import random
import subprocess
import sys
import tempfile
import zlib

SOURCE = os.environ.get("TRACESMITH_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(SOURCE, "tests", "reference"))
sys.path.insert(0, os.path.join(SOURCE, "tests", "import"))
import perfetto_stacks  # noqa: E402
from perfetto_wire import event, message, packet, varint  # noqa: E402

TRACESMITH = os.environ["TRACESMITH"]
BEGIN, END, INSTANT = ((9, n) for n in (1, 2, 3))


def run(*command):
    return subprocess.run([TRACESMITH, *command], capture_output=True, check=True).stdout


def view(path):
    """The events, each with the pid and tid of its track."""
    trace = json.loads(run("view", path, "--json", "--stacks"))
    pids = {process["id"]: process["pid"] for process in trace["processes"]}
    tracks = {t["id"]: {"pid": pids.get(t["process"], 0), "tid": t["tid"]} for t in trace["tracks"]}
    return [{**event, **tracks[event["track"]]} for event in trace["events"]]


def attributes(path):
    return {a["key"]: a["value"] for a in json.loads(run("info", path, "--json"))["attributes"]}


def lost(path):
    return {e["text"]: e.get("lost") for e in view(path) if e["kind"] == "loss"}


def write(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


# ---- what is compared


def seen_frame(frame):
    module = frame.get("module", "")
    # If the place has only a name, or several, the address is a made one.
    return (frame.get("function", ""), frame.get("file", ""), frame.get("line", 0), module, bool(frame.get("kernel")))


def seen(path):
    return sorted((e["start"], e["pid"], e["tid"], [seen_frame(f) for f in e.get("frames", [])])
                  for e in view(path) if e["kind"] != "loss")


def wanted(data):
    return sorted((e.time, e.pid, e.tid, [(f.function, f.file, f.line, f.module, f.kernel) for f in e.frames])
                  for e in perfetto_stacks.read(data))


def compare(folder, name, data):
    path = write(folder, name, data)
    got, want = seen(path), wanted(data)
    assert len(got) == len(want) and want, (name, len(got), len(want))
    for one, other in zip(got, want):
        assert one == other, (name, one, other)
    return path


# ---- random traces


class Writer:
    """A sequence that tells what it names when it first does so, and all of it again when its state is cleared."""

    def __init__(self, generator, number):
        self.random, self.number, self.told = generator, number, {}

    def start(self):
        self.told = {}
        return packet((10, self.number), (13, 1))

    def iid(self, field, key, *fields):
        if (field, key) not in self.told:
            self.told[field, key] = self.random.randrange(1, 1 << 40) if self.random.random() < 0.2 else len(self.told) + 1
            self.fresh.append((field, message((1, self.told[field, key]), *fields)))
        return self.told[field, key]

    def text(self, field, value):
        return self.iid(field, value, (2, value))

    def mapping(self, path, build_id):
        parts = [self.text(17, part) for part in path]
        packed = (7, b"".join(map(varint, parts)))
        paths = [packed] if self.random.random() < 0.5 else [(7, part) for part in parts]
        identity = [(2, self.text(16, build_id))] if build_id else []
        return self.iid(19, (path, build_id), *identity, *paths)

    def frame(self, function, source, line, mapping, address, kind):
        fields = [(2, self.text(5, function))] if function else []
        fields += [(3, self.mapping(*mapping)), (4, address)] if mapping else []
        fields += [(5, self.text(18, source)), (6, line)] if source else []
        fields += [(7, kind)] if kind else []
        return self.iid(6, (function, source, line, mapping, address, kind), *fields)

    def stack(self, frames):
        iids = [self.frame(*frame) for frame in frames]
        if self.random.random() < 0.5:
            return self.iid(7, tuple(frames), (2, b"".join(map(varint, iids))))
        return self.iid(7, tuple(frames), *((2, iid) for iid in iids))

    def interned(self):
        """In the order in which the format's own writer has it: what is named may come behind."""
        self.random.shuffle(self.fresh)
        fresh, self.fresh = self.fresh, []
        return [(12, message(*fresh))] if fresh else []

    fresh = []


def make_frames(generator):
    modules = [(("nowhere", "lib", "libc.so"), b"\x01\x02\xfe" * 6), (("app",), b"ABCDEF0123456789"), (("/nowhere/x.so",), b""),
               (("[kernel.kallsyms]",), b""), (("data", "anon"), b"\x99" * 20)]
    frames = []
    for i in range(60):
        function = generator.choice(["", "f%d" % generator.randrange(12), "ns::g<%d>(int)" % i])
        source = generator.choice([None, None, "a.c", "lib/b.cc", "c.py"])
        mapping = generator.choice([None, *modules])
        if not function and not mapping:
            function = "only"
        kind = generator.choice([0, 0, 1, 3, 4]) if not (mapping and "[kernel" in mapping[0][0]) else 2
        frames.append((function, source, generator.randrange(1, 90) if source else 0, mapping,
                       generator.randrange(16) + 100 * bool(function or source) if mapping else 0, kind))
    return frames


def make_random(seed):
    generator = random.Random(seed)
    frames = make_frames(generator)
    data = packet((60, message((1, 50), (4, message((1, 9), (2, 91))))))
    writers = [Writer(generator, n) for n in (1, 2, 3)]
    for writer in writers:
        writer.fresh = []
        data += writer.start()
    data += packet((10, 3), (44, message((1, 5), (2, 51), (6, 40))))
    time = 1000
    for _ in range(400):
        writer = generator.choice(writers)
        time += generator.randrange(1, 5000)
        if generator.random() < 0.03:
            data += writer.start()
        stack = [generator.choice(frames) for _ in range(generator.randrange(0, 20))]
        at, sequence, state = (8, time), (10, writer.number), (13, 2)
        task = message((2, 9), (3, generator.choice([91, 92])))
        form = generator.randrange(6)
        if form == 0:
            lines = [(1, message((1, f[0] or "x"), (2, f[1] or ""), (3, f[2]))) for f in stack]
            data += packet(at, sequence, (11, message(INSTANT, (11, 50), (55, message(*lines)))))
        elif form == 5 and writer.number == 3:
            more = [(54, message((1, writer.stack(stack)), (1, writer.stack(stack[:3])), (2, 3), (2, 4)))]
            more = writer.interned() + more
            data += packet(*([at] if generator.random() < 0.5 else []), sequence, state, *more)
        else:
            number = writer.stack(stack)
            more = [[(11, message(INSTANT, (11, 50), (56, number)))],
                    [(66, message((1, 3), (2, 9), (3, 92), (4, number), (5, 2)))],
                    [(135, message((1, task), (6, number), (11, 10)))],
                    [(135, message((2, writer.iid(2000, task, (2, 9), (3, 93))), (6, number)))]][form % 4]
            data += packet(at, sequence, state, *writer.interned(), *more)
    lines = [(2, message((1, "deep"), (2, "in.h"), (3, 4))), (2, message((1, "outer"), (2, "o.c"), (3, 5)))]
    addresses = [(3, message((1, n), *lines[n % 2:])) for n in range(0, 16, 3)]
    data += packet((61, message((1, "/nowhere/lib/libc.so"), (2, b"\x01\x02\xfe" * 6), *addresses)))
    data += packet((61, message((1, "/nowhere/x.so"), *addresses)))
    return data


def check_random(folder):
    for seed in range(12):
        data = make_random(seed)
        path = compare(folder, "random", data)
        assert not {"import.no_stack", "import.no_text", "import.malformed"} & set(attributes(path)), attributes(path)
        packed = b"".join(packet((50, zlib.compress(data[at:end]))) for at, end in halves(data))
        assert seen(write(folder, "packed", packed)) == seen(path)
        # Our own export has them as Perfetto has: the same stacks come back, in modules of the same build ids.
        back = os.path.join(folder, "back.pftrace")
        run("export", path, "-f", "perfetto", "-o", back)
        assert seen(back) == seen(path), seed
        assert modules(back) == modules(path), (modules(back), modules(path))
    print("12 random traces")


def modules(path):
    return run("query", path, "SELECT DISTINCT path, build_id FROM modules ORDER BY 1, 2", "--csv")


def halves(data):
    """Two pieces of whole packets."""
    at = 0
    while at < len(data) // 2:
        length, begin = perfetto_stacks.varint(data, at + 1)
        at = begin + length
    return (0, at), (at, len(data))


# ---- cases


def interned(*fields):
    return [(12, message(*fields))]


def check_cases(folder):
    start = packet((10, 1), (13, 1))
    one = interned((6, message((1, 1), (2, 1))), (7, message((1, 1), (2, 1))), (5, message((1, 1), (2, "first"))))
    # Numbers mean what their own sequence says, until its state is cleared; one that it does not have is counted.
    data = start + packet((10, 2), (13, 1)) + packet((8, 1), (10, 1), (66, message((2, 7), (3, 8), (4, 1))), *one)
    data += packet((8, 2), (10, 2), (66, message((2, 7), (3, 8), (4, 1))))
    data += start + packet((8, 3), (10, 1), (66, message((2, 7), (3, 8), (4, 1))))
    path = write(folder, "scope", data)
    got = {e["start"]: [f["function"] for f in e.get("frames", [])] for e in view(path)}
    assert got == {1: ["first"], 2: [], 3: []}, got
    assert attributes(path)["import.no_stack"] == "2", attributes(path)
    # After packets were dropped the numbers are not believed.
    data = start + packet((8, 1), (10, 1), (66, message((2, 7), (3, 8), (4, 1))), (13, 2), *one)
    data += packet((8, 2), (10, 1), (66, message((2, 7), (3, 8), (4, 1))), (13, 2), (42, 1))
    path = write(folder, "dropped", data)
    assert [e["start"] for e in view(path) if e["kind"] == "sample"] == [1]
    assert attributes(path)["import.no_state"] == "1"
    # What the sampler could not have.
    data = start + packet((8, 1), (10, 1), (66, message((1, 0), (17, 40)))) + packet((8, 2), (10, 1), (66, message((18, 1))))
    data += packet((8, 3), (10, 1), (66, message((1, 2), (2, 7), (3, 8), (5, 1), (16, 6))))
    data += packet((10, 1), (66, message((2, 7), (3, 8))))
    path = write(folder, "lost", data)
    events = [e for e in view(path) if e["kind"] == "sample"]
    assert len(events) == 1 and events[0]["args"]["unwind_error"] == "too deep" and events[0]["args"]["cpu_mode"] == "kernel"
    assert 41 in lost(path).values() and attributes(path)["import.no_time"] == "1", lost(path)
    # A sample has the name of its innermost function; its weight is the time it represents if it is in ns.
    two = interned((5, message((1, 1), (2, "in"))), (5, message((1, 2), (2, "out"))), (6, message((1, 1), (2, 1))),
                   (6, message((1, 2), (2, 2))), (7, message((1, 9), (2, 2), (2, 1))))
    defaults = (59, message((100, message((1, "python.wall"), (2, message((2, "wall"), (3, 1)))))))
    data = packet((10, 1), (13, 1), defaults, *two)
    data += packet((8, 5), (10, 1), (135, message((1, message((2, 1), (3, 2))), (6, 9), (11, 10000))))
    data += packet((8, 6), (10, 1), (135, message((1, message((3, 2))), (9, message((3, 4))), (11, 4096))))
    events = sorted(view(write(folder, "weights", data)), key=lambda e: e["start"])
    assert (events[0]["name"], events[0]["sampler_period"]) == ("in", 10000), events[0]
    assert "sampler_period" not in events[1] and events[1]["args"]["weight"] == 4096 and events[1]["tid"] == 2, events[1]
    # The begin's stack is the slice's; one that only the end has is, too.
    track = packet((60, message((1, 11), (4, message((1, 7), (2, 8))))))
    data = packet((10, 1), (13, 1), *two) + track
    data += event(1, [BEGIN, (11, 11), (23, "a"), (56, 9)]) + event(2, [BEGIN, (11, 11), (23, "b")])
    data += event(3, [END, (11, 11), (56, 9)]) + event(4, [END, (11, 11), (55, message((1, message((1, "late")))))])
    events = {e["name"]: [f["function"] for f in e["frames"]] for e in view(write(folder, "slices", data))}
    assert events == {"a": ["in", "out"], "b": ["in", "out"]}, events
    # Heap profiles and allocations are not read, which is reported.
    data = start + packet((37, message((5, message((1, 7), (2, message((1, 1), (2, 4096)))))))) * 2 + packet((74, "x"))
    path = write(folder, "heap", data + event(1, [INSTANT]))
    found = lost(path)
    assert found.get("heap profiles are not read from Perfetto traces") == 2, found
    assert found.get("allocations are not read from Perfetto traces") == 1, found
    print("cases")


def check_deep(folder):
    """Of a stack without end the innermost functions are kept, and that there were more is said."""
    frames = b"".join(varint(1 + i % 2) for i in range(5000)) + varint(3)
    parts = interned(*((5, message((1, n), (2, "f%d" % n))) for n in (1, 2, 3)),
                     *((6, message((1, n), (2, n))) for n in (1, 2, 3)), (7, message((1, 1), (2, frames))))
    data = packet((10, 1), (13, 1)) + packet((8, 1), (10, 1), (66, message((2, 7), (3, 8), (4, 1))), *parts)
    found = view(write(folder, "deep", data))[0]["frames"]
    assert found[0]["function"] == "f3" and found[-1].get("truncated"), (found[0], found[-1])
    assert len(found) >= 4096, len(found)
    print("deep")


with tempfile.TemporaryDirectory() as FOLDER:
    check_random(FOLDER)
    check_cases(FOLDER)
    check_deep(FOLDER)
