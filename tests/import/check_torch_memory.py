# SPDX-License-Identifier: Apache-2.0
"""Memory snapshots of PyTorch: what an allocator counted while it made one (torch_snapshot.py) must be what is read, at every
entry; pickles that are more than data are refused; damaged ones do not harm."""
import gzip
import json
import os
import pickle
import random
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "cli"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch_snapshot  # noqa: E402
from support import check, run  # noqa: E402

FOLDER = tempfile.mkdtemp()


def write(name, data):
    path = os.path.join(FOLDER, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def rows(path, sql):
    return json.loads(run("query", "--json", path, sql).stdout)["results"][0]["rows"]


def path_of(frames):
    return ";".join(frame["name"].replace(";", ":") for frame in reversed(frames))


def before(allocator, device):
    """What was alive when the kept history begins: address to bytes, by the allocator's own whole history."""
    alive = {}
    for entry in device.history[:len(device.history) - len(allocator.kept(device))]:
        if entry["action"] == "alloc":
            alive[entry["addr"]] = entry["size"]
        elif entry["action"] == "free_requested":
            del alive[entry["addr"]]
    return alive


def check_device(what, path, allocator, device):
    kept = allocator.kept(device)
    events = rows(path, """SELECT e.kind, e.name, e.bytes, e.object, e.address, e.certainty, e.start, t.queue, s.path,
        "Total Allocated" AS allocated, "Total Reserved" AS reserved FROM events e LEFT JOIN tracks t ON t.id = e.track
        LEFT JOIN stacks s ON s.id = e.stack WHERE "Device Id" = %d AND e.name != 'segment' ORDER BY e.start""" % device.number)
    early = [event for event in events if event["certainty"] == "untimed"]
    alive = before(allocator, device)
    check({event["object"]: event["bytes"] for event in early} == alive, "%s: allocated before the history" % what)
    check(len(early) == len(alive), "%s: each once" % what)
    events = [event for event in events if event["certainty"] != "untimed"]
    check(len(events) == len(kept), "%s: %d entries of %d" % (what, len(events), len(kept)))
    counts = device.counts[len(device.counts) - len(kept):]
    for event, entry, (allocated, reserved) in zip(events, kept, counts):
        address = event["object"] if event["kind"] in ("alloc", "free") else event["address"]
        check((event["name"], address, event["bytes"], event["queue"], event["path"] or "")
              == (entry["action"], entry.get("addr"), entry["size"], entry["stream"], path_of(entry["frames"])),
              "%s: %s is %s" % (what, entry, event))
        check((event["allocated"], event["reserved"]) == (allocated, reserved),
              "%s: allocated and reserved after %s: %s" % (what, entry, event))
        check(0 <= event["start"] - entry["time_us"] * 1000 < 1000, "%s: time of %s: %s" % (what, entry, event))
    early_times = [event["start"] for event in early]
    check(not early or not events or max(early_times) < events[0]["start"], "%s: before is before" % what)


def check_segments(what, path, allocator):
    found = rows(path, """SELECT "Device Id" AS device, address, bytes, category, "Segment Allocated" AS allocated,
        "Segment Active" AS active, "Segment Largest Free" AS largest, "Segment Blocks" AS blocks,
        "Segment Requested" AS requested FROM events WHERE name = 'segment'""")
    wanted = []
    for device in allocator.devices:
        for segment in device.segments:
            blocks = segment["blocks"]
            largest = run_length = 0
            for block in blocks:
                run_length = run_length + block[1] if block[3] == "inactive" else 0
                largest = max(largest, run_length)
            live = [block for block in blocks if block[3] == "active_allocated"]
            wanted.append((device.number, segment["address"], segment["total_size"], segment["type"],
                           sum(block[1] for block in live), sum(b[1] for b in blocks if b[3] != "inactive"), largest,
                           len(blocks), sum(block[2] for block in live)))
    got = [tuple(row[c] for c in ("device", "address", "bytes", "category", "allocated", "active", "largest", "blocks",
                                  "requested")) for row in found]
    check(sorted(got) == sorted(wanted), "%s: segments" % what)


def check_made():
    for seed in range(6):
        limit = (None, 1, 37, 700)[seed % 4]
        allocator = torch_snapshot.make(seed, 600, 1 + seed % 3, limit)
        allocator.annotations = [
            {"name": "step", "stage": "START", "device": 0, "time_us": 1_700_000_000_000_010},
            {"name": "forward", "stage": "START", "device": 0, "time_us": 1_700_000_000_000_020},
            {"name": "forward", "stage": "END", "device": 0, "time_us": 1_700_000_000_000_030},
            {"name": "step", "stage": "END", "device": 0, "time_us": 1_700_000_000_000_050}]
        for protocol in (2, 3, 4, 5):
            what = "seed %d, limit %s, protocol %d" % (seed, limit, protocol)
            data = pickle.dumps(allocator.snapshot(), protocol)
            path = write("made.pickle", gzip.compress(data) if protocol == 3 else data)
            for device in allocator.devices:
                check_device("%s, device %d" % (what, device.number), path, allocator, device)
            check_segments(what, path, allocator)
            ranges = rows(path, "SELECT name, start, duration FROM events WHERE kind = 'range' ORDER BY start")
            check([(r["name"], r["start"], r["duration"]) for r in ranges]
                  == [("step", 1_700_000_000_000_010_000, 40_000), ("forward", 1_700_000_000_000_020_000, 10_000)],
                  "%s: annotations %s" % (what, ranges))


def check_forms():
    """The oldest forms: a list of segments; blocks without addresses, whose stacks are in a history; no times."""
    frames = [{"name": "f", "filename": "a.py", "line": 3}]
    old = [{"address": 4096, "total_size": 2048, "stream": 0, "segment_type": "small", "allocated_size": 512, "active_size": 512,
            "device": 0, "blocks": [{"size": 512, "state": "active_allocated",
                                     "history": [{"addr": 4096, "real_size": 400, "frames": frames}]},
                                    {"size": 1536, "state": "inactive"}]}]
    path = write("old.pickle", pickle.dumps(old, 2))
    found = rows(path, "SELECT object, bytes, certainty, s.path FROM events e JOIN stacks s ON s.id = e.stack WHERE kind = 'alloc'")
    check(found == [{"object": 4096, "bytes": 400, "certainty": "untimed", "path": "f"}], "the oldest form: %s" % found)
    untimed = {"segments": [], "device_traces": [[{"action": "alloc", "addr": 512, "size": 7, "stream": 0, "frames": frames},
                                                  {"action": "free_requested", "addr": 512, "size": 7, "stream": 0, "frames": []}]]}
    path = write("untimed.pickle", pickle.dumps(untimed))
    found = rows(path, "SELECT kind, certainty, start FROM events WHERE kind IN ('alloc', 'free') ORDER BY start")
    check([row["kind"] for row in found] == ["alloc", "free"] and all(row["certainty"] == "untimed" for row in found),
          "without times: %s" % found)
    oom = {"segments": [], "device_traces": [[{"action": "oom", "device_free": 11, "size": 1 << 40, "stream": 0, "time_us": 5,
                                               "frames": frames}]]}
    found = rows(write("oom.pickle", pickle.dumps(oom)), "SELECT name, bytes, device_free FROM events WHERE kind = 'marker'")
    check(found == [{"name": "oom", "bytes": 1 << 40, "device_free": 11}], "out of memory: %s" % found)


def check_disagreement():
    """The history ends before the snapshot: what is allocated is not known then, and that is said."""
    allocator = torch_snapshot.make(9, 300, 1)
    snapshot = allocator.snapshot()
    last = max(i for i, entry in enumerate(snapshot["device_traces"][0]) if entry["action"] == "free_requested")
    snapshot["device_traces"][0] = snapshot["device_traces"][0][:last]
    path = write("gap.pickle", pickle.dumps(snapshot))
    check(b"no such column" in run("query", path, 'SELECT "Total Allocated" FROM events', code=None).stderr,
          "a history with a gap: no number of bytes allocated")
    check(b"disagree" in run("view", "-t", "loss", path).stdout, "a history with a gap is named")


def refused(what, data, words):
    done = run("query", write("bad.pickle", data), "SELECT count(*) FROM events", code=None)
    told = done.stderr.decode(errors="replace")
    check(done.returncode not in (0, -6, -11) and words in told, "%s: exit %d, %s" % (what, done.returncode, told[:300]))


class Call:
    def __reduce__(self):
        return os.system, ("touch %s/owned" % FOLDER,)


def check_malicious():
    for protocol in (2, 3, 4, 5):
        refused("a call", pickle.dumps({"segments": Call()}, protocol), "is refused")
        refused("an object", pickle.dumps({"segments": random.Random(1)}, protocol), "is refused")
    head = b"\x80\x02}(X\x08\x00\x00\x00segments"
    for opcode in (b"cos\nsystem\n", b"i", b"o", b"R", b"b", b"P1\n", b"Q", b"\x81", b"\x82\x01", b"\x83\x01\x00",
                   b"\x84\x01\x00\x00\x00", b"\x92", b"\x93", b"\x97"):
        refused("opcode %r" % opcode[:1], head + opcode + b"u.", "is refused")
    for opcode in (b"\x00", b"\xff", b"2", b"\x8f", b"\x90", b"\x91", b"I1\n", b"L1L\n", b"S'a'\n", b"V a\n", b"F1\n", b"p0\n", b"g0\n"):
        refused("opcode %r" % opcode[:1], head + opcode + b"u.", "is no valid pickle")
    refused("a memo with a hole", head + b"]r\xff\xff\xff\x7fu.", "is no valid pickle")
    refused("nothing memoized", head + b"j\x00\x00\x00\x10u.", "is no valid pickle")
    refused("an end without a begin", b"\x80\x02}X\x08\x00\x00\x00segmentsuuu.", "is no valid pickle")
    refused("a key without a value", b"\x80\x02}(X\x08\x00\x00\x00segmentsu.", "is no valid pickle")
    refused("a text longer than all", head + b"\x8d" + struct.pack("<Q", 1 << 62) + b"abc", "no valid pickle")
    refused("deep", head + b"](" * 100000, "is no valid pickle")
    refused("another dict", pickle.dumps({"segments": {"a": 1}}), "no memory snapshot of PyTorch")
    check(not os.path.exists(os.path.join(FOLDER, "owned")), "nothing was called")


def check_bombs():
    """Shared and cyclic values are not followed; they end, and hardly take memory."""
    laughs = ["lol"]
    for _ in range(60):
        laughs = [laughs] * 10
    cycle = []
    cycle.append(cycle)
    around = {}
    around["frames"] = around["blocks"] = around["history"] = [around]
    for what, value in (("laughs", laughs), ("cycle", cycle), ("around", around), ("all", [laughs, cycle, around])):
        for place in ("segments", "device_traces", "external_annotations"):
            path = write("bomb.pickle", pickle.dumps({"segments": [], place: value, "device_traces": [value]}, 4))
            found = rows(path, "SELECT count(*) AS events FROM events WHERE kind = 'alloc'")
            check(found == [{"events": 0}], "%s in %s: %s" % (what, place, found))


def check_damage(chance):
    """Any prefix and any wrong byte: read in part or refused, and told; never a crash."""
    data = pickle.dumps(torch_snapshot.make(5, 40, 1).snapshot(), 4)
    path = os.path.join(FOLDER, "damaged.pickle")
    for _ in range(60):
        broken = bytearray(data)
        if chance.random() < 0.5:
            del broken[chance.randrange(64, len(broken)):]
        else:
            broken[chance.randrange(2, len(broken))] = chance.randrange(256)
        write("damaged.pickle", bytes(broken))
        done = run("info", path, code=None)
        check(0 <= done.returncode < 10, "damaged: exit %d" % done.returncode)
    write("damaged.pickle", data[:len(data) // 2])
    found = rows_of_part(path)
    check(found and found[0]["events"] > 10, "half a file gives its events: %s" % found)


def rows_of_part(path):
    done = run("query", "--json", path, "SELECT count(*) AS events FROM events WHERE kind IN ('alloc', 'free', 'marker')", code=None)
    check(b"ends" in done.stderr or done.returncode, "half a file is reported: %s" % done.stderr)
    return json.loads(done.stdout)["results"][0]["rows"]


def main():
    check_made()
    check_forms()
    check_disagreement()
    check_malicious()
    check_bombs()
    check_damage(random.Random(2))


main()
