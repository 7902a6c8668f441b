# SPDX-License-Identifier: Apache-2.0
"""Compares traces of tests/openmp/offload.c with the log of other_tool.c. Called by test_target.sh: check_target.py FOLDER."""
import json
import sys
from collections import Counter

work = sys.argv[1]
ROUNDS, DEVICES = 5, 2
CONSTRUCTS = {1: "target", 2: "target enter data", 3: "target exit data", 4: "target update"}
OPERATIONS = {1: "target data alloc", 2: "target data to device", 3: "target data from device", 4: "target data delete"}
DIRECTIONS = {2: "h2d", 3: "d2h"}


def load(name):
    with open(f"{work}/{name}.json", encoding="utf-8") as file:
        return json.load(file)


def told():
    """What the runtime told the second tool."""
    constructs, operations, submissions = Counter(), Counter(), Counter()
    with open(f"{work}/log", encoding="utf-8") as file:
        for line in file:
            what, *words = line.split()
            numbers = [int(word) for word in words]
            if what == "target":
                constructs[CONSTRUCTS[numbers[0]], numbers[1]] += 1
            elif what == "op":
                has_bytes = numbers[0] != 4
                operations[OPERATIONS[numbers[0]], numbers[1], numbers[2] if has_bytes else None,
                           DIRECTIONS.get(numbers[0])] += 1
            else:
                submissions[numbers[0] or None] += 1
    return constructs, operations, submissions


def seen(trace):
    constructs, operations, submissions = Counter(), Counter(), Counter()
    for event in trace["events"]:
        extra = event.get("args", {})
        if event["kind"] == "range":
            assert event["category"] == "openmp", event
            constructs[event["name"].split(" at ")[0], extra["openmpDevice"]] += 1
        elif event["name"] == "target submit":  # a call
            submissions[extra.get("requestedTeams")] += 1
        elif event["kind"] == "api":
            operations[event["name"], extra["openmpDevice"], event.get("bytes"), event.get("direction")] += 1
    return constructs, operations, submissions


expected = told()
# The program's own count: four constructs of kind target data, one update, three target regions a round and device.
per_kind = Counter()
for (name, device), count in expected[0].items():
    per_kind[name] += count
assert per_kind == {"target": 3 * ROUNDS * DEVICES, "target enter data": ROUNDS * DEVICES,
                    "target exit data": ROUNDS * DEVICES, "target update": ROUNDS * DEVICES}, per_kind
for name in ("plain", "stacks", "fork", "killed"):
    trace = load(name)
    found = seen(trace)
    for ours, theirs in zip(found, expected):
        assert ours == theirs, (name, ours - theirs, theirs - ours)
    lost = trace["lost"]["by_reason"] if trace["lost"]["total"] else {}
    assert set(lost) <= ({"process_died"} if name == "killed" else set()), (name, lost)
    # Each operation and submission lies in a construct of its thread.
    ranges = [(e["track"], e["start"], e["start"] + e["duration"]) for e in trace["events"] if e["kind"] == "range"]
    for event in trace["events"]:
        if event["kind"] == "api":
            assert any(track == event["track"] and start <= event["start"] and event["start"] + event["duration"] <= end
                       for track, start, end in ranges), (name, event)
    assert all(("stack" in e) == (name == "stacks") for e in trace["events"] if e["kind"] in ("api", "range")), name
    # A name is a place of the program: six constructs are six places, whatever the device.
    assert len({e["name"] for e in trace["events"] if e["kind"] == "range"}) == 6, name

for name in ("other", "host"):
    trace = load(name)
    assert not [e for e in trace["events"] if e["kind"] in ("api", "range")], name
