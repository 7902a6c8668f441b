# SPDX-License-Identifier: Apache-2.0
"""XRay records paired into calls, with no code of ours; and logs of every version, written from records."""
import collections
import struct

ENTER, EXIT, TAIL_EXIT, ENTER_ARGUMENT, CUSTOM, TYPED = range(6)
Record = collections.namedtuple("Record", "kind function tsc cpu pid tid args data type",
                                defaults=([], b"", 0))


def time(tsc, frequency):
    return tsc * 10**9 // (frequency or 10**9)


def events(records, frequency, names=None):
    """(Counter of events, entries without exit, exits without entry) of records in the order of each thread."""
    found, stacks, orphans = collections.Counter(), collections.defaultdict(list), 0
    entries = 0

    def name(function):
        return (names or {}).get(function, "func_id %d" % function)

    def add(**event):
        found[frozenset((k, v) for k, v in event.items() if v is not None)] += 1

    def call(record, end):
        start = time(record.tsc, frequency)
        add(kind="host_function", pid=record.pid, tid=record.tid, start=start, name=name(record.function),
            func_id=record.function, cpu=record.cpu, duration=time(end.tsc, frequency) - start if end else None,
            exit_cpu=end.cpu if end and end.cpu != record.cpu else None,
            tail_exit=True if end and end.kind == TAIL_EXIT else None,
            **{"arg%d" % (i + 1): a for i, a in enumerate(record.args)})

    for record in records:
        stack = stacks[record.pid, record.tid]
        if record.kind in (CUSTOM, TYPED):
            add(kind="marker", pid=record.pid, tid=record.tid, start=time(record.tsc, frequency), cpu=record.cpu,
                name="custom event" if record.kind == CUSTOM else "typed event",
                text=record.data.decode(errors="replace"),
                event_type=record.type if record.kind == TYPED else None)
        elif record.kind in (ENTER, ENTER_ARGUMENT):
            stack.append(record)
        elif all(record.function != open_call.function for open_call in stack):
            orphans += 1
            add(kind="marker", pid=record.pid, tid=record.tid, start=time(record.tsc, frequency), cpu=record.cpu,
                name=name(record.function), func_id=record.function, category="exit without entry")
        else:
            while stack[-1].function != record.function:
                call(stack.pop(), None)
                entries += 1
            call(stack.pop(), record)
    for stack in stacks.values():
        for record in stack:
            call(record, None)
            entries += 1
    return found, entries, orphans


def actual(document):
    """The same of the JSON of `tracesmith view`."""
    found = collections.Counter()
    pids = {p["id"]: p["pid"] for p in document["processes"]}
    tracks = {t["id"]: (pids.get(t["process"], 0), t["tid"]) for t in document["tracks"]}
    for event in document["events"]:
        event = {**{k: v for k, v in event.items() if k != "args"}, **event.get("args", {})}
        if event["kind"] == "loss":
            continue
        pid, tid = tracks[event["track"]]
        rest = {k: v for k, v in event.items() if k != "track"}
        found[frozenset(dict(rest, pid=pid, tid=tid).items())] += 1
    return found


def header(version, kind, frequency, buffer_size=0):
    return struct.pack("<HHIQQQ", version, kind, 3 if kind else 0xf3, frequency, buffer_size, 0)


def basic(version, frequency, records):
    out = header(version, 0, frequency)
    for r in records:
        out += struct.pack("<HBBiQII8x", 0, r.cpu & 0xff, r.kind, r.function, r.tsc, r.tid, r.pid)
        for argument in r.args:
            out += struct.pack("<HBBiIIQ8x", 1, 0, 0, r.function, r.tid, r.pid, argument)
    return out


def metadata(kind, body):
    return bytes([kind << 1 | 1]) + body.ljust(15, b"\0")


def recorder(version, frequency, buffers, buffer_size=2048):
    """Of buffers, each records of one thread."""
    out = header(version, 1, frequency, buffer_size)
    for records in buffers:
        content = fill(version, records)
        if version == 1:
            content += metadata(1, b"")
            assert len(content) <= buffer_size, len(content)
            content += b"\xa5" * (buffer_size - len(content))
        else:
            content = metadata(7, struct.pack("<Q", len(content))) + content
        out += content
    return out


def fill(version, records):
    first = records[0]
    out = metadata(0, struct.pack("<i", first.tid))
    out += metadata(4, struct.pack("<QI", first.tsc // 10**9, first.tsc % 10**9))
    if version >= 3:
        out += metadata(9, struct.pack("<i", first.pid))
    tsc, cpu = None, None
    for r in records:
        absolute = r.kind == CUSTOM and version < 5
        if cpu != r.cpu:
            out += metadata(2, struct.pack("<HQ", r.cpu, r.tsc))
            tsc, cpu = r.tsc, r.cpu
        if not absolute:
            delta = r.tsc - tsc
            if not 0 <= delta < 2**(31 if r.kind in (CUSTOM, TYPED) else 32):
                out += metadata(3, struct.pack("<Q", r.tsc))
                delta = 0
            tsc = r.tsc
        if r.kind == CUSTOM and version >= 5:
            out += metadata(5, struct.pack("<ii", len(r.data), delta)) + r.data
        elif r.kind == CUSTOM:
            out += metadata(5, struct.pack("<iQ", len(r.data), r.tsc) +
                            (struct.pack("<H", r.cpu) if version == 4 else b"")) + r.data
        elif r.kind == TYPED:
            out += metadata(8, struct.pack("<iiH", len(r.data), delta, r.type)) + r.data
        else:
            out += struct.pack("<II", r.kind << 1 | r.function << 4, delta)
        for argument in r.args:
            out += metadata(6, struct.pack("<Q", argument))
    return out
