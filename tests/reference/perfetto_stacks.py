# SPDX-License-Identifier: Apache-2.0
"""The call stacks of a Perfetto trace, read in another way than in src/import: nothing becomes a row when it is defined;
a stack is looked up, number by number, when an event names it. Numbers of Perfetto's protobufs
(https://perfetto.dev/docs/reference/trace-packet-proto)."""
import collections
import zlib

Frame = collections.namedtuple("Frame", "function file line module build_id address kernel")
Event = collections.namedtuple("Event", "time pid tid frames")  # frames: the innermost first

TEXTS = {5: "function", 16: "build_id", 17: "path", 18: "source"}
ENTRIES = {6: "frame", 7: "stack", 19: "mapping", 2000: "task"}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value & (1 << 64) - 1, at


def parse(data):
    """{number: [values]}; what has a length is bytes."""
    out, at = collections.defaultdict(list), 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        else:
            size = {1: 8, 5: 4}[tag & 7]
            value, at = int.from_bytes(data[at:at + size], "little"), at + size
        out[tag >> 3].append(value)
    return out


def numbers(values):
    out = []
    for value in values:
        if isinstance(value, int):
            out.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = varint(value, at)
            out.append(number)
    return out


def last(message, number, default=0):
    return message[number][-1] if message.get(number) else default


def text(message, number):
    return last(message, number, b"").decode()


def hexadecimal(raw):
    digits = raw.decode("latin-1").lower()
    return digits if digits and all(c in "0123456789abcdef" for c in digits) else raw.hex()


class Sequence:
    def __init__(self):
        self.tables = collections.defaultdict(dict)
        self.track, self.thread, self.time = 0, None, 0

    def learn(self, interned):
        for field, name in TEXTS.items():
            for one in map(parse, interned[field]):
                self.tables[name][last(one, 1)] = last(one, 2, b"")
        for field, name in ENTRIES.items():
            for one in map(parse, interned[field]):
                self.tables[name][last(one, 1)] = one

    def name(self, table, iid):
        return self.tables[table].get(iid, b"").decode() if iid else ""

    def frame(self, one):
        mapping = self.tables["mapping"].get(last(one, 3))
        module = build_id = ""
        if mapping:
            parts = [self.name("path", part) for part in numbers(mapping[7])]
            module = "/".join(parts) if len(parts) == 1 or (parts and parts[0][:1] == "/") else \
                "".join("/" + part for part in parts)
            build_id = hexadecimal(self.tables["build_id"].get(last(mapping, 2), b""))
        source = self.name("source", last(one, 5))
        if last(one, 7) == 3 and not module and not build_id and source.endswith(".py"):
            module = source  # a function of Python is in its file
        return Frame(self.name("function", last(one, 2)), source, last(one, 6), module,
                     build_id, last(one, 4) if module or build_id else None, last(one, 7) == 2 or "[kernel" in module)

    def stack(self, stack):
        table = self.tables["frame"]
        return [self.frame(table[iid]) for iid in reversed(numbers(stack[2])) if iid in table]


def inline(message):
    lines = [parse(frame) for frame in message[1]]
    return [Frame(text(line, 1), text(line, 2), last(line, 3), "", "", None, False) for line in reversed(lines)]


class Reader:
    def __init__(self):
        self.sequences, self.tracks, self.events, self.symbols = {}, {}, [], {}

    def read(self, data):
        for packet in parse(data)[1]:
            self.packet(parse(packet))

    def add(self, time, thread, frames):
        self.events.append(Event(time, *(thread or (0, 0)), frames))

    def packet(self, packet):
        if packet[50]:
            self.read(zlib.decompress(last(packet, 50)))
            return
        number = last(packet, 10)
        if last(packet, 13) & 1 or last(packet, 41):
            kept = self.sequences.get(number)
            self.sequences[number] = Sequence()
            if kept:
                self.sequences[number].thread, self.sequences[number].time = kept.thread, kept.time
        sequence = self.sequences.setdefault(number, Sequence())
        for interned in packet[12]:
            sequence.learn(parse(interned))
        if packet[59] and parse(last(packet, 59))[11]:
            sequence.track = last(parse(last(parse(last(packet, 59)), 11)), 11)
        for field, read in ((60, self.descriptor), (61, self.module_symbols)):
            if packet[field]:
                read(parse(last(packet, field)))
        for field, read in ((11, self.event), (44, self.thread), (54, self.streaming), (66, self.perf), (135, self.sample)):
            if packet[field]:
                read(sequence, last(packet, 8, None), parse(last(packet, field)))

    def descriptor(self, track):
        if track[4]:
            thread = parse(last(track, 4))
            self.tracks[last(track, 1)] = (last(thread, 1), last(thread, 2))

    def thread(self, sequence, _, thread):
        sequence.thread, sequence.time = (last(thread, 1), last(thread, 2)), last(thread, 6) * 1000

    def event(self, sequence, time, event):
        frames = None
        if event[55]:
            frames = inline(parse(last(event, 55)))
        elif event[56]:
            frames = sequence.stack(sequence.tables["stack"].get(last(event, 56), {2: []}))
        if last(event, 9) != 2:  # an end: not looked at
            self.add(time, self.tracks.get(last(event, 11, sequence.track)), frames or [])

    def streaming(self, sequence, time, packet):
        at = sequence.time if time is None else time
        for iid, delta in zip(numbers(packet[1]), numbers(packet[2])):
            at += delta * 1000
            self.add(at, sequence.thread, sequence.stack(sequence.tables["stack"][iid]))
        if time is None:
            sequence.time = at

    def perf(self, sequence, time, sample):
        if sample[17] or sample[18]:
            return
        stack = sequence.tables["stack"].get(last(sample, 4), {2: []})
        self.add(time, (last(sample, 2), last(sample, 3)), sequence.stack(stack))

    def sample(self, sequence, time, sample):
        task = parse(last(sample, 1)) if sample[1] else sequence.tables["task"][last(sample, 2)]
        stack = sequence.tables["stack"][last(sample, 6)] if sample[6] else parse(last(sample, 5))
        frames = sequence.stack(stack) if sample[6] else inline(stack)
        self.add(time, (last(task, 2), last(task, 3)), frames)

    def module_symbols(self, symbols):
        module = (text(symbols, 1).lstrip("/"), hexadecimal(last(symbols, 2, b"")))
        for address in map(parse, symbols[3]):
            lines = [(text(line, 1), text(line, 2), last(line, 3)) for line in map(parse, address[2])]
            self.symbols[module[1] or module[0], last(address, 1)] = lines

    def finish(self):
        """The events, with the symbols that came at the end."""
        out = []
        for event in self.events:
            frames = []
            for frame in event.frames:
                where = frame.build_id or frame.module.lstrip("/")
                lines = None if frame.function else self.symbols.get((where, frame.address))
                frames += [frame._replace(function=f, file=s, line=n) for f, s, n in lines] if lines else [frame]
            out.append(event._replace(frames=frames))
        return out


def read(data):
    reader = Reader()
    reader.read(data)
    return reader.finish()
