# SPDX-License-Identifier: Apache-2.0
"""CTF 2: random metadata and streams, written here bit by bit after CTF2-SPEC-2.0 from values that are known, and read by the importer. The
encoder is the second implementation: it shares nothing with the decoder but the specification."""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

SOURCE = os.environ["TRACESMITH_SOURCE_DIR"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "cli"))
from ctf_bits import Bits  # noqa: E402
from support import check, run  # noqa: E402

FOLDER = tempfile.mkdtemp()


def rows(path, sql, code=0):
    done = run("query", "--json", "--no-cache", path, sql, code=code)
    return json.loads(done.stdout)["results"][0]["rows"]


def leb128(value, signed):
    out = bytearray()
    while True:
        byte = value & 0x7f
        value >>= 7
        done = value == (-1 if signed and byte & 0x40 else 0) if signed else value == 0
        out.append(byte | (0 if done else 0x80))
        if done:
            return bytes(out)


def half(value):
    return struct.unpack("<H", struct.pack("<e", value))[0]


# ---- random classes, each with a value and how it is shown


def fixed(rng, kind, length=None, **more):
    big = rng.random() < 0.5
    made = {"type": "fixed-length-" + kind, "length": length or rng.choice([1, 3, 8, 13, 16, 24, 32, 33, 48, 64]),
            "byte-order": "big-endian" if big else "little-endian", "alignment": 8}
    if rng.random() < 0.3:
        made["bit-order"] = rng.choice(["first-to-last", "last-to-first"])
    if rng.random() < 0.3:
        made["alignment"] = rng.choice([8, 16, 32, 64])
    made.update(more)
    return made


def alignment_of(made):
    kind = made["type"]
    if kind.startswith("fixed"):
        return made["alignment"]
    if kind == "structure":
        return max([made.get("minimum-alignment", 1)] + [alignment_of(m["field-class"]) for m in made["member-classes"]])
    if kind.endswith("array"):
        return max(made.get("minimum-alignment", 1), alignment_of(made["element-field-class"]))
    return 1 if kind in ("optional", "variant") else 8


def unit(made):
    return made.get("encoding", "utf-8").replace("utf-", "utf-")


def text_value(rng):
    return "".join(rng.choice("ab\u00e4\u4e2d\U0001f600\"\\ z") for _ in range(rng.randrange(0, 9)))


def simple(rng):
    """A class without dependencies, its value, and what the importer shows."""
    kind = rng.choice(["unsigned", "signed", "boolean", "float", "vu", "vs", "text", "static", "blob", "map"])
    if kind == "unsigned":
        made = fixed(rng, "unsigned-integer")
        return made, rng.randrange(1 << made["length"]), None
    if kind == "signed":
        made = fixed(rng, "signed-integer")
        return made, rng.randrange(-(1 << made["length"] - 1), 1 << made["length"] - 1), None
    if kind == "boolean":
        made = fixed(rng, "boolean")
        return made, rng.random() < 0.5, None
    if kind == "float":
        made = fixed(rng, "floating-point-number", rng.choice([16, 32, 64]))
        return made, rng.randrange(-2000, 2000) / 8, None
    if kind == "vu":
        return {"type": "variable-length-unsigned-integer"}, rng.randrange(1 << rng.randrange(1, 65)), None
    if kind == "vs":
        bits = rng.randrange(1, 64)
        return {"type": "variable-length-signed-integer"}, rng.randrange(-(1 << bits), 1 << bits), None
    if kind == "map":
        made = fixed(rng, "bit-map", 8, flags={"A": [[0, 1]], "B": [[7, 7]]})
        return made, rng.randrange(256), None
    if kind == "blob":
        data = bytes(rng.randrange(256) for _ in range(rng.randrange(0, 6)))
        return {"type": "static-length-blob", "length": len(data)}, data, None
    made = {"type": "null-terminated-string"}
    if rng.random() < 0.5:
        made["encoding"] = rng.choice(["utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be"])
    text = text_value(rng)
    if kind == "static":
        made["type"] = "static-length-string"
        made["length"] = len(text.encode(unit(made))) + 4 * rng.randrange(0, 4)
    return made, text, None


def shown(made, value):
    kind = made["type"]
    if value is None:
        return None
    if kind.endswith("blob"):
        return value.hex()
    if kind.endswith("array"):
        return [shown(made["element-field-class"], v) for v in value]
    if kind == "structure":
        return {m["name"]: shown(m["field-class"], v) for m, v in zip(made["member-classes"], value)}
    return value


def put(bits, made, value):
    kind = made["type"]
    bits.align(alignment_of(made))
    if kind.startswith("fixed"):
        big = made["byte-order"] == "big-endian"
        order = made.get("bit-order", "last-to-first" if big else "first-to-last")
        if "floating" in kind:
            value = half(value) if made["length"] == 16 else struct.unpack("<I", struct.pack("<f", value))[0] \
                if made["length"] == 32 else struct.unpack("<Q", struct.pack("<d", value))[0]
        bits.put(int(value) & (1 << made["length"]) - 1, made["length"], big, order == "last-to-first")
    elif kind.startswith("variable"):
        bits.raw(leb128(value, "-signed" in kind))
    elif kind == "null-terminated-string":
        bits.raw(value.encode(unit(made)) + "\0".encode(unit(made)))
    elif kind.endswith("string"):
        data = value.encode(unit(made))
        length = made.get("length", len(data))
        bits.raw(data + bytes(length - len(data)))
    elif kind.endswith("blob"):
        bits.raw(value)
    elif kind == "structure":
        for member, part in zip(made["member-classes"], value):
            put(bits, member["field-class"], part)
    elif kind.endswith("array"):
        for part in value:
            put(bits, made["element-field-class"], part)
    elif kind == "optional":
        if value is not None:
            put(bits, made["field-class"], value)
    else:
        check(kind == "variant", kind)
        put(bits, made["options"][value[0]]["field-class"], value[1])


class Payload:
    """Members with what they depend on before them."""

    def __init__(self, rng, origin):
        self.members, self.values, self.expect = [], [], {}
        for i in range(rng.randrange(1, 7)):
            self.add(rng, "m%d" % i, origin)

    def member(self, name, made, value):
        self.members.append({"name": name, "field-class": made})
        self.values.append(value)

    def simple(self, name, made, value):
        self.member(name, made, value)
        if made["type"] == "structure":
            for m, v in zip(made["member-classes"], value):
                self.expect[name + "." + m["name"]] = shown(m["field-class"], v)
        else:
            self.expect[name] = shown(made, value)

    def add(self, rng, name, origin):
        kind = rng.choice(["simple", "simple", "structure", "array", "dynamic", "text", "blob", "optional", "variant", "mapped"])
        location = {"path": ["n_" + name]} if rng.random() < 0.5 else {"origin": origin, "path": ["n_" + name]}
        if kind == "simple":
            made, value, _ = simple(rng)
            self.simple(name, made, value)
        elif kind == "mapped":
            made = fixed(rng, "unsigned-integer", 8, mappings={"low": [[0, 99]], "odd": [[7, 7], [200, 255]]})
            value = rng.choice([7, 50, 150, 230])
            self.simple(name, made, value)
            self.expect[name + ".name"] = {7: "low|odd", 50: "low", 150: None, 230: "odd"}[value]
        elif kind == "structure":
            parts = [simple(rng) for _ in range(rng.randrange(0, 4))]
            made = {"type": "structure", "member-classes": [{"name": "p%d" % i, "field-class": p[0]} for i, p in enumerate(parts)]}
            if rng.random() < 0.3:
                made["minimum-alignment"] = 32
            self.simple(name, made, [p[1] for p in parts])
        elif kind == "array":
            element, _, _ = simple(rng)
            values = [self.again(rng, element) for _ in range(rng.randrange(0, 5))]
            self.simple(name, {"type": "static-length-array", "length": len(values), "element-field-class": element}, values)
        elif kind in ("dynamic", "text", "blob"):
            if kind == "dynamic":
                inner, _, _ = simple(rng)
                element = {"type": "structure", "member-classes": [{"name": "x", "field-class": inner}]}
                value = [[self.again(rng, inner)] for _ in range(rng.randrange(0, 5))]
                made, length = {"type": "dynamic-length-array", "element-field-class": element}, len(value)
            elif kind == "text":
                value = text_value(rng)
                made, length = {"type": "dynamic-length-string"}, len(value.encode())
            else:
                value = bytes(rng.randrange(256) for _ in range(rng.randrange(0, 9)))
                made, length = {"type": "dynamic-length-blob"}, len(value)
            number = rng.choice([{"type": "variable-length-unsigned-integer"}, fixed(rng, "unsigned-integer", 16)])
            self.simple("n_" + name, number, length)
            made["length-field-location"] = location
            self.simple(name, made, value)
        elif kind == "optional":
            there = rng.random() < 0.5
            inner, value, _ = simple(rng)
            made = {"type": "optional", "selector-field-location": location, "field-class": inner}
            if rng.random() < 0.5:
                self.simple("n_" + name, fixed(rng, "boolean", 8), there)
            else:
                made["selector-field-ranges"] = [[-5, -3], [9, 9]]
                self.simple("n_" + name, fixed(rng, "signed-integer", 8), rng.choice([-4, 9] if there else [3, -6, 8]))
            self.member(name, made, value if there else None)
            self.expect[name] = shown(inner, value) if there else None
        else:
            options = [simple(rng) for _ in range(3)]
            chosen = rng.randrange(3)
            made = {"type": "variant", "selector-field-location": location,
                    "options": [{"selector-field-ranges": [[10 * i, 10 * i + 5]], "field-class": o[0]} for i, o in enumerate(options)]}
            self.simple("n_" + name, {"type": "variable-length-signed-integer"}, 10 * chosen + rng.randrange(6))
            self.member(name, made, (chosen, options[chosen][1]))
            self.expect[name] = shown(options[chosen][0], options[chosen][1])

    @staticmethod
    def again(rng, made):
        kind = made["type"]
        if kind == "fixed-length-boolean":
            return rng.random() < 0.5
        if "floating" in kind:
            return rng.randrange(-2000, 2000) / 8
        if kind.startswith("fixed") and "-signed" not in kind:
            return rng.randrange(1 << made["length"])
        if kind.startswith("fixed"):
            return rng.randrange(-(1 << made["length"] - 1), 1 << made["length"] - 1)
        if kind.startswith("variable"):
            return rng.randrange(0 if "unsigned" in kind else -1000, 1000)
        if kind.endswith("blob"):
            return bytes(rng.randrange(256) for _ in range(made["length"]))
        return "ab"[:made.get("length", 4 * 2) // 4]


# ---- a trace

U = {"type": "fixed-length-unsigned-integer", "byte-order": "little-endian", "alignment": 8}


def u(length, *roles):
    return dict(U, length=length, roles=list(roles))


def structure(*members):
    return {"type": "structure", "member-classes": [{"name": n, "field-class": c} for n, c in members]}


FREQUENCY, SECONDS, CYCLES = 1200000000, 1700000000, 77


def nanoseconds(cycles):
    return (cycles + CYCLES + SECONDS * FREQUENCY) * 10 ** 9 // FREQUENCY


def metadata(classes, aliases=()):
    uuid = list(range(16))
    fragments = [{"type": "preamble", "version": 2, "uuid": uuid}, *aliases,
                 {"type": "trace-class", "environment": {"tracer": "made", "n": 3}, "packet-header-field-class": structure(
                     ("magic", u(32, "packet-magic-number")), ("uuid", {"type": "static-length-blob", "length": 16, "roles": ["metadata-stream-uuid"]}),
                     ("class", u(8, "data-stream-class-id")))},
                 {"type": "clock-class", "id": "c", "frequency": FREQUENCY, "origin": "unix-epoch",
                  "offset-from-origin": {"seconds": SECONDS, "cycles": CYCLES}},
                 {"type": "data-stream-class", "id": 4, "default-clock-class-id": "c", "packet-context-field-class": structure(
                     ("begin", u(64, "default-clock-timestamp")), ("end", u(64, "packet-end-default-clock-timestamp")),
                     ("content", u(32, "packet-content-length")), ("total", u(32, "packet-total-length")),
                     ("lost", u(16, "discarded-event-record-counter-snapshot")), ("seq", u(16, "packet-sequence-number")), ("cpu", u(8))),
                  "event-record-header-field-class": structure(("id", {"type": "variable-length-unsigned-integer", "roles": ["event-record-class-id"]}),
                                                               ("ts", u(16, "default-clock-timestamp"))),
                  "event-record-common-context-field-class": structure(("vpid", u(32)), ("vtid", u(32)))}]
    for number, payload in enumerate(classes):
        fragments.append({"type": "event-record-class", "id": number * 100, "data-stream-class-id": 4, "name": "event \"%d\"" % number,
                          "payload-field-class": {"type": "structure", "member-classes": payload.members}})
    return "".join("\x1e" + json.dumps(f) + "\n" for f in fragments)


def packet(records, begin, end, lost, sequence, cpu, padding):
    """records: (class number, cycles, pid, tid, payload)."""
    for total in (0, 1):  # the lengths are known after the first time
        bits = Bits()
        put(bits, u(32), 0xc1fc1fc1)
        bits.raw(bytes(range(16)))
        put(bits, u(8), 4)
        content = 0 if not total else length
        for value, size in ((begin, 64), (end, 64), (content, 32), ((content + 7) // 8 * 8 + 8 * padding, 32), (lost, 16), (sequence, 16), (cpu, 8)):
            put(bits, u(size), value)
        for number, cycles, pid, tid, payload in records:
            bits.raw(leb128(number * 100, False))
            put(bits, u(16), cycles & 0xffff)
            put(bits, u(32), pid)
            put(bits, u(32), tid)
            # The header, the contexts and the payload are structures of their own, each aligned.
            put(bits, {"type": "structure", "member-classes": payload.members}, payload.values)
        length = bits.at
    return bytes(bits.data) + bytes(padding)


def make(name, text, streams):
    folder = os.path.join(FOLDER, name)
    os.makedirs(os.path.join(folder, "index"), exist_ok=True)
    with open(os.path.join(folder, "metadata"), "w") as file:
        file.write(text)
    with open(os.path.join(folder, ".hidden"), "w") as file:
        file.write("no stream")
    for stream, data in streams.items():
        with open(os.path.join(folder, stream), "wb") as file:
            file.write(data)
    return folder


def random_trace(seed):
    rng = random.Random(seed)
    classes = [Payload(rng, "event-record-payload") for _ in range(4)]
    streams, expected, lost, places = {}, [], [], {}
    for stream in ("s0", "s1"):
        data, cycles, dropped = b"", 1 << 40, 0
        for sequence in range(rng.randrange(1, 4)):
            begin = cycles
            records = []
            for _ in range(rng.randrange(0, 12)):
                cycles += rng.randrange(0, 0xffff)
                number = rng.randrange(4)
                records.append((number, cycles, 40, 40 + rng.randrange(3), classes[number]))
                expected.append((nanoseconds(cycles), "event \"%d\"" % number, records[-1][3], sequence, classes[number]))
            more = rng.choice([0, 0, 5])
            dropped += more
            if more:
                lost.append(more)
            data += packet(records, begin, cycles, dropped, sequence, sequence, rng.choice([0, 0, 3]))
        streams[stream] = data
    return make("t%d" % seed, metadata(classes), streams), expected, lost


def normal(value):
    return json.loads(value) if isinstance(value, str) and value[:1] in "[{" else value


def same(got, known):
    if isinstance(known, (list, dict)):
        return json.loads(got) == known
    if isinstance(known, bool):
        return got == int(known)
    if isinstance(known, int) and known >= 1 << 63:
        return got == known - (1 << 64)
    return got == known


def check_random(seed):
    folder, expected, lost = random_trace(seed)
    found = rows(folder, "SELECT e.*, t.tid AS tid_ FROM events e JOIN tracks t ON t.id = e.track WHERE e.kind = 'marker'", code=None)
    check(len(found) == len(expected), "seed %d: %d records of %d" % (seed, len(found), len(expected)))
    key = lambda r: (r[0], r[1], r[2], r[3])
    got = sorted(((r["start"], r["name"], r["tid_"], r["packet.cpu"], r) for r in found), key=key)
    for (start, name, tid, cpu, row), (time, label, thread, sequence, payload) in zip(got, sorted(expected, key=key)):
        check((start, name, tid, cpu) == (time, label, thread, sequence), "seed %d: %s instead of %s" % (seed, (start, name, tid, cpu), (time, label, thread, sequence)))
        for field, known in payload.expect.items():
            check(same(row.get(field), known), "seed %d: %s: %r instead of %r" % (seed, field, row.get(field), known))
    check(sorted(r["lost"] for r in rows(folder, "SELECT lost FROM loss", code=None)) == sorted(lost), "seed %d: lost" % seed)
    facts = {r["key"]: r["value"] for r in rows(folder, "SELECT key, value FROM attributes", code=None)}
    check((facts["trace.env.tracer"], facts["trace.env.n"], facts["import.format"]) == ("made", "3", "ctf2"), str(facts))
    # The file metadata stands for its folder.
    check(len(rows(os.path.join(folder, "metadata"), "SELECT 1 FROM marker", code=None)) == len(expected), "by its metadata")


def check_damage():
    rng = random.Random(77)
    payload = Payload(rng, "event-record-payload")
    records = [(0, i * 10 + 1, 1, 1, payload) for i in range(20)]
    one, two = packet(records, 1, 200, 0, 0, 0, 0), packet(records, 201, 300, 0, 1, 0, 0)
    text = metadata([payload])
    whole = len(records)
    # The file ends within a packet: the records before are there, and the message has the stream and the byte.
    folder = make("cut", text, {"s": one + two[:-3]})
    done = run("query", "--json", "--no-cache", folder, "SELECT count(*) AS n FROM marker", code=3)
    count = json.loads(done.stdout)["results"][0]["rows"][0]["n"]
    check(whole <= count < 2 * whole, "%d records of a file that was cut" % count)
    check(b"stream s" in done.stderr and b"at byte" in done.stderr and b"event record" in done.stderr, done.stderr.decode())
    # A record that is not there: the next packet is read.
    folder = make("class", text.replace('"id": 0, "data-stream-class-id": 4', '"id": 5, "data-stream-class-id": 4'), {"s": one + two})
    done = run("query", "--json", "--no-cache", folder, "SELECT count(*) AS n FROM marker", code=3)
    check(b"a class that the metadata do not have" in done.stderr, done.stderr.decode())
    # A packet is missing.
    folder = make("gap", text, {"s": one + packet(records, 201, 300, 0, 5, 0, 0)})
    check([r["text"] for r in rows(folder, "SELECT text FROM loss")] == ["stream s lacks 4 packets"], "missing packets")
    # The counter of discarded records begins anew: how many are missing is not known.
    folder = make("counter", text, {"s": packet(records, 1, 200, 5, 0, 0, 0) + packet(records, 201, 300, 2, 1, 0, 0)})
    losses = rows(folder, "SELECT text, lost FROM loss", code=None)
    check(sorted(r["lost"] or 0 for r in losses) == [0, 5] and
          "stream s: the counter of discarded records went back from 5 to 2" in [r["text"] for r in losses], "a counter that goes back: %s" % losses)
    # Metadata that cannot be read.
    for wrong in (text.replace('"path": ["n_', '"path": ["none_') if '"path"' in text else text[:-40], text[:200], text.replace('"version": 2', '"version": 3')):
        folder = make("wrong", wrong, {"s": one})
        done = run("query", "--json", "--no-cache", folder, "SELECT 1", code=None)
        check(done.returncode != 0, "wrong metadata are refused: %s" % wrong[:60])
    # Every byte of a stream is damaged in turn: whatever comes out, the command ends.
    rng = random.Random(2)
    for _ in range(60):
        data = bytearray(one + two)
        for _ in range(3):
            data[rng.randrange(len(data))] = rng.randrange(256)
        done = run("query", "--json", "--no-cache", make("damaged", text, {"s": bytes(data)}), "SELECT count(*) FROM marker", code=None)
        check(done.returncode in (0, 3), "damage: %d, %s" % (done.returncode, done.stderr))


def check_pairs():
    """Calls of three threads whose records are in two streams, at random: each is a range with the times of its records."""
    rng = random.Random(5)
    payload = Payload(rng, "event-record-payload")
    text = metadata([payload] * 4)
    for number, name in enumerate(("lib:one_entry", "lib:one_exit", "two_entry", "two_exit")):
        text = text.replace(json.dumps('event "%d"' % number), json.dumps(name))
    records, expected, clock, opened = ([], []), [], 1 << 40, {40: [], 41: [], 42: []}
    for _ in range(300):
        clock += rng.randrange(1, 2000)
        tid = rng.choice(list(opened))
        stack = opened[tid]
        if stack and rng.random() < 0.5:
            call, begin = stack.pop()
            expected.append((tid, ("lib:one", "two")[call], nanoseconds(begin), nanoseconds(clock)))
            kind = 2 * call + 1
        elif not stack and rng.random() < 0.1:
            kind = 1  # an exit alone
        else:
            call = rng.randrange(2)
            stack.append((call, clock))
            kind = 2 * call
        rng.choice(records).append((kind, clock, 40, tid, payload))
    streams = {"s%d" % i: b"".join(packet([record], record[1], record[1], 0, n, 0, 0) for n, record in enumerate(part)) for i, part in enumerate(records)}
    folder = make("pairs", text, streams)
    got = rows(folder, "SELECT t.tid AS tid, e.name AS name, e.start AS start, e.\"end\" AS e FROM events e JOIN tracks t ON t.id = e.track WHERE e.kind = 'range'")
    check(sorted((r["tid"], r["name"], r["start"], r["e"]) for r in got) == sorted(expected), "ranges of pairs")
    check(rows(folder, "SELECT count(*) AS n FROM marker") == [{"n": 300}], "records of pairs")


def lossy(rng):
    """Calls of two threads in packets of two streams, of which records and packets are left out. All calls, as (tid, name, start, end) and
    whether both records are there, the packets of each stream, and for each stream the times (ns) in which records are missing."""
    records, calls, clock, opened = ([], []), [], 1 << 40, {40: [], 41: []}
    for _ in range(400):
        clock += rng.randrange(2, 900)
        tid = rng.choice(list(opened))
        stack = opened[tid]
        leave = len(stack) == 3 or bool(stack) and rng.random() < 0.6
        call, begin, first = stack.pop() if leave else (rng.randrange(2), clock, None)
        record = {"row": (2 * call + leave, clock, 40, tid), "kept": True}
        if leave:
            calls.append((tid, ("lib:one", "two")[call], begin, clock, first, record))
        else:
            stack.append((call, clock, record))
        rng.choice(records).append(record)
    files, missing = [], []
    for stream in records:
        packets, times, last, lost, at, number = [], [], 0, 0, 0, 0
        while at < len(stream):
            part = stream[at:at + rng.randrange(1, 12)]
            at += len(part)
            begin, end = part[0]["row"][1], part[-1]["row"][1] + 1
            if at < len(stream) and rng.random() < 0.08:  # the packet is missing: of the last, no stream says so
                for record in part:
                    record["kept"] = False
            else:
                if number != (packets[-1][4] + 1 if packets else 0):
                    times.append((last, nanoseconds(begin) - 1))
                if rng.random() < 0.15:  # a record in it, or before it
                    part.pop(rng.randrange(len(part)))["kept"] = False
                    lost += 1
                    times.append((last, nanoseconds(end)))
                packets.append([part, begin, end, lost, number])
                last = nanoseconds(end)
            number += 1
        files.append(packets)
        missing.append(times)
    return calls, files, missing


def check_pairs_with_losses(seed):
    """Ranges are calls, and all of those are there during which no record is missing. What a pairing without regard to losses makes of
    the same records has others, so that this can fail."""
    rng = random.Random(seed)
    payload = Payload(rng, "event-record-payload")
    text = metadata([payload] * 4)
    for number, name in enumerate(("lib:one_entry", "lib:one_exit", "two_entry", "two_exit")):
        text = text.replace(json.dumps('event "%d"' % number), json.dumps(name))
    calls, files, missing = lossy(rng)
    data = {"s%d" % i: [packet([r["row"] + (payload,) for r in part], begin, end, lost, number, 0, 0) for part, begin, end, lost, number in packets]
            for i, packets in enumerate(files)}
    if seed % 2:  # the second stream ends within its last record
        part, begin, end = files[1][-1][:3]
        if part:
            part[-1]["kept"] = False
            missing[1].append((nanoseconds(part[-2]["row"][1] if len(part) > 1 else begin), 1 << 63))
            data["s1"][-1] = data["s1"][-1][:-2]
    folder = make("lossy%d" % seed, text, {name: b"".join(packets) for name, packets in data.items()})
    got = {(r["tid"], r["name"], r["start"], r["e"]) for r in rows(
        folder, "SELECT t.tid AS tid, e.name AS name, e.start AS start, e.\"end\" AS e FROM events e JOIN tracks t ON t.id = e.track WHERE e.kind = 'range'", None)}
    named = {(tid, name, nanoseconds(begin), nanoseconds(end)) for tid, name, begin, end, first, last in calls if first["kept"] and last["kept"]}
    whole = {(tid, name, nanoseconds(begin), nanoseconds(end)) for tid, name, begin, end, _, _ in calls
             if not any(nanoseconds(begin) <= to and nanoseconds(end) >= since for times in missing for since, to in times)}
    check(whole <= named and got == whole, "seed %d: ranges that are no calls: %s; missing: %s" % (seed, sorted(got - whole)[:3], sorted(whole - got)[:3]))
    invented, opened = 0, {}
    for kind, clock, _, tid in sorted((r["row"] for packets in files for p in packets for r in p[0] if r["kept"]), key=lambda row: row[1]):
        stack = opened.setdefault((tid, kind // 2), [])
        if kind % 2 == 0:
            stack.append(clock)
        elif stack:
            invented += (tid, ("lib:one", "two")[kind // 2], nanoseconds(stack.pop()), nanoseconds(clock)) not in named
    return len(whole), invented


def check_packets_of_metadata():
    """CTF2-PMETA: the same text in packets."""
    payload = Payload(random.Random(9), "event-record-payload")
    text = metadata([payload]).encode()
    data = b""
    for at in range(0, len(text), 100):
        part = text[at:at + 100]
        size = 37 + len(part)
        data += struct.pack("<I16sIIIBBBBB", 0x75d11d57, bytes(16), 0, 8 * size, 8 * (size + 5), 0, 0, 0, 2, 0) + part + bytes(5)
    folder = make("packets", "", {"s": packet([(0, 5, 1, 1, payload)], 1, 9, 0, 0, 0, 0)})
    with open(os.path.join(folder, "metadata"), "wb") as file:
        file.write(data)
    check([r["name"] for r in rows(folder, "SELECT name FROM marker")] == ["event \"0\""], "metadata in packets")


def check_aliases():
    """A class by its name, used twice: each use has a length of its own."""
    alias = [{"type": "field-class-alias", "name": "n", "field-class": {"type": "variable-length-unsigned-integer"}},
             {"type": "field-class-alias", "name": "list", "field-class": structure(("len", "n"), ("items", {
                 "type": "dynamic-length-array", "length-field-location": {"path": ["len"]}, "element-field-class": "n"}))}]
    payload = Payload(random.Random(1), "event-record-payload")
    payload.members = [{"name": "a", "field-class": "list"}, {"name": "b", "field-class": "list"}]
    text = metadata([payload], alias)
    real = structure(("len", {"type": "variable-length-unsigned-integer"}), ("items", {"type": "x-array", "element-field-class": {"type": "variable-length-unsigned-integer"}}))
    payload.members = [{"name": "a", "field-class": real}, {"name": "b", "field-class": real}]
    payload.values = [[2, [300, 4]], [3, [5, 6, 7]]]
    folder = make("alias", text, {"s": packet([(0, 5, 1, 1, payload)], 1, 9, 0, 0, 0, 0)})
    row = rows(folder, "SELECT * FROM marker")[0]
    check((json.loads(row["a.items"]), json.loads(row["b.items"])) == ([300, 4], [5, 6, 7]), "aliases: %s" % row)


for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 60):
    check_random(seed)
check_aliases()
check_packets_of_metadata()
check_pairs()
found = [check_pairs_with_losses(seed) for seed in range(12)]
check(sum(whole for whole, _ in found) > 100 and sum(invented for _, invented in found) > 20, "the losses of the made traces: %s" % found)
check_damage()
