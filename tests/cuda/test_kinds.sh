#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The rare kinds of records, each with all its fields; graphs as a whole, copies between devices, and when kernels
# were queued and submitted. Settings apart from kinds are made through both of CUPTI's interfaces: from 13.3
# on by the second one, to whose clients it refuses the first.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

options='--cuda events,faults'
MOCK_CUPTI=version=130001 record rare -- "$programs/cu_work" launches=2 rare
MOCK_CUPTI=version=130200,larger record newer -- "$programs/cu_work" launches=2 rare
MOCK_CUPTI=version=130200,larger,late,unordered record work -- "$programs/cu_work" launches=4000 threads=2 streams=3
options='--cuda events,faults,switches'
MOCK_CUPTI=version=130001 record unswitched -- "$programs/cu_work" launches=2 rare
for version in 130100 130301 130400 130500; do
    MOCK_CUPTI=version=$version record "newest$version" -- "$programs/cu_work" launches=2 rare
done
options='--cuda events,faults'
MOCK_CUPTI=version=20 record older -- "$programs/cu_work" launches=2 rare
options=
MOCK_CUPTI=version=130001 record usual -- "$programs/cu_work" launches=2 rare
record captured -- "$programs/cu_work" launches=2 capture=50
MOCK_DEVICES=2 record peers -- "$programs/cu_work" launches=2 managed peers rare
# Calls that are made very often and do nothing are left out if CUPTI can, which is reported.
record idle -- "$programs/cu_work" launches=2 idle
MOCK_CUPTI=version=130301 record idle-shared -- "$programs/cu_work" launches=2 idle
MOCK_CUPTI=early record idle-early -- "$programs/cu_work" launches=2 idle
options='--cuda range'
record range -- "$programs/cu_work" launches=300 threads=2 range
options=
for version in 130001 130100; do
    MOCK_CUPTI=hostnodes,version=$version record "hosts$version" -- "$programs/cu_work" launches=2 graphs=7
done
options='--cuda graphs'
record graphs -- "$programs/cu_work" launches=2 graphs=7
# Graphs that the device launches have a kind of their own from 12.8 on.
for version in 24 26 130001 130301; do
    MOCK_CUPTI=version=$version record "device-graphs$version" -- "$programs/cu_work" launches=2 graphs=7 rare
done
# 13.3 without its update is not shared: no other tool has a say in graphs.
MOCK_CUPTI=version=130300,nodes record nodes-unshared -- "$programs/cu_work" launches=2 graphs=7
options='--agent-option cuda.graphs'
MOCK_CUPTI=version=130301 record graphs-shared -- "$programs/cu_work" launches=2 graphs=7
options='--cuda graphs'
MOCK_CUPTI=version=130301,nodes record nodes-shared -- "$programs/cu_work" launches=2 graphs=7
options='--agent-option=cuda.events'
MOCK_CUPTI=version=130301 record events-shared -- "$programs/cu_work" launches=2 rare
options='--cuda latency'
for version in 19 130001 130301; do
    MOCK_CUPTI=version=$version record "latency$version" -- "$programs/cu_work" launches=100 threads=2
    MOCK_CUPTI=version=$version,hardware record "refused$version" -- "$programs/cu_work" launches=100 threads=2
done
options=
"$TRACESMITH" analyze --json --only launches "$work/latency130001.sbt" >"$work/latency.launches"
"$TRACESMITH" export -f chrome -o "$work/latency.chrome" "$work/latency130001.sbt"
python3 - "$work" <<'PY'
import json
import sys
from collections import Counter
from trace import Run

def one(run, kind, name):
    found = [e for e in run.of(kind) if e.get("name") == name]
    run.expect(len(found) == 1, f"{len(found)} events of kind {kind} named {name}")
    return found[0], run.tracks[found[0]["track"]]

def check_graphs(run, graphs):
    run.expect(len(graphs) == 7 and not run.lost, f"{len(graphs)} graphs, lost {run.lost}")
    run.expect(len(run.of("kernel")) == 2, "a graph is one event")
    run.expect(all(g["duration"] >= 5000 for g in graphs) and {g["args"]["graphId"] for g in graphs} == {1}, f"{graphs[0]}")
    launches = {c["correlation"] for c in run.calls("cuGraphLaunch")}
    run.expect({g["correlation"] for g in graphs} == launches, "each is of its call")

# Records that end in unknown fields are read as far as they are known.
for name in "rare", "newer":
    run = Run(sys.argv[1], name)
    run.expect(not run.lost, f"lost {run.lost}")
    call = [c for c in run.calls("cuCtxSynchronize") if any(e.get("correlation") == c["correlation"] for e in run.of("marker"))]
    run.expect(len(call) == 1, "the call that they belong to")
    call = call[0]
    event, track = one(run, "marker", "external id, custom 0")
    run.expect(event["args"]["externalId"] == 4711 and event["correlation"] == call["correlation"] and event["certainty"] == "untimed", f"{event}")
    run.expect(event["track"] == call["track"], "on the thread of the call")
    event, track = one(run, "overhead", "CUPTI buffer flush")
    run.expect(event["duration"] == 777 and event["track"] == call["track"] and event["correlation"] == call["correlation"], f"{event}")
    event, track = one(run, "memcpy", "[Unified memory migration]")
    run.expect((event["bytes"], event["duration"], event["direction"], event["operation"]) == (65536, 5000, "h2d", "migrate"), f"{event}")
    run.expect(track["name"] == "unified memory" and track["device"] == 1, f"{track}")
    event, track = one(run, "counter", "GPU page faults")
    run.expect(event["value"] == 12 and event["object"] == 0x2000, f"{event}")
    event, track = one(run, "compile", "PTX to cubin, compile")
    run.expect((event["duration"], event["bytes"], event["text"], event["operation"]) == (31000000, 2048, "/tmp/cache", "compile"), f"{event}")
    run.expect(event["track"] == call["track"], "on the thread that compiled")
    event, track = one(run, "object", "memory pool created")
    run.expect((event["object"], event["bytes"], event["args"]["localMemoryPoolUtilizedSize"]) == (0x3000, 1 << 20, 4096), f"{event}")
    event, track = one(run, "event_record", "event")
    run.expect(event["object"] == 33 and track["queue"] == 7 and event["host_track"] == call["track"], f"{event}")
    event = [e for e in run.of("memcpy") if e["bytes"] == 1 << 16 and e["direction"] == "d2d"]
    run.expect(len(event) == 1 and event[0]["duration"] == 1234, "decompression")
    event, track = one(run, "kernel", "spills")
    args = event["args"]
    run.expect((args["localMemoryPerThread"], args["localMemoryTotal"], args["launchType"]) == (24, 1 << 33, "cooperative"), f"{event}")
    shared = args["staticSharedMemory"], args["dynamicSharedMemory"], args["sharedMemoryExecuted"]
    run.expect(shared == (1024, 2048, 8192) and args["registersPerThread"] == 255, f"{event}")
    event = [e for e in run.of("memset") if e["bytes"] == 321]
    run.expect(len(event) == 1 and (event[0]["args"]["value"], event[0]["args"]["dstKind"]) == (7, "Managed"), f"{event}")
    event = [e for e in run.of("sync") if e.get("result")]
    run.expect(len(event) == 1 and event[0]["result"] == 700 and event[0]["correlation"] == call["correlation"], f"{event}")

run = Run(sys.argv[1], "work")
run.check_everything()
run.expect(not run.lost, f"lost {run.lost}")

# Graphs that have the host alone do something: from 13.1 on that is known, and before it their launches are missing.
run = Run(sys.argv[1], "hosts130100")
launches = {c["correlation"] for c in run.calls("cuGraphLaunch")}
run.expect(len(launches) == 7 and {e["correlation"] for e in run.of("host_function")} == launches, f"{len(launches)}")
run.expect(len(run.of("kernel")) == 2 and not run.lost, f"lost {run.lost}")
run = Run(sys.argv[1], "hosts130001")
run.expect(not run.of("host_function") and run.lost == {"no_completion": 7}, f"lost {run.lost}")

# What each version of CUDA 13 added, from that version on.
def args(event, *names):
    return tuple(event.get("args", {}).get(name) for name in names)

SOURCE = "sourceGraphId", "sourceGraphNodeId"
for version in 130001, 130100, 130301, 130400, 130500:
    run = Run(sys.argv[1], "rare" if version == 130001 else f"newest{version}")
    run.expect(not run.lost, f"{version}: lost {run.lost}")
    kernel, track = one(run, "kernel", "spills")
    run.expect(kernel.get("priority") == (-5 if version >= 130100 else None), f"{version}: {kernel}")
    run.expect(args(kernel, "executionModel") == ("tile" if version >= 130301 else None,), f"{version}: {kernel}")
    known = version >= 130400
    run.expect(args(kernel, *SOURCE) == ((5, 55) if known else (None, None)), f"{version}: {kernel}")
    (copy,) = (e for e in run.of("memcpy") if e["bytes"] == 777)
    run.expect(args(copy, *SOURCE) == ((7, 77) if known else (None, None)), f"{version}: {copy}")
    (fill,) = (e for e in run.of("memset") if e["bytes"] == 321)
    run.expect(args(fill, *SOURCE) == ((6, 66) if known else (None, None)), f"{version}: {fill}")
    event, track = one(run, "event_record", "event")
    expected = (9, 99, 8, 88) if version >= 130500 else (None,) * 4
    run.expect(args(event, "graphId", "graphNodeId", *SOURCE) == expected, f"{version}: {event}")
    # Functions that the host ran, on the threads that ran them.
    functions = sorted((e["duration"], *args(e, "graphId", "graphNodeId")) for e in run.of("host_function"))
    run.expect(functions == ([(1001, 3, 31), (4000, None, None)] if version >= 130100 else []), f"{version}: {functions}")
    thread = {c["track"] for c in run.calls("cuCtxSynchronize")}
    for function in run.of("host_function"):
        run.expect({function["track"]} == thread == {function["host_track"]} and function["operation"] == "native", f"{function}")
        run.expect(run.tracks[function["queue_track"]]["queue"] == 7, f"{function}")

# The device was switched between contexts; a context of another process is described, and an unknown one is on no device.
for version in 130001, 130100, 130301, 130400, 130500:
    run = Run(sys.argv[1], "unswitched" if version == 130001 else f"newest{version}")
    switches = sorted((e["start"], e["name"], e["object"], run.tracks[e["track"]]) for e in run.of("marker") if e["name"].startswith("context switch"))
    run.expect(("switches between contexts are not recorded" in run.said) == (version == 130001), run.said)
    if version == 130001:
        run.expect(not switches and "cuda.context.900" not in run.attributes, f"{switches}, {run.attributes}")
        continue
    run.expect(not run.missing("untraced", "no_timing"), f"lost {run.lost}")
    run.expect([s[1:3] for s in switches] == [("context switch starts", 1), ("context switch ends", 900), ("context switch starts", 777)], f"{switches}")
    run.expect([s[0] - switches[0][0] for s in switches] == [0, 250, 800], f"{switches}")
    run.expect([(s[3]["name"], s[3].get("device", 0)) for s in switches] == [("context switches", 1), ("context switches", 1), ("context switches", 0)], f"{switches}")
    run.expect(run.attributes["cuda.context.900"] == "context of process 4242 on device 0", f"{run.attributes}")
    run.expect("cuda.context.1" not in run.attributes, "the process's own context")

# What a version of CUDA does not have is not read from its records.
run = Run(sys.argv[1], "older")
run.expect(not run.of("event_record"), "events had no times then")
event, track = one(run, "compile", "PTX to cubin, compile")
run.expect(track["name"] == "JIT compiler", "nor compilations a thread")
event, track = one(run, "overhead", "CUPTI buffer flush")
run.expect(track["name"] == "CUPTI overhead", f"what CUPTI names as the thread of an overhead is none of the system's: {track}")

# What costs the program something is recorded when it is asked for.
run = Run(sys.argv[1], "usual")
run.expect(not run.of("event_record") and not run.lost, f"lost {run.lost}")

for name in "idle", "idle-shared", "idle-early":
    run = Run(sys.argv[1], name)
    run.expect(not run.calls("cuCtxGetCurrent") and not run.lost, f"{len(run.calls('cuCtxGetCurrent'))} calls, lost {run.lost}")
    run.expect("cuCtxGetCurrent" in run.attributes["cuda.calls_left_out"], f"{run.attributes}")
    run.expect(len(run.calls("cuLaunchKernel")) == 2, "launches")

# The program launches as many again outside of cuProfilerStart and cuProfilerStop, and copies before.
run = Run(sys.argv[1], "range")
run.expect(len(run.of("kernel")) == 600 == len(run.calls("cuLaunchKernel")), f"{len(run.of('kernel'))} kernels")
run.expect(not run.of("memcpy") and not run.lost, f"lost {run.lost}")

# Launches that are captured run nothing: nothing of them is missing.
run = Run(sys.argv[1], "captured")
run.expect(len(run.calls("cuLaunchKernel")) == 52 and len(run.of("kernel")) == 2, "captured launches")
run.expect(not run.lost, f"lost {run.lost}")

run = Run(sys.argv[1], "peers")
run.expect(len(run.devices) == 2 and not run.lost, f"{run.devices}")
moved = {(e["bytes"], run.tracks[e["track"]]["device"]) for e in run.of("memcpy") if e.get("operation") == "migrate"}
run.expect(moved == {(4096, 1), (65536, 1), (4096, 2)}, f"what unified memory moved on each device: {moved}")
peer = [e for e in run.of("memcpy") if e["direction"] == "p2p"]
run.expect(len(peer) == 1 and peer[0]["bytes"] == 4096, f"{peer}")
there = run.tracks[peer[0]["args"]["dstDeviceTrack"]]
run.expect((run.tracks[peer[0]["track"]]["device"], there["device"]) == (1, 2), "from the first device to the second")

for name in "graphs", "graphs-shared", "nodes-unshared":
    run = Run(sys.argv[1], name)
    graphs = run.of("graph_launch")
    check_graphs(run, graphs)
for version in 24, 26, 130001, 130301:
    run = Run(sys.argv[1], f"device-graphs{version}")
    found = [(e["duration"], e["args"]["graphId"], run.tracks[e["track"]]["queue"]) for e in run.of("graph_launch") if e["name"] != "graph"]
    run.expect(found == ([(1234, 11, 7)] if version >= 26 else []), f"{version}: {found}")
    run.expect(sum(e["name"] == "graph" for e in run.of("graph_launch")) == 7, f"{version}: graphs of the host")
    run.expect(not run.missing("untraced", "no_completion"), f"lost {run.lost}")
run = Run(sys.argv[1], "nodes-shared")
run.check_everything()
run.expect(not run.of("graph_launch") and not run.lost and "node by node" in run.said, f"{run.said}")

run = Run(sys.argv[1], "events-shared")
event, track = one(run, "event_record", "event")
run.expect(event["object"] == 33, f"{event}")

# The mock queues a kernel 900 ns before it begins, submits it 300 ns before, and knows that of every other one.
for version in 19, 130001, 130301:
    run = Run(sys.argv[1], f"latency{version}")
    run.check_everything()
    run.expect(not run.lost, f"lost {run.lost}")
    said = Counter((k["start"] - k["queued"], k["start"] - k["submitted"] if "submitted" in k else None) for k in run.of("kernel"))
    launches = run.truth["launches"]
    # Times are interpolated between comparisons of the clocks, each by itself.
    run.expect(sum(said.values()) == launches and all(abs(q - 900) <= 1 and (s is None or abs(s - 300) <= 1) for q, s in said), f"{said}")
    run.expect(sum(n for (q, s), n in said.items() if s is None) == launches // 2, f"{said}")
    run = Run(sys.argv[1], f"refused{version}")
    run.check_everything()
    run.expect(not any("queued" in k or "submitted" in k for k in run.of("kernel")), "times that CUPTI refused")
    run.expect("queued and submitted" in run.said, run.said)
# The analysis of launches against sums of the events, and what another tool would read.
run = Run(sys.argv[1], "latency130001")
with open(sys.argv[1] + "/latency.launches", encoding="utf-8") as file:
    rows = json.load(file)["traces"][0]["reports"][0]["tables"]["steps"]
known = [k for k in run.of("kernel") if "submitted" in k]
run.expect(sum(row["launches"] for row in rows) == len(known), f"{rows}")
run.expect(all(abs(row["to_submitted_median_ns"] - 600) <= 1 and abs(row["to_start_median_ns"] - 300) <= 1 for row in rows), f"{rows}")
with open(sys.argv[1] + "/latency.chrome", encoding="utf-8") as file:
    run.expect(file.read().count('"queued') >= len(known), "queued is exported")
run = Run(sys.argv[1], "work")
run.expect(not any("queued" in k for k in run.of("kernel")), "not requested")
PY
