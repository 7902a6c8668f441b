# SPDX-License-Identifier: Apache-2.0
"""The tables of `analyze --ranks --json` against what the events of the ranks' traces say, by (communicator, number).

    check_ranks.py FOLDER RANKS
"""
import json
import sys
from collections import defaultdict

folder, count = sys.argv[1], int(sys.argv[2])
WAIT_FOR_ALL = {"MPI_" + n for n in ("Barrier", "Allreduce", "Allgather", "Alltoall")}  # of those that the program calls


def expect(right, message):
    if not right:
        print("FAILED:", message, file=sys.stderr)
        sys.exit(1)


def read(name):
    with open(f"{folder}/{name}", encoding="utf-8") as file:
        return json.load(file)


lengths = defaultdict(dict)  # (communicator, number): {rank: ns}
names = {}
for rank in range(count):
    for event in read(f"r{rank}.json")["events"]:
        if event["kind"] == "collective" and event["name"] in WAIT_FOR_ALL:
            args = event["args"]
            key = args["comm"], args["sequence"]
            expect(args["world_rank"] == rank, f"rank {args['world_rank']} in the trace of rank {rank}")
            expect(names.setdefault(key, event["name"]) == event["name"], f"{key} is {names[key]} and {event['name']}")
            if args["ranks"] > 1:
                lengths[key][rank] = event["duration"]

wanted = [dict.fromkeys(("collectives", "matched", "waited", "last", "delay"), 0) for _ in range(count)]
groups = defaultdict(int)
for key, of in lengths.items():
    for rank in of:
        wanted[rank]["collectives"] += 1
    group = names[key], f"communicator {key[0]:#x}"
    groups[group] += len(of) > 1
    if len(of) == 1:
        continue
    ordered = sorted(of.values())
    for rank, length in of.items():
        wanted[rank]["matched"] += 1
        wanted[rank]["waited"] += length - ordered[0]
        if length == ordered[0] < ordered[1]: # alone the last
            wanted[rank]["last"] += 1
            wanted[rank]["delay"] += ordered[1] - ordered[0]

report = read("ranks.json")
tables = report["tables"]
for row in tables["ranks"]:
    expect(row["trace"].endswith(f"r{row['rank']}.sbt"), f"rank {row['rank']} is {row['trace']}")
    got = {name: row[name + "_ns" if name in ("waited", "delay") else name] for name in wanted[row["rank"]]}
    expect(got == wanted[row["rank"]], f"rank {row['rank']}: {got}, the events say {wanted[row['rank']]}")
got = {(row["collective"], row["group"]): row["matched"] for row in tables["collectives"]}
expect(got == dict(groups), f"collectives {got}, the events say {dict(groups)}")
expect(max(groups.values()) >= 5 and len(groups) == 3, f"{dict(groups)}")
# How long its messages wait is of no importance here.
expect(all(note.startswith(("Late sender", "Late receiver")) for note in report["notes"]), f"{report['notes']}")
print(f"{len(lengths)} collectives of {len(groups)} kinds and communicators")
