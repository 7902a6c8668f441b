# SPDX-License-Identifier: Apache-2.0
"""check_stacks_python.py TRUTH TRACE PROGRAM: the Python functions of PROGRAM on the call path of each of its launches are those
that the interpreter named. The trace is read with the reader that was written from docs/sbt-format.md alone."""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "sbt"))
import sbt_reader  # noqa: E402

OFFSET, STACK, KIND, KERNEL, PYTHON = 20, 38, 3, 1, 2


def main(truth_path, trace_path, program):
    truth = {int(line.split()[0]): line.split()[1:] for line in open(truth_path)}
    with open(trace_path, "rb") as source:
        _, dictionary, events, _ = sbt_reader.read_trace(source.read())
    frames, stacks, symbols = (dictionary.tables[n] for n in (11, 12, 13))
    named = {symbol[0]: symbol for symbol in symbols[1:]}

    def functions(stack):
        path = []
        while stack:
            stack, frame = stacks[stack]
            if frames[frame][1] & PYTHON:
                _, function, file, line = named[frame]
                if dictionary.strings[file].decode() == program:
                    path.append((dictionary.strings[function].decode().rsplit(".", 1)[-1], line))
        return path

    wrong, found = [], 0
    for _, frame in events:
        column = frame.columns
        for row, kind in enumerate(column[KIND]):
            if kind != KERNEL or OFFSET not in column or column[OFFSET][row] is None:
                continue
            found += 1
            path = functions(column[STACK][row])
            said = [name if i == 0 else "%s:%d" % (name, line) for i, (name, line) in enumerate(path)]
            if said != truth[column[OFFSET][row]]:
                wrong.append((column[OFFSET][row], said, truth[column[OFFSET][row]]))
    if wrong or found != len(truth):
        print("FAILED: %d launches of %d, %d with a wrong path: %s" % (found, len(truth), len(wrong), wrong[:2]))
        return 1
    print("%d launches, %d call paths, all right" % (found, len(set(map(tuple, truth.values())))))
    return 0


sys.exit(main(*sys.argv[1:]))
