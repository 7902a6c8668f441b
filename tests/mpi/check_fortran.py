# SPDX-License-Identifier: Apache-2.0
"""The trace of every_class.F90 against what each rank wrote of its own calls.

    check_fortran.py FOLDER BINDING MPI AGENT LIBRARIES

AGENT is the agent's library, LIBRARIES a file with the paths of MPI's libraries that the program is linked with.
"""
import re
import subprocess
import sys
from collections import Counter

from agent_run import AgentRun

folder, binding, mpi, agent, libraries = sys.argv[1:]
run = AgentRun(folder, binding)


def read_log(rank):
    with open(f"{folder}/log.{rank}", encoding="utf-8") as file:
        return [line.split() for line in file]


def number(text):
    return None if text == "-1" else int(text)


def compare(what, got, wanted):
    for index, (ours, its) in enumerate(zip(got + [None], wanted + [None])):
        run.expect(ours == its, f"{mpi}: {what} {index}: {ours}, the program: {its}")


logs = [read_log(rank) for rank in range(2)]
calls = [event for event in run.of("api") if event.get("category") == "mpi"]
seen, counted = Counter(), Counter()
for event in calls:
    seen[event["name"]] += event.get("count", 1)
for log in logs:
    for line in log:
        if line[0] == "call":
            counted[line[1]] += int(line[2])
run.expect(seen == counted, f"{mpi}: calls too many {seen - counted}, missing {counted - seen}")
run.expect(len(counted) > 60, f"{len(counted)} functions")
run.expect(not run.lost, f"{mpi}: lost {run.lost}")
run.expect(all(event.get("result", 0) == 0 for event in calls if "count" not in event), f"{mpi}: results")
run.expect(sorted(event["args"]["level"] for event in run.of("marker") if event.get("category") == "mpi") == [1, 2], "MPI_Pcontrol")

# A thread is one of a rank: the first to send by MPI_Send_init says of which.
ranks = {event["track"]: 1 - event["args"]["peer"] for event in calls if event["name"] == "MPI_Send_init"}
run.expect(sorted(ranks.values()) == [0, 1], f"{mpi}: ranks {ranks}")
for rank, log in enumerate(logs):
    ours = sorted((event for event in calls if ranks[event["track"]] == rank and "bytes" in event and "peer" in event.get("args", {}) and
                   "probe" not in event["name"].lower()), key=lambda event: event["start"])
    messages = [("sent" if event["args"]["sends"] else "received", event["name"], event["bytes"], event["args"]["peer"],
                 event["args"].get("tag")) for event in ours]
    wanted = [(line[0].replace("got", "received"), line[1], int(line[2]), int(line[3]), number(line[4]))
              for line in log if line[0] in ("sent", "received", "got")]
    compare(f"rank {rank}: message", messages, wanted)
    collectives = [(event["name"], event.get("bytes"))
                   for event in sorted((event for event in run.of("collective") if event["args"]["world_rank"] == rank),
                                       key=lambda event: event["start"])]
    compare(f"rank {rank}: collective", collectives, [(line[1], number(line[2])) for line in log if line[0] == "collective"])
complete = Counter(event["name"] for event in run.of("range") if event.get("category") == "mpi")
for name in ("MPI_Isend", "MPI_Irecv"):
    run.expect(complete[name] == counted[name], f"{mpi}: {complete[name]} of {counted[name]} {name} are complete")

# Each identity of a communicator has the same collectives on both ranks.
members = {}
for event in run.of("collective"):
    members.setdefault((event["args"]["comm"], event["args"]["sequence"], event["name"]), []).append(event["args"]["world_rank"])
run.expect(all(sorted(of) == [0, 1] for of in members.values()), f"{mpi}: {members}")


def symbols(path, kinds):
    lines = subprocess.run(["nm", "-D", path], stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    return {re.sub("@.*", "", line.split()[-1]) for line in lines if line.split()[-2] in kinds}


# The bindings call MPI_... or PMPI_...; the agent defines both names of every function, so it sees either.
defined = symbols(agent, "TW")
table = {name for name in defined if re.match("MPI_", name)}
with open(libraries, encoding="utf-8") as file:
    called = set().union(*(symbols(path, "U") for path in file.read().split() if re.search("mpifh|fort", path)))
run.expect(len(table) > 150 and all("P" + name in defined for name in table), "both names")
unseen = {name for name in table if not name.endswith("_c") and name not in called and "P" + name not in called}
run.expect(not unseen, f"{mpi}: functions that the binding does not call by their name: {sorted(unseen)}")
print(f"{mpi}, {binding}: {sum(seen.values())} calls of {len(seen)} functions")
