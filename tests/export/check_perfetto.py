#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_perfetto.py TRACE.sbt TRACE.pftrace: whether the two say the same, event by event.

The Perfetto file is taken apart by protoc with tests/export/perfetto.proto; here its packets are then put together as
trace_processor does it: texts and clocks per sequence, all events by time (those of one time in the order of the
file), and a slice ends with the next end on its track. The SBT file is read by tests/sbt/sbt_reader.py. Neither shares
code with the library. Exit code 0: the same, 1: not.
"""
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(HERE, "..", "sbt"))
import sbt_reader  # noqa: E402

STATE_CLEARED, NEEDS_STATE = 1, 2
INCREMENTAL = 64


def fail(*what):
    print("not true:", *what)
    sys.exit(1)


# ---- protoc's text


def unescape(text):
    plain = {"n": 10, "r": 13, "t": 9, '"': 34, "'": 39, "\\": 92}
    out = bytearray()
    at = 0
    while at < len(text):
        if text[at] != "\\":
            out.append(ord(text[at]))
            at += 1
        elif text[at + 1] in plain:
            out.append(plain[text[at + 1]])
            at += 2
        else:
            out.append(int(text[at + 1:at + 4], 8))
            at += 4
    return bytes(out)


def value_of(text):
    if text[0] == '"':
        return unescape(text[1:-1])
    if text in ("true", "false"):
        return text == "true"
    return text if text[0].isalpha() else int(text, 0)


def packets(path):
    """Every packet as a dictionary of lists."""
    command = ["protoc", "-I", HERE, "--decode=tracesmith.check.Trace", "perfetto.proto"]
    with open(path, "rb") as file:
        protoc = subprocess.Popen(command, stdin=file, stdout=subprocess.PIPE)
    stack = [{}]
    for line in protoc.stdout:
        line = line.decode("ascii").strip()
        if line == "}":
            stack.pop()
            if len(stack) == 1:
                yield stack[0].pop("packet")[0]
            continue
        if line[0].isdigit():
            fail("a field that the format does not have:", line)
        if line.endswith(" {"):
            message = {}
            stack[-1].setdefault(line[:-2], []).append(message)
            stack.append(message)
        else:
            key, value = line.split(": ", 1)
            stack[-1].setdefault(key, []).append(value_of(value))
    if protoc.wait() != 0:
        fail("protoc cannot read", path)


def one(message, key, otherwise=None):
    values = message.get(key, [otherwise])
    if len(values) != 1:
        fail(key, "more than once")
    return values[0]


# ---- the Perfetto file


class Sequence:
    def __init__(self):
        self.texts = {space: {} for space in ("category", "name", "annotation", "string", "function", "frame", "callstack",
                                              "build_id", "path", "source", "mapping")}
        self.clock = None
        self.track = None
        self.valid = False


class Perfetto:
    def __init__(self, path):
        self.sequences = defaultdict(Sequence)
        self.attributes = {}
        self.told = []  # the attributes that are not ours
        self.tracks = {}
        self.raw = []  # (time, order, track uuid, sequence, event)
        for packet in packets(path):
            self.packet(packet)
        self.raw.sort(key=lambda item: item[:2])
        self.events = []
        self.run()

    def packet(self, packet):
        sequence = self.sequences[one(packet, "sequence", 0)]
        flags = one(packet, "flags", 0)
        if flags & STATE_CLEARED:
            for texts in sequence.texts.values():
                texts.clear()
            sequence.valid = True
        if (flags & NEEDS_STATE or "event" in packet) and not sequence.valid:
            fail("a packet before its state")
        for defaults in packet.get("defaults", []):
            sequence.default_clock = one(defaults, "clock")
            sequence.track = one(one(defaults, "event"), "track")
        for snapshot in packet.get("clock_snapshot", []):
            clocks = {one(clock, "id"): clock for clock in snapshot["clocks"]}
            if INCREMENTAL in clocks:
                if len({one(clock, "timestamp") for clock in clocks.values()}) != 1:
                    fail("clocks that differ")
                sequence.clock = one(clocks[INCREMENTAL], "timestamp")
        for interned in packet.get("interned", []):
            for space, texts in interned.items():
                for text in texts:
                    if one(text, "iid") in sequence.texts[space]:
                        fail("a number given twice")
                    entry = text if space in ("frame", "callstack", "mapping") else one(text, "text")
                    sequence.texts[space][one(text, "iid")] = entry
        for track in packet.get("track", []):
            self.tracks[one(track, "uuid")] = track
        for attributes in packet.get("attributes", []):
            for attribute in attributes["attribute"]:
                self.attributes[one(attribute, "key")] = one(attribute, "text")
                if not one(attribute, "key").startswith(b"tracesmith."):
                    self.told.append((one(attribute, "key"), one(attribute, "text")))
        for event in packet.get("event", []):
            self.event(packet, sequence, event)

    def event(self, packet, sequence, event):
        time = one(packet, "timestamp", 0)
        if one(packet, "clock", sequence.default_clock) == INCREMENTAL:
            sequence.clock += time
            time = sequence.clock
        track = one(event, "track", sequence.track)
        if track not in self.tracks:
            fail("a track that is not described before its events")
        self.raw.append((time, len(self.raw), track, self.resolve(sequence, event), event))

    @staticmethod
    def resolve(sequence, event):
        """Name, category and annotations of an event."""
        def scalar(annotation):
            for form in ("bool", "uint", "int", "double"):
                if form in annotation:
                    return one(annotation, form)
            return sequence.texts["string"][one(annotation, "string")]

        out = {}
        if "name" in event:
            out["name"] = sequence.texts["name"][one(event, "name")]
        if "category" in event:
            out["category"] = sequence.texts["category"][one(event, "category")]
        annotations = {}
        for annotation in event.get("annotation", []):
            name = sequence.texts["annotation"][one(annotation, "name")]
            if name in annotations:
                fail("an annotation twice")
            if "array" in annotation:
                annotations[name] = tuple(scalar(item) for item in annotation["array"] if item)
            else:
                annotations[name] = scalar(annotation)
        if "callstack" in event:
            frames = [sequence.texts["frame"][frame] for frame in
                      sequence.texts["callstack"][one(event, "callstack")].get("frame", [])]
            annotations[b"stack"] = b";".join(sequence.texts["function"][one(frame, "function")] for frame in frames)
        out["annotations"] = annotations
        return out

    def run(self):
        stacks = defaultdict(list)
        for time, _, track, said, event in self.raw:
            kind = one(event, "type")
            if kind == "END":
                if not stacks[track]:
                    fail("an end without a begin")
                begun, what, begin = stacks[track].pop()
                self.events.append((track, begun, time - begun, what, begin))
            elif kind == "BEGIN":
                stacks[track].append((time, said, event))
            else:
                self.events.append((track, time, None, said, event))
        if any(stacks.values()):
            fail("slices that do not end")

    def fact(self, what, number):
        return self.attributes.get(b"tracesmith.%s.%d" % (what, number))


# ---- both as the same


def schema_tables():
    """Numbers to names, from the header."""
    with open(os.path.join(SOURCE, "include", "tracesmith", "schema.h"), encoding="utf-8") as file:
        text = file.read()
    tables = {}
    for name, body in re.findall(r"#define TSMITH_(\w+)_TABLE\(X\)((?:.*\\\n)*.*)", text):
        tables[name] = {int(number): word.encode()
                        for number, word in re.findall(r'X\(\w+,\s*(\d+),\s*"(\w+)"', body)}
    return tables


TABLES = schema_tables()
FIELDS = TABLES["FIELD"]
ENUMS = {sbt_reader.KIND: TABLES["KIND"], sbt_reader.OPERATION: TABLES["OPERATION"],
         sbt_reader.DIRECTION: TABLES["DIRECTION"], sbt_reader.REASON: TABLES["REASON"],
         sbt_reader.CERTAINTY: TABLES["CERTAINTY"]}
MASK = (1 << 64) - 1


def sbt_events(path):
    with open(path, "rb") as file:
        _, dictionary, events, _ = sbt_reader.read_trace(file.read())
    strings = dictionary.strings
    names = dict(FIELDS)
    for number, row in enumerate(dictionary.tables[8][1:], sbt_reader.FIRST_DYNAMIC + 1):
        unit = strings[row[1]]
        names[number] = strings[row[0]], unit, row[2]

    functions = {row[0]: strings[row[1]] for row in reversed(dictionary.tables[13][1:])}

    def path_of(stack):
        """Its functions, the outermost first."""
        parent, frame = dictionary.tables[12][stack]
        return (path_of(parent) + b";" if parent else b"") + functions[frame]

    def shown(kind, value, name):
        if name == b"stack" and len(dictionary.tables[12]) > 1:
            return path_of(value)
        if kind == sbt_reader.STRING:
            return strings[value]
        if kind in ENUMS:
            return ENUMS[kind].get(value, b"unknown")
        if kind == sbt_reader.LIST:
            return tuple(value)
        if kind == sbt_reader.BOOL:
            return bool(value)
        return value & MASK if isinstance(value, int) else value

    out = []
    for frame, batch in events:
        columns = [(names[field], batch.directory[field].type, values) for field, values in batch.columns.items()]
        for row in range(batch.count):
            fields = {name: shown(kind, values[row], name) for name, kind, values in columns if values[row] is not None}
            out.append((frame.track, fields))
    return out, dictionary


TYPE_NAMES = {b"TIME": 1, b"I64": 2, b"U64": 3, b"U32": 4, b"U8": 5, b"F64": 6, b"STRING": 7, b"TRACK": 8,
              b"KIND": 9, b"OPERATION": 10, b"DIRECTION": 11, b"REASON": 12, b"BOOL": 13, b"LIST": 14,
              b"CERTAINTY": 15}


def field_of(trace, name):
    fact = trace.attributes.get(b"tracesmith.field." + name)
    if fact is None:
        return name
    kind, length, rest = fact.split(b" ", 2)
    return rest[int(length):], rest[:int(length)], TYPE_NAMES[kind]


def natural_kind(trace, event, said):
    """The kind of an event that does not say it: that of its category, or what such an event is as a rule."""
    category = said.get("category")
    if category in set(TABLES["KIND"].values()):
        return category
    known = {b"cuda_runtime": b"api", b"cuda_driver": b"api", b"gpu_memcpy": b"memcpy", b"gpu_memset": b"memset",
             b"cuda_sync": b"sync", b"Kernel": b"kernel", b"Memcpy": b"memcpy", b"Memset": b"memset",
             b"Runtime": b"api", b"kernel_dispatch": b"kernel", b"hip_runtime": b"api", b"memory_copy": b"memcpy",
             b"hip_api": b"api", b"hsa_api": b"api"}
    if category in known:
        return known[category]
    return {"BEGIN": b"range", "INSTANT": b"marker", "COUNTER": b"counter"}[one(event, "type")]


def perfetto_event(trace, track, start, duration, said, event, verbatim):
    owner = trace.fact(b"lane", track) or trace.fact(b"counter", track)
    fact = trace.fact(b"track", int(owner) if owner else track).split()
    fields = {b"start": start & MASK}
    if duration is not None:
        fields[b"duration"] = duration
    if "correlation" in event:
        fields[b"correlation"] = one(event, "correlation")
    fields[b"kind"] = natural_kind(trace, event, said)
    for name, value in said["annotations"].items():
        field = field_of(trace, name)
        if name in (b"host_track", b"queue_track"):
            value = int(trace.fact(b"track", value).split()[0])
        fields[field] = value & MASK if type(value) is int else value
    own = not verbatim or fields[b"kind"] == b"loss"
    for key in ("name", "category"):
        if key in said and not (own and said[key] == fields[b"kind"]):
            fields.setdefault(key.encode(), said[key])
    for key, name in (("flow", b"flow_ids"), ("terminating_flow", b"terminating_flow_ids")):
        if key in event and trace.attributes.get(b"import.format") == b"perfetto":
            fields[(name, b"flow", sbt_reader.LIST)] = tuple(event[key])
    series = list(zip(event.get("track", []), event.get("counter", []) + event.get("double_counter", [])))
    series += zip(event.get("extra_track", []), event.get("extra", []))
    series += zip(event.get("extra_double_track", []), event.get("extra_double", []))
    for uuid, value in series if one(event, "type") == "COUNTER" else []:
        name = trace.attributes.get(b"tracesmith.counter.%d.series" % uuid, b"value")
        fields[field_of(trace, name)] = value & MASK
    return int(fact[0]), fields


def form(track, fields):
    return track, tuple(sorted(fields.items(), key=repr))


def check_flows(trace, imported):
    """Of a trace of our own: a call and what it made share a number, and no others do."""
    made = defaultdict(set)
    for track, _, _, said, event in trace.events:
        flows = event.get("flow", []) + event.get("terminating_flow", [])
        if not imported and flows:
            owner = trace.fact(b"lane", track)
            process = trace.fact(b"track", int(owner) if owner else track).split()[3]
            made[flows[0]].add((process, one(event, "correlation")))
            kind = said["annotations"].get(b"kind", natural_kind(trace, event, said))
            if len(flows) != 1 or ("flow" in event) != (kind == b"api"):
                fail("flows of", said)
    if any(len(owners) != 1 for owners in made.values()):
        fail("a flow between events that have nothing to do with each other")
    return len(made)


def main(sbt_path, pftrace_path):
    want, dictionary = sbt_events(sbt_path)
    trace = Perfetto(pftrace_path)
    imported = trace.attributes.get(b"import.format", b"")
    verbatim = imported in (b"chrome-json", b"rocprofv3-json", b"perfetto")
    have = Counter(form(*perfetto_event(trace, *event, verbatim)) for event in trace.events)
    expected = Counter(form(track, fields) for track, fields in want)
    failures = 0
    for name, left in (("missing", expected - have), ("too much", have - expected)):
        for event, count in list(left.items())[:5]:
            print(f"{name} ({count} times): {event}"[:2000])
        failures += sum(left.values())
    strings = dictionary.strings
    if trace.told != [(strings[key], strings[value]) for key, value in dictionary.tables[7][1:]]:
        fail("the attributes are the same")
    for uuid, track in trace.tracks.items():
        if "parent" in track and one(track, "parent") not in trace.tracks:
            fail("a parent that is not described", uuid)
    flows = check_flows(trace, imported)
    lanes = sum(key.startswith(b"tracesmith.lane.") for key in trace.attributes)
    print(f"{len(want)} events compared, {failures} differences; {lanes} lanes, {flows} flows")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
