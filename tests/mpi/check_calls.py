# SPDX-License-Identifier: Apache-2.0
"""The traces of an MPI program's ranks against the log that each rank wrote of its own calls (calls.c).

    check_calls.py FOLDER RANKS MPI [one|killed]
"""
import json
import sys
from collections import Counter, defaultdict

folder, ranks, mpi, form = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4] if len(sys.argv) > 4 else ""
LIBRARY = {"openmpi": "Open MPI", "mpich": "MPICH"}[mpi]
COLLECTIVE_OF_GROUP = {"MPI_Comm_create_group"}  # collective over its group, not over a communicator


def expect(right, message):
    if not right:
        print(f"FAILED: {mpi} {form}: {message}", file=sys.stderr)
        sys.exit(1)


def read(name):
    with open(f"{folder}/{name}", encoding="utf-8") as file:
        return file.read()


def log_of(rank):
    rows = [line.split() for line in read(f"log.{rank}").splitlines()]
    return [(name, int(size), comm) for name, size, comm in rows]


class Rank:
    """What the trace has of one rank."""

    def __init__(self, number, events, tracks):
        self.number = number
        on_threads = [e for e in events if tracks[e["track"]]["kind"] == "thread" and e.get("category") == "mpi"]
        calls = [e for e in on_threads if e["kind"] == "api"]
        self.polls = [e for e in calls if "count" in e]
        self.calls = sorted((e for e in calls if "count" not in e), key=lambda e: e["correlation"])
        self.marks = [e for e in on_threads if e["kind"] == "marker"]
        self.collectives = {e["correlation"]: e for e in events if e["kind"] == "collective"}
        self.requests = {}
        for e in events:
            if e["kind"] == "range" and e.get("category") == "mpi":
                self.requests.setdefault(e["correlation"], []).append(e)


def load():
    """The ranks of the traces, by number."""
    names = ["one"] if form == "one" else [f"r{i}" for i in range(ranks)]
    found = {}
    for name in names:
        trace, info = json.loads(read(f"{name}.json")), json.loads(read(f"{name}.info"))
        attributes = {a["key"]: a["value"] for a in info["attributes"]}
        expect(LIBRARY in attributes.get("mpi.library", ""), f"the trace says that it is {attributes.get('mpi.library')}")
        lost = {k: v for k, v in trace["lost"]["by_reason"].items() if v} if trace["lost"]["total"] else {}
        expect(form == "killed" or not lost, f"{name}: lost {lost}")
        tracks = {t["id"]: t for t in trace["tracks"]}
        numbers = {key.split(".")[1]: json.loads(value) for key, value in attributes.items() if key.endswith(".distributedInfo")}
        for process in trace["processes"]:
            said = numbers.get(str(process["pid"]))
            if not said:
                continue
            expect(said["world_size"] == ranks, f"{name}: world of {said}")
            of_process = [e for e in trace["events"] if tracks[e["track"]].get("process") == process["id"]]
            expect(said["rank"] not in found, f"rank {said['rank']} twice")
            found[said["rank"]] = Rank(said["rank"], of_process, tracks)
    expect(sorted(found) == list(range(ranks)), f"ranks {sorted(found)} of {ranks}")
    return found


# Communicators: what the log calls them, by identity, and the other way around. The log names those of one time only, so that a name
# may mean a new communicator later: then its identity is new too.
members = defaultdict(set)  # (identity, sequence): ranks
names_of = defaultdict(set)  # (identity, sequence): names of the calls
labels = defaultdict(set)  # identity: labels


def check_call(rank, call, name, size, label):
    where = f"rank {rank.number}: {call['name']} #{call['correlation']}"
    expect(call["name"] == name, f"{where} where the program called {name}")
    args = call.get("args", {})
    collective = rank.collectives.get(call["correlation"])
    if label == "error":
        expect(call["result"] != 0 and "bytes" not in call, f"{where}: {call}")
        return
    expect(call["result"] == 0, f"{where}: result {call['result']}")
    if collective:
        expect(collective["name"] == name, f"{where}: {collective}")
        got, seen = collective["args"], collective
        expect(got["world_rank"] == rank.number, f"{where}: rank {got['world_rank']}")
        key = got["comm"], got["sequence"]
        members[key].add(rank.number)
        names_of[key].add(name)
        expect(got["ranks"] >= 1, where)
        sizes[key] = got["ranks"]
        labels[got["comm"]].add(label)
    else:
        seen = call
        if label != "-":
            expect("comm" in args, f"{where} has no communicator")
            labels[args["comm"]].add(label)
    started = rank.requests.get(call["correlation"])
    if started:
        expect(started[0]["start"] == call["start"], f"{where}: its request begins elsewhere")
        requests_of[name] += 1
    if name.startswith("MPI_File_") and label == "file" and not collective:
        # A transfer is on the track of its file as well, or has a request; of a read only its end knows the bytes.
        expect(started and (size < 0 or started[0]["bytes"] == size) and started[0]["args"]["comm"] == args["comm"], f"{where}: {started}")
        seen = started[0]
    if name == "MPI_File_write_at":
        expect(args["offset"] == 64 * rank.number, f"{where}: offset {args.get('offset')}")
    if size >= 0:
        expect(seen.get("bytes") == size, f"{where}: {seen.get('bytes')} bytes, the program {size}")
    elif not collective and "recv" not in name.lower():
        expect("bytes" not in call, f"{where}: {call.get('bytes')} bytes of none")


sizes, requests_of = {}, Counter()
traced = load()
for number, rank in traced.items():
    log = log_of(number)
    expect(len(log) > 100, f"rank {number}: the log has {len(log)} calls")
    if form != "killed":
        expect(len(rank.calls) == len(log), f"rank {number}: {len(rank.calls)} calls, the program made {len(log)}")
    expect(len(rank.calls) >= len(log), f"rank {number}: {len(rank.calls)} calls, the program made {len(log)}")
    for call, row in zip(rank.calls, log):
        check_call(rank, call, *row)
    levels = [m["args"]["level"] for m in rank.marks]
    rounds = sum(name == "MPI_Comm_idup" for name, _, _ in log)
    expect(levels == list(range(1, rounds + 1)), f"rank {number}: marks {levels}")
    # Each request that the program completed is complete once, in a call that came after.
    completed = Counter(r["name"] for spans in rank.requests.values() for r in spans)
    begun = Counter(name for name, _, label in log if name in ("MPI_Isend", "MPI_Issend", "MPI_Irecv") and label != "error")
    for name, count in begun.items():
        expect(completed[name] == count, f"rank {number}: {completed[name]} of {count} {name} are complete")
    persistent = sum(name == "MPI_Send_init" for name, _, _ in log)
    expect(completed["MPI_Send_init"] == 3 * persistent == completed["MPI_Recv_init"], f"rank {number}: persistent {completed}")
    for spans in rank.requests.values():
        for span in spans:
            expect("wait" not in span["args"] or span["args"]["wait"] > span["correlation"], f"{span}")

# One identity is one communicator: all that the log calls by one name at a time; and all its ranks have each of its collectives.
for identity, said in labels.items():
    expect(len(said) == 1, f"communicator {identity:#x} is {sorted(said)}")
for key, of in members.items():
    expect(len(names_of[key]) == 1, f"collective {key} is {names_of[key]}")
    expect(len(of) == sizes[key], f"collective {key} {names_of[key]} has the ranks {of} of {sizes[key]}")
expect(len(labels) > (5 if form == "killed" else 10), f"{len(labels)} communicators")
print(f"{mpi} {form}: {sum(len(r.calls) for r in traced.values())} calls of {len(traced)} ranks, {len(labels)} communicators, {len(members)} collectives")
