#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_otf2.py TRACE.sbt ARCHIVE: whether the two say the same, event by event.

The archive is taken apart by otf2-print; here a stay in a region is put together again, which also shows that times of
a location ascend and that regions are left in order. The SBT file is read by tests/sbt/sbt_reader.py. Neither shares
code with the library. Exit code 0: the same, 1: not.
"""
import os
import re
import struct
import subprocess
import sys
from collections import Counter, defaultdict

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_perfetto import fail, sbt_events, sbt_reader  # noqa: E402

MASK = (1 << 64) - 1
QUEUE, COPY_ENGINE = 2, 3
RECORD = re.compile(rb"([A-Z_]+) {2,}(\d*) {2,}(.*)", re.DOTALL)
QUOTED = rb'"(?:.*?)" <(\d+)>'
REGION = re.compile(rb'Name: ".*" <(\d+)> \(Aka\. ".*" <(\d+)>\), Descr\.: ".*" <(\d+)>, Role: (\w+), '
                    rb"Paradigm: (\w+)", re.DOTALL)
METRIC_MEMBER = re.compile(rb'Name: ".*" <(\d+)>, Descr\.: ".*" <(\d+)>, Type:', re.DOTALL)
ATTRIBUTE = re.compile(rb'\(".*?" <(\d+)>; (\w+); (?:".*?" <(\d+)>|([^"]*?))\)(?:, \("|$)', re.DOTALL)
EVENT = re.compile(rb"(ENTER|LEAVE|METRIC) +(\d+) +(\d+)  (.*)", re.DOTALL)
MORE = b"ADDITIONAL ATTRIBUTES: "


def records(archive, *options):
    """Lines, those together that a text with a line feed in it parted."""
    command = ["otf2-print", *options, os.path.join(archive, "traces.otf2")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0 or done.stderr:
        fail("otf2-print refuses it:", done.stderr.decode(errors="replace")[:1000])
    record = b""
    for line in done.stdout.split(b"\n"):
        starts = re.match(rb"[A-Z_]{4,} {2,}\d* {2,}", line)
        if starts or line.startswith(b" " * 40 + b" "):
            if record:
                yield record
            record = line
        elif record:
            record += b"\n" + line
    if record:
        yield record.rstrip(b"\n")


class Archive:
    def __init__(self, path):
        self.strings, self.regions, self.metrics, self.tracks = {}, {}, {}, {}
        self.types, self.groups, self.group_types, self.counts, self.attributes = {}, {}, {}, {}, {}
        self.roles, self.lost, self.clock = {}, None, None
        for record in records(path, "-G"):
            match = RECORD.match(record)
            if match:
                self.define(match[1], int(match[2] or -1), match[3].strip(b" "), record)
        self.events = list(self.read(path))

    def define(self, what, number, text, record):
        if what == b"STRING":
            self.strings[number] = record[record.index(b'"') + 1:-1]
        elif what == b"ATTRIBUTE":
            self.attributes[number] = self.strings[int(re.search(QUOTED, text, re.DOTALL)[1])]
        elif what == b"REGION":
            shown, name, kind, role, _ = REGION.match(text).groups()
            kind = self.strings[int(kind)]
            # What has no name shows that of its kind, and its canonical name is empty.
            nameless = shown != name and self.strings[int(name)] == b""
            instant = kind.endswith(b" (instant)")
            kind = kind[:-len(b" (instant)")] if instant else kind
            self.regions[number] = kind, None if nameless else self.strings[int(name)], instant
            self.roles.setdefault(kind, set()).add(role)
        elif what == b"METRIC_MEMBER":
            name, series = METRIC_MEMBER.match(text).groups()
            self.metrics[number] = None if name == series else self.strings[int(name)], self.strings[int(series)]
        elif what == b"LOCATION_GROUP":
            self.group_types[number] = re.search(rb", Type: (\w+), Parent", text)[1]
        elif what == b"LOCATION":
            match = re.search(rb', Type: (\w+), # Events: (\d+), Group: ".*" <(\d+)>$', text, re.DOTALL)
            self.types[number], self.counts[number], self.groups[number] = match[1], int(match[2]), int(match[3])
            self.tracks[number] = 0
        elif what == b"LOCATION_PROPERTY" and b'Name: "track"' in text:
            location = int(re.match(rb'Location: ".*?" <(\d+)>, Name', text, re.DOTALL)[1])
            self.tracks[location] = int(text.rsplit(b" ", 1)[1])
        elif what == b"SYSTEM_TREE_NODE_PROPERTY" and b'Name: "lost" ' in text and b"UINT64" in text:
            self.lost = int(text.rsplit(b" ", 1)[1])
        elif what == b"CLOCK_PROPERTIES":
            self.clock = tuple(int(n) for n in re.findall(rb"(?:Seconds|Offset|Length): (\d+)", text))

    def value(self, kind, reference, plain):
        if kind == b"STRING":
            return self.strings[int(reference)]
        if kind == b"LOCATION":
            return self.tracks[int(reference)]
        if kind == b"DOUBLE":
            return plain
        return bool(int(plain)) if kind == b"UINT8" else int(plain) & MASK

    def said(self, text):
        at, out = 0, []
        while at < len(text):
            match = ATTRIBUTE.match(text, at)
            if not match:
                fail("attributes that cannot be read", text[at:at + 200])
            out.append((self.attributes[int(match[1])], self.value(*match.groups()[1:])))
            at = match.end() - 2 if match.end() < len(text) else len(text)
        return out

    def read(self, path):
        """(track, kind, name, start, duration, [(field, value)]) of every event."""
        last, stays, counts = {}, defaultdict(list), Counter()
        event = None
        for record in records(path):
            text = record.lstrip(b" ")
            if text.startswith(MORE) and event is not None:
                event.extend(self.said(text[len(MORE):]))
                continue
            match = EVENT.match(record)
            if not match:
                continue
            what, location, time, rest = match[1], int(match[2]), int(match[3]), match[4]
            if time < last.get(location, 0):
                fail("a location goes back in time", record)
            last[location] = time
            counts[location] += 1
            if what == b"METRIC":
                metric, _, value = re.match(rb'Metric: (\d+), 1 Value: \(".*" <\d+>; (\w+); (\S+)\)$', rest,
                                            re.DOTALL).groups()
                kind = re.search(rb"; (\w+); \S+\)$", rest)[1]
                name, series = self.metrics[int(metric)]
                event = [(series, self.value(kind, None, value))]
                yield self.tracks[location], b"counter", name, time, None, event
                continue
            region = int(re.search(rb"<(\d+)>$", rest)[1])
            if what == b"ENTER":
                event = []
                stays[location].append((region, time, event))
                continue
            entered, start, fields = stays[location].pop()
            if entered != region:
                fail("left in another order than entered", record)
            kind, name, instant = self.regions[region]
            if instant and start != time:
                fail("an instant that lasts", record)
            yield self.tracks[location], kind, name, start, None if instant else time - start, fields
        if any(stays.values()):
            fail("entered and never left")
        if any(count != counts[location] for location, count in self.counts.items()):
            fail("the numbers of events of the locations")


def form(track, kind, name, start, duration, fields):
    """What tells the truth about a time that could not be shown is an attribute."""
    rest = []
    for field, value in fields:
        if field == b"start" and start == 0:
            start = value
        elif field == b"duration" and duration is None:
            duration = value
        else:
            rest.append((field, value))
    return track, kind, name, start, duration, tuple(sorted(rest, key=repr))


def plain(key, value):
    """As otf2-print shows it: doubles with six digits, and a NUL in a text as we write it."""
    if key == b"value" or (isinstance(key, tuple) and key[2] == sbt_reader.F64):
        return b"%g" % struct.unpack("<d", struct.pack("<Q", value & MASK))
    if isinstance(value, tuple):
        return b" ".join(b"%d" % number for number in value)
    return value.replace(b"\0", b"\\0") if isinstance(value, bytes) else value


def expected(track, fields, chrome):
    fields = dict(fields)
    start, kind = fields.pop(b"start"), fields.pop(b"kind")
    name, duration = fields.pop(b"name", None), fields.pop(b"duration", None)
    name = None if name is None else plain(b"name", name)
    if duration is not None:
        duration &= MASK
    rest = [(key[0] if isinstance(key, tuple) else key, plain(key, value)) for key, value in fields.items()]
    numbers = (sbt_reader.I64, sbt_reader.U64, sbt_reader.F64)
    series = [kind == b"counter" and (key == b"value" or (chrome and isinstance(key, tuple) and key[1] == b"" and
                                                          key[2] in numbers)) for key in fields]
    if not any(series):
        return [form(track, kind, name, start, duration, rest)]
    alone = [[field] for field, one in zip(rest, series) if one]
    alone[0] += [field for field, one in zip(rest, series) if not one]
    # The first of several series has the other data of the event.
    return [form(track, kind, name, start, None if i else duration, said) for i, said in enumerate(alone)]


def check_places(archive, dictionary):
    for location, track in archive.tracks.items():
        if track == 0:
            continue
        kind, row = dictionary.tables[4][track][0], dictionary.tables[4][track]
        stream = archive.types[location] == b"ACCELERATOR_STREAM"
        if stream != (kind in (QUEUE, COPY_ENGINE)):
            fail("the type of the location of track", track)
        if (archive.group_types[archive.groups[location]] == b"ACCELERATOR") != (row[4] != 0):
            fail("the group of the location of track", track)


def check_roles(archive):
    wanted = {b"kernel": b"FUNCTION", b"memcpy": b"DATA_TRANSFER", b"api": b"WRAPPER", b"alloc": b"ALLOCATE"}
    for kind, role in wanted.items():
        if archive.roles.get(kind, {role}) != {role}:
            fail("the roles of", kind, archive.roles[kind])


def main(sbt_path, archive_path):
    want, dictionary = sbt_events(sbt_path)
    archive = Archive(archive_path)
    strings = dictionary.strings
    facts = {strings[key]: strings[value] for key, value in dictionary.tables[7][1:]}
    chrome = facts.get(b"import.format") in (b"chrome-json", b"rocprofv3-json")
    have = Counter(form(*event) for event in archive.events)
    sought = Counter(one for track, fields in want for one in expected(track, fields, chrome))
    failures = 0
    for name, left in (("missing", sought - have), ("too much", have - sought)):
        for event, count in list(left.items())[:5]:
            print(f"{name} ({count} times): {event}"[:2000])
        failures += sum(left.values())
    check_places(archive, dictionary)
    check_roles(archive)
    if archive.lost != sum(fields.get(b"lost", 0) for _, fields in want):
        fail("what the ledger lost", archive.lost)
    times = [event[3] for event in archive.events]
    if times and (archive.clock[0] != 10**9 or archive.clock[1] != min(times)):
        fail("the clock", archive.clock)
    print(f"{len(want)} events compared, {failures} differences; {len(archive.tracks)} locations")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
