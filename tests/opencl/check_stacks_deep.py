# SPDX-License-Identifier: Apache-2.0
"""check_stacks_deep.py DIRECTORY DEPTH TURNS: what test_stacks_deep.sh recorded has the call paths that the program went."""
import json
import os
import re
import sys

directory, depth, turns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
PATHS = {"recurse": ["launch"] + ["recurse"] * depth + ["main"],
         "first": ["launch"] + ["first", "second", "third"] * turns + ["first", "main"]}
LIMITS = {"whole": 8000, "cut": 1000, "few": 40}
# What is to be seen of them when recursion is folded, where the stack is whole: by docs/stacks.md, by hand.
FOLDED = [["main", "recurse", "launch"], ["main", "first", "third", "second", "first", "launch"]]


def program(names):
    """Those between what begins a program and what the API's library has."""
    begin = 1 if names[0] == "[truncated]" else names.index("main")
    return names[begin:names.index("launch") + 1]


def check_folded(name, kernels, cut):
    paths = [line.rsplit(" ", 1)[0].split(";")[1:] for line in load(name + ".folded") if ";launch;" in line]
    assert len(paths) == 2, (name, paths)
    assert sum(path[0] == "[truncated]" for path in paths) == cut, (name, cut, paths)
    for path in paths:
        wanted = [names for names in FOLDED if names[1] in path]
        if path[0] != "[truncated]":
            assert program(path) in wanted, (name, path)
        else:
            # The recursion is cut: of one function it is one; of three it begins where the stack is cut.
            functions = program(path)
            assert functions == ["recurse", "launch"] or set(functions) == {"first", "second", "third", "launch"} and \
                functions[-2] == "first" and len(functions) <= 6, (name, path)
    report = load(name + ".callsites")["traces"][0]["reports"][0]
    functions = {row["function"]: row for row in report["tables"]["functions"]}
    time = sum(kernel["duration"] for kernel in kernels)
    assert functions["launch"]["total_ns"] == time, (functions["launch"], time)
    of_recursion = [kernel["duration"] for kernel in kernels if any(f.get("function") == "recurse" for f in kernel["frames"])]
    assert functions["recurse"]["total_ns"] == sum(of_recursion), functions["recurse"]
    assert ("[truncated]" in functions) == bool(cut), functions.keys()
    assert any("Recursion is folded for 2 commands" in note for note in report["notes"]), report["notes"]
    assert any("[truncated]" in note for note in report["notes"]) == bool(cut), report["notes"]
    with open(os.path.join(directory, name + ".svg"), encoding="utf-8") as file:
        picture = file.read()
    assert "recursion is folded" in picture and ("[truncated]: callers" in picture) == bool(cut), name
    assert float(re.search(r'height="([0-9]+)"', picture).group(1)) < 2000, "the picture is as tall as the recursion is deep"


def load(name):
    with open(os.path.join(directory, name), encoding="utf-8") as file:
        return json.load(file) if not name.endswith("folded") else file.read().splitlines()


for name, limit in LIMITS.items():
    events = load(name + ".json")["events"]
    kernels = [event for event in events if event["kind"] == "kernel"]
    assert len(kernels) == 2, len(kernels)
    cuts = 0
    for kernel in kernels:
        frames = kernel["frames"]
        functions = [frame.get("function") for frame in frames]
        begin = functions.index("launch")
        expected = PATHS[functions[begin + 1]]
        cut = len(expected) + begin > limit
        cuts += cut
        if cut:
            # Frames of the API's loader stand before the program's; inlined ones have no word of their own.
            assert sum(not frame["inlined"] for frame in frames) == limit, len(frames)
            assert functions[begin:] == expected[:len(functions) - begin]
            assert frames[-1].get("truncated") and not any(frame.get("truncated") for frame in frames[:-1])
        else:
            assert functions[begin:begin + len(expected)] == expected, (name, functions[-10:])
            assert not any(frame.get("truncated") for frame in frames)
    check_folded(name, kernels, cuts)
    lost = {}
    for event in events:
        if event["kind"] == "loss":
            lost[event["reason"]] = lost.get(event["reason"], 0) + event["lost"]
    assert set(lost) <= {"deep_stack"} and (name == "whole") == (not lost), (name, lost)
print("paths of %d and %d functions" % (depth + 2, 3 * turns + 3))
