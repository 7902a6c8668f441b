# SPDX-License-Identifier: Apache-2.0
"""check_stacks_guessed.py DIRECTORY [NAME]: what test_stacks_guessed.sh recorded, against the way that the program went."""
import json
import os
import sys

TRUTH = [["leaf", "caller", "main"]] * 3 + [["leaf", "deeper", "caller", "main"]]
# Where nothing describes parts.c: leaf and deeper keep the frame pointer of caller, so that its caller is found from leaf; main
# is described again. With frame pointers of their own each is found, by the frame pointer of the one before.
BARE = [[("leaf", False), ("main", True)]] * 4
FRAMED = [[("leaf", False)] + [(name, True) for name in path[1:]] for path in TRUTH]


def frames_of(directory, name):
    with open(os.path.join(directory, name + ".json"), encoding="utf-8") as file:
        kernels = json.load(file)["events"]
    for kernel in sorted(kernels, key=lambda event: event["start"]):
        frames = kernel["frames"]
        functions = [frame.get("function") for frame in frames]
        begin, end = functions.index("leaf"), functions.index("main")
        # Nothing outside of the program's own code is a guess, and the stack is whole.
        assert not any(frame.get("guessed") for frame in frames[:begin] + frames[end + 1:]), functions
        assert not any(frame.get("truncated") for frame in frames) and functions[-1] == "_start", functions
        yield [(frame.get("function"), frame.get("guessed", False)) for frame in frames[begin:end + 1]]


def main(directory, name=None):
    exact = [[(function, False) for function in path] for path in TRUTH]
    if name:
        assert list(frames_of(directory, name)) == exact, list(frames_of(directory, name))
        return None
    for build, wanted in (("described", exact), ("bare", BARE), ("framed", FRAMED)):
        got = list(frames_of(directory, build))
        assert got == wanted, (build, got, wanted)
        with open(os.path.join(directory, build + ".folded"), encoding="utf-8") as file:
            paths = {";".join(line.rsplit(" ", 1)[0].split(";")[1:]) for line in file}
        for path in wanted:
            names = ";".join(name + " [guessed]" * guessed for name, guessed in reversed(path))
            assert any(names + ";" in path for path in paths), (build, names, paths)
    return None


main(*sys.argv[1:])
