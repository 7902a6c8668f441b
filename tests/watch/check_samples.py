# SPDX-License-Identifier: Apache-2.0
"""Compares samples of tests/programs/samples with what the program says.

    check_samples.py TRACE.json SAID.jsonl NAMES LEAST INFO.json

NAMES has the functions of the program (nm); each thread has at least LEAST samples.
"""
import collections
import json
import os
import sys

trace = json.load(open(sys.argv[1]))
said = [json.loads(line) for line in open(sys.argv[2])]
names = {line.split()[-1] for line in open(sys.argv[3])}
least = int(sys.argv[4])
tracks = {track["id"]: track for track in trace["tracks"]}
pids = {process["id"]: process["pid"] for process in trace["processes"]}
attributes = {one["key"]: one["value"] for one in json.load(open(sys.argv[5]))["attributes"]}
samples, off = collections.defaultdict(list), collections.defaultdict(list)
losses = collections.Counter()
for event in trace["events"]:
    track = tracks[event["track"]]
    if event["kind"] == "loss":
        losses[event["reason"]] += event["lost"]
    elif event["kind"] in ("sample", "off_cpu"):
        assert track["kind"] == "thread", track
        (samples if event["kind"] == "sample" else off)[pids[track["process"]], track["tid"]].append(event)

period, cpu = int(attributes["sampler.period_ns"]), int(attributes["sampler.cpu_ns"])
count = sum(map(len, samples.values()))
lost = int(attributes["sampler.lost"])
assert count == int(attributes["sampler.samples"]), (count, attributes)
assert losses["ring_full"] == lost, (losses, lost)
# No more samples than the kernel's own count of processor time allows: one more on each processor that a thread was on.
threads = len(set(samples) | set(off))
assert count * period <= cpu + threads * os.cpu_count() * period, (count, period, cpu, threads)
# The kernel counts at least what the threads count themselves.
own = sum(thread["heavy_ns"] + thread["light_ns"] for process in said for thread in process["threads"])
assert cpu >= 0.9 * own, (cpu, own)

for key, events in samples.items():
    away = sorted(((e["start"], e["start"] + e["duration"]) for e in off[key] if "duration" in e))
    for (_, a), (b, _) in zip(away, away[1:]):
        assert a <= b, "it did not run twice at once"
    # No thread runs where it does not run.
    at = 0
    for event in sorted(events, key=lambda e: e["start"]):
        while at < len(away) and away[at][1] <= event["start"]:
            at += 1
        assert at == len(away) or event["start"] <= away[at][0], (event, away[at])
        assert event["sampler_period"] == period and event["category"] in ("user", "kernel"), event
for process in said:
    for thread in process["threads"]:
        key = process["pid"], thread["tid"]
        # As often as the kernel's own count has it.
        if not lost:
            away = [e for e in off[key] if thread["begin"] <= e["start"] <= thread["end"]]
            assert len(away) == thread["switches"], (key, len(away), thread)
        within = [e for e in samples[key] if thread["begin"] <= e["start"] <= thread["end"]]
        assert len(within) >= least, (key, len(within))
        where = collections.Counter()
        for event in within:
            functions = [frame.get("function") for frame in event.get("frames", [])]
            ours = [frame.get("function") for frame in event.get("frames", [])
                    if frame.get("module", "").endswith("/samples") and not frame.get("inlined")]
            assert all(name in names or name.endswith("@plt") for name in ours if name), ours
            for name in ("samples_heavy", "samples_light"):
                if functions and functions[0] == name:
                    where[name] += 1
                    assert functions[1] == "samples_run", functions
                    # Without symbols of the C library the function that starts a thread has no name.
                    assert (any(name in functions for name in ("main", "start_thread", "start"))
                            or os.path.basename(event["frames"][-1].get("module", "")).startswith("libc.so")), event["frames"]
        # Most of the time is in these two, and there three times as much in one; a sample proves no more than that.
        if least:
            assert 2 * where["samples_heavy"] >= sum(where.values()) > len(within) / 2, (key, where, len(within))
