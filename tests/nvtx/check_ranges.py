# SPDX-License-Identifier: Apache-2.0
"""NVTX calls of a program are in its trace, also with other NVTX listeners; the program is NVTX_SAY, or the one of the build."""
import collections
import ctypes
import json
import os
import select
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "cli"))
from support import BUILD, TRACESMITH, check, run, skip  # noqa: E402

SAY = os.environ.get("NVTX_SAY") or os.path.join(BUILD, "tests", "programs", "nvtx_say")
SOURCE = os.environ["TRACESMITH_SOURCE_DIR"]


def trace_of(directory, *what, code=0, env=None):
    path = os.path.join(directory, "t.sbt")
    done = run("profile", "-o", path, SAY, *what, code=code, env=env)
    return done.stdout.decode(), json.loads(run("view", "-f", "json", path, code=None).stdout)


def said(trace):
    return [event for event in trace["events"] if event["kind"] in ("range", "marker")]


def lost(trace):
    return trace["lost"]["by_reason"]


def inside(inner, outer):
    return outer["start"] <= inner["start"] and (
        inner["start"] + inner["duration"] <= outer["start"] + outer["duration"])


def check_everything(directory):
    text, trace = trace_of(directory, "everything")
    printed = json.loads(text)
    check(printed["levels"] == [0, 1, 0, 1, 1, 1, 0, 0], "levels: %s" % printed["levels"])
    events = said(trace)
    by_name = {event["name"]: event for event in events}
    tracks = {track["id"]: track for track in trace["tracks"]}
    thread = tracks[by_name["outer"]["track"]]
    check(thread["tid"] == printed["tid"] and thread["name"] == "the first thread", "the thread: %s" % thread)
    check({event["track"] for event in events} == {thread["id"]}, "all on one thread")
    outer, inner = by_name["outer"], by_name["inn\u00e9r \U0001f600"]
    check(inside(inner, outer) and inner["duration"] >= 20000, "the inner range lies in the outer one")
    # Popped after the inner one, though pushed within it: it has a domain of its own.
    for name, category in (("in domain", "its category"), ("registered", "77")):
        event = by_name[name]
        check(event["category"] == "my domain" and event["args"]["nvtxCategory"] == category, "%s" % event)
        check(event["args"]["color"] == 0xff112233 and inside(event, outer) and not inside(event, inner), "%s" % event)
    check(inside(by_name["registered"], by_name["in domain"]), "ranges of a domain nest")
    first, second = by_name["first"], by_name["second"]
    check(first["duration"] >= 20000 and second["duration"] >= 40000 - 1000 and second["category"] == "my domain",
          "started ranges: %s %s" % (first, second))
    check(first["start"] <= second["start"] < first["start"] + first["duration"] < second["start"] + second["duration"],
          "started ranges may overlap")
    check("a mark" in by_name and "duration" not in by_name["a mark"], "a mark is an instant")
    payloads = {}
    for event in events:
        if event["name"] == "payload":
            payloads.update(event["args"])
    check(payloads == {"uint64Value": 2**64 - 1, "int64Value": -1234567890123, "doubleValue": 0.1,
                       "uint32Value": 4000000000, "int32Value": -7, "floatValue": 1.5}, "payloads: %s" % payloads)
    check(len(events) == 6 + 1 + 6 and not lost(trace), "nothing else, nothing lost: %s" % lost(trace))


def check_torch(directory):
    """Names as emit_nvtx makes them group, and their numbers and lists are fields; every other text is a name as it is."""
    said_names = {
        "aten::mm, op_id = 1": ("aten::mm", {"op_id": 1}),
        "aten::mm, seq = 0, op_id = 2": ("aten::mm", {"seq": 0, "op_id": 2}),
        "aten::mm, seq = 3, op_id = 3, sizes = [[2, 3], [], [3, 4]]":
            ("aten::mm", {"seq": 3, "op_id": 3, "sizes": "[[2, 3], [], [3, 4]]"}),
        "aten::add, op_id = 4, sizes = [[2]], input_op_ids = [(3, 0)]":
            ("aten::add", {"op_id": 4, "sizes": "[[2]]", "input_op_ids": "[(3, 0)]"}),
        "autograd::engine::evaluate_function: AddmmBackward0, seq = 7": ("autograd::engine::evaluate_function: AddmmBackward0", {"seq": 7}),
        "a, b": ("a, b", {}), "a, op_id = 7x": ("a, op_id = 7x", {}), ", op_id = 5": (", op_id = 5", {}), "a,": ("a,", {}),
        "a, op_id = 5, seq = 6": ("a, op_id = 5", {"seq": 6}), "a, sizes = [1": ("a, sizes = [1", {}),
        "a" * 5000 + ", op_id = 5": ("a" * 5000 + ", op_id = 5", {}),
    }
    _, trace = trace_of(directory, "names", *said_names)
    events = sorted(said(trace), key=lambda event: event["start"])
    got = [(event["name"], event.get("args", {})) for event in events]
    check(got == list(said_names.values()), "names of PyTorch: %s" % [(name[:80], args) for name, args in got])
    check(not lost(trace), "nothing lost: %s" % lost(trace))
    _, trace = trace_of(directory, "names", *("aten::mm, op_id = %d" % i for i in range(1, 3001)))
    events = said(trace)
    check({event["name"] for event in events} == {"aten::mm"} and not lost(trace), "3,000 calls have one name")
    check(sorted(event["args"]["op_id"] for event in events) == list(range(1, 3001)), "each with its number")


def check_many(directory):
    _, trace = trace_of(directory, "many", "20000")
    events = said(trace)
    tracks = collections.Counter(event["track"] for event in events)
    names = collections.Counter(event["name"] for event in events)
    check(sorted(tracks.values()) == [20000, 20000], "20,000 on each thread: %s" % tracks)
    check(names == {"range %d" % i: 400 for i in range(100)}, "each name 400 times")
    check(all(event["duration"] >= 0 for event in events) and not lost(trace), "nothing lost")


def check_unbalanced(directory):
    text, trace = trace_of(directory, "unbalanced")
    check(json.loads(text)["popped"] < 0, "a pop without a push is answered as an error")
    open_ones = {event["name"] for event in said(trace) if "duration" not in event}
    check(open_ones == {"never ended", "started, never ended", "its thread ended"}, "open: %s" % open_ones)
    check([event["name"] for event in said(trace) if "duration" in event] == ["ended"], "the one that was ended")
    check(lost(trace) == {"unmatched": 5}, "three open, a pop and an end of nothing: %s" % lost(trace))


def check_killed(directory):
    _, trace = trace_of(directory, "killed", "3000", code=137)
    check(len(said(trace)) == 3000, "what had ended is there: %d" % len(said(trace)))
    check(lost(trace) == {"no_completion": 2, "process_died": 1}, "what was open is counted: %s" % lost(trace))


def check_forked(directory):
    _, trace = trace_of(directory, "forked")
    tracks = {track["id"]: track["process"] for track in trace["tracks"]}
    processes = collections.defaultdict(set)
    for event in said(trace):
        processes[tracks[event["track"]]].add(event["name"])
    check(sorted(map(sorted, processes.values())) == [["around", "parent"], ["child"]], "%s" % dict(processes))
    check(not lost(trace), "nothing lost: %s" % lost(trace))


def check_chained(directory):
    tool, notes = os.path.join(directory, "other.so"), os.path.join(directory, "notes")
    made = subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", tool,
                           "-I", os.path.join(SOURCE, "agents", "nvtx"),
                           os.path.join(SOURCE, "tests", "nvtx", "other_tool.c")], stderr=subprocess.PIPE)
    check(made.returncode == 0, made.stderr.decode())
    environment = {"NVTX_INJECTION64_PATH": tool, "OTHER_TOOL_LOG": notes}
    alone = subprocess.run([SAY, "everything"], stdout=subprocess.PIPE, check=True, env=dict(os.environ, **environment))
    with open(notes) as file:
        expected = file.read()
    check("my domain push registered" in expected, "the other tool works alone: %s" % expected)
    text, trace = trace_of(directory, "everything", env=environment)
    with open(notes) as file:
        check(file.read() == expected, "the other tool got the same as alone")
    check(json.loads(text)["levels"] == json.loads(alone.stdout)["levels"], "and the program got its answers")
    check(len(said(trace)) == 13 and not lost(trace), "and the trace has it all")
    if os.environ.get("NVTX_OTHER"):
        real = trace_of(directory, "everything", env={"NVTX_INJECTION64_PATH": os.environ["NVTX_OTHER"]})[1]
        check(len(said(real)) == 13 and not lost(real), "CUPTI may have been injected before")
    missing = trace_of(directory, "everything", env={"NVTX_INJECTION64_PATH": "/nonexistent.so"})[1]
    check(len(said(missing)) == 13, "a library that is not there does no harm")


def check_with_launches(directory):
    """A range of a thread that launches: the two agents' events are on one row, so the range is found around them."""
    mock = os.path.join(BUILD, "tests", "cuda", "mock")
    for program, environment in (("cl_nvtx", {}), ("cu_nvtx", {"LD_LIBRARY_PATH": mock})):
        loop = os.path.join(BUILD, "tests", "programs", program)
        path = os.path.join(directory, "t.sbt")
        if not os.access(loop, os.X_OK):
            continue
        done = run("profile", "-o", path, loop, code=None, env=environment)
        if done.returncode == 4:
            continue  # no OpenCL device, no mock of CUDA
        check(done.returncode == 0, done.stderr.decode())
        trace = json.loads(run("view", "-f", "json", path).stdout)
        rows = {event["track"] for event in trace["events"] if event["kind"] in ("api", "range")}
        check(len(rows) == 1, "%s: the thread is one row: %s" % (program, rows))
        report = json.loads(run("analyze", "--json", "--only", "ranges", path).stdout)
        rows = {row["range"]: row for row in report["traces"][0]["reports"][0]["tables"]["ranges"]}
        check(rows["launches"]["commands"] == 50 and rows["idles"]["commands"] == 0,
              "%s: 50 kernels of 57 are in it: %s" % (program, rows))


def wait_until_larger(path, size, otherwise):
    """Waits for what is written to the file, or until there is something to be read from `otherwise`: its writer is gone."""
    IN_MODIFY = 2
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_CLOEXEC)
    check(fd >= 0 and libc.inotify_add_watch(fd, os.fsencode(path), IN_MODIFY) >= 0, "inotify: %d" % ctypes.get_errno())
    while os.path.getsize(path) < size:
        ready, _, _ = select.select([fd, otherwise], [], [])
        check(fd in ready, "the recording ended before")
        os.read(fd, 4096)
    os.close(fd)


def check_collector_killed(directory):
    """Of a row that two agents write, what was in the file and what was not come together again, each once."""
    loop = os.path.join(BUILD, "tests", "programs", "cl_nvtx")
    if not os.access(loop, os.X_OK) or subprocess.run([loop], stdout=subprocess.DEVNULL).returncode:
        return  # no OpenCL
    path, rounds = os.path.join(directory, "killed.sbt"), 400
    profile = subprocess.Popen([TRACESMITH, "profile", "-o", path, loop, str(rounds), "pause"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    session = profile.stdout.readline().decode().strip()
    wait_until_larger(path, 8192, profile.stdout)  # until the file has something of it
    profile.kill()
    profile.wait()
    profile.stdin.write(b"go\n")
    profile.stdin.flush()
    profile.stdout.read()  # until the program has ended too
    whole = os.path.join(directory, "whole.sbt")
    done = json.loads(run("recover", "--json", "--remove", session, "-o", whole).stdout)
    check(done["events_of_file"] > 0, "some of it was in the file: %s" % done)
    trace = json.loads(run("view", "-f", "json", whole).stdout)
    kinds = collections.Counter(event["kind"] for event in trace["events"])
    names = collections.Counter(event["name"] for event in said(trace))
    check(kinds["kernel"] == 57 * rounds and names == {"launches": rounds, "idles": rounds}, "%s %s" % (kinds, names))
    threads = [track["tid"] for track in trace["tracks"] if track["kind"] == "thread"]
    rows = {event["track"] for event in trace["events"] if event["kind"] in ("api", "range")}
    check(len(rows) == 1 and not lost(trace), "on one row, nothing lost: %s %s %s" % (rows, threads, lost(trace)))
    for event in trace["events"]:
        check(event["kind"] != "range" or "duration" in event, "%s" % event)


def main():
    if not os.access(SAY, os.X_OK):
        skip("the test programs are not built")
    if "address" in os.environ.get("TRACESMITH_SANITIZE", "") and os.environ.get("NVTX_SAY"):
        skip("a program without sanitizers cannot open an agent with them")
    with tempfile.TemporaryDirectory() as directory:
        for test in (check_everything, check_torch, check_many, check_unbalanced, check_killed, check_forked, check_chained,
                     check_with_launches, check_collector_killed):
            test(directory)


main()
