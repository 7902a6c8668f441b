# SPDX-License-Identifier: Apache-2.0
"""CTF 1.8: random TSDL and streams, written here bit by bit after the specification 1.8.3 from values that are known, and read by the
importer. Where babeltrace2 is installed, it reads the same traces too.  usage: check_ctf1.py [SEEDS]"""
import json
import os
import random
import re
import struct
import sys
import tempfile

SOURCE = os.environ["TRACESMITH_SOURCE_DIR"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "cli"))
import babeltrace  # noqa: E402
from ctf_bits import Bits  # noqa: E402
from support import check, run  # noqa: E402

FOLDER = tempfile.mkdtemp()
UUID = bytes(range(0x20, 0x30))
FREQUENCY, SECONDS, CYCLES = 1200000000, 1700000000, 77


def rows(path, sql, code=0):
    done = run("query", "--json", "--no-cache", path, sql, code=code)
    return json.loads(done.stdout)["results"][0]["rows"]


def nanoseconds(cycles):
    return (cycles + CYCLES + SECONDS * FREQUENCY) * 10 ** 9 // FREQUENCY


# ---- types: each has its TSDL, random values, their bits, and what the importer shows


class Integer:
    def __init__(self, size, signed=False, order=None, align=None, text=False, clock=False):
        self.size, self.signed, self.order, self.text, self.clock = size, signed, order, text, clock
        self.given = align
        self.align = align or (8 if size % 8 == 0 else 1)

    def tsdl(self):
        parts = ["size = %d;" % self.size, "signed = %s;" % ("true" if self.signed else "false")]
        if self.given:
            parts.append("align = %d;" % self.given)
        if self.order:
            parts.append("byte_order = %s;" % self.order)
        if self.text:
            parts.append("encoding = UTF8; base = decimal;")
        if self.clock:
            parts.append("map = clock.made.value;")
        return "integer { %s }" % " ".join(parts)

    def random(self, rng):
        return rng.randrange(-(1 << self.size - 1), 1 << self.size - 1) if self.signed else rng.randrange(1 << self.size)

    def put(self, bits, value, big):
        big = self.order == "be" or (big and self.order is None)
        bits.align(self.align)
        bits.put(value & (1 << self.size) - 1, self.size, big, big)

    def shown(self, value):
        return value


class Float:
    def __init__(self, size, order=None, has_align=True):
        self.size, self.order, self.has_align, self.align = size, order, has_align, 8

    def tsdl(self):
        digits = {32: "exp_dig = 8; mant_dig = 24;", 64: "exp_dig = 11; mant_dig = 53;"}[self.size]
        return "floating_point { %s %s %s }" % (digits, "align = 8;" if self.has_align else "", "byte_order = %s;" % self.order if self.order else "")

    def random(self, rng):
        return rng.randrange(-2000, 2000) / 8

    def put(self, bits, value, big):
        form = "<I" if self.size == 32 else "<Q"
        number = struct.unpack(form, struct.pack("<f" if self.size == 32 else "<d", value))[0]
        Integer(self.size, order=self.order, align=8).put(bits, number, big)

    def shown(self, value):
        return value


class Text:
    align = 8

    def tsdl(self):
        return "string"

    def random(self, rng):
        return "".join(rng.choice("abcd xyz\u00e4\u4e2d") for _ in range(rng.randrange(0, 9)))

    def put(self, bits, value, _):
        bits.raw(value.encode() + b"\0")

    def shown(self, value):
        return value


class Enum:
    LABELS = (("low", 0, 9), ("_ten", 10, 10), ("with space", 11, 20), ("high", 21, 100))

    def __init__(self, integer):
        self.integer, self.align = integer, integer.align

    def tsdl(self):
        labels = ", ".join(('"%s"' % n if " " in n else n) + (" = %d" % a if a == b else " = %d ... %d" % (a, b)) for n, a, b in self.LABELS[:1] + self.LABELS[2:])
        return "enum : %s { %s }" % (self.integer.tsdl(), labels.replace('"with', '_ten = 10, "with', 1))

    def random(self, rng):
        return rng.choice([0, 5, 10, 15, 21, 100, 120])

    def put(self, bits, value, big):
        self.integer.put(bits, value, big)

    def shown(self, value):
        return value

    def label(self, value):
        return next((n for n, a, b in self.LABELS if a <= value <= b), None)


class Array:
    def __init__(self, element, length):
        self.element, self.length, self.align = element, length, element.align

    def tsdl(self):
        return self.element.tsdl()

    def suffix(self):
        return "[%d]" % self.length

    def random(self, rng):
        return [self.element.random(rng) for _ in range(self.length)]

    def put(self, bits, value, big):
        bits.align(self.align)
        for one in value:
            self.element.put(bits, one, big)

    def shown(self, value):
        return [self.element.shown(one) for one in value]


class Bytes:
    """A text as an array of bytes with an encoding."""
    align = 8

    def __init__(self, length):
        self.length = length

    def tsdl(self):
        return Integer(8, text=True, align=8).tsdl()

    def suffix(self):
        return "[%d]" % self.length

    def random(self, rng):
        return "abcdefghij"[:rng.randrange(0, self.length + 1)]

    def put(self, bits, value, _):
        bits.raw(value.encode() + bytes(self.length - len(value)))

    def shown(self, value):
        return value


class Structure:
    def __init__(self, members, given=None):
        self.members = members  # [(name, type)]
        self.given = given
        self.align = max([given or 1] + [t.align for _, t in members])

    def tsdl(self):
        return "struct { %s }%s" % (" ".join(declaration(n, t) for n, t in self.members), " align(%d)" % self.given if self.given else "")

    def random(self, rng):
        return [t.random(rng) for _, t in self.members]

    def put(self, bits, value, big):
        bits.align(self.align)
        for (_, t), one in zip(self.members, value):
            t.put(bits, one, big)

    def shown(self, value):
        return {plain(n): t.shown(v) for (n, t), v in zip(self.members, value)}


def declaration(name, kind):
    return "%s %s%s;" % (kind.tsdl(), name, kind.suffix() if hasattr(kind, "suffix") else "")


def plain(name):
    return name[1:] if name.startswith("_") else name


def integer(rng):
    if rng.random() < 0.3:  # not of whole bytes: of the trace's order, as what is next to it
        return Integer(rng.choice([1, 3, 5, 11, 27, 33]), rng.random() < 0.3)
    size = rng.choice([8, 16, 24, 32, 48, 64])
    return Integer(size, rng.random() < 0.5, rng.choice([None, "le", "be"]), rng.choice([None, 8, 16, 32, 64]))


def simple(rng):
    kind = rng.choice(["integer", "integer", "float", "text", "bytes", "enum"])
    if kind == "integer":
        return integer(rng)
    if kind == "float":
        return Float(rng.choice([32, 64]), rng.choice([None, "le", "be"]), rng.random() < 0.5)
    if kind == "enum":
        return Enum(Integer(rng.choice([8, 16, 32]), rng.random() < 0.5, rng.choice([None, "le", "be"])))
    return Text() if kind == "text" else Bytes(rng.randrange(1, 9))


class Event:
    """The fields of a class of events: their TSDL, and how a random record of it is written."""

    def __init__(self, rng):
        self.lines, self.steps, self.align = [], [], 1
        for i in range(rng.randrange(0, 7)):
            self.add(rng, rng.choice(["", "_"]) + "m%d" % i)

    def widen(self, kind):
        """The structure of the fields begins where its widest member may."""
        self.align = max(self.align, kind.align)

    def member(self, name, kind):
        self.lines.append(declaration(name, kind))
        self.widen(kind)

        def step(rng, bits, big, expect, _):
            value = kind.random(rng)
            kind.put(bits, value, big)
            show(expect, plain(name), kind, value)
        self.steps.append(step)

    def add(self, rng, name):
        kind = rng.choice(["simple", "simple", "structure", "array", "nested", "sequence", "text", "variant"])
        if kind == "simple":
            self.member(name, simple(rng))
        elif kind == "structure":
            self.member(name, Structure([("p%d" % i, simple(rng)) for i in range(rng.randrange(0, 4))], rng.choice([None, 32])))
        elif kind == "array":
            self.member(name, Array(rng.choice([integer(rng), Structure([("_x", integer(rng)), ("y", Text())])]), rng.randrange(0, 5)))
        elif kind == "nested":
            self.nested(name, integer(rng), rng.randrange(1, 4), rng.randrange(1, 4))
        elif kind in ("sequence", "text"):
            self.sequence(rng, name, kind == "text")
        else:
            self.variant(rng, name)

    def nested(self, name, element, rows_, columns):
        whole = Array(Array(element, columns), rows_)
        self.widen(whole)
        self.lines.append("%s %s[%d][%d];" % (element.tsdl(), name, rows_, columns))

        def step(rng, bits, big, expect, _):
            value = whole.random(rng)
            whole.put(bits, value, big)
            show(expect, plain(name), whole, value)
        self.steps.append(step)

    def sequence(self, rng, name, is_text):
        number = Integer(rng.choice([8, 16, 5]), order=None)
        element = Integer(8, text=True, align=8) if is_text else integer(rng)
        self.widen(number)
        self.widen(element)
        length = "_%s_length" % plain(name)
        path = rng.choice([length, "event.fields." + length])
        self.lines += [declaration(length, number), "%s %s[ %s ];" % (element.tsdl(), name, path)]

        def step(rng, bits, big, expect, _):
            value = "abcdefg"[:rng.randrange(0, 7)] if is_text else [element.random(rng) for _ in range(rng.randrange(0, 6))]
            number.put(bits, len(value), big)
            expect[plain(length)] = len(value)
            if is_text:
                bits.raw(value.encode())
                expect[plain(name)] = value
            else:
                array = Array(element, len(value))
                array.put(bits, value, big)
                show(expect, plain(name), array, value)
        self.steps.append(step)

    def variant(self, rng, name):
        tag = "_%s_tag" % plain(name)
        options = [("low", simple(rng)), ("_ten", Structure([("a", integer(rng)), ("b", Text())])), ("high", integer(rng))]
        base = Enum(Integer(8, rng.random() < 0.5))
        self.widen(base)
        self.lines += [declaration(tag, base), "variant <%s> { %s } %s;" % (tag, " ".join(declaration(n, t) for n, t in options), name)]

        def step(rng, bits, big, expect, _):
            chosen, value = rng.choice([(0, 4), (1, 10), (2, 30)])
            base.put(bits, value, big)
            show(expect, plain(tag), base, value)
            inner = options[chosen][1].random(rng)
            options[chosen][1].put(bits, inner, big)
            show(expect, plain(name), options[chosen][1], inner)
        self.steps.append(step)

    def tsdl(self):
        return "struct { %s }" % "\n        ".join(self.lines)


def show(expect, name, kind, value):
    if isinstance(kind, Structure):
        for (inner, t), one in zip(kind.members, value):
            show(expect, name + "." + plain(inner), t, one)
    elif isinstance(kind, Enum):
        expect[name] = value
        expect[name + ".name"] = kind.label(value)
    else:
        expect[name] = kind.shown(value)


# ---- a trace

U8, U32, U64 = Integer(8), Integer(32), Integer(64)
HEADERS = {  # of event records: few classes, many classes (as LTTng has them)
    "compact": """struct compact_header {
    enum : uint5_t { compact = 0 ... 30, extended = 31 } id;
    variant <id> {
        struct { uint27_time_t timestamp; } compact;
        struct { uint32_t id; uint64_time_t timestamp; } extended;
    } v;
} align(8);""",
    "large": """struct large_header {
    enum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;
    variant <id> {
        struct { uint32_time_t timestamp; } compact;
        struct { uint32_t id; uint64_time_t timestamp; } extended;
    } v;
} align(8);"""}

TOP = """/* CTF 1.8 */
/* a comment */ // another one
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = 0; base = x; } := uint32_t;
typealias integer { size = 0x40; align = 8; signed = FALSE; } := uint64_t;
typealias integer { size = 5; align = 1; } := uint5_t;
typealias integer { size = 32; align = 8; signed = true; } := int;
typealias integer { size = 64; align = 8; signed = false; } := unsigned long;

trace {
    major = 1;
    minor = 8;
    uuid = "20212223-2425-2627-2829-2a2b2c2d2e2f";
    byte_order = %(order)s;
    packet.header := struct {
        uint32_t magic;
        uint8_t  uuid[16];
        uint32_t stream_id;
    };
};

env { tracer = "made \\"here\\""; n = -3; };

clock {
    name = "made";
    uuid = "20212223-2425-2627-2829-2a2b2c2d2e20";
    description = "a clock; of {this} test";
    freq = 1200000000;
    offset_s = 1700000000; offset = 77;
};

typealias integer { size = 27; align = 1; signed = false; map = clock.made.value; } := uint27_time_t;
typealias integer { size = 32; align = 8; signed = false; map = clock.made.value; } := uint32_time_t;
typealias integer { size = 64; align = 8; signed = false; map = clock.made.value; } := uint64_time_t;

struct packet_context {
    uint64_time_t timestamp_begin;
    uint64_time_t timestamp_end;
    uint64_t content_size;
    uint64_t packet_size;
    uint64_t packet_seq_num;
    unsigned long events_discarded;
    uint32_t cpu_id;
};
"""

STREAM = """
%(text)s

stream {
    id = %(id)d;
    typedef uint32_t id_t;
    event.header := struct %(name)s_header;
    packet.context := struct packet_context;
    event.context := struct { id_t _vpid, _vtid; };
};
"""

EVENT = """
event {
    name = "made:event %(id)d";
    id = %(id)d;
    stream_id = %(stream)d;
    loglevel = 13;
    model.emf.uri = "http://example.org/?a=1;b=2";
    %(context)sfields := %(fields)s;
};

callsite { name = "made:event"; func = "main"; file = "a.c"; line = 3; ip = 0x40; };
"""


def metadata(big, events):
    parts = [TOP % {"order": "be" if big else "le"}]
    for stream, name in enumerate(("compact", "large")):
        parts.append(STREAM % {"text": HEADERS[name], "id": stream, "name": name})
        for number, (event, has_context) in events.items():
            parts.append(EVENT % {"id": number, "stream": stream, "fields": event.tsdl(),
                                  "context": "context := struct { uint16_t level; string _where; };\n    " if has_context else ""})
    return "".join(parts)


def put_header(bits, big, name, number, cycles, extended):
    bits.align(8)
    size, least = (5, 31) if name == "compact" else (16, 65535)
    extended = extended or number >= least
    Integer(size).put(bits, least if extended else number, big)
    if extended:
        U32.put(bits, number, big)
        U64.put(bits, cycles, big)
    else:
        Integer(27 if name == "compact" else 32).put(bits, cycles & (1 << (27 if name == "compact" else 32)) - 1, big)


def packet(rng, big, stream, records, begin, end, discarded, sequence, events, expected, padding):
    name = ("compact", "large")[stream]
    bits = Bits()
    U32.put(bits, 0xc1fc1fc1, big)
    bits.raw(UUID)
    U32.put(bits, stream, big)
    lengths = len(bits.data) + 16
    for value in (begin, end, 0, 0, sequence, discarded):
        U64.put(bits, value, big)
    U32.put(bits, sequence, big)
    for number, cycles, tid, extended in records:
        event, has_context = events[number]
        put_header(bits, big, name, number, cycles, extended)
        expect = {"context.vpid": 40, "context.vtid": tid, "packet.cpu_id": sequence}
        U32.put(bits, 40, big)
        U32.put(bits, tid, big)
        if has_context:
            bits.align(8)
            Integer(16).put(bits, tid + 7, big)
            bits.raw(b"here\0")
            expect.update({"context.level": tid + 7, "context.where": "here"})
        bits.align(event.align)
        for step in event.steps:
            step(rng, bits, big, expect, None)
        expected.append((nanoseconds(cycles), "made:event %d" % number, expect))
    content, total = bits.at, (bits.at + 7) // 8 + padding
    bits.data[lengths:lengths + 16] = struct.pack(">QQ" if big else "<QQ", content, total * 8)
    return bytes(bits.data) + bytes(padding)


def in_packets(text, big, rng):
    data, form, at = b"", ">" if big else "<", 0
    while at < len(text):
        part = text[at:at + rng.randrange(50, 4000)]
        at += len(part)
        size, padding = 37 + len(part), rng.randrange(0, 9)
        data += struct.pack(form + "I16sIIIBBBBB", 0x75d11d57, UUID, 0, 8 * size, 8 * (size + padding), 0, 0, 0, 1, 8) + part + bytes(padding)
    return data


def make(name, text, streams):
    folder = os.path.join(FOLDER, name)
    os.makedirs(os.path.join(folder, "index"), exist_ok=True)
    for stream, data in dict(streams, metadata=text).items():
        with open(os.path.join(folder, stream), "wb") as file:
            file.write(data)
    return folder


def random_trace(seed):
    rng = random.Random(seed)
    big = seed % 2 == 1
    events = {number: (Event(rng), rng.random() < 0.4) for number in (0, 1, 7, 40)}
    streams, expected, lost = {}, [], []
    for stream in (0, 1):
        data, cycles, dropped = b"", 1 << 40, 0
        for sequence in range(rng.randrange(1, 4)):
            begin = cycles
            records = []
            for _ in range(rng.randrange(0, 12)):
                cycles += rng.randrange(0, 1 << 26)
                records.append((rng.choice(list(events)), cycles, 40 + rng.randrange(3), rng.random() < 0.2))
            more = rng.choice([0, 0, 5])
            dropped += more
            lost += [more] if more else []
            data += packet(rng, big, stream, records, begin, cycles, dropped, sequence, events, expected, rng.choice([0, 0, 3]))
        streams["channel_%d" % stream] = data
    text = metadata(big, events).encode()
    return make("t%d" % seed, in_packets(text, big, rng) if seed % 3 else text, streams), expected, lost


def same(got, known):
    if isinstance(known, (list, dict)):
        return json.loads(got) == known
    if isinstance(known, int) and known >= 1 << 63:
        return got == known - (1 << 64)
    return got == known


def check_random(seed, second):
    folder, expected, lost = random_trace(seed)
    found = rows(folder, "SELECT e.*, t.tid AS tid_ FROM events e JOIN tracks t ON t.id = e.track WHERE e.kind = 'marker'", code=None)
    check(len(found) == len(expected), "seed %d: %d records of %d" % (seed, len(found), len(expected)))
    key = lambda r: (r[0], r[1], r[2]["context.vtid"], r[2]["packet.cpu_id"])
    got = sorted(((r["start"], r["name"], r) for r in found), key=key)
    for (start, name, row), (time, label, fields) in zip(got, sorted(expected, key=key)):
        check((start, name, row["tid_"]) == (time, label, fields["context.vtid"]), "seed %d: %s instead of %s" % (seed, (start, name), (time, label)))
        for field, known in fields.items():
            check(same(row.get(field), known), "seed %d: %s: %r instead of %r" % (seed, field, row.get(field), known))
    check(sorted(r["lost"] for r in rows(folder, "SELECT lost FROM loss", code=None)) == sorted(lost), "seed %d: lost" % seed)
    facts = {r["key"]: r["value"] for r in rows(folder, "SELECT key, value FROM attributes", code=None)}
    check((facts["trace.env.tracer"], facts["trace.env.n"], facts["import.format"]) == ('made "here"', "-3", "ctf1"), str(facts))
    if second:
        babeltrace.compare(folder, rows, check, 1)


FORMS = """
/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = true; } := int;
typedef integer { size = 8; align = 8; } pair_t[2];
struct point { integer { size = 8; } x, y; };
variant choice { struct point A; string B; };
enum kind { A, B = 5, C, };
trace { major = 1; minor = 8; byte_order = le; };
event {
    name = plain;
    fields := struct {
        enum kind tag;
        variant choice <tag> v;
        pair_t p;
        struct point q[2];
        enum : int { "x y" = -1, rest = 0 ... 0x7f } e;
        floating_point { exp_dig = FLT_EXP_DIG; mant_dig = FLT_MANT_DIG; align = 8; byte_order = be; } f;
        const int c;
    };
};
"""


def check_forms():
    """Forms that tracers do not write: no headers, no stream, named types, labels without values."""
    records = b"\x05hi\0" + bytes([1, 2, 3, 4, 5, 6, 255]) + struct.pack(">f", 1.5) + b"\xf9"
    records += b"\x00" + bytes([8, 9, 1, 2, 3, 4, 5, 6, 7]) + struct.pack(">f", -0.25) + b"\x01"
    found = rows(make("forms", FORMS.encode(), {"s": records}), "SELECT * FROM marker")
    names = ("tag", "tag.name", "v", "v.x", "v.y", "p", "q", "e", "e.name", "f", "c")
    check([tuple(row[n] for n in names) for row in found] == [
        (5, "B", "hi", None, None, "[1,2]", '[{"x":3,"y":4},{"x":5,"y":6}]', -1, "x y", 1.5, -7),
        (0, "A", None, 8, 9, "[1,2]", '[{"x":3,"y":4},{"x":5,"y":6}]', 7, "rest", -0.25, 1)], "forms: %s" % found)


def check_damage():
    """What cannot be decoded is named with its stream and byte; whatever the bytes are, the command ends."""
    rng = random.Random(77)
    events = {0: (Event(rng), False)}
    text = metadata(False, events).encode()
    expected = []
    one = packet(rng, False, 0, [(0, 1000 + i, 1, False) for i in range(20)], 1000, 1100, 0, 0, events, expected, 0)
    two = packet(rng, False, 0, [(0, 2000 + i, 1, False) for i in range(20)], 2000, 2100, 0, 1, events, expected, 0)
    done = run("query", "--json", "--no-cache", make("cut", text, {"s": one + two[:-1]}), "SELECT count(*) AS n FROM marker", code=3)
    check(json.loads(done.stdout)["results"][0]["rows"][0]["n"] >= 20 and b"stream s" in done.stderr and b"at byte" in done.stderr, done.stderr.decode())
    done = run("query", "--json", "--no-cache", make("two", text, {"s": one + two}), "SELECT count(*) AS n FROM marker")
    check(json.loads(done.stdout)["results"][0]["rows"][0]["n"] == 40, "two packets")
    three = packet(rng, False, 0, [(0, 3000, 1, False)], 3000, 3100, 0, 5, events, expected, 0)
    check([r["text"] for r in rows(make("lacks", text, {"s": one + three}), "SELECT text FROM loss")] == ["stream s lacks 4 packets"], "missing packets")
    for number, (wrong, said) in enumerate(((text.replace(b"uint5_t {", b"uint6_t {"), b"not described"), (text.replace(b"minor = 8", b"minor = 9"), b"version"),
                                            (text.replace(b"variant <id>", b"variant <none>"), b"tag"), (text[:-3], b"end"), (text.replace(b"stream_id = 1", b"stream_id = 6"), b"no stream"),
                                            (text.replace(b"size = 5;", b"size = 5000;"), b"bits"), (text.replace(b"size = 5;", b"size = 4096; size = 4096;"), b"4,096 bits"),
                                            (text.replace(b"offset = 77", b"offset = -77"), b"below 0"), (text.replace(b"clock.made", b"clock.none"), b"clock"))):
        check(wrong != text, said.decode())
        done = run("query", "--json", "--no-cache", make("wrong%d" % number, wrong, {"s": one}), "SELECT 1", code=None)
        check(done.returncode != 0 and said in done.stderr and b"at byte" in done.stderr, "wrong metadata: %s" % done.stderr.decode())
    wide = '/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; }; event { name = "a"; fields := struct { %s }; };' % "".join(
        "integer { size = 8; } f%d;" % i for i in range(5000))
    done = run("query", "--json", "--no-cache", make("wide", wide.encode(), {"s": bytes(5000)}), "SELECT 1", code=None)
    check(done.returncode != 0 and b"too much in one event" in done.stderr, "5,000 fields: %s" % done.stderr.decode())
    rng = random.Random(2)
    for at in range(60):
        data, damaged = bytearray(one + two), bytearray(text)
        for _ in range(3):
            (data if at % 2 else damaged)[rng.randrange(len(data if at % 2 else damaged))] = rng.randrange(1, 256)
        done = run("query", "--json", "--no-cache", make("damaged", bytes(damaged), {"s": bytes(data)}), "SELECT count(*) FROM marker", code=None)
        check(done.returncode in (0, 1, 3), "damage: %d, %s" % (done.returncode, done.stderr))


def check_limits():
    """Metadata that are large, or that take long: what is read in time is read, and what is refused says why and where."""
    top = "/* CTF 1.8 */ typealias integer { size = 8; } := u8; trace { major = 1; minor = 8; byte_order = le; };\n"
    # An option looks its labels up: 16,000 times 300,000 comparisons would take longer than this test may.
    labels = ["l%d" % i for i in range(300000)] + ["twice", "twice"]
    text = top + 'event { name = "a"; fields := struct { enum : integer { size = 32; } { %s } tag; variant <tag> { u8 twice; %s } v; }; };' % (
        ", ".join(labels), " ".join("u8 l%d;" % (299999 - 18 * i) for i in range(16000)))
    data = b"".join(struct.pack("<IB", tag, value) for tag, value in ((299999, 1), (299999 - 18 * 15999, 2), (300001, 3)))
    found = rows(make("labels", text.encode(), {"s": data}), "SELECT * FROM marker")
    check([(r["tag"], r["tag.name"], r["v"]) for r in found] == [(299999, "l299999", 1), (12017, "l12017", 2), (300001, "twice", 3)], "labels: %s" % found)
    events = "".join('event { name = "e%d"; id = %d; fields := struct { %s }; };\n' % (e, e, "".join("u8 n%d; u8 s%d[n%d];" % (i, i, i) for i in range(100)))
                     for e in range(700))
    deep = 'event { name = "a"; fields := struct { %s }; };' % "".join("u8 n%d; u8 s%d[n%d];" % (i, i, i) for i in range(8000))
    for name, text, said in (("slots", top + events, b"65,535 fields"), ("comparisons", top + deep, b"comparisons of names")):
        done = run("query", "--json", "--no-cache", make(name, text.encode(), {"s": b"a"}), "SELECT 1", code=None)
        at = re.search(rb"at byte (\d+)", done.stderr)
        check(done.returncode != 0 and said in done.stderr and at and 0 < int(at.group(1)) <= len(text), "%s: %s" % (name, done.stderr.decode()))


if __name__ == "__main__":
    second = babeltrace.is_here()
    for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 24):
        check_random(seed, second and seed < 8)
    check_forms()
    check_damage()
    check_limits()
    print("compared with babeltrace2 too" if second else "not compared with babeltrace2: it is not installed (Debian: babeltrace2)")
