# SPDX-License-Identifier: Apache-2.0
"""A trace of hip_work, and the program's own count."""
from collections import Counter

from agent_run import AgentRun, expect, sizes  # expect: for those that import this

__all__ = ["Run", "expect"]


class Run(AgentRun):
    """A run by name, in the folder of the test."""

    def __init__(self, folder, name):
        super().__init__(folder, name)
        words = self.printed.split()
        self.truth = {words[i]: int(words[i + 1]) for i in range(0, len(words) - 1, 2)}

    def copies(self):
        return [copy for copy in self.of("memcpy") if copy["operation"] != "migrate"]

    def calls(self, category="hip"):
        return [event for event in self.of("api") if event["category"] == category]

    def check_simulated(self):
        self.check_simulated_by("rocprofiler-sdk", self.of("kernel") + self.copies())

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
            size = sizes(kernel)
            first = kernel["name"].startswith("first")
            self.expect(size == ([1024, None, None, 64, None, None] if first else [32, 8, 1, 8, 4, 1]), f"sizes {size}")
            self.expect(kernel["args"]["group_segment_size"] == (128 if first else 0), "group segment")
            self.expect(kernel["args"]["private_segment_size"] == 16, "private segment")
