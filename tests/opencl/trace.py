# SPDX-License-Identifier: Apache-2.0
# A trace, as the tests of the OpenCL agent look at it: `tracesmith view -f json`, and facts that hold in every trace.
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict


def fail(message):
    print("FAILED:", message, file=sys.stderr)
    sys.exit(1)


def expect(right, message):
    if not right:
        fail(message)


# Host times are read from another clock than the device's; both are placed on the trace clock within the error bound
# that the trace (NAME.sbt next to NAME.json) states, tens of ns on a machine at rest. A slope between two comparisons
# that holds until the distance has doubled errs by at most three times what they err by. Calls may be off by that
# much.
def clock_error(path):
    told = subprocess.run([os.environ["TRACESMITH"], "info", "--json", path.removesuffix(".json") + ".sbt"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    return max([1000] + [3 * clock["error_ns"]["most"] for clock in json.loads(told)["clocks"] if not clock["device"]])


class Trace:
    def __init__(self, path):
        self.clock_error = clock_error(path)
        with open(path) as file:
            whole = json.load(file)
        self.events = whole["events"]
        self.tracks = {track["id"]: track for track in whole["tracks"]}
        self.processes = {process["id"]: process for process in whole["processes"]}
        self.devices = {device["id"]: device for device in whole["devices"]}
        self.lost = whole["lost"]

    def of(self, *kinds):
        return [event for event in self.events if event["kind"] in kinds]

    def pid(self, event):
        return self.processes[self.tracks[event["track"]]["process"]]["pid"]

    def tid(self, track):
        return self.tracks[track]["tid"]

    # What ran on queues: everything with a wait or a time of its own there.
    def commands(self):
        return [e for e in self.events if self.tracks[e["track"]]["kind"] == "queue" and
                not (e["kind"] == "compile")]

    def calls(self, name=None):
        return [e for e in self.of("api") if name is None or e["name"] == name]

    def kernels(self):
        return Counter(event["name"] for event in self.of("kernel"))

    # Every timed command: the call begins, then the command is queued, submitted, starts, ends; and was queued before
    # the call was over. One command per call, on the queue the call names, of the same process.
    def check_order(self):
        calls = defaultdict(list)
        for call in self.calls():
            if "correlation" in call:
                calls[self.pid(call), call["correlation"]].append(call)
        timed = 0
        for command in self.commands():
            key = self.pid(command), command["correlation"]
            expect(len(calls[key]) == 1, f"{len(calls[key])} calls for {command}")
            call = calls[key][0]
            expect(call["queue_track"] == command["track"], f"another queue: {call} {command}")
            expect(call["track"] == command["host_track"], f"another thread: {call} {command}")
            if "queued" not in command:
                continue
            timed += 1
            end = command["start"] + command["duration"]
            expect(call["start"] <= command["queued"] + self.clock_error, f"queued before its call: {call} {command}")
            expect(command["queued"] <= call["start"] + call["duration"] + self.clock_error, f"queued after its call: {call} {command}")
            expect(command["queued"] <= command["submitted"] <= command["start"] <= end, f"out of order: {command}")
            expect(command.get("completed", end) >= end, f"complete before its end: {command}")
            if call.get("blocking"):
                expect(end <= call["start"] + call["duration"] + self.clock_error, f"ended after its blocking call: {call} {command}")
        return timed

    # A command has ended before the clFinish or wait that covers it returns.
    def check_waits(self):
        ends = {}
        for command in self.commands():
            if "duration" in command:
                ends[self.pid(command), command["correlation"]] = command["start"] + command["duration"]
        for wait in self.of("sync"):
            for correlation in wait.get("waits", []):
                end = ends.get((self.pid(wait), correlation))
                if end is not None and wait["operation"] == "wait":
                    expect(end <= wait["start"] + wait["duration"] + self.clock_error, f"waited for {correlation}, gone before: {wait}")
                if end is not None and "queued" in wait:
                    expect(end <= wait["start"], f"a barrier before what it waits for: {wait}")
        for command in self.commands():
            for correlation in command.get("waits", []):
                end = ends.get((self.pid(command), correlation))
                if end is not None and "queued" in command:
                    expect(end <= command["start"], f"started before {correlation} was over: {command}")


def load_truth(path):
    with open(path) as file:
        return json.load(file)


def lines_of_truth(path):
    with open(path) as file:
        return [json.loads(line) for line in file if line.startswith("{")]
