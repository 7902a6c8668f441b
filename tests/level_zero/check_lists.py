# SPDX-License-Identifier: Apache-2.0
"""Compares traces of tests/level_zero/lists.c with the log of the simulated driver. Called by test_lists.sh: check_lists.py
FOLDER."""
import json
import sys
from collections import Counter

work = sys.argv[1]
TICK = 80  # ns of the device's counter
# The clocks are compared by reading both: the error is half of the time that the reading takes, which the machine's load
# makes long. A millisecond is also what the agent believes at most.
APART = 1000000


def load(name):
    with open(f"{work}/{name}.json", encoding="utf-8") as file:
        return json.load(file)["events"]


def log(name):
    """What the device did, and how often the driver was called."""
    done, calls = [], {}
    with open(f"{work}/{name}.log", encoding="utf-8") as file:
        for line in file:
            what, first, *rest = line.split()
            if what == "calls":
                calls[first] = int(rest[0])
            else:
                done.append((what, first if what == "kernel" else int(first), int(rest[0]), int(rest[1])))
    return done, calls


KINDS = {"kernel": "kernel", "memcpy": "copy", "memset": "fill"}


def commands(events):
    return [event for event in events if event["kind"] in KINDS]


def lost(events):
    losses = Counter()
    for event in events:
        if event["kind"] == "loss":
            losses[event["reason"]] += event["lost"]
    return losses


def same_command(event, entry):
    what, size = entry[:2]
    return KINDS[event["kind"]] == what and (event["name"] if what == "kernel" else event["bytes"]) == size


def check_times(name, events, entries):
    """Each event is the command of the log with the same number, with its times."""
    assert len(events) == len(entries), (name, len(events), len(entries))
    events = sorted(events, key=lambda event: event["start"])
    for event, entry in zip(events, sorted(entries, key=lambda entry: entry[2])):
        assert same_command(event, entry), (name, event, entry)
        assert abs(event["duration"] - (entry[3] - entry[2])) <= 2 * TICK, (name, event, entry)
        assert abs(event["start"] - entry[2]) <= APART, (name, event, entry)


def check_calls(name, events):
    """Each command has its call, which is before it; kernels have their sizes."""
    calls = {event["correlation"]: event for event in events if event["kind"] == "api" and "correlation" in event}
    for event in commands(events):
        call = calls[event["correlation"]]
        assert call["start"] - APART <= event["start"], (name, event, call)
        assert call["queue_track"] == event["track"] and call["track"] == event["host_track"], (name, event, call)
        if event["kind"] == "kernel":
            assert (event["global_x"], event["global_y"], event["global_z"]) == (192, 1, 1), (name, event)
            assert event["local_x"] == 32, (name, event)


def api(events, function):
    return [event for event in events if event["kind"] == "api" and event["name"] == function]


LAUNCH, EXECUTE = "zeCommandListAppendLaunchKernel", "zeCommandQueueExecuteCommandLists"

for name in ("immediate", "regular", "overlap", "events", "lists", "refused", "many", "wrap", "stacks", "slow", "quiet"):
    events, (entries, counts) = load(name), log(name)
    check_calls(name, events)
    assert len(api(events, LAUNCH)) == counts["kernels"], name
    assert len(api(events, EXECUTE)) == counts["executes"], name
    assert all(event["result"] == 0 for event in api(events, LAUNCH)), name
    timed = [event for event in commands(events) if event.get("certainty") != "untimed"]
    untimed = [event for event in commands(events) if event.get("certainty") == "untimed"]
    # Nothing is missing, and what has no times is counted.
    assert sorted(KINDS[event["kind"]] for event in commands(events)) == sorted(entry[0] for entry in entries), name
    assert lost(events) == Counter({"no_timing": len(untimed)} if untimed else {}), (name, lost(events), len(untimed))
    # Without TraceSmith the driver is sent the same commands.
    if name in ("immediate", "regular", "overlap", "events", "lists", "refused", "many"):
        alone, alone_counts = log(name + ".alone")
        assert [entry[:2] for entry in entries] == [entry[:2] for entry in alone], name
        for what in ("kernels", "copies", "executes"):
            assert counts[what] == alone_counts[what], (name, what)
    if name in ("immediate", "regular", "lists", "refused", "many", "stacks", "slow"):
        assert not untimed, (name, untimed)
        check_times(name, timed, entries)
    elif name in ("overlap", "wrap"):
        # Two executions are in the queue at once, unless the machine let the first end before the second was submitted; the
        # third, after the program had waited, has times in any case.
        at_once = api(events, EXECUTE)[1]["start"] + api(events, EXECUTE)[1]["duration"] < min(entry[3] for entry in entries)
        assert len(timed) == 1 and len(untimed) == 2 or not at_once, (name, timed)
        check_times(name, timed[-1:], [max(entries, key=lambda entry: entry[2])])
    elif name == "events":
        # An event that is used again without a reset: the times of neither command can be told apart, unless the first was
        # read before. The event of the pool without timestamps got them.
        assert len(entries) == 9 and len(untimed) == 2, (name, untimed)
    else:
        # No argument is changed: the program gave no events with timestamps.
        assert not timed and counts["timestamp_pools"] == 0 and counts["pools"] == 1, (name, counts)

# Lists give back the agent's events: it made one pool in each of the two contexts.
assert log("lists")[1]["pools"] == log("lists.alone")[1]["pools"] + 2, (log("lists")[1], log("lists.alone")[1])
directions = Counter(event["direction"] for event in load("immediate") if event["kind"] == "memcpy")
assert directions == {"h2d": 20, "d2h": 20}, directions
memory = [event for event in load("immediate") if event["kind"] in ("alloc", "free")]
assert [(event["kind"], event["bytes"], event["live_bytes"]) for event in memory] == [
    ("alloc", 4096, 4096), ("free", 4096, 0)], memory
# A free that the driver refuses frees nothing: the second one does, after the commands between.
refused = load("refused")
memory = [event for event in refused if event["kind"] in ("alloc", "free")]
assert [(event["kind"], event["bytes"], event["live_bytes"]) for event in memory] == [
    ("alloc", 1001, 1001), ("free", 1001, 0)], memory
calls = sorted(api(refused, "zeMemFree"), key=lambda event: event["start"])
assert len(calls) == 2 and calls[0]["result"] and not calls[1]["result"], calls
assert memory[0]["object"] == memory[1]["object"] and memory[1]["start"] == calls[1]["start"], (memory, calls)
waits = Counter(event["name"] for event in load("regular") if event["kind"] == "sync")
assert waits == {"zeFenceHostSynchronize": 10, "zeCommandQueueSynchronize": 10}, waits
compiles = [event for event in load("regular") if event["kind"] == "compile"]
assert len(compiles) == 1 and compiles[0]["text"] == "-ze-opt-level=2", compiles
with open(f"{work}/stacks.json", encoding="utf-8") as file:
    stacks = json.load(file)
assert all("stack" in event for event in commands(stacks["events"])), "a command has no stack"

# Of a program that is killed, or exits, the command that still ran is counted, and those before it are there.
for name in ("killed", "exits"):
    trace, (entries, _) = load(name), log(name)
    assert len(entries) == 8 and len(commands(trace)) == 7, (name, entries, trace)
    assert lost(trace)["no_completion"] == 1, (name, lost(trace))
# What a program never waits for is recorded while it runs.
never, (entries, _) = load("never"), log("never")
assert len(entries) == 7 and not lost(never), (entries, lost(never))
check_times("never", commands(never), entries)
print("level zero: the traces are what the simulated device did")
