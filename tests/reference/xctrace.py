# SPDX-License-Identifier: Apache-2.0
"""What an xctrace export holds, read with Python's ElementTree and no code of ours: every row with every value.

expected(path) gives a Counter of events and how many rows have no time; actual(document) makes the same of the JSON of
`tracesmith view`.
"""
import collections
import re
import xml.etree.ElementTree as ElementTree

KINDS = {"metal-gpu-intervals": "kernel", "metal-application-command-buffer-submissions": "api",
         "metal-application-event-interval": "range", "time-profile": "sample", "os-signpost": "marker",
         "os-signpost-interval": "range", "metal-gpu-counter-intervals": "counter"}
TIMES = {"start-time", "event-time", "sample-time", "timestamp"}
LABELS = {"label", "event-label", "name", "event-name", "message", "function"}


class Reader:
    def __init__(self, path):
        root = ElementTree.parse(path).getroot()
        self.ids = {e.get("id"): e for e in root.iter() if e.get("id")}
        self.rows, schema, columns = [], "", []
        for node in root.iter("node"):
            found = node.find("schema")
            if found is not None:
                schema, columns = found.get("name"), [c.findtext("mnemonic").strip() for c in found.iter("col")]
            for row in node.iter("row"):
                self.rows.append((schema, columns, list(row)))

    def resolve(self, element):
        return self.ids.get(element.get("ref")) if element.get("ref") else element

    def text(self, element):
        """A leaf's number or text, a nested element's title; None when it says nothing."""
        stack = self.stack(element)
        if stack:
            return ";".join(reversed(stack))
        text = (element.text or "").strip()
        shown = element.get("fmt") or element.get("name")
        if len(element) or element.tag == "process":
            return shown or ""
        if re.fullmatch(r"-?[0-9]+", text) and -2**63 <= int(text) < 2**63:
            return int(text)
        return text or shown or None

    def stack(self, element):
        frames = [self.resolve(e) for e in element.iter("frame")]
        if not frames:
            for child in element:
                inner = self.resolve(child)
                if inner is not None and inner is not child and self.stack(inner):
                    return self.stack(inner)
        return [f.get("name") or (f.text or "").strip() for f in frames]

    def number_within(self, element, tag):
        for child in element:
            child = self.resolve(child)
            if child is None:
                continue
            if child.tag == tag:
                return int(child.text)
            found = self.number_within(child, tag)
            if found is not None:
                return found
        if tag == "pid" and element.tag == "process":
            found = re.search(r"\((\d+)\)$", element.get("fmt") or "")
            return int(found.group(1)) if found else None
        return None


def expected(path):
    reader = Reader(path)
    events, no_time = collections.Counter(), 0
    for schema, columns, cells in reader.rows:
        event = event_of(reader, schema, columns, cells)
        if event is None:
            no_time += 1
        else:
            events[event] += 1
    return events, no_time


def event_of(reader, schema, columns, cells):
    left, found = {}, {}
    for index, cell in enumerate(cells):
        element = reader.resolve(cell)
        if element is None or reader.text(element) is None:
            continue
        column = columns[index] if index < len(columns) else cell.tag
        value, role = reader.text(element), None
        number = isinstance(value, int)
        if number and cell.tag in TIMES:
            role = "start"
        elif number and cell.tag == "duration" and column == "duration":
            role = "duration"
        elif number and cell.tag == "size-in-bytes":
            role = "bytes"
        elif number and column == "value":
            role = "value"
        elif reader.stack(element):
            role = "stack"
        elif cell.tag in ("thread", "process"):
            role = cell.tag
        elif cell.tag == "gpu-channel-name":
            role = "channel"
        elif cell.tag == "metal-device-name":
            role = "device"
        elif column == "counter-name":
            role = "counter"
        elif column in LABELS or cell.tag == "formatted-label":
            role = "name"
        if role and role not in found:
            found[role] = (column, element, value)
        left[column] = value
    if "start" not in found:
        return None
    event = {"start": take(left, found, "start"), "category": schema or None}
    event["kind"] = KINDS.get(schema) or ("range" if "duration" in found else "marker")
    if "duration" in found:
        event["duration"] = take(left, found, "duration")
    event["place"] = place_of(reader, schema, event["kind"], left, found)
    if "stack" in found:
        event["text"] = take(left, found, "stack")
        event["name"] = event["text"].split(";")[-1]
    elif "name" in found:
        column, element, value = found["name"]
        parts = [reader.resolve(e) for e in element if reader.resolve(e).tag == "string"]
        event["name"] = reader.text(parts[0]) if parts else value
        if event["name"] == value:
            del left[column]
    if "bytes" in found and found["bytes"][2] >= 0:
        event["bytes"] = take(left, found, "bytes")
    if event["kind"] == "counter":
        event["value"] = float(take(left, found, "value"))
        event["name"] = found["counter"][2]
    event.update({"." + column if column in event else column: value for column, value in left.items()})
    return freeze(event)


def take(left, found, role):
    left.pop(found[role][0])
    return found[role][2]


def place_of(reader, schema, kind, left, found):
    if schema == "metal-gpu-intervals" and "channel" in found:
        device = take(left, found, "device") if "device" in found else "GPU"
        return ("queue", take(left, found, "channel"), device)
    if kind == "counter" and "counter" in found:
        return ("counter", take(left, found, "counter"))
    if "thread" in found and reader.number_within(found["thread"][1], "tid") is not None:
        element = found["thread"][1]
        take(left, found, "thread")
        return ("thread", reader.number_within(element, "pid") or 0, reader.number_within(element, "tid"))
    if "process" in found and reader.number_within(found["process"][1], "pid") is not None:
        element = found["process"][1]
        take(left, found, "process")
        return ("process", reader.number_within(element, "pid"))
    return ("custom", schema or "xctrace")


def freeze(event):
    return frozenset((k, repr(v) if isinstance(v, float) else v) for k, v in event.items() if v is not None)


def actual(document):
    pids = {p["id"]: p["pid"] for p in document["processes"]}
    devices = {d["id"]: d["name"] for d in document["devices"]}
    places = {}
    for track in document["tracks"]:
        pid = pids.get(track["process"], 0)
        places[track["id"]] = {"queue": ("queue", track["name"], devices.get(track["device"])),
                               "counter": ("counter", track["name"]), "thread": ("thread", pid, track["tid"]),
                               "process": ("process", pid)}.get(track["kind"], ("custom", track["name"]))
    events = collections.Counter()
    for event in document["events"]:
        event = {**{k: v for k, v in event.items() if k != "args"}, **event.get("args", {})}
        if event["kind"] == "loss":
            continue
        event = dict(event, place=places[event["track"]])
        del event["track"]
        if event["kind"] == "counter":
            event["value"] = float(event["value"])
        events[freeze(event)] += 1
    return events
