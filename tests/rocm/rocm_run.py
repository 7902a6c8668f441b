# SPDX-License-Identifier: Apache-2.0
"""A trace of hip_work, and the program's own count."""
import json
import sys
from collections import Counter


def expect(right, message):
    if not right:
        print("FAILED:", message, file=sys.stderr)
        sys.exit(1)


class Run:
    """A run by name, in the folder of the test."""

    def __init__(self, folder, name):
        self.name = name
        with open(f"{folder}/{name}.json", encoding="utf-8", errors="surrogateescape") as file:
            whole = json.load(file)
        with open(f"{folder}/{name}.info", encoding="utf-8", errors="surrogateescape") as file:
            info = json.load(file)
        with open(f"{folder}/{name}.out", encoding="utf-8") as file:
            words = file.read().split()
        with open(f"{folder}/{name}.err", encoding="utf-8") as file:
            self.said = file.read()
        self.truth = {words[i]: int(words[i + 1]) for i in range(0, len(words) - 1, 2)}
        self.events = whole["events"]
        self.tracks = {track["id"]: track for track in whole["tracks"]}
        self.devices = whole["devices"]
        self.lost = whole["lost"]["by_reason"] if whole["lost"]["total"] else {}
        self.attributes = {a["key"]: a["value"] for a in info["attributes"]}

    def expect(self, right, message):
        expect(right, f"{self.name}: {message}")

    def of(self, kind):
        return [event for event in self.events if event["kind"] == kind]

    def copies(self):
        return [copy for copy in self.of("memcpy") if copy["operation"] != "migrate"]

    def calls(self, category="hip"):
        return [event for event in self.of("api") if event["category"] == category]

    def check_simulated(self):
        self.expect("rocprofiler-sdk" in self.attributes.get("simulated", ""), "the trace does not say that it is simulated")
        for event in self.of("kernel") + self.copies():
            self.expect(self.tracks[event["track"]]["simulated"], "a track does not say that it is simulated")

    def check_counts(self):
        truth = self.truth
        names = Counter(kernel.get("name") for kernel in self.of("kernel"))
        self.expect(sum(names.values()) == truth["kernels"], f"{names} of {truth}")
        self.expect(set(names) <= {"first(float*, int)", "second"}, f"names {names}")
        self.expect(len(self.calls()) == truth["calls"], f"{len(self.calls())} calls of {truth['calls']}")
        launches = [call for call in self.calls() if call["name"] == "hipModuleLaunchKernel"]
        self.expect(len(launches) == truth["launches"], f"{len(launches)} launches of {truth['launches']}")
        self.expect(len(self.copies()) == truth["copies"], "copies")
        self.check_simulated()

    # Each kernel belongs to the call that launched it, lies behind its begin, and was launched by that thread.
    def check_causes(self):
        calls = {call["correlation"]: call for call in self.calls()}
        self.expect(len(calls) == len(self.calls()), "two calls have one number")
        for work in self.of("kernel") + self.copies():
            call = calls.get(work["correlation"])
            self.expect(call, "work without its call")
            self.expect(work["host_track"] == call["track"], "the thread that launched is another")
            self.expect(self.tracks[call["track"]]["kind"] == "thread", "a call that is on no thread's track")
            self.expect(work["start"] >= call["start"] - 1000, f"work before its call: {call['start'] - work['start']} ns")

    # Work of a stream does not overlap.
    def check_order(self, tolerance=100):
        ends = {}
        for work in sorted(self.of("kernel") + self.copies(), key=lambda work: work["start"]):
            self.expect(work["start"] >= ends.get(work["track"], 0) - tolerance, "work of a stream overlaps")
            ends[work["track"]] = work["start"] + work["duration"]

    def check_sizes(self):
        for kernel in self.of("kernel"):
            size = [kernel.get(f"global_{d}") for d in "xyz"] + [kernel.get(f"local_{d}") for d in "xyz"]
            first = kernel["name"].startswith("first")
            self.expect(size == ([1024, None, None, 64, None, None] if first else [32, 8, 1, 8, 4, 1]), f"sizes {size}")
            self.expect(kernel["args"]["group_segment_size"] == (128 if first else 0), "group segment")
            self.expect(kernel["args"]["private_segment_size"] == 16, "private segment")
