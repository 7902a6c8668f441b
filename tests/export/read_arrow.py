# SPDX-License-Identifier: Apache-2.0
"""A reader of Arrow IPC files and streams, from the specification alone ("Arrow Columnar Format", Schema.fbs, Message.fbs and
File.fbs), without a library of Arrow's: for tests where pyarrow is not installed.

read(data) -> Table. Doubles are their 64 bits. A count, offset or number out of range is an AssertionError.
"""
import ctypes
import struct

zstd = ctypes.CDLL("libzstd.so.1")
zstd.ZSTD_decompress.restype = ctypes.c_size_t
LARGE_UTF8, INT, FLOAT, BOOL, LIST = 20, 2, 3, 6, 12


def unpack_zstd(data, size):
    out = ctypes.create_string_buffer(max(size, 1))
    got = zstd.ZSTD_decompress(out, ctypes.c_size_t(size), bytes(data), ctypes.c_size_t(len(data)))
    assert got == size, ("zstd", got, size)
    return out.raw[:size]


class Flat:
    """A table of a FlatBuffer."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        assert at % 4 == 0 and 0 <= at < len(data)
        vtable = at - self.number("<i", at)
        size, self.size = self.number("<H", vtable), self.number("<H", vtable + 2)
        assert size >= 4 and size % 2 == 0 and at + self.size <= len(data)
        self.slots = [self.number("<H", vtable + i) for i in range(4, size, 2)]
        assert all(slot < self.size for slot in self.slots)

    def number(self, form, at):
        size = struct.calcsize(form)
        assert 0 <= at <= len(self.data) - size and at % size == 0, ("alignment", form, at)
        return struct.unpack_from(form, self.data, at)[0]

    def get(self, slot, form, default=0):
        place = self.slots[slot] if slot < len(self.slots) else 0
        return self.number(form, self.at + place) if place else default

    def place(self, slot):
        place = self.slots[slot] if slot < len(self.slots) else 0
        return self.at + place + self.number("<I", self.at + place) if place else None

    def table(self, slot):
        place = self.place(slot)
        return None if place is None else Flat(self.data, place)

    def text(self, slot):
        place = self.place(slot)
        if place is None:
            return None
        length = self.number("<I", place)
        assert self.data[place + 4 + length] == 0
        return self.data[place + 4:place + 4 + length].decode()

    def tables(self, slot):
        place = self.place(slot)
        count = 0 if place is None else self.number("<I", place)
        return [Flat(self.data, at + self.number("<I", at)) for at in (place + 4 + 4 * i for i in range(count))]

    def structs(self, slot, form):
        place, size = self.place(slot), struct.calcsize(form)
        count = 0 if place is None else self.number("<I", place)
        assert not count or ((place + 4) % 8 == 0 and place + 4 + count * size <= len(self.data))
        return [struct.unpack_from(form, self.data, place + 4 + i * size) for i in range(count)]


def root(data):
    return Flat(data, struct.unpack_from("<I", data, 0)[0])


def pairs(tables):
    return {table.text(0): table.text(1) for table in tables}


class Field:
    def __init__(self, table):
        self.name, self.nullable, self.kind = table.text(0), table.get(1, "<B"), table.get(2, "<B")
        kind, encoding = table.table(3), table.table(4)
        self.children = [Field(child) for child in table.tables(5)]
        self.metadata = pairs(table.tables(6))
        self.dictionary = self.index = None
        if encoding:
            self.dictionary, index = encoding.get(0, "<q"), encoding.table(1)
            self.index = (index.get(0, "<i"), index.get(1, "<B"))
        self.int = (kind.get(0, "<i"), kind.get(1, "<B")) if self.kind == INT else None
        assert self.kind != FLOAT or kind.get(0, "<h") == 2

    def type(self):
        form = {INT: self.int and f"{'int' if self.int[1] else 'uint'}{self.int[0]}", FLOAT: "double", BOOL: "bool",
                LARGE_UTF8: "large_utf8", LIST: "list"}[self.kind]
        if self.dictionary is None:
            return form + ("<%s>" % self.children[0].type() if self.children else "")
        return f"dictionary<{'int' if self.index[1] else 'uint'}{self.index[0]}, {form}>"


class Batch:
    """The buffers of a record batch, taken in order."""

    def __init__(self, table, body):
        self.length = table.get(0, "<q")
        self.nodes, self.places = table.structs(1, "<qq"), table.structs(2, "<qq")
        compression = table.table(3)
        assert compression is None or (compression.get(0, "<b") == 1 and compression.get(1, "<b") == 0)
        self.packed, self.body = compression is not None, body
        for offset, length in self.places:
            assert offset % 8 == 0 and 0 <= offset and 0 <= length and offset + length <= len(body)

    def node(self):
        return self.nodes.pop(0)

    def buffer(self, size):
        """The next buffer: `size` bytes of it, or none if it is empty."""
        offset, length = self.places.pop(0)
        data = self.body[offset:offset + length]
        if self.packed and data:
            plain = struct.unpack_from("<q", data)[0]
            data = data[8:] if plain == -1 else unpack_zstd(data[8:], plain)
        assert not data or len(data) >= size, (len(data), size)
        return data[:size]

    def numbers(self, form, count):
        data = self.buffer(count * struct.calcsize(form))
        return struct.unpack("<%d%s" % (count, form), data) if count else ()

    def bits(self, count):
        data = self.buffer((count + 7) // 8)
        return [data[i // 8] >> (i % 8) & 1 for i in range(count)] if data else [1] * count

    def column(self, field, dictionaries):
        count, nulls = self.node()
        valid = self.bits(count)
        assert valid.count(0) == nulls, (field.name, valid.count(0), nulls)
        if field.dictionary is not None:
            numbers = self.numbers({8: "B", 32: "I"}[field.index[0]], count)
            words = dictionaries[field.dictionary]
            values = [words[n] if ok else None for n, ok in zip(numbers, valid)]
            return values
        if field.kind == INT:
            form = {8: "b", 32: "i", 64: "q"}[field.int[0]]
            values = self.numbers(form if field.int[1] else form.upper(), count)
        elif field.kind == FLOAT:
            values = self.numbers("Q", count)
        elif field.kind == BOOL:
            values = [bool(bit) for bit in self.bits(count)]
        elif field.kind == LARGE_UTF8:
            offsets = self.numbers("q", count + 1)
            data = self.buffer(offsets[-1])
            values = [data[a:b].decode() for a, b in zip(offsets, offsets[1:])]
        else:
            offsets = self.numbers("i", count + 1)
            items = self.column(field.children[0], dictionaries)
            assert offsets[0] == 0 and offsets[-1] == len(items)
            assert all(a <= b for a, b in zip(offsets, offsets[1:]))
            values = [list(items[a:b]) for a, b in zip(offsets, offsets[1:])]
        return [value if ok else None for value, ok in zip(values, valid)]


class Table:
    def __init__(self, schema):
        assert schema.get(0, "<h") == 0
        self.fields = [Field(field) for field in schema.tables(1)]
        self.metadata = pairs(schema.tables(2))
        self.columns = [[] for _ in self.fields]
        self.groups = []  # rows of each record batch
        self.dictionaries = {}

    def types(self):
        return [(field.name, field.type()) for field in self.fields]

    def add_dictionary(self, header, body):
        number, data = header.get(0, "<q"), header.table(1)
        texts = Field.__new__(Field)
        texts.name, texts.kind, texts.dictionary, texts.children = "", LARGE_UTF8, None, []
        words = Batch(data, body).column(texts, {})
        if header.get(2, "<B"):
            self.dictionaries[number] = self.dictionaries[number] + words
        else:
            assert number not in self.dictionaries
            self.dictionaries[number] = words

    def add_batch(self, header, body):
        batch = Batch(header, body)
        for field, column in zip(self.fields, self.columns):
            values = batch.column(field, self.dictionaries)
            assert len(values) == batch.length
            column.extend(values)
        assert not batch.nodes and not batch.places
        self.groups.append(batch.length)


def message(data, at):
    """(type of the header, header, body, place after it) of the message there; None at the end of a stream."""
    mark, size = struct.unpack_from("<II", data, at)
    assert mark == 0xffffffff and at % 8 == 0
    if size == 0:
        return None
    assert size % 8 == 0
    table = root(data[at + 8:at + 8 + size])
    assert table.get(0, "<h") == 4
    length = table.get(3, "<q")
    begin = at + 8 + size
    assert length % 8 == 0 and begin + length <= len(data)
    return table.get(1, "<B"), table.table(2), data[begin:begin + length], begin + length


def read_stream(data, at=0):
    kind, header, _, at = message(data, at)
    assert kind == 1
    table = Table(header)
    while (found := message(data, at)) is not None:
        kind, header, body, at = found
        (table.add_dictionary if kind == 2 else table.add_batch)(header, body)
    return table, at + 8


def read_file(data):
    assert data[:8] == b"ARROW1\0\0" and data[-6:] == b"ARROW1"
    size = struct.unpack_from("<I", data, len(data) - 10)[0]
    footer = root(data[len(data) - 10 - size:len(data) - 10])
    assert footer.get(0, "<h") == 4
    table = Table(footer.table(1))
    kind, schema, _, _ = message(data, 8)
    assert kind == 1 and Table(schema).types() == table.types()
    for slot, want, add in ((2, 2, table.add_dictionary), (3, 3, table.add_batch)):
        for offset, metadata, _, length in footer.structs(slot, "<qiiq"):
            kind, header, body, after = message(data, offset)
            assert kind == want and after == offset + metadata + length
            add(header, body)
    return table


def read(data):
    if data[:6] == b"ARROW1":
        return read_file(data)
    table, end = read_stream(data)
    assert end == len(data)
    return table
