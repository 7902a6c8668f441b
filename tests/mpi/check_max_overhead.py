# SPDX-License-Identifier: Apache-2.0
"""The trace of many_calls.c with --max-overhead: the calls in it and those that its ledger counts are those that the program made.

    check_max_overhead.py FOLDER NAME MPI
"""
import json
import sys

folder, name, mpi = sys.argv[1:]
with open(f"{folder}/{name}.json", encoding="utf-8") as file:
    trace = json.load(file)
with open(f"{folder}/{name}.out", encoding="utf-8") as file:
    made = int(file.read())


def expect(right, what):
    if not right:
        sys.exit(f"FAILED: {mpi}, {name}: {what}")


lost = trace["lost"]["by_reason"]
events = [event for event in trace["events"] if event.get("category") == "mpi"]
process_of = {track["id"]: track.get("process") for track in trace["tracks"]}
calls = {(process_of[event["track"]], event["correlation"]): event for event in events if event["kind"] == "api"}
thinned = lost.get("thinned", 0)
expect(set(lost) <= {"thinned"}, f"lost {lost}")
expect(len(calls) + thinned == made, f"{len(calls)} calls in the trace, {thinned} left out, and the program made {made}")
expect(name != "thinned" or thinned > 0, "nothing was left out")
for function in ("MPI_Init", "MPI_Finalize"):
    expect(sum(call["name"] == function for call in calls.values()) == 2, function)
# What is recorded is whole: a message has the call that completes it.
for event in events:
    if event["kind"] == "range":
        process = process_of[event["track"]]
        expect(calls[process, event["correlation"]]["name"] == "MPI_Irecv" and event["bytes"] == 4, f"{event}")
        wait = calls[process, event["args"]["wait"]]
        expect(wait["name"] == "MPI_Wait" and wait["args"]["requests"] == 1, f"{wait}")
started = sum(call["name"] == "MPI_Irecv" for call in calls.values())
expect(started == sum(event["kind"] == "range" for event in events), "requests")
# Each process leaves out its own share, but of those that both record the numbers are the same, and the first one is among them.
numbers = [{event["args"]["sequence"] for event in events if event["kind"] == "collective" and event["name"] == "MPI_Allreduce" and
            event["args"]["world_rank"] == rank} for rank in (0, 1)]
expect(0 in numbers[0] & numbers[1], "the first one is recorded by both")
overhead = [event for event in trace["events"] if event["kind"] == "overhead"]
expect(overhead and all(event["certainty"] == "inferred" for event in overhead), "the cost over time")
print(f"{mpi}, {name}: {made} calls, {thinned} left out, {len(numbers[0] & numbers[1])} collectives of both ranks")
