#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads an SBT file by docs/sbt-format.md and nothing else, and prints all of it as JSON.

A second implementation, for the tests: it shares no code with the library, always walks the frames (never uses the
index), and is written for clarity. Exit status: 0 printed, 3 refused.

    sbt_reader.py FILE            the trace
    sbt_reader.py --uses FILE...  which validity encodings, transforms, packings and planes the files use
"""
import ctypes
import ctypes.util
import struct
import sys

FILE_MAGIC = bytes([0x53, 0x42, 0x54, 0x89, 0x0D, 0x0A, 0x1A, 0x0A])
FRAME_MAGIC = b"SBTF"
END_MAGIC = b"SBTEND\r\n"
SCHEMA, DICTIONARY, EVENTS, AGGREGATE, INDEX, END = 1, 2, 3, 4, 6, 7
CRITICAL = 1
TIME, I64, U64, U32, U8, F64, STRING, TRACK, KIND, OPERATION, DIRECTION, REASON, BOOL, LIST, CERTAINTY = range(1, 16)
TYPE_BYTES = {TIME: 8, I64: 8, U64: 8, U32: 4, U8: 1, F64: 8, STRING: 4, TRACK: 4, KIND: 1, OPERATION: 1,
              DIRECTION: 1, REASON: 1, BOOL: 1, LIST: 8, CERTAINTY: 1}
START, DURATION, KIND_FIELD, NAME, INFERRED, CERTAINTY_FIELD = 1, 2, 3, 4, 37, 50
FIRST_DYNAMIC = 4096
MASK = (1 << 64) - 1
MAX_PAYLOAD = 128 << 20
MAX_STRING = 64 << 20
MAX_COLUMNS = 4096
MAX_EVENTS = 65536
MAX_DEPTH = 4
MAX_REFERENCES = 8


class Damage(Exception):
    """This frame is to be left out."""


class Unknown(Exception):
    """This column is of a newer version."""


class Refused(Exception):
    """This file is not read at all."""


used = set()

# ---- notation (section 1)

zstd = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
zstd.ZSTD_decompress.restype = ctypes.c_size_t
zstd.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]


def decompress(data, size):
    out = ctypes.create_string_buffer(max(size, 1))
    if zstd.ZSTD_decompress(out, size, bytes(data), len(data)) != size:
        raise Damage("zstd")
    return out.raw[:size]


def make_crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC_TABLE = make_crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def unzigzag(value):
    return value >> 1 ^ (MASK if value & 1 else 0)


class Bytes:
    """Bytes read from front to back."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def left(self):
        return len(self.data) - self.at

    def take(self, size):
        if size > self.left():
            raise Damage("short")
        self.at += size
        return self.data[self.at - size:self.at]

    def u8(self):
        return self.take(1)[0]

    def varint(self):
        value = 0
        for i in range(10):
            byte = self.u8()
            value |= (byte & 127) << 7 * i
            if byte < 128:
                if value > MASK:
                    raise Damage("varint")
                return value
        raise Damage("varint")

    def zigzag(self):
        return unzigzag(self.varint())

    def string(self):
        return self.take(self.varint())

    def blob(self):
        encoding = self.u8()
        if encoding > 1:
            raise Damage("blob")
        length = self.varint()
        if length > MAX_PAYLOAD:
            raise Damage("blob")
        if encoding == 0:
            return Bytes(self.take(length))
        return Bytes(decompress(self.take(self.varint()), length))


# ---- frames (sections 2 and 3)


def stored_length(length):
    return (length + 63) // 64 * 64


class Frame:
    def __init__(self, data, offset):
        """The frame whose header stands there; Damage when none does."""
        head = data[offset:offset + 64]
        if len(head) < 64 or head[:4] != FRAME_MAGIC:
            raise Damage("no frame")
        (self.type, self.flags, header_size, self.version, self.kinds, self.length, self.sequence, self.track,
         self.events, self.first_start, self.last_end, self.payload_crc, header_crc) = struct.unpack_from(
             "<HHHHIQQIIqqII", head, 4)
        if header_crc != crc32c(head[:60]) or header_size != 64 or self.length > MAX_PAYLOAD:
            raise Damage("no frame")
        self.offset = offset
        self.end = offset + 64 + stored_length(self.length)
        self.whole = self.end <= len(data)
        self.stored = data[offset + 64:self.end]

    def is_sound(self):
        return crc32c(self.stored) == self.payload_crc

    def is_known(self):
        return self.version == 1 and self.type in (SCHEMA, DICTIONARY, EVENTS, AGGREGATE, INDEX, END)

    def payload(self):
        return Bytes(self.stored[:self.length])


class File:
    def __init__(self, data):
        self.data = data
        self.damaged = 0
        self.torn = False
        self.frames = []
        first = self.read_header()
        self.walk(first)
        self.unknown = 0
        sound = []
        for frame in self.frames:
            if not frame.is_known() and frame.flags & CRITICAL:
                raise Refused("critical frame of type %d version %d" % (frame.type, frame.version))
            if not frame.is_sound():
                self.damaged += 1
                continue
            self.unknown += not frame.is_known()
            sound.append(frame)
        self.sound = [frame for frame in sound if frame.is_known()]

    def read_header(self):
        head = self.data[:64]
        good = len(head) == 64 and head[:8] == FILE_MAGIC
        if good:
            major, _, size, flags = struct.unpack_from("<HHII", head, 8)
            good = struct.unpack_from("<I", head, 60)[0] == crc32c(head[:60])
        if not good:
            try:
                Frame(self.data, 64)
            except Damage:
                raise Refused("not an SBT file") from None
            self.damaged += 1
            return 64
        if major != 1:
            raise Refused("major version %d" % major)
        if flags >> 16:
            raise Refused("flags")
        return size

    def walk(self, offset):
        next_sequence = 0
        in_damage = False
        while len(self.data) - offset >= 64:
            try:
                frame = Frame(self.data, offset)
                if frame.sequence < next_sequence:
                    raise Damage("sequence")
            except Damage:
                self.damaged += not in_damage
                in_damage = True
                offset += 64
                continue
            in_damage = False
            if not frame.whole:
                self.torn = True
                return
            self.frames.append(frame)
            next_sequence = frame.sequence + 1
            offset = frame.end
        self.torn = offset < len(self.data)

    def is_ended(self):
        if not self.sound or self.sound[-1].type != END or self.sound[-1].end != len(self.data):
            return False
        trailer = self.sound[-1].stored[-32:]
        return (trailer[:8] == END_MAGIC and struct.unpack_from("<I", trailer, 28)[0] == crc32c(trailer[:28])
                and struct.unpack_from("<QQ", trailer, 8) == (self.sound[-1].offset, len(self.data)))

    def of_type(self, kind):
        return [frame for frame in self.sound if frame.type == kind]


# ---- DICTIONARY (section 5)

TABLES = {2: ("processes", "uuzuuu"), 3: ("devices", "uuuuuuuuuuu"), 4: ("tracks", "uuuuuuuuu"),
          5: ("clocks", "uuu"), 6: ("clock_pairs", "uzzz"), 7: ("attributes", "uu"), 8: ("fields", "uuu"),
          10: ("modules", "uuuu"), 11: ("frames", "uud"), 12: ("stacks", "bd"), 13: ("symbols", "duuu"),
          15: ("ranks", "uuuuuuuu"), 16: ("parts", "uuuuuuzz")}
TRACK_NAMES = 9
DEVICE_FACTS = 14


class Dictionary:
    def __init__(self):
        self.strings = [b""]
        self.tables = {table: [None] for table in TABLES}

    def read(self, payload):
        while payload.left():
            table, first, rows, columns = (payload.varint() for _ in range(4))
            content = payload.blob()
            if table == 1:
                self.add(self.strings, first, self.read_strings(content, rows), b"")
            elif table in TABLES:
                form = TABLES[table][1]
                self.add(self.tables[table], first, self.read_rows(content, first, rows, columns, form),
                         [0] * len(form))
            elif table == TRACK_NAMES:
                for track, name in self.read_rows(content, first, rows, columns, "uu"):
                    if 0 < track < len(self.tables[4]):
                        self.tables[4][track][2] = name
            elif table == DEVICE_FACTS:
                for device, *facts in self.read_rows(content, first, rows, columns, "uuuuuuuuuuu"):
                    if 0 < device < len(self.tables[3]):
                        entry = self.tables[3][device]
                        for at, fact in zip((0, 1, 2, 3, 4, 6, 7, 8, 9, 10), facts):
                            entry[at] = entry[at] or fact

    @staticmethod
    def add(table, first, rows, nothing):
        if first < len(table):
            raise Damage("ids")
        while len(table) < first:
            table.append(nothing)
        table.extend(rows)

    @staticmethod
    def read_strings(content, rows):
        lengths = [content.varint() for _ in range(rows)]
        if any(length > MAX_STRING for length in lengths):
            raise Damage("string")
        strings = [content.take(length) for length in lengths]
        if content.left():
            raise Damage("strings")
        return strings

    @staticmethod
    def read_rows(content, first, rows, columns, form):
        out = []
        before = [0] * len(form)
        if columns == 0:
            raise Damage("columns")
        for index in range(rows):
            values = [content.varint() for _ in range(columns)][:len(form)]
            for i, value in enumerate(values):
                if form[i] == "z":
                    values[i] = signed(unzigzag(value))
                elif form[i] == "d":
                    values[i] = before[i] = (before[i] + unzigzag(value)) % 2**64
                elif form[i] == "b":
                    if value >= first + index:
                        raise Damage("a row after its own")
                    values[i] = first + index - value if value else 0
            out.append(values + [0] * (len(form) - len(values)))
        if content.left():
            raise Damage("rows")
        return out


# ---- streams (section 7)


def read_stream(source, count, depth=1):
    if count == 0:
        return []
    if depth > MAX_DEPTH:
        raise Damage("depth")
    packing = source.u8()
    body = Bytes(source.take(source.varint()))
    if packing >= len(PACKINGS):
        raise Unknown("packing")
    used.add("packing %d" % packing)
    values = PACKINGS[packing](body, count, depth)
    if body.left() or len(values) != count:
        raise Damage("stream")
    return values


def read_constant(body, count, _):
    return [body.zigzag()] * count


def read_raw(body, count, _):
    width = body.u8()
    if width not in (1, 2, 4, 8):
        raise Damage("raw")
    return [int.from_bytes(body.take(width), "little") for _ in range(count)]


def read_for(body, count, _):
    values = []
    while len(values) < count:
        n = min(1024, count - len(values))
        head = body.u8()
        width = head & 127
        base = body.zigzag()
        if width > 64 or (head & 128 and width > 63):
            raise Damage("width")
        bits = int.from_bytes(body.take((n * width + 7) // 8), "little")
        vector = [bits >> i * width & (1 << width) - 1 for i in range(n)]
        if head & 128:
            used.add("exceptions")
            at = 0
            exceptions = body.varint()
            if exceptions > n:
                raise Damage("exceptions")
            for _ in range(exceptions):
                at += body.varint()
                high = body.varint()
                if at >= n:
                    raise Damage("exception")
                vector[at] |= high << width
                at += 1
        values += [base + v & MASK for v in vector]
    return values


def read_planes(body, count, _):
    head = body.u8()
    planes = head & 15
    if planes < 1 or planes > 8 or head & 0x70:
        raise Damage("planes")
    base = body.zigzag()
    values = [0] * count
    for plane in range(planes):
        encoding = body.u8()
        if encoding == 0:
            data = bytes([body.u8()]) * count
        elif encoding == 1:
            data = body.take(count)
        elif encoding == 2:
            data = decompress(body.take(body.varint()), count)
        else:
            raise Unknown("plane")
        used.add("plane %d" % encoding)
        values = [v | b << 8 * plane for v, b in zip(values, data)]
    if head & 128:
        used.add("zigzag planes")
        values = [unzigzag(v) for v in values]
    return [base + v & MASK for v in values]


def read_dictionary(body, count, depth):
    size = body.varint()
    if size < 1 or size > count:
        raise Damage("dictionary")
    values = read_stream(body, size, depth + 1)
    indices = read_stream(body, count, depth + 1)
    if any(i >= size for i in indices):
        raise Damage("index")
    return [values[i] for i in indices]


def read_runs(body, count, depth):
    size = body.varint()
    if size < 1 or size > count:
        raise Damage("runs")
    values = read_stream(body, size, depth + 1)
    lengths = [length + 1 for length in read_stream(body, size, depth + 1)]
    if sum(lengths) != count:
        raise Damage("runs")
    return [value for value, length in zip(values, lengths) for _ in range(length)]


def read_tick(body, count, depth):
    factor = body.varint()
    if factor < 2:
        raise Damage("tick")
    quotients = read_stream(body, count, depth + 1)
    remainders = read_stream(body, count, depth + 1)
    return [q * factor + r & MASK for q, r in zip(quotients, remainders)]


def read_log(body, count, depth):
    head = body.u8()
    mantissa = head & 15
    if head & 0x70 or mantissa > 8:
        raise Damage("log")
    base = body.zigzag()
    symbols = read_stream(body, count, depth + 1)
    rest = body.take(body.left())
    bits = int.from_bytes(rest, "little")
    at = 0
    values = []
    for symbol in symbols:
        if symbol > 255:
            raise Damage("symbol")
        below = (symbol >> mantissa) - 1 if symbol >> mantissa else 0
        if below + mantissa > 63:
            raise Damage("symbol")
        top = (1 << mantissa | symbol & (1 << mantissa) - 1) if symbol >> mantissa else symbol
        values.append((top << below) + (bits >> at & (1 << below) - 1))
        at += below
    if (at + 7) // 8 != len(rest):
        raise Damage("log")
    if head & 128:
        used.add("zigzag log")
        values = [unzigzag(v) for v in values]
    return [base + v & MASK for v in values]


def read_bundles(body, count, depth):
    size = body.u8()
    if size not in (2, 4, 8):
        raise Damage("bundles")
    used.add("bundles of %d" % size)
    base = body.zigzag()
    bundles = read_stream(body, (count + size - 1) // size, depth + 1)
    if any(bundle > 255 for bundle in bundles):
        raise Damage("bundle")
    width = 8 // size
    return [base + (bundles[i // size] >> width * (i % size) & (1 << width) - 1) & MASK for i in range(count)]


PACKINGS = [read_constant, read_raw, read_for, read_planes, read_dictionary, read_runs, read_tick, read_log,
            read_bundles]

# ---- EVENTS (section 6)

PLAIN, DELTA, GAP, RELATIVE, NEST, OTHER = range(6)
INTEGRAL, DECIMAL, GROUPED = 16, 32, 64


class Column:
    pass


class Events:
    """The columns of one frame: lists with one value per event, None where there is none."""

    def __init__(self, frame, known_fields, dictionary):
        self.frame = frame
        self.count = frame.events
        if not 1 <= self.count <= MAX_EVENTS:
            raise Damage("count")
        self.read_directory(frame.payload(), known_fields, dictionary)
        self.columns = {}
        for field, column in self.directory.items():
            try:
                self.columns[field] = self.values(column, 0)
            except Unknown:
                if field in (START, KIND_FIELD):
                    raise Damage("basics") from None
        # Section 14: field 37 is read as field 50.
        if INFERRED in self.columns and self.directory[INFERRED].type == BOOL:
            values = self.columns.pop(INFERRED)
            if CERTAINTY_FIELD not in self.directory:
                self.directory[CERTAINTY_FIELD] = self.directory[INFERRED]
                self.columns[CERTAINTY_FIELD] = [v if v is None else 3 if v else 1 for v in values]
        self.check()

    def read_directory(self, payload, known_fields, dictionary):
        count = payload.varint()
        if count > MAX_COLUMNS:
            raise Damage("columns")
        self.directory = {}
        self.order = []
        last = -1
        for _ in range(count):
            column = Column()
            column.field, column.type, column.validity = payload.varint(), payload.u8(), payload.u8()
            column.argument = payload.varint() if column.validity in (2, 3, 4) else 0
            column.transform = payload.u8()
            column.reference = payload.varint() if column.transform & 15 == RELATIVE else 0
            column.length = payload.varint()
            if column.field <= last:
                raise Damage("order")
            last = column.field
            column.readable = (column.validity <= 4 and column.type in TYPE_BYTES
                               and self.type_fits(column, known_fields, dictionary))
            column.decoded = None
            column.busy = False
            self.directory[column.field] = column
            self.order.append(column)
        for column in self.order:
            size = {1: (self.count + 7) // 8, 3: column.argument, 4: column.argument}.get(column.validity, 0)
            column.validity_bytes = payload.take(size)
            column.value_bytes = payload.take(column.length)
        if payload.left():
            raise Damage("rest")
        for field in (START, KIND_FIELD):
            if field not in self.directory or self.directory[field].validity != 0:
                raise Damage("basics")

    @staticmethod
    def type_fits(column, known_fields, dictionary):
        if column.field > FIRST_DYNAMIC:
            rows = dictionary.tables[8]
            at = column.field - FIRST_DYNAMIC
            return at >= len(rows) or rows[at][2] in (0, column.type)
        return known_fields.get(column.field) == column.type

    def has(self, column):
        """Which events have a value."""
        n = self.count
        used.add("validity %d" % column.validity)
        if column.validity == 0:
            return [True] * n
        if column.validity == 2:
            if column.argument >= self.order.index(column) or self.order[column.argument].validity == 2:
                raise Damage("validity")
            if self.order[column.argument].validity > 4:
                raise Unknown("validity")
            return self.has(self.order[column.argument])
        if column.validity == 3:
            out = []
            runs = Bytes(column.validity_bytes)
            present = False
            while runs.left():
                out += [present] * runs.varint()
                present = not present
                if len(out) > n:
                    raise Damage("runs")
            if len(out) != n:
                raise Damage("runs")
            return out
        bitmap = column.validity_bytes if column.validity == 1 else decompress(column.validity_bytes, (n + 7) // 8)
        bits = int.from_bytes(bitmap, "little")
        if bits >> n:
            raise Damage("unused bits")
        return [bool(bits >> i & 1) for i in range(n)]

    def values(self, column, depth):
        if not column.readable:
            raise Unknown("column")
        if column.decoded is None:
            if column.busy or depth > MAX_REFERENCES:
                raise Damage("cycle")
            column.busy = True
            has = self.has(column)
            try:
                dense = (self.read_list(column, sum(has)) if column.type == LIST else
                         self.read_scalar(column, has, depth))
            except Unknown:
                column.readable = False
                raise
            rest = iter(dense)
            column.decoded = [self.narrow(column, next(rest)) if there else None for there in has]
        return column.decoded

    @staticmethod
    def narrow(column, value):
        if column.type == LIST:
            return value
        value &= (1 << 8 * TYPE_BYTES[column.type]) - 1
        return signed(value) if column.type in (TIME, I64) else value

    def read_list(self, column, count):
        if column.transform != PLAIN:
            raise Unknown("transform")
        source = Bytes(column.value_bytes)
        lists = []
        if count:
            total = source.varint()
            lengths = read_stream(source, count)
            if sum(lengths) != total:
                raise Damage("list")
            elements = read_stream(source, total)
            at = value = 0
            for length in lengths:
                lists.append([])
                for _ in range(length):
                    value = value + elements[at] & MASK
                    lists[-1].append(value)
                    at += 1
        if source.left():
            raise Damage("list")
        return lists

    def durations(self, depth):
        if DURATION not in self.directory:
            return [0] * self.count
        return [v or 0 for v in self.values(self.directory[DURATION], depth + 1)]

    def references(self, column, depth):
        starts = self.values(self.directory[START], depth + 1)
        if column.reference == 0:
            return [s + d for s, d in zip(starts, self.durations(depth))]
        other = self.directory.get(column.reference)
        if other is None or other.type != TIME:
            raise Damage("reference")
        return [s if v is None else v for s, v in zip(starts, self.values(other, depth + 1))]

    def integers_of(self, field, depth):
        """The values of a column of integers, as unsigned ones, 0 for none."""
        column = self.directory.get(field)
        if column is None or column.type in (TIME, F64, LIST):
            raise Damage("other field")
        mask = (1 << 8 * TYPE_BYTES[column.type]) - 1
        return [(v or 0) & mask for v in self.values(column, depth + 1)]

    def order_of(self, column, source, has, depth):
        """The indices of the values that exist, in the order of their integers."""
        count = sum(has)
        if not column.transform & GROUPED or count == 0:
            return list(range(count))
        keys = [k for k, there in zip(self.integers_of(source.varint(), depth), has) if there]
        return sorted(range(count), key=lambda i: keys[i])

    @staticmethod
    def in_order(values, order):
        out = [0] * len(values)
        for value, i in zip(values, order):
            out[i] = value
        return out

    def read_nest(self, depth):
        """START and DURATION, both at once."""
        start, duration = self.directory[START], self.directory.get(DURATION)
        if (duration is None or start.transform & 15 != NEST or duration.transform & 15 != NEST
                or start.type != TIME or duration.type != I64):
            raise Damage("nest")
        if not start.readable or not duration.readable:
            raise Unknown("nest")
        everywhere, has = [True] * self.count, self.has(duration)
        if not any(has):
            raise Damage("nest")
        source = Bytes(start.value_bytes)
        order = self.order_of(start, source, everywhere, depth)
        opens = self.in_order(read_stream(source, self.count), order)
        steps = read_stream(source, self.count)
        ends = Bytes(duration.value_bytes)
        order = self.order_of(duration, ends, has, depth)
        told = iter(self.in_order(read_stream(ends, sum(has)), order))
        closes = [next(told) if there else None for there in has]
        if source.left() or ends.left():
            raise Damage("rest")
        starts, durations, stack = [0] * self.count, [0] * self.count, []
        time = self.frame.first_start

        def close(time):
            if not stack:
                raise Damage("nest")
            i = stack.pop()
            end = time + closes[i]
            durations[i] = end - starts[i]
            return end

        for i in range(self.count):
            for _ in range(min(steps[i] >> 1, self.count + 1)):
                time = close(time)
            time = starts[i] = time + opens[i]
            if steps[i] & 1:
                used.add("loose")
                durations[i] = closes[i] or 0
            elif closes[i] is None:
                raise Damage("nest")
            else:
                stack.append(i)
        while stack:
            time = close(time)
        return starts, [d for d, there in zip(durations, has) if there]

    def check_transform(self, column):
        transform, doubles = column.transform & 15, column.transform & (INTEGRAL | DECIMAL)
        if transform > OTHER or column.transform & 0x80:
            raise Unknown("transform")
        if ((transform == GAP and (column.field != START or column.transform & GROUPED))
                or (transform == RELATIVE and column.type != TIME)
                or (transform == NEST and column.field not in (START, DURATION))
                or (transform == OTHER and (column.type in (TIME, F64) or TYPE_BYTES[column.type] == 1
                                            or column.field == DURATION))
                or (doubles and (column.type != F64 or transform > DELTA or doubles == INTEGRAL | DECIMAL))):
            raise Damage("transform")
        used.add("transform %d" % column.transform)

    def read_scalar(self, column, has, depth):
        self.check_transform(column)
        transform, count = column.transform & 15, sum(has)
        if transform == NEST:
            return [v & MASK for v in self.read_nest(depth)[column.field == DURATION]]
        origin = self.frame.first_start if column.type == TIME else 0
        source = Bytes(column.value_bytes)
        values = []
        if count:
            order = self.order_of(column, source, has, depth)
            others = self.integers_of(source.varint(), depth) if transform == OTHER else None
            places = source.u8() if column.transform & DECIMAL else 0
            if places > 22:
                raise Damage("places")
        if count and transform in (DELTA, GAP):
            value = source.zigzag() + origin
            values.append(value)
            durations = self.durations(depth) if transform == GAP else None
            for i, r in enumerate(read_stream(source, count - 1)):
                value += r + (durations[i] if durations else 0)
                values.append(value)
        elif count:
            values = read_stream(source, count)
        if source.left():
            raise Damage("rest")
        if count:
            values = self.in_order(values, order)
        if count and transform == PLAIN:
            values = [v + origin for v in values]
        elif count and transform in (RELATIVE, OTHER):
            if transform == RELATIVE:
                used.add("end" if column.reference == 0 else "reference")
                others = self.references(column, depth)
            values = [v + r for v, r in zip(values, [r for r, there in zip(others, has) if there])]
        values = [v & MASK for v in values]
        if column.transform & (INTEGRAL | DECIMAL):
            power = float(10 ** places)
            values = [struct.unpack("<Q", struct.pack("<d", float(signed(v)) / power))[0] for v in values]
        return values

    def check(self):
        starts = self.columns[START]
        ends = [s + d for s, d in zip(starts, [v or 0 for v in self.columns.get(DURATION, [0] * self.count)])]
        ends = [e for e in ends if -(1 << 63) <= e < 1 << 63]
        if (starts[0] != self.frame.first_start or any(a > b for a, b in zip(starts, starts[1:]))
                or max(ends + [starts[-1]]) > self.frame.last_end):
            raise Damage("times")


# ---- AGGREGATE (section 8)


class Totals:
    def __init__(self):
        self.rows = {}

    def add(self, key, count, timed, total, least, greatest):
        row = self.rows.setdefault(key, [0, 0, 0, 0, 0])
        if timed:
            row[3] = least if row[1] == 0 else min(row[3], least)
            row[4] = greatest if row[1] == 0 else max(row[4], greatest)
        row[0] += count
        row[1] += timed
        row[2] = row[2] + total & MASK

    def add_events(self, events):
        nothing = [None] * events.count
        for kind, name, duration in zip(events.columns[KIND_FIELD], events.columns.get(NAME, nothing),
                                        events.columns.get(DURATION, nothing)):
            d = max(duration or 0, 0)
            self.add((kind, name or 0), 1, int(duration is not None), d, d, d)

    def read(self, frame):
        """The first sequence it covers, after adding all of it; Damage before any."""
        payload = frame.payload()
        content = payload.blob()
        if payload.left():
            raise Damage("aggregate")
        first = content.varint()
        rows = [[content.varint() for _ in range(7)] for _ in range(content.varint())]
        if content.left():
            raise Damage("aggregate")
        for kind, name, *rest in rows:
            self.add((kind, name), *rest)
        return first


def add_up(frames, aggregates):
    """`frames` are (frame, Events), in order."""
    totals = Totals()
    rest = list(frames)
    for aggregate in aggregates:
        first = totals.read(aggregate)
        rest = [(f, e) for f, e in rest if not first <= f.sequence < aggregate.sequence]
    for _, events in rest:
        totals.add_events(events)
    return sorted(([kind, name, row[0], row[2], row[3], row[4]] for (kind, name), row in totals.rows.items()),
                  key=lambda r: (-r[3], r[0], r[1]))


# ---- SCHEMA (section 4)


def read_fields(schemas):
    """Field -> type, from the file's own description."""
    fields = {}
    for frame in schemas:
        content = frame.payload().blob()
        for _ in range(content.varint()):
            table, rows = content.varint(), content.varint()
            part = Bytes(content.take(content.varint()))
            for _ in range(rows if table == 2 else 0):
                number, kind = part.varint(), part.varint()
                part.string()
                part.string()
                fields[number] = kind
    return fields


# What version 1.0 has, for files whose SCHEMA frame is missing.
FIELDS_1_0 = {1: TIME, 2: I64, 3: KIND, 4: STRING, 5: U64, 6: TIME, 7: TIME, 8: TIME, 9: TRACK, 10: TRACK,
              11: OPERATION, 12: DIRECTION, 13: U64, 14: U64, 15: U64, 16: U64, 17: U64, 18: U64, 19: U64, 20: U64,
              21: U64, 22: U64, 23: LIST, 24: U64, 25: U64, 26: U64, 27: U64, 28: U64, 29: U64, 30: I64, 31: BOOL,
              32: F64, 33: STRING, 34: STRING, 35: U64, 36: REASON, 37: BOOL, 38: U32, 39: U64, 40: I64}


# ---- all of a file


def read_trace(data):
    file = File(data)
    fields = read_fields(file.of_type(SCHEMA)) or FIELDS_1_0
    dictionary = Dictionary()
    for frame in file.of_type(DICTIONARY):
        try:
            dictionary.read(frame.payload())
        except Damage:
            file.damaged += 1
    events = []
    for frame in file.of_type(EVENTS):
        try:
            events.append((frame, Events(frame, fields, dictionary)))
        except Damage:
            file.damaged += 1
    aggregates = add_up(events, file.of_type(AGGREGATE))
    return file, dictionary, events, aggregates


def quote(data):
    out = []
    for byte in data:
        if byte in b'"\\':
            out.append("\\" + chr(byte))
        elif 32 <= byte < 127:
            out.append(chr(byte))
        else:
            out.append("\\u%04x" % byte)
    return '"' + "".join(out) + '"'


def show_value(column_type, value):
    if value is None:
        return "null"
    if column_type == LIST:
        return "[" + ",".join(map(str, value)) + "]"
    return '"%016x"' % value if column_type == F64 else str(value)


def show(data):
    file, dictionary, events, aggregates = read_trace(data)
    complete = file.is_ended() and file.damaged == 0 and not file.torn
    lines = ['"complete":' + ("true" if complete else "false"), '"damaged":%d' % file.damaged,
             '"unknown_frames":%d' % file.unknown,
             '"strings":[' + ",".join(map(quote, dictionary.strings)) + "]"]
    for table, (name, _) in sorted(TABLES.items()):
        rows = ["[" + ",".join(map(str, row)) + "]" for row in dictionary.tables[table][1:]]
        if rows or table <= 8:
            lines.append('"%s":[%s]' % (name, ",".join(rows)))
    shown = []
    for frame, one in events:
        columns = ['"%d":[%s]' % (field, ",".join(show_value(one.directory[field].type, v) for v in values))
                   for field, values in sorted(one.columns.items())]
        shown.append('{"track":%d,"first":%d,"last":%d,"columns":{%s}}' %
                     (frame.track, frame.first_start, frame.last_end, ",".join(columns)))
    lines.append('"events":[' + ",\n".join(shown) + "]")
    lines.append('"aggregates":[' + ",".join("[" + ",".join(map(str, row)) + "]" for row in aggregates) + "]")
    return "{" + ",\n".join(lines) + "}\n"


def main(arguments):
    if arguments and arguments[0] == "--uses":
        for path in arguments[1:]:
            with open(path, "rb") as source:
                try:
                    read_trace(source.read())
                except Refused:
                    pass
        print("\n".join(sorted(used)))
        return 0
    with open(arguments[0], "rb") as source:
        data = source.read()
    try:
        sys.stdout.write(show(data))
    except Refused as reason:
        sys.stdout.write('{"refused":true}\n')
        sys.stderr.write("%s: %s\n" % (arguments[0], reason))
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
