# SPDX-License-Identifier: Apache-2.0
"""check_stacks_deep.py DIRECTORY DEPTH TURNS: what test_stacks_deep.sh recorded has the call paths that the program went."""
import json
import os
import sys

directory, depth, turns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
PATHS = {"recurse": ["launch"] + ["recurse"] * depth + ["main"],
         "first": ["launch"] + ["first", "second", "third"] * turns + ["first", "main"]}
LIMITS = {"whole": 8000, "cut": 1000, "few": 40}


def load(name):
    with open(os.path.join(directory, name), encoding="utf-8") as file:
        return json.load(file) if not name.endswith("folded") else file.read().splitlines()


for name, limit in LIMITS.items():
    events = load(name + ".json")["events"]
    kernels = [event for event in events if event["kind"] == "kernel"]
    assert len(kernels) == 2, len(kernels)
    for kernel in kernels:
        frames = kernel["frames"]
        functions = [frame.get("function") for frame in frames]
        begin = functions.index("launch")
        expected = PATHS[functions[begin + 1]]
        cut = len(expected) + begin > limit
        if cut:
            # Frames of the API's loader stand before the program's; inlined ones have no word of their own.
            assert sum(not frame["inlined"] for frame in frames) == limit, len(frames)
            assert functions[begin:] == expected[:len(functions) - begin]
            assert frames[-1].get("truncated") and not any(frame.get("truncated") for frame in frames[:-1])
        else:
            assert functions[begin:begin + len(expected)] == expected, (name, functions[-10:])
            assert not any(frame.get("truncated") for frame in frames)
    lost = {}
    for event in events:
        if event["kind"] == "loss":
            lost[event["reason"]] = lost.get(event["reason"], 0) + event["lost"]
    assert set(lost) <= {"deep_stack"} and (name == "whole") == (not lost), (name, lost)
print("paths of %d and %d functions" % (depth + 2, 3 * turns + 3))
