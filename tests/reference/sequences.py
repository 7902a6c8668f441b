# SPDX-License-Identifier: Apache-2.0
"""Frequent sequences: the names of the commands, by start, that one call of an operator launched (3 or more); of calls
within a call of the same name the outermost counts."""
import collections

from trace import Around


def check(trace, reports, expect):
    around = Around(trace)
    order = {}
    for command in trace.commands:
        order.setdefault(command.queue, len(order))
    launched = collections.defaultdict(list)
    found = {}
    for command, call in sorted(trace.launched(), key=lambda pair: (pair[0].start, order[pair[0].queue])):
        seen = set()
        for one in around(call.thread, call.start) if call else []:
            if one.category == "python_function" or (one.name, one.category) in seen:
                continue
            seen.add((one.name, one.category))
            launched[id(one)].append(command)
            found[id(one)] = one
    sequences = collections.defaultdict(lambda: [0, 0, 0])
    for key, commands in launched.items():
        one = found[key]
        if len(commands) < 3:
            continue
        entry = sequences[(one.name, one.category) + tuple(command.name for command in commands)]
        entry[0] += 1
        entry[1] += sum(command.end - command.start for command in commands)
        entry[2] += one.end - one.start
    wanted = collections.Counter((key[0], key[1], len(key) - 2) + tuple(entry) for key, entry in sequences.items())
    tables = reports["sequences"]["tables"]
    rows = collections.Counter(
        (row["operator"], row["category"], row["length"], row["count"], row["total_ns"], row["host_ns"])
        for row in tables.get("sequences", []))
    expect("sequences shown", sum(rows.values()), min(sum(wanted.values()), 100))
    expect("sequences that are not there", rows - wanted, collections.Counter())
    if rows and wanted:
        ranks = sorted((-row[3], -row[4]) for row in wanted.elements())[:100]
        expect("the most frequent", sorted((-row[3], -row[4]) for row in rows.elements()), ranks)
