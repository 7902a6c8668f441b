# SPDX-License-Identifier: Apache-2.0
"""Compares traces of tests/vulkan/compute.c with what the program says. Called by test_compute.sh: check_compute.py FOLDER."""
import json
import os
import sys
from collections import Counter, defaultdict

work = sys.argv[1]
EXECUTION = Counter({"kernel": 2, "memset": 1, "memcpy": 1})
ITEMS = 4096


def load(name):
    with open(f"{work}/{name}.json", encoding="utf-8") as file:
        return json.load(file)["events"]


def stamps(name):
    """The program's timestamps around the first dispatch of each execution."""
    with open(f"{work}/{name}.stamps", encoding="utf-8") as file:
        return [tuple(int(word) for word in line.split()) for line in file]


def lost(events):
    total = Counter()
    for event in events:
        if event["kind"] == "loss":
            total[event["reason"]] += event["lost"]
    return total


def commands(events):
    return [event for event in events if event["kind"] in EXECUTION]


def check_executions(name, executions, stamped=True, certainty=None):
    """Every command of every execution, of the call that submitted it, in the order of the barriers."""
    events = load(name)
    assert not lost(events), (name, lost(events))
    submits = {e["correlation"]: e for e in events if e["kind"] == "api" and e["name"].startswith("vkQueueSubmit")}
    assert len(submits) == executions, (name, len(submits))
    by_call = defaultdict(list)
    for event in commands(events):
        by_call[event["correlation"]].append(event)
        assert event["args"]["barriers"] == 1, event
        assert event.get("certainty") == certainty, event
    assert by_call.keys() == submits.keys(), name
    firsts = []
    for correlation, group in by_call.items():
        assert Counter(e["kind"] for e in group) == EXECUTION, (name, group)
        group.sort(key=lambda e: e["start"])
        assert [e["kind"] for e in group] == ["memset", "kernel", "kernel", "memcpy"], (name, group)
        for before, after in zip(group, group[1:]):
            assert before["start"] + before["duration"] <= after["start"], (name, before, after)
        assert group[0]["bytes"] == ITEMS * 2 and group[3]["bytes"] == ITEMS * 4
        for kernel in group[1:3]:
            assert kernel["name"].startswith("main ["), kernel
            assert kernel["global_x"] == ITEMS and kernel["local_x"] == 64, kernel
        # The agent does not believe times by more than a millisecond before the call.
        assert group[0]["start"] >= submits[correlation]["start"] - 1000000, (name, group[0])
        firsts.append(group[1])
    firsts.sort(key=lambda e: e["start"])
    if stamped:
        own = stamps(name)
        assert len(own) == executions, (name, len(own))
        for (begin, end), kernel in zip(sorted(own), firsts):
            assert 0 <= kernel["duration"] <= end - begin + 1, (name, begin, end, kernel)
    return events


def check_threads():
    events = check_executions("threads", 4 * 5, stamped=False)
    tracks = Counter(e["track"] for e in commands(events))
    assert sorted(tracks.values()) == [20] * 4, tracks
    hosts = Counter(e["host_track"] for e in commands(events))
    assert sorted(hosts.values()) == [20] * 4, hosts


def check_waits():
    """A wait names the submission that it waited for; a submission the one whose semaphore it waits for."""
    events = load("repeat")
    waits = [e for e in events if e["kind"] == "sync"]
    assert [e["waits"] for e in waits] == [[i + 1] for i in range(20)], waits
    assert {e["name"] for e in waits} == {"vkWaitForFences"}
    events = load("again")
    first_of = [e for e in commands(events) if e["kind"] == "memset"]
    assert [e.get("waits", []) for e in first_of] == [[i] if i else [] for i in range(20)], first_of
    assert all("stack" in e for e in commands(events)), "no stacks"


def check_memory():
    events = load("repeat")
    allocs = [e for e in events if e["kind"] == "alloc"]
    frees = [e for e in events if e["kind"] == "free"]
    assert [(e["bytes"], e["live_bytes"]) for e in allocs] == [(ITEMS * 8, ITEMS * 8)], allocs
    assert [(e["bytes"], e["live_bytes"]) for e in frees] == [(ITEMS * 8, 0)], frees
    compiles = [e for e in events if e["kind"] == "compile"]
    assert len(compiles) == 1 and compiles[0]["name"].startswith("main ["), compiles
    calls = Counter(e["name"] for e in events if e["kind"] == "api")
    assert calls["vkQueueSubmit"] == calls["vkWaitForFences"] == calls["vkResetFences"] == 20, calls
    assert calls["vkBeginCommandBuffer"] == calls["vkEndCommandBuffer"] == 1, calls


def check_inferred():
    """Each execution lies between its submission and the end of the wait for it, but for the error of the host's own clocks: a
    millisecond, which is what the agent itself allows."""
    events = check_executions("inferred", 20, certainty="inferred")
    submits = {e["correlation"]: e for e in events if e["kind"] == "api" and e["name"] == "vkQueueSubmit"}
    waits = {e["waits"][0]: e for e in events if e["kind"] == "sync"}
    for event in commands(events):
        wait = waits[event["correlation"]]
        assert submits[event["correlation"]]["start"] <= event["start"] + 1000000, event
        assert event["start"] + event["duration"] <= wait["start"] + wait["duration"] + 1000000, (event, wait)


def check_untimed():
    """What cannot have times is in the trace all the same, and counted."""
    for name, timed, untimed in (("simultaneous", 4, 16), ("only", 0, 20), ("few", 4, 76)):
        events = load(name)
        times = Counter(e.get("certainty") for e in commands(events))
        assert times == Counter({k: n for k, n in ((None, timed), ("untimed", untimed)) if n}), (name, times)
        assert lost(events) == Counter({"no_timing": untimed}), (name, lost(events))


def check_ends():
    assert lost(load("exits"))["no_completion"] == 12, lost(load("exits"))
    events = load("killed")
    # 8 executions waited for, 3 at once of which the last is known to be complete and has times, 5 without a wait.
    assert len(commands(events)) == (8 + 3) * 4, len(commands(events))
    assert lost(events)["no_timing"] == 8 and lost(events)["no_completion"] == 20, lost(events)
    assert not [e for e in load("none") if e["kind"] in ("api", "kernel")]


for mode, number in (("repeat", 20), ("flight", 20), ("again", 20), ("secondary", 5)):
    check_executions(mode, number)
    if os.path.exists(f"{work}/validated_{mode}.json"):
        check_executions(f"validated_{mode}", 5)
check_executions("pools", 12, stamped=False)
check_executions("host", 20)
check_executions("host_again", 20)
if os.path.exists(f"{work}/validated_host.json"):
    check_executions("validated_host", 5)
check_inferred()
check_threads()
check_waits()
check_memory()
check_untimed()
check_ends()
print("ok")
