# SPDX-License-Identifier: Apache-2.0
"""A reader of Parquet files, from the specification alone (parquet-format's README.md, Encodings.md and parquet.thrift), for tests
where no library for Parquet is installed. read(data) -> Table; doubles are their 64 bits. It checks all that the metadata says:
sizes, counts, encodings, statistics.
"""
import struct

from read_arrow import unpack_zstd

BOOLEAN, INT32, INT64, DOUBLE, BYTE_ARRAY = 0, 1, 2, 5, 6
PLAIN, RLE, DELTA, RLE_DICTIONARY = 0, 3, 5, 8


class Thrift:
    """The compact protocol: structs are dictionaries by the number of the field."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def varint(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def value(self, kind):
        if kind in (4, 5, 6):
            return self.zigzag()
        if kind == 3:
            self.at += 1
            return self.data[self.at - 1]
        if kind == 8:
            length = self.varint()
            assert self.at + length <= len(self.data)
            self.at += length
            return self.data[self.at - length:self.at]
        if kind == 9:
            head = self.data[self.at]
            self.at += 1
            count = head >> 4 if head >> 4 < 15 else self.varint()
            return [self.value(head & 15) for _ in range(count)]
        assert kind == 12, kind
        return self.struct()

    def struct(self):
        out, field = {}, 0
        while True:
            head = self.data[self.at]
            self.at += 1
            if head == 0:
                return out
            field = field + (head >> 4) if head >> 4 else self.zigzag()
            assert field not in out
            out[field] = head & 15 == 1 if head & 15 in (1, 2) else self.value(head & 15)


def packed(data, count, width):
    """`count` numbers of `width` bits, the lowest first."""
    number, mask = int.from_bytes(data, "little"), (1 << width) - 1
    if width and count > 64:
        half = count // 2 // 8 * 8 or 8
        cut = half * width // 8
        return packed(data[:cut], half, width) + packed(data[cut:], count - half, width)
    return [number >> i * width & mask for i in range(count)]


def hybrid(data, count, width):
    """Runs and packed groups."""
    thrift, out = Thrift(data), []
    while len(out) < count:
        head = thrift.varint()
        if head & 1:
            size = (head >> 1) * width
            assert thrift.at + size <= len(data)
            out += packed(data[thrift.at:thrift.at + size], (head >> 1) * 8, width)
            thrift.at += size
        else:
            size = (width + 7) // 8
            out += [int.from_bytes(data[thrift.at:thrift.at + size], "little")] * (head >> 1)
            thrift.at += size
    assert thrift.at == len(data) and len(out) < count + 8, (thrift.at, len(data))
    assert not any(out[count:])
    return out[:count]


def levels(data, count, width):
    length = struct.unpack_from("<I", data)[0]
    return hybrid(data[4:4 + length], count, width), data[4 + length:]


def deltas(data, count, bits):
    thrift = Thrift(data)
    block, minis, total, value = thrift.varint(), thrift.varint(), thrift.varint(), thrift.zigzag()
    assert block % 128 == 0 and block // minis % 32 == 0 and total == count
    out, size = [value], block // minis
    while len(out) < total:
        least = thrift.zigzag()
        widths = thrift.data[thrift.at:thrift.at + minis]
        thrift.at += minis
        for width in widths:
            if len(out) >= total:
                break
            assert width <= bits
            length = size * width // 8
            assert thrift.at + length <= len(data)
            for delta in packed(data[thrift.at:thrift.at + length], size, width):
                value += least + delta
                out.append(value)
            thrift.at += length
    assert thrift.at == len(data)
    return [number % 2**bits for number in out[:total]]


class Column:
    def __init__(self, element, path, repetition):
        self.kind, self.path, self.repetition = element[1], path, repetition
        self.list = len(path) == 3
        logical, converted = element.get(10, {}), element.get(6)
        self.integer = (logical[10][1], logical[10][2]) if 10 in logical else None
        if self.integer:
            assert not self.integer[1] and converted == {8: 11, 32: 13, 64: 14}[self.integer[0]]
        assert (1 in logical) == (converted == 0) == (self.kind == BYTE_ARRAY)

    def type(self):
        form = {BOOLEAN: "bool", DOUBLE: "double", BYTE_ARRAY: "large_utf8", INT32: None, INT64: "int64"}[self.kind]
        form = f"uint{self.integer[0]}" if self.integer else form
        return f"list<{form}>" if self.list else form

    def order(self, value):
        """What statistics compare."""
        if self.kind == DOUBLE:
            return struct.unpack("<d", struct.pack("<Q", value))[0]
        if self.kind == BYTE_ARRAY:
            return value.encode()
        return value

    def bound(self, data):
        if self.kind == BYTE_ARRAY:
            return data
        if self.kind == DOUBLE:
            return struct.unpack("<d", data)[0]
        if self.kind == BOOLEAN:
            return data != b"\0"
        assert len(data) == (4 if self.kind == INT32 else 8)
        return int.from_bytes(data, "little", signed=not self.integer)

    def values(self, data, encoding, count, dictionary):
        if count == 0:
            assert encoding == PLAIN and not data
            return []
        if encoding == RLE_DICTIONARY:
            return [dictionary[index] for index in hybrid(data[1:], count, data[0])]
        if encoding == DELTA:
            bits = 32 if self.kind == INT32 else 64
            out = deltas(data, count, bits)
            return out if self.integer else [value - 2**bits if value >> (bits - 1) else value for value in out]
        assert encoding == PLAIN
        if self.kind == BOOLEAN:
            assert len(data) == (count + 7) // 8
            return [bool(bit) for bit in packed(data, count, 1)]
        assert self.kind == DOUBLE
        return list(struct.unpack(f"<{count}Q", data))

    def page(self, data, count, encoding, dictionary):
        """The rows of a page, and the values in it."""
        if self.list:
            repeated, data = levels(data, count, 1)
        top = 2 if self.list else self.repetition
        defined, data = levels(data, count, 2 if self.list else 1) if top else ([0] * count, data)
        found = self.values(data, encoding, defined.count(top), dictionary)
        assert len(found) == defined.count(top)
        source, out = iter(found), []
        if not self.list:
            return [next(source) if level == top else None for level in defined], found
        for again, level in zip(repeated, defined):
            if not again:
                out.append([] if level else None)
            if level == 2:
                out[-1].append(next(source))
        return out, found


def read_chunk(data, column, meta, rows):
    """The rows of a column chunk."""
    at = meta.get(11, meta[9])
    end, plain, entries, used = at + meta[7], 0, 0, set()
    out, found, dictionary = [], [], None
    while at < end:
        thrift = Thrift(data, at)
        header = thrift.struct()
        body = data[thrift.at:thrift.at + header[3]]
        plain += thrift.at - at + header[2]
        if meta[4] == 6:
            body = unpack_zstd(body, header[2])
        assert meta[4] in (0, 6) and len(body) == header[2]
        if header[1] == 2:
            assert dictionary is None and at == meta[11] and header[7][2] == PLAIN
            dictionary, place = [], 0
            for _ in range(header[7][1]):
                length = struct.unpack_from("<I", body, place)[0]
                dictionary.append(body[place + 4:place + 4 + length].decode())
                place += 4 + length
            assert place == len(body) and len(set(dictionary)) <= len(dictionary)
            used.add(PLAIN)
        else:
            assert header[1] == 0 and (out or at == meta[9])
            page = header[5]
            assert page[3] == RLE and page[4] == RLE
            got, values = column.page(body, page[1], page[2], dictionary)
            entries += page[1]
            used.add(page[2])
            out += got
            found += values
        at = thrift.at + header[3]
    assert at == end and plain == meta[6] and entries == meta[5] and len(out) == rows
    assert set(meta[2]) == used | {RLE}, (column.path, meta[2], used)
    check_statistics(column, meta[12], entries, found)
    return out


def check_statistics(column, statistics, entries, found):
    assert statistics[3] == entries - len(found), column.path
    if 5 not in statistics or not found:
        assert 5 not in statistics or found
        return
    ordered = [column.order(value) for value in found]
    least, most = column.bound(statistics[6]), column.bound(statistics[5])
    assert least == min(ordered) and most == max(ordered), (column.path, least, most, min(ordered), max(ordered))
    if column.kind == DOUBLE:
        assert statistics[6] != bytes(8) and statistics[5] != bytes(7) + b"\x80"


class Table:
    def __init__(self, names, columns, metadata):
        self.names, self.leaves, self.metadata = names, columns, metadata
        self.columns = [[] for _ in columns]
        self.groups = []

    def types(self):
        return [(name, leaf.type()) for name, leaf in zip(self.names, self.leaves)]


def leaves_of(elements):
    """The columns of a schema, of which each is flat or a list of three levels."""
    root, at, out = elements[0], 1, []
    for _ in range(root[5]):
        element, name = elements[at], elements[at][4].decode()
        if element.get(5):
            assert element[3] == 1 and element[6] == 3 and element[10] == {3: {}} and elements[at + 1][3] == 2
            out.append(Column(elements[at + 2], [element[4], elements[at + 1][4], elements[at + 2][4]], 1))
            assert elements[at + 2][3] == 0 and out[-1].path[1:] == [b"list", b"element"]
            at += 3
        else:
            out.append(Column(element, [element[4]], element[3]))
            at += 1
        assert out[-1].path[0].decode() == name
    assert at == len(elements)
    return out


def read(data):
    assert data[:4] == data[-4:] == b"PAR1"
    size = struct.unpack_from("<I", data, len(data) - 8)[0]
    thrift = Thrift(data[len(data) - 8 - size:len(data) - 8])
    meta = thrift.struct()
    assert thrift.at == size and meta[1] == 2
    leaves = leaves_of(meta[2])
    assert meta[7] == [{1: {}}] * len(leaves)
    table = Table([leaf.path[0].decode() for leaf in leaves], leaves,
                  {pair[1].decode(): pair[2].decode() for pair in meta[5]})
    place = 4
    for group in meta[4]:
        assert group[5] == place and len(group[1]) == len(leaves)
        for leaf, chunk, out in zip(leaves, group[1], table.columns):
            assert chunk[3][1] == leaf.kind and chunk[3][3] == leaf.path
            assert chunk[3].get(11, chunk[3][9]) == place
            out += read_chunk(data, leaf, chunk[3], group[3])
            place += chunk[3][7]
        assert group[6] == place - group[5] and group[2] == sum(chunk[3][6] for chunk in group[1])
        table.groups.append(group[3])
    assert place == len(data) - 8 - size and meta[3] == sum(table.groups)
    return table
