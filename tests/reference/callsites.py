# SPDX-License-Identifier: Apache-2.0
"""Call sites of a trace without call stacks: the ranges around the call that launched a command are its path, by name."""
import collections

from trace import Around


PERIOD_MAX = 16  # of docs/stacks.md


def fold(names):
    """What a path repeats at once stands in it once."""
    path = []
    for name in names:
        path.append(name)
        for n in range(1, PERIOD_MAX + 1):
            if len(path) >= 2 * n and path[-n:] == path[-2 * n:-n]:
                del path[-n:]
                break
    return path


def check(trace, reports, expect):
    around = Around(trace)
    total, self_time, count, tree, own = (collections.Counter() for _ in range(5))
    everything = 0
    for command, call in trace.launched():
        time = command.end - command.start
        everything += time
        names = fold([one.name for one in around(call.thread, call.start)] if call else [])
        for name in set(names):
            total[name] += time
        for depth in range(1, len(names) + 1):
            tree[tuple(names[:depth])] += time
        if names:
            self_time[names[-1]] += time
            count[names[-1]] += 1
            own[tuple(names)] += 1
    tables = reports["callsites"]["tables"]
    rows = {row["function"]: row for row in tables["functions"]}
    expect("functions that launch", set(rows), set(total))
    for name, row in rows.items():
        for column, wanted in {"total_ns": total[name], "self_ns": self_time[name], "commands": count[name],
                               "share": total[name] / everything}.items():
            expect(f"function {name}: {column}", row[column], wanted)
    paths, at = collections.Counter(), []
    for row in tables["paths"]:
        at = at[:row["depth"]] + [row["function"][min(2 * row["depth"], 60):]]
        paths[" > ".join(at)] += row["total_ns"]
    # A range that launches nothing and always has the same one in it is in the row of that one.
    branches = collections.Counter(names[:-1] for names in tree)
    wanted = collections.Counter()
    for names, time in tree.items():
        if own[names] or branches[names] != 1:
            wanted[" > ".join(names)] += time
    if len(tree) <= 100000:
        expect("call paths", paths == wanted, True)
    expect("sites", collections.Counter({row["function"]: row["total_ns"] for row in tables["sites"]}),
           collections.Counter({name: time for name, time in self_time.items() if count[name]}))
