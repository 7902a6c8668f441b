# SPDX-License-Identifier: Apache-2.0
"""The table `messages` of `analyze --ranks --json` against the events of four ranks of late_messages.c: the n-th send of a channel and the
n-th receive, on clocks that are shifted by what the table `ranks` says.

    check_messages.py FOLDER
"""
import json
import sys
from collections import defaultdict

folder = sys.argv[1]
BLOCKING = {"MPI_Send", "MPI_Ssend", "MPI_Recv"}
REQUESTS = {"MPI_Isend", "MPI_Issend", "MPI_Irecv"}
ROUNDS = 6


def expect(right, message):
    if not right:
        print("FAILED:", message, file=sys.stderr)
        sys.exit(1)


def read(name):
    with open(f"{folder}/{name}", encoding="utf-8") as file:
        return json.load(file)


def messages_of(rank):
    """(communicator, from, to, tag): [begun, begins to wait, ends] of one side, in the order in which they were begun."""
    events = read(f"r{rank}.json")["events"]
    waits = {event["correlation"]: event["start"] for event in events if event["name"] == "MPI_Wait"}
    sides = defaultdict(list), defaultdict(list)
    for event in events:
        name, args, start = event["name"], event.get("args", {}), event["start"]
        if not (event["kind"] == "api" and name in BLOCKING) and not (event["kind"] == "range" and name in REQUESTS):
            continue
        end = start + event["duration"]
        wait = start if name in BLOCKING else waits.get(args.get("wait"), end)
        channel = args["comm"], *((rank, args["peer"]) if args["sends"] else (args["peer"], rank)), args["tag"]
        sides[bool(args["sends"])][channel].append((start, wait, end))
    return [{channel: sorted(side) for channel, side in one.items()} for one in sides]


report = read("ranks.json")
tables = report["tables"]
clocks = {row["rank"]: (row["clock_offset_ns"], row["clock_bound_ns"]) for row in tables["ranks"]}
received, sent = {}, {}
for number in range(4):
    receives, sends = messages_of(number)
    received.update(receives)
    sent.update(sends)
expect(set(sent) == set(received) and len(sent) == 6, f"channels {sorted(sent)} and {sorted(received)}")
wanted = defaultdict(lambda: dict.fromkeys(("messages", "late_sends", "receiver_waits_ns", "late_receives", "sender_waits_ns", "unclear"), 0))
for (comm, sender, receiver, tag), sends in sent.items():
    receives = received[comm, sender, receiver, tag]
    expect(len(sends) == len(receives) == ROUNDS, f"{sender} to {receiver}, tag {tag}: {len(sends)} and {len(receives)}")
    row = wanted[sender, receiver]
    (send_offset, send_bound), (receive_offset, receive_bound) = clocks[sender], clocks[receiver]
    for send, receive in zip(sends, receives):
        row["messages"] += 1
        receiver_waits = max(0, min(send[0] - send_offset - (receive[1] - receive_offset), receive[2] - receive[1]))
        sender_waits = max(0, min(receive[0] - receive_offset - (send[1] - send_offset), send[2] - send[1]))
        if receiver_waits > send_bound + receive_bound:
            row["late_sends"] += 1
            row["receiver_waits_ns"] += receiver_waits
        elif sender_waits > send_bound + receive_bound:
            row["late_receives"] += 1
            row["sender_waits_ns"] += sender_waits
        elif receiver_waits or sender_waits:
            row["unclear"] += 1
got = {(row.pop("from"), row.pop("to")): row for row in tables["messages"]}
expect(got == dict(wanted), f"{got}, the events say {dict(wanted)}")
# Who waits is known if the clocks are known better than the pauses of the program, which a machine under load may prevent.
bound = sum(bound for _, bound in clocks.values())
if bound < 100_000_000:
    expect(got[2, 3]["late_sends"] == ROUNDS, f"rank 2 sends late: {got[2, 3]}")
    expect(any(note.startswith("Late sender") and note.endswith("of rank 2.") for note in report["notes"]), f"{report['notes']}")
    expect(got[0, 1]["late_receives"] >= ROUNDS, f"rank 1 receives late: {got[0, 1]}")
    expect(any(note.startswith("Late receiver") and "until rank 1 receives" in note for note in report["notes"]), f"{report['notes']}")
print(f"{sum(row['messages'] for row in got.values())} messages of {len(got)} pairs; the clocks agree within {bound / 1e6:.2f} ms")
