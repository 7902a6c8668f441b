# SPDX-License-Identifier: Apache-2.0
# A trace of cu_work, and the program's own count.
import json
import os
import subprocess
from collections import Counter

from agent_run import AgentRun, expect, sizes  # expect: for those that import this

__all__ = ["Run", "expect"]


class Run(AgentRun):
    """A run by name, in the folder of the test. PREFIX, INTERFACE and MEMORY: of another vendor whose interface has CUPTI's form."""

    PREFIX, INTERFACE, MEMORY = "cu", "CUPTI", True

    def __init__(self, folder, name):
        super().__init__(folder, name)
        lines = [line.split() for line in self.printed.splitlines()]
        self.truths = [{words[i]: int(words[i + 1]) for i in range(0, len(words), 2)} for words in lines]
        self.truth = self.truths[0] if self.truths else {}

    def calls(self, name):
        return [event for event in self.of("api") if event.get("name") == name]

    def pid(self, event):
        return self.processes[self.tracks[event["track"]]["process"]]["pid"]

    def missing(self, *reasons):
        return sum(self.lost.get(reason, 0) for reason in reasons)

    def check_simulated(self):
        self.check_simulated_by(self.INTERFACE, self.of("kernel"))

    # The host's waits as `analyze` counts them, blocking copies left out, against the program's own count.
    def check_waits(self):
        answer = subprocess.run([os.environ["TRACESMITH"], "analyze", "--only", "sync", "--json", f"{self.folder}/{self.name}.sbt"],
                                check=True, capture_output=True, text=True).stdout
        waits = json.loads(answer)["traces"][0]["reports"][0]["tables"]["waits"]
        counted = sum(row["count"] for row in waits if row["role"] != "blocking_call")
        self.expect(counted == self.truth["waits"], f"{counted} waits of {self.truth['waits']}: {waits}")

    # Every kernel that has times: after its call began, on a queue, after the one before it in the same stream.
    # In a killed process the record of the last call may be missing.
    def check_order(self, tolerance=1000, killed=False):
        calls = {}
        for call in self.of("api"):
            if "correlation" in call:
                calls[self.pid(call), call["correlation"]] = call
        ends = {}
        for kernel in sorted((k for k in self.of("kernel") if "duration" in k), key=lambda k: k["start"]):
            call = calls.get((self.pid(kernel), kernel["correlation"]))
            if not call and killed:
                killed = False
                continue
            self.expect(call, "a kernel without its call")
            self.expect(kernel["start"] >= call["start"] - tolerance, "a kernel before its call")
            self.expect(kernel["start"] >= ends.get(kernel["track"], 0) - tolerance, "kernels of a stream overlap")
            ends[kernel["track"]] = kernel["start"] + kernel["duration"]
            self.expect(kernel["host_track"] == call["track"], "the thread that launched is another")

    # All that the program did, by its own count, and nothing is lost.
    def check_everything(self):
        truth = self.truth
        names = Counter(kernel["name"] for kernel in self.of("kernel"))
        second = truth["launches"] - truth["first"]
        self.expect(names["first"] == truth["first"], f"{names['first']} kernels of {truth['first']}")
        self.expect(names["second"] == second, f"{names['second']} kernels of {second}")
        self.expect(names["graph_node_kernel(float*, int)"] == 5 * truth["graphs"], f"{names} of {truth['graphs']} graphs")
        self.expect(len(self.calls(self.PREFIX + "LaunchKernel")) == truth["launches"] + truth["bad"], "calls of cuLaunchKernel")
        failed = [call for call in self.calls(self.PREFIX + "LaunchKernel") if call["result"] != 0]
        self.expect(len(failed) == truth["bad"], f"{len(failed)} failed launches of {truth['bad']}")
        self.expect(len(self.of("memcpy")) == truth["copies"], "copies")
        self.expect({copy["direction"] for copy in self.of("memcpy")} == {"h2d", "d2h"}, "directions of copies")
        self.expect({copy["bytes"] for copy in self.of("memcpy")} == {4096}, "bytes of copies")
        self.expect([fill["bytes"] for fill in self.of("memset")] == [2048] * truth["sets"], "sets")
        memory = (truth["allocs"], truth["frees"]) if self.MEMORY else (0, 0)
        self.expect((len(self.of("alloc")), len(self.of("free"))) == memory, "memory")
        self.expect({e["object"] for e in self.of("alloc")} == {e["object"] for e in self.of("free")}, "addresses")
        self.expect(len(self.of("sync")) == truth["waits"], f"{len(self.of('sync'))} waits of {truth['waits']}")
        made = [e for e in self.of("object") if e["operation"] == "create_queue"]
        self.expect(len(made) == truth["streams"], "streams made")
        self.check_order()
        self.check_simulated()

    def check_sizes(self):
        for kernel in self.of("kernel"):
            size = sizes(kernel)
            if kernel["name"] == "first":
                self.expect(size == [1024, None, None, 64, None, None], f"sizes {size}")
                self.expect(kernel["args"]["dynamicSharedMemory"] == 128, "shared memory")
            elif kernel["name"] == "second":
                self.expect(size == [32, 8, 1, 8, 4, 1], f"sizes {size}")
            self.expect(kernel["args"]["registersPerThread"] == 24, "registers")
