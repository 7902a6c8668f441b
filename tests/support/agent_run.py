# SPDX-License-Identifier: Apache-2.0
"""A trace that `record` (agent.sh) made, and what the program and the profiler printed."""
import json
import sys


def expect(right, message):
    if not right:
        print("FAILED:", message, file=sys.stderr)
        sys.exit(1)


def sizes(kernel):
    """Its global and local sizes, in x, y and z."""
    return [kernel.get(f"{which}_{d}") for which in ("global", "local") for d in "xyz"]


class AgentRun:
    """A run by name, in the folder of the test."""

    def __init__(self, folder, name):
        self.name = name
        self.folder = folder
        whole = json.loads(self.read("json", "surrogateescape"))
        self.printed = self.read("out")
        self.said = self.read("err")
        self.events = whole["events"]
        self.tracks = {track["id"]: track for track in whole["tracks"]}
        self.processes = {process["id"]: process for process in whole["processes"]}
        self.devices = whole["devices"]
        self.lost = whole["lost"]["by_reason"] if whole["lost"]["total"] else {}
        self.attributes = {a["key"]: a["value"] for a in json.loads(self.read("info", "surrogateescape"))["attributes"]}

    def read(self, suffix, errors="strict"):
        with open(f"{self.folder}/{self.name}.{suffix}", encoding="utf-8", errors=errors) as file:
            return file.read()

    def expect(self, right, message):
        expect(right, f"{self.name}: {message}")

    def of(self, kind):
        return [event for event in self.events if event["kind"] == kind]

    def check_simulated_by(self, library, events):
        """The trace, and the tracks of the events, say that they come from a mock of the library."""
        self.expect(library in self.attributes.get("simulated", ""), "the trace does not say that it is simulated")
        for event in events:
            self.expect(self.tracks[event["track"]]["simulated"], "a track does not say that it is simulated")
