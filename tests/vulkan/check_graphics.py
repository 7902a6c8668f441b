# SPDX-License-Identifier: Apache-2.0
"""Compares traces of tests/vulkan/graphics.c with what the program says. Called by test_graphics.sh: check_graphics.py FOLDER."""
import json
import os
import sys
from collections import Counter

work = sys.argv[1]
# Functions of instances, and those that have no event: agents/vulkan/calls.h.
UNRECORDED = {
    "vkDestroyInstance", "vkEnumeratePhysicalDevices", "vkGetPhysicalDeviceProperties",
    "vkGetPhysicalDeviceMemoryProperties", "vkCreateDevice", "vkGetBufferMemoryRequirements",
    "vkGetImageMemoryRequirements",
}


class Run:
    """What a program has written, and its trace."""

    def __init__(self, name):
        self.name = name
        self.calls, self.executed, self.passes = Counter(), Counter(), []
        with open(f"{work}/{name}.log", encoding="utf-8") as file:
            for line in file:
                kind, *words = line.split()
                if kind == "call":
                    self.calls[words[0]] += int(words[1])
                elif kind == "executed":
                    self.executed[words[0]] += int(words[1])
                else:
                    self.passes.append((int(words[0]), int(words[1])))
        with open(f"{work}/{name}.json", encoding="utf-8") as file:
            self.events = json.load(file)["events"]
        self.lost = Counter()
        for event in self.events:
            if event["kind"] == "loss":
                self.lost[event["reason"]] += event["lost"]

    def of(self, kind):
        return [event for event in self.events if event["kind"] == kind]

    def check_counts(self):
        """Every call, and every command of every execution."""
        own = Counter({k: n for k, n in self.calls.items() if k not in UNRECORDED and not k.startswith("vkCmd")})
        recorded = Counter(event["name"] for event in self.of("api"))
        assert recorded == own, (self.name, recorded - own, own - recorded)
        passes = self.of("kernel")
        assert len(passes) == self.executed["pass"], (self.name, len(passes))
        assert sum(event["args"]["draws"] for event in passes) == self.executed["draw"], self.name
        assert len(self.of("memset")) == self.executed["clear"], (self.name, len(self.of("memset")))
        assert len(self.of("memcpy")) == self.executed["copy"], (self.name, len(self.of("memcpy")))
        waits = sum(self.calls[name] for name in ("vkWaitForFences", "vkWaitSemaphores", "vkQueueWaitIdle", "vkDeviceWaitIdle"))
        assert len(self.of("sync")) == waits, (self.name, len(self.of("sync")), waits)
        assert len(self.of("alloc")) == self.calls["vkAllocateMemory"] and len(self.of("free")) == self.calls["vkFreeMemory"]
        assert len(self.of("compile")) == self.calls["vkCreateGraphicsPipelines"]
        submits = {e["correlation"] for e in self.of("api") if e["name"].startswith("vkQueueSubmit")}
        for event in passes + self.of("memset") + self.of("memcpy"):
            assert event["correlation"] in submits, (self.name, event)

    def check_times(self):
        """A pass lies within the program's timestamps around it. Its timestamps are inside the program's, so the program's are a
        little longer, and more so if a thread of the driver is suspended between the two: the closest one says what is ours."""
        assert not self.lost, (self.name, self.lost)
        passes = sorted(self.of("kernel"), key=lambda event: event["start"])
        own = sorted(self.passes)
        assert len(own) == len(passes), (self.name, len(own), len(passes))
        ratios, gaps = [], []
        for (begin, end), event in zip(own, passes):
            assert event.get("certainty") is None, (self.name, event)
            assert 0 < event["duration"] <= end - begin, (self.name, begin, end, event)
            ratios.append((end - begin) / event["duration"] - 1)
            gaps.append(end - begin - event["duration"])
        ratios.sort()
        # A fast machine draws the pass in less time than two timestamps take to be written.
        assert ratios[0] < 0.05 or min(gaps) < 500_000, (self.name, ratios, gaps)
        print(f"{self.name}: the program's times are longer by {ratios[0]:.2%} to {ratios[-1]:.2%}, median {ratios[len(ratios) // 2]:.2%}")


for mode in ("render", "dynamic", "nested", "images", "threads", "instances", "fork"):
    run = Run(mode)
    run.check_counts()
    run.check_times()
    if os.path.exists(f"{work}/validated_{mode}.log"):
        run = Run(f"validated_{mode}")
        run.check_counts()
assert len({event["track"] for event in Run("instances").of("kernel")}) == 4, "a track for each device's queue"
assert len({event["host_track"] for event in Run("fork").of("kernel")}) == 2, "a thread of each process"
assert len({event["host_track"] for event in Run("threads").of("kernel")}) == 4, "the threads that submitted"
# The device is destroyed with its work: what it has executed is in the trace, or counted.
gone = Run("destroyed")
commands = gone.of("kernel") + gone.of("memcpy")
told = sum(event.get("certainty") != "untimed" for event in commands) + sum(gone.lost.values())
assert told == gone.executed["pass"] + gone.executed["copy"], (len(commands), gone.lost)
for name in ("VkLayer_gfxreconstruct", "renderdoc_capture"):
    if os.path.exists(f"{work}/{name}.log"):
        chained = Run(name).of("kernel")
        assert len(chained) == 3 and all(event.get("certainty") is None for event in chained), (name, chained)
if os.path.exists(f"{work}/devices"):
    with open(f"{work}/devices", encoding="utf-8") as file:
        listed = file.read().splitlines()
    with open(f"{work}/devices.json", encoding="utf-8") as file:
        devices = [device for device in json.load(file)["devices"] if device["api"] == "vulkan"]
    assert listed and [device["name"] for device in devices] == listed, (listed, devices)
assert not os.path.exists(f"{work}/absent.log") or not Run("absent").of("kernel")
print("ok")
