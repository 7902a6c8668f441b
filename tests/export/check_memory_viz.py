# SPDX-License-Identifier: Apache-2.0
"""export -f memory-viz: Python's own reader of pickles, without any function, reads what the allocator that made a snapshot has in
its history and segments; so does PyTorch's _memory_viz, where PyTorch is installed."""
import importlib.util
import io
import json
import os
import pickle
import random
import sys
import tempfile

SOURCE = os.environ["TRACESMITH_SOURCE_DIR"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "cli"))
sys.path.insert(0, os.path.join(SOURCE, "tests", "import"))
import torch_snapshot  # noqa: E402
from support import check, run  # noqa: E402

FOLDER = tempfile.mkdtemp()


class DataOnly(pickle.Unpickler):
    def find_class(self, module, name):
        raise AssertionError("the file names %s.%s" % (module, name))


def export(path):
    out = os.path.join(FOLDER, "out.pickle")
    if os.path.exists(out):
        os.unlink(out)
    run("export", "--no-cache", "-f", "memory-viz", path, "-o", out)
    with open(out, "rb") as file:
        data = file.read()
    check(data[:2] == b"\x80\x02", "protocol 2")
    return out, DataOnly(io.BytesIO(data)).load()


def frames_of(frames):
    return [(frame["name"], frame["filename"], frame["line"]) for frame in frames]


def entries_of(history):
    return [(e["action"], e.get("addr"), e.get("device_free"), e["size"], e["stream"], e["time_us"], frames_of(e["frames"]))
            for e in history]


def alive_of(snapshot):
    return sorted((segment["device"], block["address"], block["requested_size"], str(frames_of(block["frames"])))
                  for segment in snapshot["segments"] for block in segment["blocks"] if block["state"] == "active_allocated")


def segments_of(snapshot):
    return sorted((s["device"], s["address"], s["total_size"], s["stream"], s["segment_type"], s["allocated_size"])
                  for s in snapshot["segments"])


def check_whole(what, snapshot):
    for segment in snapshot["segments"]:
        at = segment["address"]
        for block in segment["blocks"]:
            check(block["address"] == at, "%s: blocks follow each other" % what)
            at += block["size"]
        check(at == segment["address"] + segment["total_size"], "%s: blocks fill their segment" % what)


def torch_memory_viz():
    """PyTorch's module, without PyTorch: it needs nothing else of it."""
    path = os.environ.get("TRACESMITH_MEMORY_VIZ")
    spec = None if path else importlib.util.find_spec("torch")
    if spec:
        path = os.path.join(list(spec.submodule_search_locations)[0], "cuda", "_memory_viz.py")
    if not path or not os.path.exists(path):
        return None
    spec = importlib.util.spec_from_file_location("memory_viz", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check_made():
    module = torch_memory_viz()
    print("PyTorch's _memory_viz:", "compared" if module else "not installed")
    for seed in range(8):
        allocator = torch_snapshot.make(seed, 400, 1 + seed % 3, (None, 90)[seed % 2])
        if seed == 3:
            allocator.note(allocator.devices[0], "oom", 12345, 1 << 40, 0, allocator.frames[0])
        snapshot = allocator.snapshot()
        path = os.path.join(FOLDER, "in.pickle")
        with open(path, "wb") as file:
            pickle.dump(snapshot, file)
        out, found = export(path)
        what = "seed %d" % seed
        for old, new in zip(snapshot["device_traces"], found["device_traces"]):
            check(entries_of(old) == entries_of(new), "%s: history" % what)
        check(len(snapshot["device_traces"]) == len(found["device_traces"]), "%s: devices" % what)
        # Of blocks that are older than the history the stack is in the segments.
        check(alive_of(snapshot) == alive_of(found), "%s: blocks" % what)
        check(segments_of(snapshot) == segments_of(found), "%s: segments" % what)
        check_whole(what, found)
        sql = "SELECT kind, count(*) AS n, sum(bytes) AS bytes FROM events WHERE kind IN ('alloc', 'free') GROUP BY kind"
        sums = [json.loads(run("query", "--json", p, sql).stdout)["results"][0]["rows"] for p in (path, out)]
        check(sums[0] == sums[1], "%s: read again: %s" % (what, sums))
        if module:
            check(module.trace(snapshot) == module.trace(found), "%s: what PyTorch's trace() prints" % what)


def check_kineto():
    """A trace of PyTorch's profiler has no segments: what is alive at the end is one each."""
    chance, events, alive = random.Random(4), [], {}
    for i in range(200):
        if alive and chance.random() < 0.5:
            address = chance.choice(sorted(alive))
            size = -alive.pop(address)
        else:
            address, size = 512 * (1000 + i), chance.randrange(1, 5000)
            alive[address] = size
        events.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 10 + i,
                       "args": {"Addr": address, "Bytes": size, "Device Type": 1, "Device Id": 1}})
    path = os.path.join(FOLDER, "kineto.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "traceEvents": events}, file)
    _, found = export(path)
    said = run("export", "-f", "memory-viz", path, "-o", os.path.join(FOLDER, "kineto.pickle")).stderr
    check(not said, said)
    check([len(history) for history in found["device_traces"]]
          == [0, 200 + sum(event["args"]["Bytes"] < 0 for event in events)], "kineto: history")
    check(sorted((b["address"], b["requested_size"]) for s in found["segments"] for b in s["blocks"]) == sorted(alive.items()),
          "kineto: alive at the end")


def check_empty():
    path = os.path.join(FOLDER, "empty.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]}, file)
    _, found = export(path)
    check(found == {"device_traces": [], "segments": [], "allocator_settings": {}}, "nothing of memory: %s" % found)
    said = run("export", "-f", "memory-viz", path, "-o", os.path.join(FOLDER, "empty.pickle")).stderr
    check(b": %s has no events of memory (alloc, free), so the snapshot is empty" % path.encode() in said, said)
    kineto = os.path.join(FOLDER, "kineto.json")  # of check_kineto, which has some
    said = run("export", "-f", "memory-viz", "--type", "range", kineto, "-o", os.path.join(FOLDER, "empty.pickle")).stderr
    check(b": the selected part of %s has no events of memory" % kineto.encode() in said, said)
    said = run("export", "-f", "folded", "--cpu", path, "-o", os.path.join(FOLDER, "empty.folded")).stderr
    check(b"has no samples of the CPU, so the output is empty" in said, said)


check_made()
check_kineto()
check_empty()
