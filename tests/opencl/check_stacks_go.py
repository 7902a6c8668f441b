# SPDX-License-Identifier: Apache-2.0
"""check_stacks_go.py DIRECTORY NAME: the stacks of a Go program's launches, against what Go's runtime said of each."""
import json
import sys
from itertools import groupby


def main(directory, name):
    with open(f"{directory}/{name}.json", encoding="utf-8") as file:
        launches, losses = [[list(row.values()) for row in result["rows"]] for result in json.load(file)["results"]]
    with open(f"{directory}/{name}.out", encoding="utf-8") as file:
        truth = [line.split() for line in file]
    stacks = [list(rows) for _, rows in groupby(launches, key=lambda row: row[0])]
    assert len(stacks) == len(truth) == 9, (len(stacks), len(truth))
    moved = set()
    for rows, words in zip(stacks, truth):
        said = list(zip(map(int, words[::2]), words[1::2]))
        # C has called Go once; what is outside of that is missing, and marked so.
        called_back = next((i for i, (_, function) in enumerate(said) if function == "runtime.cgocallback"), None)
        assert (called_back is not None) == (rows is stacks[-1]), words
        assert [row for row in rows if row[4]] == [], "a frame is guessed"
        assert [bool(row[5]) for row in rows] == [False] * (len(rows) - 1) + [called_back is not None], rows
        said = said[:called_back + 1] if called_back is not None else said
        if called_back is not None:
            del rows[-2] # a wrapper of cgocallbackg for its calling convention, which the runtime leaves out
        # For main.work itself the runtime reports another place in it: where it was called.
        own = rows[-len(said):]
        assert len(rows) > len(said), (rows, said)
        moved |= {pc - 1 - row[2] for row, (pc, _) in zip(own[1:], said[1:])}
        # Stripped programs have their names in Go's own table; C's are gone.
        assert [row[3] for row in own] == [function for _, function in said], (own, said)
        if name in ("symbols", "moved"):
            assert rows[0][3] == "launch" or "clEnqueue" in rows[0][3], rows[0]
    assert len(moved) == 1, moved
    assert dict(losses)["partial_stack"] == 2, losses # of the launch and of clFinish


main(*sys.argv[1:])
