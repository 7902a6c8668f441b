# SPDX-License-Identifier: Apache-2.0
"""check_hidden_interpreter.py ALL HIDDEN FOLDED FOLDED_HIDDEN: `view --stacks -f json` without and with --hide-interpreter, and
folded stacks the same. What is left out is exactly the native code of python3.N and libpython3.N in the stacks that have Python
functions; nothing that was counted goes."""
import json
import os
import re
import sys


def stacks(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return [event.get("frames", []) for event in json.load(file)["events"]]


def is_interpreter(frame):
    file = os.path.basename(frame.get("module", ""))
    return not frame.get("python") and re.fullmatch(r"(lib)?python3(\.\S*)?", file) is not None


def total(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return sum(int(line.rsplit(" ", 1)[1]) for line in file)


def main(everything, hidden, folded, folded_hidden):
    before, after = stacks(everything), stacks(hidden)
    assert len(before) == len(after) > 100, (len(before), len(after))
    gone = 0
    for whole, shown in zip(before, after):
        has_python = any(frame.get("python") for frame in whole)
        wanted = [frame for frame in whole if not (has_python and is_interpreter(frame))]
        assert shown == wanted, (whole, shown)
        gone += len(whole) - len(shown)
    assert gone > len(before), "the interpreter was on next to no path: nothing was tested"
    assert total(folded) == total(folded_hidden) > 0, "the time of commands is another"
    with open(folded_hidden, encoding="utf-8", errors="surrogateescape") as file:
        assert not re.search(r"\b_?PyObject_|_PyEval_", file.read()), "the interpreter is in the folded stacks"
    print("%d stacks, %d frames of the interpreter left out" % (len(before), gone))


main(*sys.argv[1:])
