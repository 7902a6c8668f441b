#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Call stacks of Chrome traces: events that name a frame ("sf"), and Kineto's calls within ranges of Python functions and
operators. Made files, and where there is a corpus its files; the stacks are worked out here in another way: of all ranges of
the thread those that hold the call's start, by their start."""
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile

TRACESMITH = os.environ["TRACESMITH"]
RANGES = {"python_function", "cpu_op", "Operator", "user_annotation"}
CALLS = {"cuda_runtime", "cuda_driver", "hip_runtime"}


def run(*command, **options):
    return subprocess.run([TRACESMITH, *command], capture_output=True, check=True, **options).stdout


def view(path):
    return json.loads(run("view", path, "--json", "--stacks"))["events"]


def attributes(path):
    return {a["key"]: a["value"] for a in json.loads(run("info", path, "--json"))["attributes"]}


def names(event):
    return [frame["function"] for frame in event.get("frames", [])]


# ---- Kineto


def expected(events):
    """By (name, correlation) of the call: the functions around it, innermost first."""
    threads = {}
    for e in events:
        if e.get("cat") in RANGES and e.get("ph") == "X" and e.get("dur", 0) > 0:
            start = round(e["ts"] * 1000)
            threads.setdefault((e["pid"], e["tid"]), []).append((start, -(start + round(e["dur"] * 1000)), e["name"]))
    for ranges in threads.values():
        ranges.sort()
    calls = [e for e in events if e.get("cat") in CALLS]
    random.seed(3)
    for e in random.sample(calls, min(len(calls), 150)):
        time = round(e["ts"] * 1000)
        around = [r[2] for r in threads.get((e["pid"], e["tid"]), []) if r[0] <= time < -r[1]]
        yield e["args"]["correlation"], around[::-1]


def check_kineto(path, events):
    shown = view(path)
    seen = {e["correlation"]: names(e) for e in shown if e["kind"] == "api" and "correlation" in e}
    launched = {e["correlation"]: names(e) for e in shown if e["kind"] == "kernel"}
    checked = deepest = 0
    for correlation, around in expected(events):
        assert seen[correlation] == around, (path, correlation, seen[correlation], around)
        assert launched.get(correlation, around) == around, (path, correlation, launched[correlation])
        checked += 1
        deepest = max(deepest, len(around))
    assert checked and deepest > 3 and any(launched.values()), (path, checked, deepest)
    assert not {"import.no_stack", "import.late_range"} & set(attributes(path))
    print("%s: %d calls, up to %d functions around them" % (os.path.basename(path), checked, deepest))


def slice_of(cat, name, tid, start, end, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 7, "tid": tid, "ts": start, "dur": end - start, "args": args}


def make_kineto(generator):
    """Nested ranges of three threads, some that begin or end together, some that cross; calls at random places."""
    ops, functions, calls = [], [], []

    def nest(tid, start, end, depth):
        cat = generator.choice(["cpu_op", "python_function", "python_function"])
        out = ops if cat == "cpu_op" else functions
        name = "%s.py(%d): f%d" % ("abc"[depth % 3], generator.randrange(9), generator.randrange(40))
        out.append(slice_of(cat, name, tid, start, end + generator.choice([0, 0, 0, 0.3])))
        at = start
        while depth < 12 and end - at > 2 and generator.random() < 0.8:
            stop = generator.choice([end, at + (end - at) * generator.random()])
            nest(tid, round(at, 3), round(max(stop, at + 0.1), 3), depth + 1)
            at = stop + generator.random()

    for tid in (1, 2, 3):
        for start in range(0, 2000, 250):
            nest(tid, start, start + 240, 0)
    for i in range(400):
        at = round(generator.random() * 2100, 3)
        calls.append(slice_of("cuda_runtime", "cudaLaunchKernel", generator.choice([1, 2, 3, 4]), at, at + 0.5, correlation=i + 1))
        calls.append({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": at + 9, "dur": 1,
                      "args": {"correlation": i + 1, "device": 0, "stream": 7}})
    return ops, functions, calls


def write(folder, name, trace):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        json.dump(trace, file)
    return path


def check_made_kineto(folder):
    generator = random.Random(11)
    ops, functions, calls = make_kineto(generator)
    events = ops + functions + calls
    check_kineto(write(folder, "kineto.json", {"traceEvents": events}), events)
    by_time = sorted(events, key=lambda e: (e["ts"], -e["dur"], e["name"]))
    check_kineto(write(folder, "by_time.json", {"traceEvents": by_time}), events)
    # Without Python functions no stacks were requested; after the calls they come too late, which is reported.
    path = write(folder, "operators.json", {"traceEvents": ops + calls})
    assert not any(names(e) for e in view(path))
    path = write(folder, "late.json", {"traceEvents": functions[:5] + calls + functions[5:]})
    assert int(attributes(path)["import.late_range"]) > 100
    path = write(folder, "first.json", {"traceEvents": calls + functions})
    assert int(attributes(path)["import.late_range"]) > 100
    # They come back as they were.
    path = os.path.join(folder, "kineto.json")
    back = json.loads(run("export", path, "-f", "chrome", "-o", "-"))["traceEvents"]
    order = lambda e: json.dumps(e, sort_keys=True)
    assert sorted(map(order, back)) == sorted(map(order, events))
    # The kernels' time by the path of the calls that launched them.
    folded = run("export", path, "-f", "folded", "-o", "-").decode().splitlines()
    launched = {c: around[::-1] for c, around in expected(events)}
    paths = {line.rsplit(" ", 1)[0] for line in folded}
    for around in launched.values():
        assert not around or any(";".join(around) in one for one in paths), around


# ---- frames that events name

FRAMES = {
    "5": {"category": "libc.so", "name": "main \"q\" {"},
    "7": {"category": "libx.so", "name": "run", "parent": 5, "file": "a.c", "line": 12},
    "x\u00e9": {"category": "libx.so", "name": "helper", "parent": "7"},
    "71": {"name": "unnamed place", "parent": "x\u00e9", "other": [1, {"name": "not this"}]},
    "8": {"name": "ring", "parent": "9"},
    "9": {"name": "round", "parent": "8"},
    "10": {"name": "orphan", "parent": "unknown"},
}
NAMED = {7: ["run", "main \"q\" {"], "7": ["run", "main \"q\" {"], 71: ["unnamed place", "helper", "run", "main \"q\" {"],
         "x\u00e9": ["helper", "run", "main \"q\" {"], 10: ["orphan"], 8: [], "unknown": [], 5.5: []}


def check_frames(folder):
    events = [dict(slice_of("cuda_runtime", "call", 1, 10 * i, 10 * i + 2, correlation=i + 1), sf=frame)
              for i, frame in enumerate(NAMED)]
    events.append(dict(slice_of("cuda_runtime", "call", 1, 900, 901, correlation=50), esf=7))
    wanted = list(NAMED.values()) + [[]]
    behind = write(folder, "behind.json", {"traceEvents": events, "stackFrames": FRAMES, "otherData": {}})
    before = write(folder, "before.json", {"stackFrames": FRAMES, "traceEvents": events})
    packed = os.path.join(folder, "behind.json.gz")
    with open(behind, "rb") as plain, gzip.open(packed, "wb") as file:
        file.write(plain.read())
    for path in (behind, before, packed):
        seen = sorted(view(path), key=lambda e: e["correlation"])
        assert [names(e) for e in seen] == wanted, (path, [names(e) for e in seen])
        frame = seen[0]["frames"][0]
        assert (frame["file"], frame["line"]) == ("a.c", 12), frame
        assert attributes(path)["import.no_stack"] == "3", attributes(path)
        back = json.loads(run("export", path, "-f", "chrome", "-o", "-"))
        assert back["traceEvents"] == events and back["stackFrames"] == FRAMES
    # The end of a pipe cannot be read first.
    path = os.path.join(folder, "pipe.sbt")
    with open(behind, "rb") as plain:
        run("import", "-", "-o", path, input=plain.read())
    assert attributes(path)["import.no_stack"] == str(len(NAMED))
    # Frames that are none.
    for damaged in ('{"7":{"name":"run","parent":"7"', '[1]', '{"7":7}', '{"7":{"name":}}', '"x"'):
        with open(os.path.join(folder, "damaged.json"), "w") as file:
            file.write('{"traceEvents":%s,"stackFrames":%s}' % (json.dumps(events), damaged))
        subprocess.run([TRACESMITH, "view", os.path.join(folder, "damaged.json")], capture_output=True)


with tempfile.TemporaryDirectory() as FOLDER:
    check_made_kineto(FOLDER)
    check_frames(FOLDER)
    CORPUS = os.environ.get("TRACESMITH_CORPUS")
    if CORPUS:
        for FILE in ("traces_h100_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
                     "traces_h100_google_owlv2-large-patch14-ensemble__1016001.json.gz",
                     "inference_vllm_prefilldecode_piecewise_graph_execution.json.gz"):
            PATH = os.path.join(CORPUS, FILE)
            if os.path.exists(PATH):
                with gzip.open(PATH) as PACKED:
                    check_kineto(PATH, json.load(PACKED)["traceEvents"])
    else:
        print("no TRACESMITH_CORPUS: only made files")
sys.exit(0)
