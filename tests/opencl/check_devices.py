# SPDX-License-Identifier: Apache-2.0
# One device, however many processes use it: check_devices.py NAME.json NAME.sbt PROCESSES. The events of the trace,
# summed up here, compared with every table.
import json
import os
import subprocess
import sys
from collections import defaultdict
from trace import Trace, expect


def ask(*arguments):
    return subprocess.run([os.environ["TRACESMITH"], *arguments], stdout=subprocess.PIPE, check=True, text=True).stdout


def union(ranges):
    total, until = 0, None
    for start, end in sorted(ranges):
        begin = start if until is None else max(start, until)
        total += max(0, end - begin)
        until = end if until is None else max(until, end)
    return total


trace, path, processes = Trace(sys.argv[1]), sys.argv[2], int(sys.argv[3])
used = defaultdict(list)
queues = defaultdict(set)
for event in trace.of("kernel", "memcpy", "memset"):
    track = trace.tracks[event["track"]]
    used[track["device"]].append((event["start"], event["start"] + event.get("duration", 0)))
    queues[track["process"]].add(track["id"])
expect(len(queues) == processes, f"{len(queues)} processes with commands, not {processes}")
expect(len(used) == 1, f"commands on devices {sorted(used)}")
(device, ranges), = used.items()
expect(len(trace.devices) == 1, f"devices {trace.devices}")
known = trace.devices[device]
expect(known["identity"].startswith("opencl:Portable Computing Language/") and known["identity"].endswith("/0"), str(known))
expect(known["number"] == 0 and known["process"] == 0, str(known))

stats = json.loads(ask("view", "--stats", "-f", "json", path))
busy, = stats["device_busy"]
expect((busy["device"], busy["busy_ns"], busy["commands"]) == (device, union(ranges), len(ranges)), str(busy))
for row in stats["track_busy"]:
    if row["device_work_ns"]:
        own = [(e["start"], e["start"] + e.get("duration", 0)) for e in trace.of("kernel", "memcpy", "memset")
               if e["track"] == row["track"]]
        expect(row["device_work_ns"] == union(own), f"{row}: {union(own)}")

reports = {r["report"]: r["tables"] for r in json.loads(ask("analyze", "--json", path))["traces"][0]["reports"]}
streams = reports["streams"]["queues"]
expect(len(streams) == sum(map(len, queues.values())), str(streams))
expect(len({row["device"] for row in streams}) == 1, f"devices of streams {streams}")
breakdown, = reports["breakdown"]["devices"]
labels = [row["queue"] for row in streams]
expect(len(set(labels)) == len(labels), f"queues called alike: {labels}")
for process, tracks in queues.items():
    pid = trace.processes[process]["pid"]
    expect(processes == 1 or sum(f"pid {pid}" in label for label in labels) == len(tracks), f"{pid} of {labels}")


asked = json.loads(ask("query", "--json", path,
                       "SELECT count(DISTINCT t.device) AS devices, count(DISTINCT t.process) AS processes "
                       "FROM kernel k JOIN tracks t ON t.id = k.track"))["results"][0]["rows"]
expect(asked == [{"devices": 1, "processes": processes}], str(asked))
print(f"{processes} processes on one device, busy {union(ranges)} ns")
